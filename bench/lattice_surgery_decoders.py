"""Reference, trap and true-noise decoder of `lattice_surgery_cnot` on the same fresh devices, through the real laboratory.

`python -m bench.lattice_surgery_decoders --devices 20` draws device seeds from the operating system, runs both solution scripts on each
device (embedded sidecar, agent process, grader), and decodes the grader's test circuits with CANON of the true noise. It writes
`docs/calibration/lattice_surgery_cnot_decoders.json`, goes on where an earlier run stopped, and then draws
`docs/tasks/lattice_surgery_cnot.svg`; `--plot` summarises and draws what is there.
"""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from evidence import Bundle
from graders.kit.decoding import Deadline
from graders.lattice_surgery_cnot import (
    CNOT_EACH_LIMIT,
    CNOT_MEAN_LIMIT,
    DECODE_BUDGET_S,
    MEMORY_LIMIT,
    errors,
    replay,
    targets,
)
from lab.conventions import read_graph
from qharbor import embedded
from qharbor.check import cpu_seconds
from qtypes.contract import Device
from qtypes.surface_code_lattice_surgery import QTYPE
from qtypes.surface_code_lattice_surgery.device import Hidden, Profile
from qtypes.surface_code_lattice_surgery.physics import noisy

TASK = "lattice_surgery_cnot"
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "calibration" / f"{TASK}_decoders.json"
PLOT = ROOT / "docs" / "tasks" / f"{TASK}.svg"
SOLVERS = ("reference", "trap")
TRUE = "true_noise"
KINDS = ("memory_error_per_cycle", "cnot_error")


def true_noise(bundle: Path) -> dict[str, Any]:
    """Errors of the decoder that knows the noise: CANON of the hidden circuits, on shots of its own."""
    hidden = Hidden.model_validate_json(Bundle(bundle).truth().hidden_json)
    device = Device(QTYPE.spec(hidden, Profile()), hidden, Profile())
    graphs = {t.name: read_graph(noisy(t.program, hidden, 0.0).detector_error_model(decompose_errors=True)) for t in targets()}
    return errors(replay(graphs, device, 0.0, np.random.SeedSequence(secrets.randbits(256)), Deadline(DECODE_BUDGET_S)))


def one_device(seed: int) -> dict[str, Any]:
    """A row of the table."""
    row: dict[str, Any] = {"seed": str(seed)}
    with tempfile.TemporaryDirectory(prefix="lattice-") as name:
        for solver in SOLVERS:
            before = cpu_seconds()
            trial = embedded.run(TASK, solver, out=Path(name) / solver, seed=seed)
            v = trial.verdict.to_json()
            row[solver] = {
                "outcome": v["outcome"], "failed": [c["name"] for c in v["checks"] if c["gate"] and not c["passed"]],
                "session_cpu_s": round(cpu_seconds() - before, 1),
                **{k: v["quantities"].get(k) for k in KINDS},
            }  # fmt: skip
        row[TRUE] = true_noise(Path(name) / "reference" / "bundle")
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Ranges over devices, and how far the reference is from the decoder that knows the noise."""

    def values(who: str, kind: str) -> np.ndarray:
        return np.array([r[who][kind]["mean"]["error"] for r in rows])

    def low_median_high(v: np.ndarray) -> list[float]:
        return [float(v.min()), float(np.median(v)), float(v.max())]

    out: dict[str, Any] = {"devices": len(rows), "columns": ["lowest", "median", "highest"]}
    for who in (*SOLVERS, TRUE):
        out[who] = {k: low_median_high(values(who, k)) for k in KINDS}
    for who in SOLVERS:
        out[who]["passed"] = sum(r[who]["outcome"] == "pass" for r in rows)
        out[who]["ratio_to_true_noise"] = {k: low_median_high(values(who, k) / values(TRUE, k)) for k in KINDS}
    return out


def save(rows: list[dict[str, Any]]) -> None:
    limits = {"memory_error_per_cycle": MEMORY_LIMIT, "cnot_error_mean": CNOT_MEAN_LIMIT, "cnot_error_each": CNOT_EACH_LIMIT}
    body = {"task": TASK, "limits": limits, "summary": summary(rows), "devices": rows}
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(json.dumps(body, indent=1, allow_nan=False) + "\n")


def plot(rows: list[dict[str, Any]]) -> None:
    """Memory and CNOT error of the three decoders on every device, with the thresholds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # the palette of Okabe and Ito (2008) keeps apart for the colour-blind
    style = {
        TRUE: ("true-noise decoder", "#009E73", "D"), "reference": ("reference", "#0072B2", "o"),
        "trap": ("notebook transfer (trap)", "#D55E00", "s"),
    }  # fmt: skip
    rows = sorted(rows, key=lambda r: r[TRUE]["cnot_error"]["mean"]["error"])
    x = np.arange(1, len(rows) + 1)
    matplotlib.rcParams["svg.hashsalt"] = TASK
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.0), layout="constrained")
    for k, who in enumerate(style):
        name, colour, marker = style[who]
        shift = 0.18 * (k - 1)
        memory = [r[who]["memory_error_per_cycle"]["mean"] for r in rows]
        errors_, bars = ([1e3 * m[key] for m in memory] for key in ("error", "stderr"))
        left.errorbar(x + shift, errors_, bars, fmt=marker, ms=4.5, lw=1, color=colour, label=name)
        cnot = [r[who]["cnot_error"] for r in rows]
        each = [[e["error"] for n, e in c.items() if n != "mean"] for c in cnot]
        mean = np.array([c["mean"]["error"] for c in cnot])
        spread = np.abs(np.array([[min(e), max(e)] for e in each]).T - mean)
        right.errorbar(x + shift, mean, spread, fmt=marker, ms=4.5, lw=1, color=colour, label=name)
    left.axhline(1e3 * MEMORY_LIMIT, color="black", lw=1)
    left.text(len(rows) + 0.5, 1e3 * MEMORY_LIMIT, "limit", ha="right", va="bottom", fontsize=8)
    left.set_ylim(0, 1.15e3 * MEMORY_LIMIT)
    left.set_ylabel("logical error per cycle, memory M (10$^{-3}$)")
    left.set_title("Memory, d = 5, 10 cycles, mean of both bases", fontsize=10)
    right.axhline(CNOT_MEAN_LIMIT, color="black", lw=1)
    right.text(len(rows) + 0.5, CNOT_MEAN_LIMIT, "limit of the mean", ha="right", va="top", fontsize=8)
    right.axhline(CNOT_EACH_LIMIT, color="black", lw=1, ls="--")
    right.text(len(rows) + 0.5, CNOT_EACH_LIMIT, "limit of each circuit", ha="right", va="bottom", fontsize=8)
    right.set_ylim(0.1, 0.27)
    right.set_ylabel("logical error of the CNOT")
    right.set_title("CNOT: mean of eight circuits, bars from best to worst circuit", fontsize=10)
    for axes in (left, right):
        axes.set_xlabel("device, ordered by the CNOT error of the true-noise decoder")
        axes.set_xlim(0.4, len(rows) + 0.6)
        axes.set_xticks([1, *range(5, len(rows) + 1, 5)])
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(loc="lower left", fontsize=8, frameon=False)
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--plot", action="store_true", help="only draw the plot from the table")
    arguments = parser.parse_args()
    rows = json.loads(TABLE.read_text())["devices"] if TABLE.exists() else []
    while not arguments.plot and len(rows) < arguments.devices:
        rows.append(one_device(secrets.randbits(63)))
        save(rows)
        r = rows[-1]
        told = ", ".join(f"{who} {r[who]['cnot_error']['mean']['error']:.4f}" for who in (TRUE, *SOLVERS))
        print(f"device {len(rows)}: CNOT {told}; reference {r['reference']['outcome']}, trap {r['trap']['outcome']}", flush=True)
    save(rows)
    plot(rows)
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main()
