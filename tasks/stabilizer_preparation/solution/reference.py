"""Reference solver of stabilizer_preparation: synthesise, check the signs here, then spend one attempt."""

from __future__ import annotations

import stim
from solve_code import solve, values

import lab


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        text = solve(spec)
        wrong = sum(v != 1 for v in values(stim.Circuit(text), spec["generators"]))
        if wrong:
            raise RuntimeError(f"{wrong} generators are not +1")
        found = dev.query("check_stabilizers", circuit=text)
        print(f"{found['satisfied']} of {found['listed']} generators")
        dev.submit_answer({"circuit_sha256": found["sha256"]})


if __name__ == "__main__":
    main()
