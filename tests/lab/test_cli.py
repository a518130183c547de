"""The command `lab`: exit codes, files, JSON for machines, and text of the laboratory that stays text."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import lab
from lab import console
from lab.cli import app, parse_pairs

OK, REFUSED, USAGE, AT_FAULT = 0, 1, 2, 3
HOSTILE_INERT = r"[red]alarm[/red] [link=http://evil]click[/link] \x1b]0;owned\x07\x1b[2J :bomb: \u202e end"


@pytest.fixture
def call(fake: Any) -> Any:
    """Run `lab ARGUMENTS` against the laboratory."""

    def run(*arguments: str, stdin: str | None = None, url: str = fake.url, patience: str = "5") -> Result:
        return CliRunner().invoke(app, ["--url", url, "--patience", patience, *arguments], input=stdin)

    return run


# Running experiments


def test_run_waits_prints_the_record_and_writes_the_npz_of_the_laboratory(fake: Any, call: Any, tmp_path: Path) -> None:
    out = tmp_path / "data.npz"
    result = call("run", "run_large", "shots=5", "--out", str(out))
    assert result.exit_code == OK, result.output
    assert out.read_bytes() == fake.records["j0001"]
    for part in ("j0001 run_large completed", "5 shots", "0 to 0.5 s", "iq", "complex128", "(4000, 2)", "V"):
        assert part in result.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["data.npz"]


def test_run_for_machines_prints_the_job_view_and_nothing_else(fake: Any, call: Any) -> None:
    result = call("run", "run_small", "shots=5", "--json")
    assert json.loads(result.stdout) == fake.jobs["j0001"]


def test_no_wait_prints_the_job_id_and_fetch_brings_the_record(fake: Any, call: Any, tmp_path: Path) -> None:
    result = call("run", "run_large", "shots=5", "--no-wait")
    assert (result.exit_code, result.stdout.strip()) == (OK, "j0001")
    assert not any("/wait" in p for p in fake.paths("GET"))
    out = tmp_path / "x.npz"
    assert call("fetch", "j0001", "-o", str(out)).exit_code == OK
    with np.load(out, allow_pickle=False) as file:
        assert np.array_equal(file["iq"], fake.large["iq"])


def test_values_are_json_where_they_parse_and_text_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": [1, 2]}')
    (tmp_path / "c.stim").write_text("H 0\nM 0\n")
    pairs = [
        "shots=10", "x=1.5e-3", "flag=true", "list=[1,2]", "name=ramsey", 'quoted="7"', "nan=NaN", "empty=", "eq=a=b",
        f"part=@{tmp_path / 'a.json'}", f"circuit=@{tmp_path / 'c.stim'}",
    ]  # fmt: skip
    assert parse_pairs(pairs) == {
        "shots": 10, "x": 1.5e-3, "flag": True, "list": [1, 2], "name": "ramsey", "quoted": "7", "nan": "NaN", "empty": "", "eq": "a=b",
        "part": {"a": [1, 2]}, "circuit": "H 0\nM 0\n",
    }  # fmt: skip


# Exit codes


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "run_small", "shots"],
        ["run", "run_small", "=1"],
        ["run", "run_small", "shots=1", "shots=2"],
        ["run", "run_small", "a=@/nonexistent"],
        ["run", "run_small", "--no-wait", "--out", "x.npz"],
        ["run"],
        ["nonsense"],
        ["check", "/nonexistent"],
        ["spec", "run_nothing"],
    ],
)
def test_wrong_usage_ends_with_2_and_sends_no_experiment(fake: Any, call: Any, arguments: list[str]) -> None:
    assert call(*arguments).exit_code == USAGE
    assert fake.paths("POST") == []


def test_an_address_that_is_none_ends_with_2(call: Any) -> None:
    assert call("budget", url="sidecar").exit_code == USAGE


def test_a_refusal_ends_with_1_and_prints_every_fact_and_the_next_step(call: Any) -> None:
    result = call("run", "run_small", "shots=101")
    assert result.exit_code == REFUSED
    lines = [line.split() for line in result.stderr.splitlines()]
    for fact in (["field", "shots"], ["got", "101"], ["limit", "100"], ["unit", "shots"], ["left", "100"]):
        assert fact in lines
    assert "next" in result.stderr
    assert HOSTILE_INERT in result.stderr
    assert result.stdout == ""


def test_no_laboratory_ends_with_3(call: Any) -> None:
    result = call("budget", url="http://127.0.0.1:9", patience="0.1")
    assert result.exit_code == AT_FAULT
    assert "127.0.0.1:9" in result.stderr


@pytest.mark.parametrize("ending, code", [("failed", AT_FAULT), ("cancelled", REFUSED)])
@pytest.mark.parametrize("options", [[], ["--json"], ["--out", "never.npz"]])
def test_a_job_without_a_record_is_no_success(fake: Any, call: Any, tmp_path: Path, ending: str, code: int, options: list[str]) -> None:
    fake.ending = ending
    options = [str(tmp_path / o) if o.endswith(".npz") else o for o in options]
    assert call("run", "run_small", "shots=1", *options).exit_code == code
    assert list(tmp_path.iterdir()) == []


def test_a_corrupt_record_ends_with_3_and_leaves_no_file(fake: Any, call: Any, tmp_path: Path) -> None:
    call("run", "run_large", "shots=1")
    fake.records["j0001"] = fake.records["j0001"][:-1] + b"?"
    out = tmp_path / "x.npz"
    assert call("fetch", "j0001", "-o", str(out)).exit_code == AT_FAULT
    assert not out.exists()


def test_a_job_that_takes_longer_than_the_timeout_ends_with_3(fake: Any, call: Any) -> None:
    fake.polls_before_done = 10**9
    result = call("run", "run_small", "shots=1", "--timeout", "0")
    assert result.exit_code == AT_FAULT
    assert "fetch it later" in result.stderr


# Answers


def test_an_answer_is_checked_and_handed_in(fake: Any, call: Any, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text('{"x": 0.1}')
    assert call("check", str(path)).exit_code == OK
    assert fake.answer is None
    assert json.loads(call("submit", str(path)).stdout) == {"accepted": True}
    assert fake.answer == {"x": 0.1}


def test_an_answer_that_does_not_fit_its_schema_ends_with_1(call: Any) -> None:
    result = call("check", "-", stdin="{}")
    assert result.exit_code == REFUSED
    assert "field required" in result.stderr


@pytest.mark.parametrize("text", ["no json", "[1]", '{"x": NaN}', '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"])
def test_a_file_that_is_no_json_object_is_not_sent(fake: Any, call: Any, text: str) -> None:
    assert call("submit", "-", stdin=text).exit_code == USAGE
    assert fake.requests == []


# Everything else prints


def test_each_list_is_a_table_for_people_and_json_for_machines(call: Any) -> None:
    call("run", "run_small", "shots=5")
    for command, word in (("spec", "c0ffee"), ("notebook", "2026-01-02"), ("materials", "a.txt"), ("budget", "95"), ("jobs", "j0001")):
        people, machines = call(command), call(command, "--json")
        assert people.exit_code == machines.exit_code == OK, people.output
        assert word in people.stdout
        assert json.loads(machines.stdout)


def test_the_fields_of_a_tool_are_listed_with_unit_and_bounds_down_to_nested_parts(call: Any) -> None:
    result = call("spec", "run_large")
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert all(part in rows["shots"] for part in ("integer", ">= 1, <= 10000", "required", "shots per point"))
    assert all(part in rows["points[].delay_us"] for part in ("number", "us", ">= 0"))


def test_small_commands_work(fake: Any, call: Any, tmp_path: Path) -> None:
    assert call("note", "[b]hello").exit_code == OK
    assert fake.notes == ["[b]hello"]
    assert json.loads(call("query", "ask", "job_id=j1", "n=2").stdout)["echo"] == {"job_id": "j1", "n": 2}
    assert json.loads(call("lock").stdout) == {"challenge": {"secret": 7}}
    assert call("lock", "-o", str(tmp_path / "c.json")).exit_code == OK
    assert json.loads((tmp_path / "c.json").read_text()) == {"challenge": {"secret": 7}}
    call("run", "run_small", "--no-wait")
    assert call("cancel", "j0001").stdout.split() == ["j0001", "cancelled"]
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == f"lab {lab.__version__}"


def test_a_material_is_shown_inert_and_written_unchanged(call: Any, tmp_path: Path) -> None:
    assert call("material", "a.txt").stdout.rstrip("\n") == HOSTILE_INERT
    out = tmp_path / "a.txt"
    call("material", "a.txt", "-o", str(out))
    assert "\x1b]0;owned\x07" in out.read_text(encoding="utf-8")


# Hostile text


@pytest.mark.parametrize(
    "command", [["notebook"], ["notebook", "--json"], ["spec"], ["spec", "run_large"], ["materials"], ["material", "a.txt"]]
)
def test_text_of_the_laboratory_prints_as_itself_and_reaches_no_terminal_control(call: Any, command: list[str]) -> None:
    result = call(*command)
    assert result.exit_code == OK
    assert not set(result.stdout) & {"\x1b", "\x07", "\u202e", "\x9b"}
    joined = " ".join(result.stdout.split())
    assert "[red]alarm[/red]" in joined
    assert ":bomb:" in joined


def test_inert_text_keeps_letters_of_all_scripts() -> None:
    assert console.inert("Ω ≈ 5 µs\n\té") == "Ω ≈ 5 µs\n\té"
    assert console.inert("a\x1b[31m\r\x9b\u2066") == r"a\x1b[31m\r\x9b\u2066"


def test_the_progress_bar_shows_markup_as_text_and_only_on_a_terminal(fake: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    with lab.connect(fake.url) as dev:
        dev.run("run_small", shots=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with console.waiting("[red]x[/red]") as tell:
        tell("queued\x1b]0;owned\x07")
    shown = capsys.readouterr().err
    assert "[red]x[/red]" in shown
    assert "\x1b]0;" not in shown


def test_the_version_is_the_one_of_the_distribution() -> None:
    assert importlib.metadata.version("quantum-harbor-lab") == lab.__version__
