"""The laboratory of one session: every operation that REST and MCP offer, once."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import hashlib
import json
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import structlog
from pydantic import BaseModel

import graders
from evidence import ANSWER, Event, digest, loads, read_payload, store_payload, unpack, write_whole
from evidence.bundle import INLINE_BYTES as PAYLOAD_BYTES
from qtypes import AgentError, Experiment, LabFault, Query
from qtypes.contract import Material
from qtypes.errors import shown
from qtypes.schemas import flat_schema
from sidecar.admission import JobState, OpenSession, parse
from sidecar.admission.opening import notebook_entries
from sidecar.admission.state import Keyed
from sidecar.backends.worker import INLINE_BYTES, plain
from sidecar.jobs import Committer, Engine, Pool
from sidecar.settings import Settings

log = structlog.get_logger()
WAIT_S = 30.0
NOTE_CHARS = 20_000
NOTES = 1_000
QUERY_BYTES = 500_000_000
"""What queries may add to the evidence in a session: free ones must not fill the disk."""
EVENT_BYTES = 1_000
_KEY = re.compile(r"[A-Za-z0-9_.:-]{8,128}\Z")


class Lab:
    """One object per session; all methods run on the event loop and return JSON-able values or raise :class:`AgentError`."""

    def __init__(self, session: OpenSession, settings: Settings) -> None:
        self.session = session
        self.card = session.card
        self.state = session.state
        self.committer = Committer(session.writer)
        (session.folder / "records").mkdir(exist_ok=True)
        setup = {
            "qtype": self.card.qtype, "hidden_json": session.truth.hidden_json, "profile": self.card.profile,
            "seed": session.truth.seed, "folder": str(session.folder.resolve()),
        }  # fmt: skip
        self.pool = Pool(setup, settings.workers, settings.job_timeout_s)
        self.engine = Engine(session, self.pool, self.committer, self._record)
        self.tools = session.qtype.tools()
        self._pending: list[dict[str, Decimal]] = []
        self._pending_quota: Counter[str] = Counter()
        self._under_way: dict[str, str] = {}
        self._query_number = self.state.queries
        self._refusals: Counter[str] = Counter()
        self._sealing = False
        self._ending = asyncio.Lock()
        self._materials: dict[str, Material] | None = None
        self._notebook = notebook_entries(session)

    # -- life -------------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        for stray in (self.session.folder / "records").glob(".*"):
            stray.unlink(missing_ok=True)
        if self.state.phase == "sealed" and not self.state.closed:  # killed between the answer and the seal
            await self._append("session_sealed", {"reason": "answer submitted"})
        self.engine.start()
        self._warming = asyncio.create_task(self.pool.warm())

    async def close(self) -> None:
        self._warming.cancel()
        await asyncio.gather(self._warming, return_exceptions=True)
        await self.engine.close()
        self.session.writer.close()

    def _record(self, kind: str, data: dict[str, Any]) -> Event:
        event = self.session.writer.append(kind, data)
        self.state.apply(event)
        return event

    async def _append(self, kind: str, data: dict[str, Any]) -> None:
        try:
            self._record(kind, data)
        except OSError as exc:
            raise LabFault(f"the log does not take an event: {exc}") from exc
        await self.committer.durable()

    def refused(self, error: AgentError) -> None:
        """Count a refusal; the log keeps the count at powers of ten, so that abuse is on record and cannot fill the disk."""
        self._refusals[error.code] += 1
        total = self._refusals.total()
        if str(total).rstrip("0") == "1" and total >= 10 and not self.state.closed:
            try:
                self._record("refusals_counted", {"total": total, "by_code": dict(self._refusals.most_common(20))})
            except (OSError, ValueError):
                log.warning("refusals could not be recorded")

    # -- reading ----------------------------------------------------------------------------------------------------------

    def spec(self) -> dict[str, Any]:
        """The public description of the session."""
        qtype, opened = self.session.qtype, self.state.opened
        return {
            "task": self.card.name, "version": self.card.version, "title": self.card.title, "mode": self.card.mode,
            "session": opened["session"], "phase": self.state.phase, "lab_clock_s": self.state.lab_clock_s,
            "commitment": opened["commitment"], "challenge_commitment": opened["challenge_commitment"],
            "qtype": qtype.name, "platform": qtype.title, "spec": self.session.device.spec.model_dump(mode="json"),
            "experiments": [_tool(c) for c in qtype.experiments], "queries": [_tool(c) for c in qtype.queries],
            "budget": self.budget(), "limits": self.card.limits.model_dump(),
            "answer_schema": flat_schema(graders.load(self.card.name).Answer),
        }  # fmt: skip

    def budget(self) -> dict[str, Any]:
        return self.state.ledger.to_json()

    def _material_table(self) -> dict[str, Material]:
        if self._materials is None:
            device = self.session.device
            self._materials = {m.name: m for m in self.session.qtype.materials(device.spec, device.profile)}
        return self._materials

    def materials(self) -> list[dict[str, Any]]:
        return [
            {
                "name": m.name, "description": m.description, "media_type": m.media_type, "bytes": len(m.text.encode()),
                "sha256": digest(m.text.encode()),
            }
            for m in self._material_table().values()
        ]  # fmt: skip

    def material(self, name: str) -> Material:
        table = self._material_table()
        if name not in table:
            raise AgentError(
                f"no material {shown(name)!r}; there are: {', '.join(table) or 'none'}",
                field="name",
                got=name,
                code="unknown-material",
                status=404,
            )
        return table[name]

    async def notebook(self) -> list[dict[str, Any]]:
        """All entries, oldest first; the first reading is logged."""
        if not self.state.notebook_read and self.state.phase != "sealed":
            await self._append("notebook_read", {})
        return [*self._notebook, *self.state.notes]

    async def append_notebook(self, text: Any) -> dict[str, Any]:
        """Append an entry of the agent. Notebook text is data: nothing acts on it."""
        if not isinstance(text, str) or not text or len(text) > NOTE_CHARS:
            raise AgentError(
                "a note is a text of limited length", field="text", got=text, limit=f"1 to {NOTE_CHARS} characters", code="invalid-field"
            )
        if len(self.state.notes) >= NOTES:
            raise AgentError("the notebook is full", field="text", limit=NOTES, unit="entries", code="limit-reached", status=409)
        self._must_be_open()
        await self._append("notebook_appended", {"text": text.encode("utf-8", "replace").decode()})
        return {"entries": len(self._notebook) + len(self.state.notes)}

    # -- admission --------------------------------------------------------------------------------------------------------

    def _must_be_open(self) -> None:
        if self._sealing or self.state.phase == "sealed":
            raise AgentError("the session is sealed", code="session-sealed", status=409)

    def _must_measure(self) -> None:
        self._must_be_open()
        if self.state.phase == "locked":
            raise AgentError("the challenge is revealed: no further experiment counts", code="session-locked", status=409)
        age = (dt.datetime.now(dt.UTC) - self.state.opened_at).total_seconds()
        if age > self.card.limits.wall_s:
            raise AgentError(
                "the wall time of the session is used up", limit=self.card.limits.wall_s, unit="s", code="wall-time-exhausted", status=409
            )

    def _tool(self, name: str, kind: type[BaseModel]) -> Any:
        model = self.tools.get(name)
        if model is None or not issubclass(model, kind):
            known = ", ".join(n for n, m in self.tools.items() if issubclass(m, kind))
            raise AgentError(
                f"no such tool: {shown(name)!r}; there are: {known or 'none'}", field="tool", got=name, code="unknown-tool", status=404
            )
        return model

    def _key(self, key: str | None, body_sha256: str) -> Keyed | None:
        """What `key` was used for before, None if it is new; a key with another body is refused."""
        if key is None:
            return None
        if not isinstance(key, str) or not _KEY.match(key):
            raise AgentError(
                "an idempotency key has 8 to 128 characters of A-Z a-z 0-9 _ . : -", field="idempotency_key", got=key, code="invalid-field"
            )
        earlier = self.state.keys.get(key)
        body = earlier.body_sha256 if earlier is not None else self._under_way.get(key)
        if body is not None and body != body_sha256:
            raise AgentError(
                "this idempotency key was used for another request", field="idempotency_key", got=key, code="key-reused", status=409
            )
        if earlier is None and body is not None:
            raise AgentError(
                "the request with this idempotency key is still under way; retry shortly",
                field="idempotency_key",
                got=key,
                code="under-way",
                status=429,
            )
        return earlier

    def _must_afford(self, cost: dict[str, Decimal]) -> None:
        total = dict(cost)
        for pending in self._pending:
            for name, amount in pending.items():
                total[name] = total.get(name, Decimal(0)) + amount
        if (unit := self.state.ledger.exceeded(total)) is not None:
            ledger, wanted = self.state.ledger, cost.get(unit, Decimal(0))
            left = (ledger.left(unit) or Decimal(0)) - (total[unit] - wanted)
            raise AgentError(
                f"the request costs {float(wanted):g} {unit}, more than what is left; nothing is charged", field=unit, got=float(wanted),
                limit=float(ledger.limits[unit]), unit=unit, left=float(left), code="budget-exhausted", status=409,
            )  # fmt: skip

    async def submit(self, tool: str, body: bytes, key: str | None = None) -> dict[str, Any]:
        """Admit an experiment: validate, debit all units or refuse all, log, make durable, acknowledge."""
        model = self._tool(tool, Experiment)
        request: Experiment = parse(model, body)
        text = request.model_dump_json()
        body_sha256 = hashlib.sha256(f"{tool}\n{text}".encode()).hexdigest()
        earlier = self._key(key, body_sha256)
        if earlier is not None and earlier.job_id is not None:
            await self.committer.durable()
            return self.job(earlier.job_id)
        self._must_measure()
        request.admit(self.session.device.spec)
        cost = request.cost()
        self._must_afford(cost.metered())
        if len(self.state.pending()) + len(self._pending) >= self.card.limits.queue:
            raise AgentError(
                "too many jobs wait; wait for one or cancel one", limit=self.card.limits.queue, unit="jobs", code="queue-full", status=429
            )
        metered = cost.metered()
        self._pending.append(metered)
        if key is not None:
            self._under_way[key] = body_sha256
        try:
            payload = await self._payload(json.loads(text), len(text))
            self._must_measure()
            number = len(self.state.jobs) + 1
            job_id = self._job_id(number)
            self._record("job_submitted", {
                "job_id": job_id, "number": number, "tool": tool, "request": payload, "cost": cost.to_json(),
                "body_sha256": body_sha256, "key": key,
            })  # fmt: skip
        except OSError as exc:
            raise LabFault(f"a job could not be admitted: {exc}") from exc
        finally:
            self._pending.remove(metered)
            self._under_way.pop(key or "", None)
        self.engine.enqueue(self.state.jobs[job_id])
        await self.committer.durable()
        return self.job(job_id, inline=False)

    async def _payload(self, value: Any, characters: int) -> dict[str, Any]:
        """The reference of a request for its event; a file is written in a thread, a small request needs none."""
        if characters <= PAYLOAD_BYTES:
            return store_payload(self.session.folder, value)
        return await asyncio.to_thread(store_payload, self.session.folder, value)

    def _job_id(self, number: int) -> str:
        """Names the session, so that a job of another session is recognised; carries no entropy of the device."""
        tag = hashlib.sha256(f"{self.state.opened['session']}/{number}".encode()).hexdigest()[:8]
        return f"j{number:04d}-{tag}"

    # -- jobs -------------------------------------------------------------------------------------------------------------

    def _job(self, job_id: str) -> JobState:
        job = self.state.jobs.get(job_id) if isinstance(job_id, str) else None
        if job is None:
            raise AgentError(f"no such job: {shown(str(job_id))!r}", field="job_id", got=job_id, code="unknown-job", status=404)
        return job

    def jobs(self) -> list[dict[str, Any]]:
        return [j.view() for j in self.state.jobs.values()]

    def job(self, job_id: str, *, inline: bool = True) -> dict[str, Any]:
        """One job; a small record travels inline."""
        job = self._job(job_id)
        view = job.view()
        if inline and job.record is not None and job.record["bytes"] <= INLINE_BYTES:
            arrays = unpack((self.session.folder / "records" / f"{job.job_id}.npz").read_bytes())
            content = {name: plain(values) for name, values in arrays.items()}
            if len(json.dumps(content, separators=(",", ":"))) <= INLINE_BYTES:
                view["record"] = {**view["record"], "inline": content}
        return view

    async def wait(self, job_id: str, timeout_s: float) -> dict[str, Any]:
        """The job once it has ended, at the latest after `timeout_s` (at most 30 s)."""
        job = self._job(job_id)
        if not 0 <= timeout_s <= WAIT_S:
            raise AgentError(
                "the time to wait is bounded",
                field="timeout_s",
                got=timeout_s,
                limit={"ge": 0, "le": WAIT_S},
                unit="s",
                code="invalid-field",
            )
        if job.status in ("queued", "running"):
            await self.engine.wait(job_id, timeout_s)
        return self.job(job_id)

    async def cancel(self, job_id: str) -> dict[str, Any]:
        job = self._job(job_id)
        self._must_be_open()
        if job.status not in ("queued", "running"):
            raise AgentError(f"the job is {job.status}", field="job_id", got=job_id, code="job-ended", status=409)
        await self.engine.cancel(job)
        return self.job(job_id, inline=False)

    async def record(self, job_id: str) -> tuple[bytes, str]:
        """The `.npz` of a completed job and its SHA-256."""
        job = self._job(job_id)
        if job.record is None:
            raise AgentError(f"the job is {job.status}: it has no record", field="job_id", got=job_id, code="no-record", status=409)
        if job_id not in self.state.fetched:
            if self.state.phase == "sealed":
                self.state.fetched.add(job_id)
            else:
                await self._append("job_fetched", {"job_id": job_id})
        path = self.session.folder / "records" / f"{job_id}.npz"
        return await asyncio.to_thread(path.read_bytes), str(job.record["sha256"])

    async def record_page(self, job_id: str, array: str, offset: int, count: int, encoding: str) -> dict[str, Any]:
        """A page of one array, flattened in C order: numbers as JSON (complex as `[re, im]`) or base64 of little-endian bytes."""
        data, sha256 = await self.record(job_id)
        arrays = await asyncio.to_thread(unpack, data)
        if array not in arrays:
            raise AgentError(
                f"no array {shown(array)!r}; there are: {', '.join(arrays)}", field="array", got=array, code="unknown-array", status=404
            )
        values = arrays[array].reshape(-1)
        most = 20_000 if encoding == "base64" else 4_000
        if not 0 <= offset <= values.size or not 1 <= count <= most:
            field, got, limit = ("count", count, most) if 0 <= offset <= values.size else ("offset", offset, values.size)
            raise AgentError("a page lies within the array", field=field, got=got, limit=limit, unit="elements", code="invalid-field")
        page = values[offset : offset + count]
        end = offset + page.size
        little = page.astype(page.dtype.newbyteorder("<"))
        return {
            "job_id": job_id, "array": array, "dtype": little.dtype.str, "shape": list(arrays[array].shape), "record_sha256": sha256,
            "offset": offset, "count": int(page.size), "next_offset": end if end < values.size else None,
            "data": base64.b64encode(little.tobytes()).decode() if encoding == "base64" else plain(page),
        }  # fmt: skip

    # -- queries ----------------------------------------------------------------------------------------------------------

    async def query(self, tool: str, body: bytes, key: str | None = None) -> dict[str, Any]:
        """Answer a query at once; charged and logged only if it is answered."""
        model = self._tool(tool, Query)
        request: Query = parse(model, body)
        text = request.model_dump_json()
        body_sha256 = hashlib.sha256(f"{tool}\n{text}".encode()).hexdigest()
        earlier = self._key(key, body_sha256)
        if earlier is not None and earlier.result is not None:
            return dict(loads(read_payload(self.session.folder, earlier.result)))
        self._must_measure()
        request.admit(self.session.device.spec)
        cost, quota = request.cost(), request.quota()
        self._must_afford(cost.metered())
        if quota is not None and self.state.quotas.get(quota[0], 0) + self._pending_quota[quota[0]] >= quota[1]:
            raise AgentError(
                f"this query is answered {quota[1]} time(s)",
                field=model.record_field,
                limit=quota[1],
                unit="answers",
                code="quota-used",
                status=409,
            )
        if self.state.query_bytes >= QUERY_BYTES:
            raise AgentError("too many queries in this session", limit=QUERY_BYTES, unit="bytes", code="limit-reached", status=409)
        self._query_number += 1
        message: dict[str, Any] = {"op": "query", "tool": tool, "request": text, "number": self._query_number}
        if model.record_field is not None:
            source = self._job(getattr(request, model.record_field))
            if source.record is None:
                raise AgentError(
                    f"the job is {source.status}: it has no record",
                    field=model.record_field,
                    got=source.job_id,
                    code="no-record",
                    status=409,
                )
            message |= {"record_job": source.job_id, "source_tool": source.tool,
                        "source_request": read_payload(self.session.folder, source.request).decode("utf-8", "surrogatepass")}  # fmt: skip
        metered = cost.metered()
        self._pending.append(metered)
        if quota is not None:
            self._pending_quota[quota[0]] += 1
        if key is not None:
            self._under_way[key] = body_sha256
        try:
            outcome = await self.pool.call(message, urgent=True)
            if "refused" in outcome:
                problem = outcome["refused"]
                raise AgentError(problem["detail"], field=problem.get("field"), got=problem.get("got"), limit=problem.get("limit"),
                                 unit=problem.get("unit"), code=problem["title"].replace(" ", "-"), status=problem["status"])  # fmt: skip
            if "result" not in outcome:
                raise LabFault("a query failed in its worker")
            request_ref = await self._payload(json.loads(text), len(text))
            result_ref = await asyncio.to_thread(store_payload, self.session.folder, outcome["result"])
            self._must_measure()
            self._record("query_answered", {
                "number": message["number"], "tool": tool, "request": request_ref, "result": result_ref, "cost": cost.to_json(),
                "quota": quota[0] if quota else None, "body_sha256": body_sha256, "key": key,
                "bytes": len(text) + len(json.dumps(outcome["result"])) + EVENT_BYTES,
            })  # fmt: skip
        except OSError as exc:
            raise LabFault(f"a query could not be logged: {exc}") from exc
        finally:
            self._pending.remove(metered)
            self._under_way.pop(key or "", None)
            if quota is not None:
                self._pending_quota[quota[0]] -= 1
        await self.committer.durable()
        return dict(outcome["result"])

    # -- the end ----------------------------------------------------------------------------------------------------------

    async def lock_and_reveal(self) -> dict[str, Any]:
        """Close all experiments and reveal the committed challenge. Asking again gives the same challenge."""
        truth = self.session.truth
        if truth.challenge is None:
            raise AgentError("this task has no held-out challenge", code="no-challenge", status=409)
        if self.state.phase == "measuring":
            self._must_be_open()
            if self.state.pending() or self._pending:
                raise AgentError("jobs are still waiting or running; wait for them or cancel them first", code="jobs-pending", status=409)
            await self._append("challenge_revealed", {"challenge_commitment": truth.challenge_commitment})
        return {"challenge": truth.challenge, "salt": truth.challenge_salt, "commitment": truth.challenge_commitment,
                "preimage": 'canonical JSON of {"challenge", "salt"} (sorted keys, no blanks); its SHA-256 is the commitment'}  # fmt: skip

    async def check_answer(self, body: bytes) -> dict[str, Any]:
        """Schema only: says nothing about whether the answer is right."""
        await asyncio.to_thread(parse, graders.load(self.card.name).Answer, body)
        return {"valid": True, "bytes": len(body), "note": "the schema holds; nothing else was looked at and nothing was recorded"}

    async def submit_answer(self, body: bytes) -> dict[str, Any]:
        """Final: seals the session. Waiting and running jobs are cancelled."""
        sha256 = digest(body)
        if self.state.answer_sha256 != sha256:
            self._must_be_open()
            await asyncio.to_thread(parse, graders.load(self.card.name).Answer, body)
        async with self._ending:  # one ending at a time: a second answer, or the operator's seal, finds the session sealed
            if self.state.answer_sha256 == sha256 and self.state.closed:
                await self.committer.durable()
            else:
                self._must_be_open()
                await self._end("answer submitted", body)
        return {"accepted": True, "sha256": sha256, "phase": "sealed"}

    async def seal(self, reason: str) -> None:
        """End the session without an answer (the operator's command)."""
        async with self._ending:
            if not self.state.closed:
                await self._end(reason, None)

    async def _end(self, reason: str, answer: bytes | None) -> None:
        """Cancel what waits or runs, store the answer if there is one, write the seal."""
        self._sealing = True
        try:
            for job in sorted(self.state.pending(), key=lambda j: j.status == "running"):  # or the next one would start meanwhile
                await self.engine.cancel(job)
            if answer is not None:
                await asyncio.to_thread(write_whole, self.session.folder / ANSWER, answer)
                self._record("answer_submitted", {"sha256": digest(answer), "bytes": len(answer)})
            await self._append("session_sealed", {"reason": reason})
        except OSError as exc:
            raise LabFault(f"the session could not be sealed: {exc}") from exc
        finally:
            self._sealing = False


def _tool(model: type[Experiment] | type[Query]) -> dict[str, Any]:
    return {"tool": model.tool, "description": " ".join((model.__doc__ or "").split()), "schema": flat_schema(model)}
