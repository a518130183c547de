"""The evidence log: append-only, hash-chained, event-sourced; raw records; the sealed truth; verification."""

from evidence.bundle import ANSWER, PAYLOADS, RECORDS, SCORE, Bundle, read_payload, store_payload
from evidence.canonical import EvidenceError, digest, dumps, loads
from evidence.files import write_whole
from evidence.ledger import Ledger, amounts
from evidence.log import LOG_NAME, Event, LogHeld, LogWriter, read_events
from evidence.records import pack, unpack
from evidence.sealed import Truth
from evidence.verify import Report, verify

__all__ = [
    "ANSWER", "LOG_NAME", "PAYLOADS", "RECORDS", "SCORE", "Bundle", "Event", "EvidenceError", "Ledger", "LogHeld", "LogWriter", "Report",
    "Truth", "amounts", "digest", "dumps", "loads", "pack", "read_events", "read_payload", "store_payload", "unpack", "verify",
    "write_whole",
]  # fmt: skip
