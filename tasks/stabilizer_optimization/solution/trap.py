"""The shortcut: the graph state that the notebook praises. Cheaper than the baseline, and much dearer than need be."""

from __future__ import annotations

import stim

import lab


def main() -> None:
    with lab.connect() as dev:
        rows = [stim.PauliString(g) for g in dev.spec()["spec"]["generators"]]
        tableau = stim.Tableau.from_stabilizers(rows, allow_redundant=True, allow_underconstrained=True)
        text = str(tableau.to_circuit("graph_state")).replace("RX", "H") + "\n"
        found = dev.query("evaluate_optimization", circuit=text)
        print("quality", found["corrected"]["quality"])
        dev.submit_answer({"circuit_sha256": found["sha256"]})


if __name__ == "__main__":
    main()
