"""Distance certificates of the base and extended codes: `python -m qtypes.stabilizer_codes.certify [--only ID] [--most N]`; with
`--baselines` the digests of all baselines and the counts of their single faults instead (`baselines.json`).

Writes `certificates.json` beside this file: for each code and kind of operator (X, Z of a CSS code, else XYZ) the proven lower bound, the
weight of a witness, and the witness. Everything but [[144,12,12]] and a few of the extended set takes seconds; `--most` bounds the number
of syndromes of one search. Results of earlier runs are kept where they are at least as strong.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from qtypes.stabilizer_codes import baseline, circuits, codes, distance, extended, families, gf2, oracles

FILE = Path(__file__).with_name("certificates.json")


def kinds(generators: tuple[str, ...]) -> tuple[str, ...]:
    """What is searched separately: X and Z for CSS codes, all Pauli operators together otherwise."""
    pure = all(not ("X" in g and "Z" in g) and "Y" not in g for g in generators)
    return ("X", "Z") if pure else ("XYZ",)


def certificate(generators: tuple[str, ...], period: int | None, most: int, rounds: int = 60) -> dict[str, dict[str, object]]:
    """Bounds for each kind; `{"state": ...}` for a code without logical qubits."""
    n = len(generators[0])
    rows = [gf2.parse(g) for g in generators]
    rng = np.random.default_rng(n)
    found: dict[str, distance.Bounds | None] = {"state": distance.least_weight(rows, n)} if gf2.rank(rows) == n else {
        kind: distance.bounds(rows, n, kind, period=period, rng=rng, rounds=rounds, most=most) for kind in kinds(generators)
    }  # fmt: skip
    return {kind: {"lower": b.lower, "upper": b.upper, "witness": gf2.show(b.witness, n)} for kind, b in found.items() if b is not None}


def write_baselines() -> None:
    """Digest and fault counts of the baseline of every code, in the order of the ids. Counts are kept where the digest is the recorded
    one."""
    names = (*codes.ids("all"), *codes.ids("extended"), *codes.ids("published"))
    texts = {name: baseline.synthesise(codes.load(name).generators) for name in names}
    old = baseline.recorded()
    found: dict[str, dict[str, object]] = {name: {"sha256": baseline.digest(text)} for name, text in texts.items()}
    for name, entry in found.items():
        if old.get(name, {}).get("sha256") == entry["sha256"] and "faults" in old[name]:
            entry["faults"] = old[name]["faults"]
    for name, entry in found.items():
        if "faults" not in entry:
            code = codes.load(name)
            counted = asdict(oracles.sweep(circuits.parse(texts[name], code.n), code))
            entry["faults"] = {part: list(counts.values()) for part, counts in counted.items()}
            print(name, entry["faults"], flush=True)
        lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(e)}" for n, e in found.items())
        baseline.FILE.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one code")
    parser.add_argument("--most", type=int, default=2 * 10**7, help="most syndromes of one search")
    parser.add_argument("--baselines", action="store_true", help="write baselines.json")
    args = parser.parse_args()
    if args.baselines:
        write_baselines()
        return
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    periods = {"bb_72": 36, "bb_90": 45, "bb_90_published": 45}
    jobs = [(b.id, b.build, periods.get(b.id)) for b in families.BASES] + [(e.id, e.build, e.period) for e in extended.EXTRAS]
    jobs.append(("bb_90_published", families.bb_90_published, 45))
    for name, build, period in jobs:
        if args.only not in (None, name):
            continue
        new = certificate(build(), period, args.most)
        old = known.get(name, {})
        known[name] = {
            kind: {**c, "lower": max(c["lower"], old[kind]["lower"])} if kind in old and old[kind]["upper"] == c["upper"] else c
            for kind, c in new.items()
        }  # fmt: skip
        print(name, {kind: (c["lower"], c["upper"]) for kind, c in known[name].items()}, flush=True)
        FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
