"""The shortcut: the notebook's patch with its cycles back to back, and its element table as the decoder prior."""

from __future__ import annotations

import stim
from memory_fit import Rates, dress

import lab
from lab.conventions import Limits, read_graph

SHOTS = 20_000
LONG = Limits(n_bytes=40_000_000, terms=4_000_000)  # before parallel errors are put together


def main() -> None:
    with lab.connect() as dev:
        book = dev.notebook()
        table = next(e["data"]["rates"] for e in book if e["data"] and "rates" in e["data"])
        plan = next(e["data"] for e in book if e["data"] and "cycles" in e["data"])
        rates = Rates()
        for kind in ("gate1", "readout", "reset", "idle"):
            rates.table[kind] = {int(q): p for q, p in table[kind].items()}
        rates.table["gate2"] = {tuple(map(int, name.split("-"))): p for name, p in table["gate2"].items()}
        answer: dict = {k: plan[k] for k in ("origin", "rows", "cols", "cycles", "wait_us")} | {"jobs": []}
        memory = {k: plan[k] for k in ("origin", "rows", "cols", "wait_us")} | {"rounds": plan["cycles"]}
        for basis in ("Z", "X"):
            job = dev.submit("run_memory", **memory, basis=basis, shots=SHOTS)
            circuit = stim.Circuit(dev.query("noiseless_circuit", memory={**memory, "basis": basis, "shots": 1})["circuit"])
            model = dress(circuit, rates).detector_error_model(decompose_errors=True)
            answer[basis] = str(read_graph(model, limits=LONG).model())
            answer["jobs"].append(job.result().job_id)
        dev.submit_answer(answer)
        print("answer submitted", flush=True)


if __name__ == "__main__":
    main()
