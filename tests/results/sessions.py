"""Bundles written by hand, for pages: many jobs, hostile texts. Their logs are whole; without a sealed truth they do not verify."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from evidence import ANSWER, RECORDS, LogWriter, digest, dumps, pack, store_payload

HOSTILE = '</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2"><!-- \u202e\u2028 {{7*7}} &lt;b&gt;'


def session(folder: Path, jobs: int, *, text: str = "", shots: int = 40, task: str = "transmon_t1") -> Path:
    """A session of `jobs` readouts; every text that an agent may write holds `text`."""
    (folder / RECORDS).mkdir(parents=True)
    rng = np.random.default_rng(0)
    entries = [{"date": "2026-01-02", "author": "A", "title": "T1", "text": f"T1 was 20 us. {text}", "data": None}]
    with _writer(folder) as log:
        log.append("session_opened", {
            "task": task, "task_version": "1.0.0", "qtype": "transmon_pulse", "session": "0" * 16, "instance": "fresh",
            "reproducible": False, "budget": {"jobs": float(jobs), "shots": float(2 * jobs * shots)}, "commitment": "", "versions": {},
            "notebook": store_payload(folder, {"entries": entries}),
        })  # fmt: skip
        for k in range(1, jobs + 1):
            _job(log, folder, k, shots, rng, text)
        if text:
            log.append("notebook_appended", {"text": text})
        answer = dumps({"t1_us": 30.0, "comment": text})
        (folder / ANSWER).write_bytes(answer)
        log.append("answer_submitted", {"sha256": digest(answer), "bytes": len(answer)})
    return folder


def _writer(folder: Path) -> contextlib.closing[LogWriter]:
    return contextlib.closing(LogWriter(folder))


def _job(log: LogWriter, folder: Path, k: int, shots: int, rng: np.random.Generator, text: str) -> None:
    job_id = f"j{k:04d}-{k:08x}"
    points = rng.normal(size=(3, shots)) + 1j * rng.normal(size=(3, shots)) + np.exp(-np.arange(3))[:, None] * 3
    data = pack({"iq": points.astype(np.complex64)})
    (folder / RECORDS / f"{job_id}.npz").write_bytes(data)
    request = {"shots": shots, "label": f"number {k} {text}", "sweep": [{"name": f"tau_ns{text}", "values": [0.0, 1000.0 * k, 9000.0 * k]}]}
    tool = "run_pulse_sequence" if k % 3 else "run_iq_reference"
    log.append("job_submitted", {"job_id": job_id, "number": k, "tool": tool, "request": store_payload(folder, request),
                                 "cost": {"jobs": 1.0, "shots": float(shots), "lab_s": 2.0}, "body_sha256": "", "key": None})  # fmt: skip
    log.append("job_started", {"job_id": job_id, "lab_start_s": 2.0 * (k - 1), "lab_end_s": 2.0 * k})
    if k % 97 == 0:
        problem = {"detail": f"no such thing {text}"}
        log.append("job_failed", {"job_id": job_id, "fault": "agent", "problem": problem, "refund": {"jobs": 1.0}})
        return
    described = [{"name": "iq", "dtype": "<c8", "shape": [3, shots], "unit": "mV", "axes": ["point", "shot"], "layout": f"I + iQ {text}"}]
    record = {"sha256": digest(data), "bytes": len(data), "arrays": described}
    log.append("job_completed", {"job_id": job_id, "record": record, "summary": {"note": text, "points": 3}})
