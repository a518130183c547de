"""The shortcut: a sound pilot, the sheet recomputed from the top, and every line that comes out different is called an error."""

from __future__ import annotations

from reference import answer_of, measured
from sheet import differing, recomputed

import lab


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        _, pair = measured(dev, spec)
        wrong = ["L8", *differing(spec["report"], recomputed(spec, pair))]
        print(f"lines that come out different: {wrong}", flush=True)
        dev.submit_answer(answer_of(spec, pair, wrong))


if __name__ == "__main__":
    main()
