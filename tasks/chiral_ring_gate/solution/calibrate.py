"""Jobs of the solvers: readout references, swaps of pairs, scans of the loop phase, and the evidence that an answer rests on."""

from __future__ import annotations

from typing import Any

import numpy as np
from ring import Data, swap_fit

import lab

PAIRS = ("12", "23", "31")
SITES = ("100", "010", "001")
HOLES = ("011", "101", "110")
HOP = 3.0
GATE_NS = 64
REFERENCE_SHOTS = 4000
EVIDENCE_SHOTS = 4000
SCAN_RAD = np.arange(6) * np.pi / 3
SWAP_NS = (30, 60, 80, 100, 130, 160, 200, 240)

Tones = list[dict[str, Any]]


def tones(amp: np.ndarray, freq: np.ndarray, phase: np.ndarray) -> Tones:
    return [
        {"pair": p, "amp": float(a), "freq_mhz": float(f), "phase_rad": float(x)}
        for p, a, f, x in zip(PAIRS, amp, freq, phase, strict=True)
    ]


class Bench:
    """The laboratory with its readout references."""

    def __init__(self, dev: lab.Lab) -> None:
        self.dev = dev
        records = [self._ring(s, [], (0,), REFERENCE_SHOTS) for s in ("000", "111")]
        self.references = [r.job_id for r in records]
        self.p1 = np.stack([r["bits"][0].mean(axis=0) for r in records])
        self.scan_ids: list[str] = []

    def _ring(self, initial: str, what: Tones, durations: tuple[int, ...], shots: int) -> Any:
        return self.dev.run("run_ring_evolution", initial=initial, tones=what, durations_ns=list(durations), basis="ZZZ", shots=shots)

    def corrected(self, bits: np.ndarray) -> np.ndarray:
        """Populations of |1> `(..., 3)` of bits `(..., shot, qubit)`."""
        return np.asarray((bits.mean(axis=-2) - self.p1[0]) / (self.p1[1] - self.p1[0]))

    def swaps(self, amp: np.ndarray, freq: np.ndarray, shots: int = 150) -> tuple[np.ndarray, np.ndarray]:
        """Hop and frequency of each pair, the other couplers off."""
        found = []
        for c, pair in enumerate(PAIRS):
            freqs = freq[c] + np.array([-1.5, 0.0, 1.5])
            record = self.dev.run(
                "run_pair_swap", pair=pair, amp=float(amp[c]), freqs_mhz=freqs.tolist(), durations_ns=list(SWAP_NS), shots=shots
            )
            arrived = self.corrected(record["bits"])[..., (c + 1) % 3]
            found.append(swap_fit(freqs, np.array(SWAP_NS, dtype=float), arrived, (amp[c] / 2, freq[c]))[:2])
        return np.array(found)[:, 0], np.array(found)[:, 1]

    def scan(
        self, amp: np.ndarray, freq: np.ndarray, phase: np.ndarray, durations: tuple[int, ...], shots: int, starts: tuple[int, ...]
    ) -> list[Data]:
        """Populations at six loop phases around the circle: the phase of tone 31 is turned."""
        data = []
        for turn in SCAN_RAD:
            turned = phase + np.array([0.0, 0.0, turn])
            records = [self._ring(SITES[s], tones(amp, freq, turned), durations, shots) for s in starts]
            self.scan_ids += [r.job_id for r in records]
            seen = np.stack([self.corrected(r["bits"]) for r in records])
            data.append(Data(starts, float(turned.sum()), np.array(durations, dtype=float), seen, shots))
        return data

    def evidence(self, amp: np.ndarray, freq: np.ndarray, phase: np.ndarray) -> dict[str, Any]:
        """Evolution of all six states under these tones for one gate, and the answer that it supports."""
        gate = tones(amp, freq, phase)
        invert = [np.linalg.inv([[1 - z, 1 - o], [z, o]]) for z, o in self.p1.T]
        matrix = np.kron(np.kron(invert[0], invert[1]), invert[2])
        ids, tables = [], []
        for strings in (SITES, HOLES):
            rows = []
            for s in strings:
                record = self._ring(s, gate, (GATE_NS,), EVIDENCE_SHOTS)
                ids.append(record.job_id)
                seen = np.bincount(record["bits"][0] @ [4, 2, 1], minlength=8) / EVIDENCE_SHOTS
                rows.append([float(np.clip((matrix @ seen)[int(end, 2)], 0, 1)) for end in strings])
            tables.append(rows)
        return {"tones": gate, "duration_ns": GATE_NS, "transfer_prob": tables[0], "hole_prob": tables[1],
                "job_ids": [*self.references, *self.scan_ids, *ids]}  # fmt: skip
