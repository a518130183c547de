"""Reference solver of stabilizer_fault_tolerance: a cheap preparation with few checks on flags, judged by the oracle.

One short round is enough for most codes. Further rounds begin anew and are spent where a fault stayed hidden or the price may fall.
"""

from __future__ import annotations

import os

import numpy as np
from solve_code import solve

import lab

ROUND_S = (1.0, 3.0, 6.0)
"""CPU seconds of the rounds."""
CHEAP = 0.99
"""Quality from which another round is not worth an attempt."""
SEED = int(os.environ.get("STABILIZER_SEED", "1"))


def main() -> None:
    rng = np.random.default_rng(SEED)
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        best, sha256 = -1.0, ""
        for seconds in ROUND_S:
            found = dev.query("check_fault_tolerance", circuit=solve(spec, seconds=seconds, rng=rng))
            mark, counted = found["corrected"], found["details"]["corrected"]
            costs = found["details"]["candidate"]["entangling"], found["details"]["flags"]
            print("CX and flags", costs, "quality", mark["quality"], "hidden", counted["undetected"], "of", counted["dangerous"])
            if mark["quality"] > best:
                best, sha256 = mark["quality"], found["sha256"]
            if best >= CHEAP and not counted["undetected"]:
                break
        dev.submit_answer({"circuit_sha256": sha256})


if __name__ == "__main__":
    main()
