"""The evidence log: append-only, hash-chained, event-sourced; raw records; the sealed truth; verification."""

from evidence.bundle import ANSWER, PAYLOADS, RECORDS, SCORE, Bundle, read_payload, store_payload
from evidence.canonical import EvidenceError, digest, dumps, loads
from evidence.files import write_whole
from evidence.ledger import Ledger, amounts
from evidence.log import Event, LogWriter, read_events
from evidence.records import pack, unpack
from evidence.sealed import Truth
from evidence.verify import Report, verify

__all__ = [
    "ANSWER", "Bundle", "Event", "EvidenceError", "Ledger", "LogWriter", "PAYLOADS", "RECORDS", "Report", "SCORE", "Truth", "amounts",
    "digest", "dumps", "loads", "pack", "read_events", "read_payload", "store_payload", "unpack", "verify", "write_whole",
]  # fmt: skip
