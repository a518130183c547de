"""Deliberately weak qtypes and tasks are caught, each by the rule that is there for it.

A weak one is the example distribution with one thing spoiled.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import qtypes
import tasks
from evidence import Ledger
from qharbor.contract import Finding, QTypeSubject, TaskSubject, bundles, charges, devices, notebooks, records, refusals, schemas
from qharbor.contract.console import apply
from qharbor.contract.outside import exposed

EXAMPLE = Path(__file__).parents[1] / "example_qtype"
PACKAGE = Path("src/harbor_spin")
TASK = PACKAGE / "spin_calibration"

Change = tuple[str, str, str]
"""File relative to the package, text, its replacement."""


@contextlib.contextmanager
def spoiled(tmp_path: Path, *changes: Change) -> Iterator[tuple[QTypeSubject, TaskSubject]]:
    folder = tmp_path / "weak"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in changes:
        path = folder / PACKAGE / file
        text = path.read_text()
        assert text.count(old) >= 1, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new))
    with exposed(folder):
        qtype = qtypes.load("single_spin")
        subject = QTypeSubject(qtype, {"spin_calibration": qtype.Profile()})
        yield subject, TaskSubject(tasks.load("spin_calibration"), devices=subject)


RUN = "        hidden = device.hidden\n"
COST = "    def cost(self)"
SHOTS = "    shots: int ="
COSTS = "Cost.of(shots=n, jobs=1, lab_s=n * PERIOD_MS * 1e-3 + SETUP_S)"
STATED = """
STATED = WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 300, "unit": "1", "description": "shots"})
"""
SETUP = '    setup_s: float = quantity("s", "lab'
DARK = 'quantity("1", "probability of a click'
NOW = "larmor_at(time_s)"

WEAK_QTYPES: dict[str, tuple[Callable[[QTypeSubject], list[Finding]], str, list[Change]]] = {
    "hidden value in the spec": (
        devices.spec_hides_the_device, "differs from device to device",
        [("__init__.py", "return device.SPEC", 'return device.SPEC.model_copy(update={"nominal_ghz": 14.0 + 1e-6 * hidden.larmor_khz})')],
    ),
    "hidden name in the spec": (
        devices.spec_hides_the_device, "a hidden parameter has this name",
        [("device.py", SETUP, '    rabi_khz: float = quantity("kHz", "guess", default=99.0)\n' + SETUP)],
    ),
    "the same device for every seed": (
        devices.draws_vary, "two seeds gave the same device",
        [("device.py", "    return Hidden(\n", "    rng = np.random.default_rng(5)\n    return Hidden(\n")],
    ),
    "a drawn number that never changes": (
        devices.draws_vary, "the same number on every device",
        [("device.py", "spread_khz=float(rng.uniform(10.0, 25.0))", "spread_khz=17.0")],
    ),
    "a device that its seed does not give back": (
        devices.draws_repeat, "the same seed gave another device",
        [("device.py", "    return Hidden(\n", "    rng = np.random.default_rng()\n    return Hidden(\n")],
    ),
    "a current value in the notebook": (
        notebooks.notebook_keeps_the_secret, "Hidden.larmor_khz: the notebook",
        [("device.py", "hidden.decay_khz_per_h * age_h + float(rng.normal(0.0, 2.0))", "0.0")],
    ),
    "the inverse of a current value in the notebook": (
        notebooks.notebook_keeps_the_secret, "Hidden.rabi_khz: the notebook",
        [("device.py", "Spectroscopy:", "A full turn takes {1e3 / hidden.rabi_khz:.2f} us. Spectroscopy:")],
    ),
    "a notebook dated in the future": (
        notebooks.notebook_is_dated, "dated after the day of the session", [("device.py", "date=today -", "date=today +")],
    ),
    "a notebook dated by the wall clock": (
        notebooks.notebook_is_dated, "dated after the day of the session", [("device.py", "date=today -", "date=dt.date.today() -")],
    ),
    "an undocumented field": (
        schemas.fields_are_documented, "run_pulse.shots: no description", [("experiments.py", '"shots per pulse length"', '""')],
    ),
    "an undocumented tool": (
        schemas.fields_are_documented, "the class docstring is the tool's description",
        [("experiments.py", '    tool: ClassVar[str] = "run_pulse"', '    tool: ClassVar[str] = "run_pulse"\n    __doc__ = "Run."')],
    ),
    "a number without a unit": (
        schemas.numbers_have_units, "run_pulse.drive_offset_khz: no unit",
        [("experiments.py", 'quantity("kHz", "drive frequency minus the nominal one", ', 'Field(description="drive frequency", ')],
    ),
    "no examples": (
        schemas.examples_are_valid, "examples(spec) gives none", [("experiments.py", "def examples(", "def samples(")],
    ),
    "a field that no example uses": (
        schemas.examples_are_valid, "no example gives this field a value",
        [("experiments.py", SHOTS, '    label: str | None = Field(default=None, max_length=9, description="a label")\n' + SHOTS)],
    ),
    "an unbounded number": (
        refusals.fields_are_bounded, "run_pulse.shots: a value without a largest: admitted",
        [("experiments.py", '"shots per pulse length", ge=1, le=5000', '"shots per pulse length", ge=1')],
    ),
    "an unbounded list": (
        refusals.fields_are_bounded, "run_pulse.pulse_us: more items: admitted", [("experiments.py", ", max_length=100", "")],
    ),
    "an unbounded text": (
        refusals.fields_are_bounded, "run_pulse.label: an endless text: admitted",
        [("experiments.py", SHOTS, '    label: str = Field(default="a", description="a label")\n' + SHOTS)],
    ),
    "numbers as texts and truth values": (
        refusals.bounds_are_enforced, "a text for a number: admitted",
        [("experiments.py", "    pulse_us: tuple", '    model_config = ConfigDict(strict=False)\n    pulse_us: tuple'),
         ("experiments.py", "from pydantic import Field", "from pydantic import ConfigDict, Field")],
    ),
    "an unknown field": (
        refusals.bounds_are_enforced, "an unknown field: admitted",
        [("experiments.py", "    pulse_us: tuple", '    model_config = ConfigDict(extra="ignore")\n    pulse_us: tuple'),
         ("experiments.py", "from pydantic import Field", "from pydantic import ConfigDict, Field")],
    ),
    "not a number": (
        refusals.bounds_are_enforced, "NaN: admitted",
        [("experiments.py", 'quantity("kHz", "drive frequency minus the nominal one", ge=-MAX_OFFSET_KHZ, le=MAX_OFFSET_KHZ)',
          'quantity("kHz", "drive frequency minus the nominal one", allow_inf_nan=True)')],
    ),
    "a request that breaks the laboratory": (
        refusals.fields_are_bounded, "run_pulse.shots: a value without a largest: ZeroDivisionError",
        [("experiments.py", COST, "    def admit(self, spec: Any) -> None:\n        [0] * (5000 // (self.shots - 10**15))\n\n" + COST),
         ("experiments.py", "ge=1, le=5000", "ge=1")],
    ),
    "a bound that is stated and not kept": (
        refusals.bounds_are_enforced, "one step beyond the largest value: admitted",
        [("experiments.py", "    shots: int = quantity", "    shots: Annotated[int, STATED] = quantity"),
         ("experiments.py", ", ge=1, le=5000)", ")"), ("experiments.py", "Pulse = ", STATED + "Pulse = "),
         ("experiments.py", "import Field", "import Field, WithJsonSchema")],
    ),
    "a record that is not finite": (
        records.records_are_raw_and_finite, "not finite",
        [("experiments.py", '{"clicks": ', '{"rate": Array(np.array([np.nan]), "1", ("all",)), "clicks": ')],
    ),
    "a hidden value in the summary": (
        records.records_are_raw_and_finite, "the summary differs on another device",
        [("experiments.py", '{"pulses": shape[0]', '{"larmor": hidden.larmor_khz, "pulses": shape[0]')],
    ),
    "the same record for every seed": (
        records.records_differ_between_seeds, "seeds gave the same record",
        [("experiments.py", RUN, RUN + "        rng = np.random.default_rng(1)\n")],
    ),
    "a record that its seed does not give back": (
        records.records_repeat, "the same seed gave another record",
        [("experiments.py", RUN, RUN + "        rng = np.random.default_rng()\n")],
    ),
    "a hidden parameter without effect": (
        records.hidden_parameters_matter, "Hidden.missed", [("experiments.py", "1.0 - hidden.missed", "0.9")],
    ),
    "drift on wall time": (
        records.drift_follows_the_lab_clock, "s of wall time later",
        [("experiments.py", NOW, "larmor_at(time.time() % 3e5)"), ("experiments.py", "import numpy", "import time\n\nimport numpy")],
    ),
    "drift on wall time by another name": (
        records.drift_follows_the_lab_clock, "s of wall time later",
        [("experiments.py", NOW, "larmor_at(datetime.now().timestamp() % 3e5)"),
         ("experiments.py", "import numpy", "from datetime import datetime\n\nimport numpy")],
    ),
    "global random state": (
        records.drift_follows_the_lab_clock, "numpy.random.normal",
        [("experiments.py", NOW, "larmor_at(time_s + np.random.normal())")],
    ),
    "drift that does not follow the lab clock": (
        records.drift_follows_the_lab_clock, "no example's record depends on the lab clock", [("experiments.py", "clock.start_s + ", "")],
    ),
    "drift that is not declared": (
        records.drift_follows_the_lab_clock, "QType.drifts says that it does not", [("__init__.py", "drifts = True", "drifts = False")],
    ),
    "an experiment that costs nothing": (
        records.costs_follow_from_the_request, "free: it charges no unit",
        [("experiments.py", COSTS, "Cost.of(lab_s=n * 1e-3)")],
    ),
    "shots that cost nothing": (
        records.costs_follow_from_the_request, "twice the shots cost no more", [("experiments.py", "Cost.of(shots=n,", "Cost.of(")],
    ),
    "a cost that depends on the time of day": (
        records.costs_follow_from_the_request, "equal requests cost different amounts",
        [("experiments.py", "Cost.of(shots=n,", "Cost.of(shots=n + int(time.time() // 1e5) % 7,"),
         ("experiments.py", "import numpy", "import time\n\nimport numpy")],
    ),
}  # fmt: skip

WEAK_TASKS: dict[str, tuple[Callable[[TaskSubject], list[Finding]], str, list[Change]]] = {
    "a cost that the task does not meter": (
        charges.charges_equal_costs, "no unit that the task meters is charged",
        [("experiments.py", COSTS, "Cost.of(clicks=n)")],
    ),
    "a budget that nothing charges": (
        charges.budget_units_are_charged, "budget units: no request charges this unit",
        [("spin_calibration/task.toml", "lab_s = 120", "units = 120")],
    ),
    "a budget too small for one job": (
        charges.budget_units_are_charged, "costs more than there is", [("spin_calibration/task.toml", "shots = 60000", "shots = 200")],
    ),
    "an instruction with another budget": (
        bundles.instruction_states_the_budget, "budget shots", [("spin_calibration/instruction.md", "60000 shots", "50000 shots")],
    ),
    "an instruction with another wall time": (
        bundles.instruction_states_the_budget, "budget wall_s", [("spin_calibration/instruction.md", "30 minutes", "40 minutes")],
    ),
    "a grader that was tightened": (
        bundles.instruction_states_the_criteria, "LARMOR_TOLERANCE_KHZ", [("grader.py", "TOLERANCE_KHZ = 6.0", "TOLERANCE_KHZ = 4.0")],
    ),
    "a relative tolerance out of step": (
        bundles.instruction_states_the_criteria, "RABI_TOLERANCE", [("spin_calibration/instruction.md", "within 5 %", "within 7 %")],
    ),
    "a threshold without a name": (
        bundles.instruction_states_the_criteria, "a threshold without a name", [("grader.py", "shots, MIN_SHOTS", "shots, 10000")],
    ),
    "an answer field that the instruction does not name": (
        bundles.instruction_states_the_answer, "Answer.rabi_khz", [("spin_calibration/instruction.md", "rabi_khz", "rabi")],
    ),
    "a tool that does not exist": (
        bundles.instruction_states_the_answer, "names a tool that does not exist",
        [("spin_calibration/instruction.md", "`run_pulse`", "`run_pulses`")],
    ),
    "an answer without bounds": (
        bundles.answer_is_strict, "a number without a smallest or largest value", [("grader.py", "gt=0, le=1000", "gt=0")],
    ),
    "an answer that takes anything": (
        bundles.answer_is_strict, "model_config['strict']",
        [("grader.py", "class Answer(AnswerModel)", "class Answer(BaseModel)"), ("grader.py", "import Field", "import BaseModel, Field")],
    ),
    "a solution that imports the device": (
        bundles.solutions_use_the_public_surface, "imports harbor_spin",
        [("spin_calibration/solution/reference.py", "import lab", "import lab\nfrom harbor_spin.device import SPEC")],
    ),
    "a solution that imports the laboratory": (
        bundles.solutions_use_the_public_surface, "imports qtypes",
        [("spin_calibration/solution/trap.py", "    with lab.connect()", "    import qtypes.seeds\n    with lab.connect()")],
    ),
    "a solution that hides an import": (
        bundles.solutions_use_the_public_surface, "calls __import__",
        [("spin_calibration/solution/trap.py", "    with lab.connect()", "    __import__('qty' + 'pes')\n    with lab.connect()")],
    ),
    "a task without a trap": (
        bundles.solutions_use_the_public_surface, "solution/trap.py: missing or empty",
        [("spin_calibration/solution/trap.py", (EXAMPLE / TASK / "solution/trap.py").read_text(), "")],
    ),
    "a task without an instruction": (
        bundles.card_is_whole, "instruction.md: missing or empty",
        [("spin_calibration/instruction.md", (EXAMPLE / TASK / "instruction.md").read_text(), "")],
    ),
    "a profile that the qtype does not know": (
        bundles.card_is_whole, "offset_khz_min", [("spin_calibration/task.toml", "offset_khz_max", "offset_khz_min")],
    ),
}  # fmt: skip


def rules(findings: list[Finding]) -> str:
    return "\n".join(map(str, findings))


@pytest.mark.parametrize("name", WEAK_QTYPES)
def test_a_weak_qtype_is_caught(name: str, tmp_path: Path) -> None:
    rule, expected, changes = WEAK_QTYPES[name]
    with spoiled(tmp_path, *changes) as (subject, _):
        findings = rule(subject)
    assert expected in rules(findings)


@pytest.mark.parametrize("name", WEAK_TASKS)
def test_a_weak_task_is_caught(name: str, tmp_path: Path) -> None:
    rule, expected, changes = WEAK_TASKS[name]
    with spoiled(tmp_path, *changes) as (_, task):
        findings = rule(task)
    assert expected in rules(findings)


def test_every_rule_has_a_weak_qtype_or_task_that_only_it_must_catch() -> None:
    from qharbor.contract import QTYPE_RULES, TASK_RULES

    elsewhere = {
        schemas.schemas_are_flat, schemas.tools_are_named, devices.models_survive_json, bundles.bundle_is_in_step,
        bundles.harbor_accepts_the_bundle,
    }  # fmt: skip
    shown = {r for r, _, _ in (*WEAK_QTYPES.values(), *WEAK_TASKS.values())}
    assert {*QTYPE_RULES, *TASK_RULES} - elsewhere == shown


def test_a_laboratory_that_does_not_charge_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "charge", lambda self, cost: None)
    with spoiled(tmp_path) as (_, task):
        findings = charges.charges_equal_costs(task)
    assert "the ledger is charged another amount than cost()" in rules(findings)


def test_a_tool_named_as_one_of_the_laboratory_is_caught(tmp_path: Path) -> None:
    with spoiled(tmp_path, ("experiments.py", '"run_pulse"', '"get_budget"')) as (subject, _):
        findings = schemas.tools_are_named(subject)
    assert "not a tool name, or taken" in rules(findings)


def test_a_request_with_alternatives_at_its_root_is_caught(tmp_path: Path) -> None:
    alternatives = '    model_config = ConfigDict(json_schema_extra={"anyOf": []})\n'
    change = ("experiments.py", "    pulse_us: tuple", alternatives + "    pulse_us: tuple")
    with spoiled(tmp_path, change, ("experiments.py", "import Field", "import ConfigDict, Field")) as (subject, _):
        findings = schemas.schemas_are_flat(subject)
    assert "the root of the schema is not one object" in rules(findings)


def test_a_hidden_state_that_json_changes_is_caught(tmp_path: Path) -> None:
    lost = DARK.replace('"probability', 'exclude=True, default=0.05, description="probability')
    with spoiled(tmp_path, ("device.py", DARK, lost)) as (subject, _):
        findings = devices.models_survive_json(subject)
    assert "JSON does not give the same values back" in rules(findings)


def test_a_script_that_is_not_executable_is_caught(tmp_path: Path) -> None:
    with spoiled(tmp_path) as (_, task):
        (task.card.folder / "solution" / "solve.sh").chmod(0o644)
        findings = bundles.solutions_use_the_public_surface(task)
    assert "not executable" in rules(findings)


def test_a_bundle_whose_generated_part_was_edited_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tasks.names()[0]
    shutil.copytree(tasks.load(name).folder, tmp_path / name)
    card = tasks.load(name).model_copy(update={"folder": tmp_path / name})
    monkeypatch.setattr(tasks, "HERE", tmp_path)
    assert bundles.bundle_is_in_step(TaskSubject(card)) == []
    with (tmp_path / name / "tests" / "docker-compose.yaml").open("a") as file:
        file.write("# mine\n")
    assert "tests/docker-compose.yaml: out of step" in rules(bundles.bundle_is_in_step(TaskSubject(card)))


def test_a_rule_that_raises_is_a_finding_and_not_a_crash(tmp_path: Path) -> None:
    with spoiled(tmp_path, ("experiments.py", RUN, "        raise RuntimeError('no magnet')\n")) as (subject, _):
        (result,) = apply(subject, (records.records_repeat,))
    assert "RuntimeError: no magnet" in rules(result.findings)
