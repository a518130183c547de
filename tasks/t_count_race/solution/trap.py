"""The shortcut: one cheap pyzx pass, and the notebook's belief that better circuits were wrong."""

from __future__ import annotations

import pyzx as zx

import lab
from lab.conventions import tcount


def main() -> None:
    with lab.connect() as dev:
        circuit = zx.Circuit.from_qasm(dev.material("baseline.qasm"))
        shorter = zx.optimize.basic_optimization(circuit.to_basic_gates())
        text = shorter.to_basic_gates().split_phase_gates().to_qasm()
        report = dev.query("evaluate", circuit=text)
        print("T-count", tcount.counts(tcount.parse(text)).t_count, "equivalent", report["equivalent"])
        dev.submit_answer({"circuit": text})


if __name__ == "__main__":
    main()
