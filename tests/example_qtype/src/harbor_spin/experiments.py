"""The one experiment: a pulse of chosen length and frequency, then a readout."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harbor_spin.device import MAX_OFFSET_KHZ, PERIOD_MS, PULSE_US, SETUP_S
from harbor_spin.physics import flip_probability
from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity

Pulse = Annotated[float, Field(ge=PULSE_US[0], le=PULSE_US[1])]


class RunPulse(Experiment):
    """Drive the spin with one square pulse per shot and look for a click, for each pulse length in turn.

    Every shot starts with the spin down. Returns `clicks`, uint8 of shape (pulses, shots): 1 is a click (spin up, most of the time). Costs
    pulses x shots `shots` and one `jobs`; a shot takes 1 ms of lab time, a job 0.5 s more.
    """

    tool: ClassVar[str] = "run_pulse"
    pulse_us: tuple[Pulse, ...] = quantity("us", "pulse lengths, taken in this order", min_length=1, max_length=100)
    drive_offset_khz: float = quantity("kHz", "drive frequency minus the nominal one", ge=-MAX_OFFSET_KHZ, le=MAX_OFFSET_KHZ)
    shots: int = quantity("1", "shots per pulse length", ge=1, le=5000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunPulse, ...]:
        return cls(pulse_us=(2.0, 5.0, 9.0), drive_offset_khz=-20.0, shots=300), cls(pulse_us=(4.0,), drive_offset_khz=60.0, shots=300)

    def cost(self) -> Cost:
        n = len(self.pulse_us) * self.shots
        return Cost.of(shots=n, jobs=1, lab_s=n * PERIOD_MS * 1e-3 + SETUP_S)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden = device.hidden
        shape = (len(self.pulse_us), self.shots)
        time_s = clock.start_s + np.arange(shape[0] * shape[1]).reshape(shape) * PERIOD_MS * 1e-3
        detuning = self.drive_offset_khz - hidden.larmor_at(time_s) + hidden.spread_khz * rng.standard_normal(shape)
        up = rng.random(shape) < flip_probability(np.array(self.pulse_us)[:, None], hidden.rabi_khz, detuning)
        clicks = rng.random(shape) < np.where(up, 1.0 - hidden.missed, hidden.dark)
        return Record(
            {"clicks": Array(clicks.astype(np.uint8), "1", ("pulse", "shot"), "1 is a click")}, {"pulses": shape[0], "shots": self.shots}
        )
