"""Rules on charging, tried in a real laboratory: admission, log, worker process, ledger."""

from __future__ import annotations

import asyncio
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

from qharbor.contract.findings import Finding, Findings
from qharbor.contract.subject import TaskSubject
from qtypes import AgentError, LabFault
from qtypes.contract import Cost, Experiment, Query
from sidecar.admission import open_session
from sidecar.lab import Lab
from sidecar.settings import Settings

JOB_S = 120.0


def charges_equal_costs(subject: TaskSubject) -> list[Finding]:
    """Each example, sent to a laboratory of the task, is charged exactly its `cost()` in the log and in the ledger, at least one
    metered unit, and moves the lab clock by its `lab_s`; what the laboratory sends is finite JSON."""
    found = Findings("charges_equal_costs", subject.name)
    hidden = subject.device.hidden
    with tempfile.TemporaryDirectory(prefix="qharbor-contract-") as folder:
        settings = Settings(task=subject.name, out=Path(folder) / "bundle", workers=1, seed=1, job_timeout_s=JOB_S)
        with mock.patch.object(subject.qtype, "draw", return_value=hidden):
            session = open_session(settings)  # with a device that is drawn already: drawing may take long
        asyncio.run(_charge(subject, Lab(session, settings), found))
    return found


async def _charge(subject: TaskSubject, lab: Lab, found: Findings) -> None:
    await lab.start()
    try:
        spec = lab.session.device.spec
        jobs: list[str] = []
        for model in subject.qtype.experiments:
            for k, example in enumerate(model.examples(spec)):
                job = await _experiment(lab, example, f"{model.tool} example {k}", found)
                jobs += [job] if job is not None else []
        for query in subject.qtype.queries:
            for k, q in enumerate(query.examples(spec)):
                await _query(lab, q, f"{query.tool} example {k}", jobs, found)
        parts: dict[str, Any] = {"spec": lab.spec(), "notebook": await lab.notebook(), "materials": lab.materials(), "jobs": lab.jobs()}
        for name, part in parts.items():
            try:
                json.dumps(part, allow_nan=False)
            except (TypeError, ValueError) as exc:
                found.add(name, f"not finite JSON: {exc}")
    finally:
        await lab.close()


async def _experiment(lab: Lab, example: Experiment, where: str, found: Findings) -> str | None:
    before, clock = dict(lab.state.ledger.used), lab.state.lab_clock_s
    expected = example.cost()
    try:
        view = await lab.submit(example.tool, example.model_dump_json().encode())
        while (view := await lab.wait(view["job_id"], 30.0))["status"] in ("queued", "running"):
            pass
    except (AgentError, LabFault) as exc:
        found.add(where, "the laboratory of the task refuses it", str(exc))
        return None
    if view["status"] != "completed":
        found.add(where, f"the job {view['status']} in its worker")
        return None
    _compare(lab, where, found, before, expected, lab.state.jobs[view["job_id"]].cost)
    moved = lab.state.lab_clock_s - clock
    if abs(moved - float(expected.lab_s)) > 1e-6 * max(1.0, moved):
        found.add(where, "the lab clock moves by another time than lab_s", moved, float(expected.lab_s))
    if not any(expected.metered().get(unit, Decimal(0)) > 0 for unit in lab.card.budget):
        found.add(where, "no unit that the task meters is charged: it can be run without end", expected.to_json(), sorted(lab.card.budget))
    return str(view["job_id"])


async def _query(lab: Lab, query: Query, where: str, jobs: list[str], found: Findings) -> None:
    """A query that reads a record is tried on every completed job until one is answered."""
    field = type(query).record_field
    tried = [query] if field is None else [query.model_copy(update={field: job}) for job in jobs]
    refusals: list[str] = []
    for q in tried:
        before, expected = dict(lab.state.ledger.used), q.cost()
        try:
            await lab.query(q.tool, q.model_dump_json().encode())
        except LabFault as exc:
            found.add(where, "the query fails in its worker", str(exc))
            return
        except AgentError as exc:
            refusals.append(str(exc))
            continue
        _compare(lab, where, found, before, expected, None)
        return
    found.add(where, "the laboratory of the task refuses it", "; ".join(refusals[:3]) or "no completed job to ask about")


def _compare(lab: Lab, where: str, found: Findings, before: dict[str, Decimal], expected: Cost, logged: dict[str, float] | None) -> None:
    charged = {u: v - before.get(u, Decimal(0)) for u, v in lab.state.ledger.used.items()}
    if {u: v for u, v in charged.items() if v} != {u: v for u, v in expected.metered().items() if v}:
        found.add(where, "the ledger is charged another amount than cost()", _plain(charged), expected.to_json())
    if logged is not None and logged != expected.to_json():
        found.add(where, "the log holds another amount than cost()", logged, expected.to_json())


def _plain(amounts: dict[str, Decimal]) -> dict[str, float]:
    return {u: float(v) for u, v in amounts.items() if v}


def budget_units_are_charged(subject: TaskSubject) -> list[Finding]:
    """Every unit of the card's budget is charged by some request, and an example fits into the budget."""
    found = Findings("budget_units_are_charged", subject.name)
    spec = subject.device.spec
    costs = [(r.tool, e.cost().metered()) for r in subject.devices.requests for e in r.examples(spec)]
    for unit, limit in subject.card.budget.items():
        charged = [(tool, cost.get(unit, Decimal(0))) for tool, cost in costs]
        if not any(v > 0 for _, v in charged):
            found.add(f"budget {unit}", "no request charges this unit")
        for tool, amount in charged:
            if amount > Decimal(str(limit)):
                found.add(f"budget {unit}", f"an example of {tool} costs more than there is", float(amount), limit)
    return found
