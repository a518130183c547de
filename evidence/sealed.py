"""The sealed truth: hidden parameters, seeds and challenge, committed before the first experiment.

`sealed/device.json` is canonical JSON with a 256-bit salt; its SHA-256 is the commitment in the first event and in the public spec.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evidence.canonical import EvidenceError, digest, dumps, loads
from evidence.files import read_whole, write_whole

SEALED = "sealed/device.json"
MAX_SEALED = 256_000_000


def _salt() -> str:
    return secrets.token_hex(32)


@dataclass(frozen=True)
class Truth:
    """What only the laboratory and the grader know.

    `hidden_json` is the qtype's hidden state as JSON text, `seed` the session's root `SeedSequence` (entropy as a decimal string,
    spawn_key, pool_size), `challenge` the held-out challenge or None, `nonce` the session's nonce.
    """

    qtype: str
    hidden_json: str
    seed: dict[str, Any]
    challenge: dict[str, Any] | None
    challenge_salt: str
    nonce: str
    salt: str

    @classmethod
    def seal(cls, *, qtype: str, hidden_json: str, seed: dict[str, Any], challenge: dict[str, Any] | None, nonce: str) -> Truth:
        """With fresh salts."""
        return cls(qtype, hidden_json, seed, challenge, _salt(), nonce, _salt())

    def preimage(self) -> bytes:
        """The bytes whose SHA-256 is the commitment."""
        return dumps(asdict(self))

    @property
    def commitment(self) -> str:
        return digest(self.preimage())

    def challenge_preimage(self) -> bytes:
        """The bytes whose SHA-256 is the commitment to the challenge; revealed with it."""
        return dumps({"challenge": self.challenge, "salt": self.challenge_salt})

    @property
    def challenge_commitment(self) -> str | None:
        return None if self.challenge is None else digest(self.challenge_preimage())

    @property
    def root(self) -> np.random.SeedSequence:
        s = self.seed
        return np.random.SeedSequence(int(s["entropy"]), spawn_key=tuple(s["spawn_key"]), pool_size=s["pool_size"])

    def write(self, folder: Path) -> None:
        path = folder / SEALED
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, self.preimage(), mode=0o600)

    @classmethod
    def read(cls, folder: Path) -> Truth:
        """From a bundle; :class:`EvidenceError` where it is missing or not ours."""
        try:
            return cls(**loads(read_whole(folder / SEALED, MAX_SEALED)))
        except FileNotFoundError as exc:
            raise EvidenceError("the sealed truth is missing") from exc
        except (ValueError, TypeError, OSError) as exc:
            raise EvidenceError(f"the sealed truth is not readable ({type(exc).__name__})") from exc
