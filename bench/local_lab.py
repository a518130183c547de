"""A laboratory in the caller's process that leaves the bundle a sidecar would: same device, records, events and verdict, no HTTP.

For synthetic campaigns and tests of what reads bundles. It offers what solutions call (`lab.connect()`), and keeps each call with its
result as the MCP surface would have shown it, so that it can write a transcript of the session too.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from evidence import ANSWER, amounts, digest, dumps, store_payload, unpack, write_whole
from sidecar.admission import open_session
from sidecar.admission.opening import notebook_entries
from sidecar.backends.worker import INLINE_BYTES, Worker, plain
from sidecar.settings import Settings

PAGE = 20_000


class Refused(Exception):
    """A request that the budget does not hold."""


class Done(dict[str, Any]):
    """Arrays of a completed job by name; stands for the client's job and for its record."""

    job_id: str

    def result(self) -> Done:
        return self

    def wait(self) -> Done:
        return self


class LocalLab:
    """One session in `folder`. Call `close` at its end: it seals."""

    def __init__(self, task: str, folder: Path, *, nonce: str | None = None, suite_secret: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.session = open_session(Settings(task=task, out=folder, nonce=nonce, suite_secret=suite_secret))
        self.folder, self.truth = folder, self.session.truth
        (folder / "records").mkdir(exist_ok=True)
        setup = {"qtype": self.session.card.qtype, "hidden_json": self.truth.hidden_json, "profile": self.session.card.profile,
                 "seed": self.truth.seed, "folder": str(folder)}  # fmt: skip
        self.worker = Worker(setup)
        self.clock_s = 0.0
        self.jobs = 0
        self.asked = 0
        self.calls: list[dict[str, Any]] = []
        self.answered = False

    def __enter__(self) -> LocalLab:
        return self

    def __exit__(self, *_: object) -> None: ...

    def _append(self, kind: str, data: dict[str, Any]) -> None:
        self.session.state.apply(self.session.writer.append(kind, data))

    def _show(self, tool: str, arguments: Any, result: Any) -> Any:
        self.calls.append({"tool": tool, "arguments": json.loads(json.dumps(arguments, default=_plain)), "result": result})
        return result

    def spec(self) -> dict[str, Any]:
        card, opened = self.session.card, self.session.state.opened
        told = {"task": card.name, "session": opened["session"], "commitment": opened["commitment"],
                "spec": self.session.device.spec.model_dump(mode="json"), "budget": self.session.state.ledger.to_json()}  # fmt: skip
        return dict(self._show("get_spec", {}, told))

    def notebook(self) -> list[dict[str, Any]]:
        return list(self._show("read_notebook", {}, {"entries": notebook_entries(self.session)})["entries"])

    def append_notebook(self, text: str) -> None:
        self._append("notebook_appended", {"text": text})
        self._show("append_notebook", {"text": text}, {"appended": True})

    def budget(self) -> dict[str, Any]:
        return self.session.state.ledger.to_json()

    def material(self, name: str) -> str:
        device = self.session.device
        return next(m.text for m in self.session.qtype.materials(device.spec, device.profile) if m.name == name)

    def submit(self, tool: str, /, **fields: Any) -> Done:
        """Run an experiment; :class:`Refused` where the budget does not hold it."""
        request = self.worker.qtype.tools()[tool].model_validate_json(json.dumps(fields, default=_plain))
        request.admit(self.session.device.spec)
        cost = request.cost()
        unit = self.session.state.ledger.exceeded(amounts(cost.to_json()))
        if unit is not None:
            raise Refused(f"not enough {unit} is left")
        self.jobs += 1
        text = request.model_dump_json()
        job_id = f"j{self.jobs:04d}-{digest(text.encode() + self.truth.nonce.encode())[:8]}"
        payload = store_payload(self.folder, json.loads(text))
        self._append("job_submitted", {"job_id": job_id, "number": self.jobs, "tool": tool, "request": payload, "cost": cost.to_json(),
                                       "body_sha256": digest(text.encode()), "key": None})  # fmt: skip
        start, self.clock_s = self.clock_s, self.clock_s + float(cost.lab_s)
        self._append("job_started", {"job_id": job_id, "lab_start_s": start, "lab_end_s": self.clock_s})
        done = self.worker.run({"tool": tool, "request": text, "lab_start_s": start, "number": self.jobs, "job_id": job_id})
        self._append("job_completed", {"job_id": job_id, **done})
        arrays = unpack((self.folder / "records" / f"{job_id}.npz").read_bytes())
        view = self.session.state.jobs[job_id].view()
        inline = {name: plain(values) for name, values in arrays.items()}
        if done["record"]["bytes"] <= INLINE_BYTES and len(json.dumps(inline)) <= INLINE_BYTES:
            view["record"] = {**view["record"], "inline": inline}
        self._show(tool, fields, view)
        found = Done(arrays)
        found.job_id = job_id
        return found

    run = submit

    def query(self, tool: str, /, **fields: Any) -> dict[str, Any]:
        """A query that reads no record."""
        text = self.worker.qtype.tools()[tool].model_validate_json(json.dumps(fields, default=_plain)).model_dump_json()
        self.asked += 1
        result = self.worker.query({"tool": tool, "request": text, "number": self.asked})["result"]
        self._append("query_answered", {
            "number": self.asked, "tool": tool, "request": store_payload(self.folder, json.loads(text)),
            "result": store_payload(self.folder, result), "cost": {}, "quota": None, "body_sha256": digest(text.encode()), "key": None,
            "bytes": 0,
        })  # fmt: skip
        return dict(self._show(tool, fields, result))

    def fetch_record(self, job_id: str, array: str) -> None:
        """Show an array in pages, as `fetch_record` gives them."""
        values = unpack((self.folder / "records" / f"{job_id}.npz").read_bytes())[array]
        sha256, flat = self.session.state.jobs[job_id].record["sha256"], values.reshape(-1)  # type: ignore[index]
        for at in range(0, flat.size, PAGE):
            page = flat[at : at + PAGE]
            end = at + page.size
            asked = {"job_id": job_id, "array": array, "offset": at, "count": PAGE, "encoding": "base64"}
            told = {"job_id": job_id, "array": array, "dtype": values.dtype.str, "shape": list(values.shape), "record_sha256": sha256,
                    "offset": at, "count": int(page.size), "next_offset": end if end < flat.size else None,
                    "data": base64.b64encode(page.tobytes()).decode()}  # fmt: skip
            self._show("fetch_record", asked, told)

    def lock_and_reveal(self) -> dict[str, Any]:
        self._append("challenge_revealed", {"challenge_commitment": self.truth.challenge_commitment})
        return dict(self._show("lock_and_reveal", {}, {"challenge": self.truth.challenge, "salt": self.truth.challenge_salt}))

    def check_answer(self, answer: Any) -> dict[str, Any]:
        return dict(self._show("check_answer", {"answer": answer}, {"valid": True}))

    def submit_answer(self, answer: Any) -> dict[str, Any]:
        data = dumps(json.loads(json.dumps(answer, default=_plain)))
        write_whole(self.folder / ANSWER, data)
        self._append("answer_submitted", {"sha256": digest(data), "bytes": len(data)})
        self.answered = True
        return dict(self._show("submit_answer", {"answer": json.loads(data)}, {"accepted": True, "phase": "sealed"}))

    def close(self, *, seal: bool = True) -> Path:
        """Seal and leave; gives the bundle."""
        if seal:
            self._append("session_sealed", {"reason": "answer submitted" if self.answered else "sealed by the operator"})
        self.session.writer.sync()
        self.session.writer.close()
        return self.folder


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else float(value)
