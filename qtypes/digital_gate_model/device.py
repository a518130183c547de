"""The device: what is hidden, what is public, and the noise at a time on the lab clock."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.digital_gate_model import compiling, qasm
from qtypes.digital_gate_model.physics import NoiseModel, response_matrix

N_QUBITS = 6
COUPLERS = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 4))
"""A line with one cross link."""
BOX_QUBITS = (0, 1, 2, 3, 4)
BOXES = ("box_1", "box_2")
TARGET = qasm.Target(N_QUBITS, frozenset(COUPLERS), dict.fromkeys(BOXES, BOX_QUBITS))
MAX_CIRCUITS = 100
MAX_JOB_SHOTS = 20_000
MAX_MOMENTS = 600
MAX_DURATION_US = 200.0
REP_US = 250.0
JOB_S = 2.0
CIRCUIT_S = 0.05

Range = tuple[float, float]
Story = Literal["readout_product", "cz_folding", "old_gates"]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    cz_error_rad: Range = quantity("rad", "range of the size of the CZ phase error; the sign is random", default=(0.010, 0.080))
    parallel_zz_rad: Range = quantity("rad", "range of the size of the phase between parallel CZs; random sign", default=(0.010, 0.040))
    sx_error: Range = quantity("1", "range of the size of the relative amplitude error of sx; random sign", default=(0.002, 0.010))
    cz_depolarising: Range = quantity("1", "range of the depolarising probability of CZ", default=(0.002, 0.008))
    t1_us: Range = quantity("us", "range of T1", default=(80.0, 200.0))
    t2_us: Range = quantity("us", "range of T2 (never above 2 T1)", default=(60.0, 180.0))
    residual: Range = quantity("1", "range of the excited population left by the reset", default=(0.005, 0.02))
    p0_given_1: Range = quantity("1", "range of the probability to read 0 in |1>", default=(0.02, 0.08))
    p1_given_0: Range = quantity("1", "range of the probability to read 1 in |0>", default=(0.005, 0.03))
    correlated_among: tuple[int, ...] = quantity(
        "1", "qubits among which the two correlated readout pairs lie", default=(0, 1, 2, 3, 4, 5), min_length=3, max_length=N_QUBITS
    )
    correlated_extra: Range = quantity("1", "range of the extra misassignment next to a partner in |1>", default=(0.04, 0.08))
    joint_flip: Range = quantity("1", "range of the probability of a joint flip of a correlated pair", default=(0.005, 0.015))
    trotter_circuit: bool = Field(default=False, description="whether the public Trotter circuit is among the materials")
    notebook: Story = Field(default="cz_folding", description="which story the notebook tells")


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    language: str = Field(description="the subset of OpenQASM 3 that is read")
    bit_order: str = Field(description="how bits and strings are ordered")
    timing: str = Field(description="how gates are scheduled, and which of them are parallel")
    errors: str = Field(description="kinds of errors that this generation of devices shows")
    n_qubits: int = quantity("1", "number of qubits")
    couplers: tuple[tuple[int, int], ...] = quantity("1", "pairs of qubits that `cz` may act on")
    native_gates: tuple[str, ...] = Field(description="native operations")
    opaque_routines: tuple[str, ...] = Field(description="names of the opaque routines; `inv @` before a name undoes it")
    routine_qubits: tuple[int, ...] = quantity("1", "qubits of every opaque routine, in the order in which they are written")
    sx_ns: float = quantity("ns", "duration of sx; rz takes no time")
    cz_ns: float = quantity("ns", "duration of cz")
    routine_ns: float = quantity("ns", "duration of an opaque routine")
    max_moments: int = quantity("1", "largest depth in moments, Pauli twirls included")
    max_circuit_us: float = quantity("us", "longest circuit")
    max_circuits: int = quantity("1", "most circuits of a job; twirls count as circuits of their own")
    max_job_shots: int = quantity("1", "most shots of a job, over all of its circuits and twirls")
    max_program_characters: int = quantity("1", "longest program text")
    rep_us: float = quantity("us", "repetition period of a shot, active reset included")
    job_s: float = quantity("s", "lab time of a job in addition to its shots")
    circuit_s: float = quantity("s", "lab time to load a circuit, each twirl counted")
    max_phase_drift_mrad_per_h: float = quantity("mrad/h", "upper bound of the drift of a CZ phase")
    max_readout_drift_per_h: float = quantity("1/h", "upper bound of the drift of an assignment probability")


class Snapshot(Part):
    """The last automatic calibration: measured values of its day, with its errors."""

    age_h: float = quantity("h", "time from the snapshot to the opening of the session", ge=0)
    t1_us: tuple[float, ...] = quantity("us", "T1 per qubit")
    t2_us: tuple[float, ...] = quantity("us", "T2 (echo) per qubit")
    readout_error: tuple[float, ...] = quantity("1", "mean of both assignment errors per qubit, other qubits in |0>")
    cz_infidelity: tuple[float, ...] = quantity("1", "average gate infidelity per coupler, one CZ at a time (interleaved RB)")


class Hidden(Part):
    """Everything the agent has to find out. Per-qubit tuples have 6 entries; per-coupler tuples follow the order of the couplers."""

    sx_error: tuple[float, ...] = quantity("1", "relative amplitude error of sx per qubit")
    cz_error_rad: tuple[float, ...] = quantity("rad", "phase error of CZ at lab clock 0 per coupler: exp(-i error ZZ/2)")
    cz_drift_mrad_per_h: tuple[float, ...] = quantity("mrad/h", "its drift")
    parallel_zz_rad: tuple[float, ...] = quantity("rad", "phase exp(-i zz ZZ/2) on a coupler that joins two parallel CZ gates")
    cz_depolarising: tuple[float, ...] = quantity("1", "depolarising probability of CZ per coupler")
    relaxation_us: tuple[float, ...] = quantity("us", "T1 per qubit")
    coherence_us: tuple[float, ...] = quantity("us", "T2 per qubit")
    residual: tuple[float, ...] = quantity("1", "excited population after the reset per qubit")
    p1_given_0: tuple[float, ...] = quantity("1", "probability to read 1 in |0> at lab clock 0, others in |0>")
    p0_given_1: tuple[float, ...] = quantity("1", "probability to read 0 in |1> at lab clock 0, others in |0>")
    readout_drift_per_h: tuple[float, ...] = quantity("1/h", "drift of p0_given_1 per qubit")
    correlated_pairs: tuple[tuple[int, int], ...] = quantity("1", "pairs whose misassignment depends on each other's state")
    correlated_extra: tuple[float, ...] = quantity("1", "extra misassignment of each of a pair where the partner is in |1>")
    joint_flip: tuple[float, ...] = quantity("1", "probability that both bits of a pair are inverted together")
    box_1: tuple[float, ...] = quantity(
        "rad", "angles of box_1: Ry on each of its qubits, then ZZ on neighbours", min_length=6, max_length=6
    )
    box_2: tuple[float, ...] = quantity("rad", "the same of box_2", min_length=6, max_length=6)
    snapshot: Snapshot

    @property
    def boxes(self) -> tuple[tuple[float, ...], ...]:
        return self.box_1, self.box_2

    def noise(self, t_s: float) -> NoiseModel:
        """The qubits' errors at a time on the lab clock, s."""
        drift = np.array(self.cz_drift_mrad_per_h) * 1e-3 * t_s / 3600.0
        return NoiseModel(
            sx_error=self.sx_error,
            cz_error_rad=dict(zip(COUPLERS, (np.array(self.cz_error_rad) + drift).tolist(), strict=True)),
            cz_depolarising=dict(zip(COUPLERS, self.cz_depolarising, strict=True)),
            parallel_zz_rad=dict(zip(COUPLERS, self.parallel_zz_rad, strict=True)),
            t1_ns=tuple(1e3 * t for t in self.relaxation_us),
            t2_ns=tuple(1e3 * t for t in self.coherence_us),
            residual=self.residual,
            boxes=self.boxes,
        )

    def noiseless(self) -> NoiseModel:
        """The same device without errors: what a circuit means."""
        return NoiseModel.ideal(N_QUBITS, COUPLERS, self.boxes)

    def response(self, t_s: float) -> NDArray[np.float64]:
        """Probability to read a string (row) in another (column) at a time on the lab clock, `(64, 64)`, little-endian."""
        p0_given_1 = np.clip(np.array(self.p0_given_1) + np.array(self.readout_drift_per_h) * t_s / 3600.0, 0.0, 0.4)
        return response_matrix(np.array(self.p1_given_0), p0_given_1, self.correlated_pairs, self.correlated_extra, self.joint_flip)


SPEC = Spec(
    platform="superconducting processor of six transmons: a line 0-1-2-3-4-5 with one cross link 1-4; tunable-coupler CZ, virtual rz,"
    " active reset, simultaneous readout at the end of the circuit",
    language="OpenQASM 3: `OPENQASM 3.0;`, at most one `qubit[n]` and one `bit[n]` register, rz(angle), sx, cz, delay[..ns], barrier, the"
    " opaque routines and `inv @` before them, `c[i] = measure q[j]` or `c = measure q` as last statements. q[i] and $i are device qubit i."
    " Angles: numbers and pi joined by * and /. rz(a) is exp(-i a Z/2), sx is exp(-i pi X/4) up to a phase. No gate definitions, no"
    " loops, no classical control, no mid-circuit measurement",
    bit_order="little-endian: entry i of a bit array is c[i]; as a number a string is the sum of c[i] 2^i, so c[0] is the last character"
    " where a string is written in ket order",
    timing="every operation but rz goes into the earliest moment after all earlier operations on its qubits; a barrier makes its qubits"
    " wait for each other; a moment lasts as long as its longest operation and all qubits wait for its end. CZ gates of one moment are"
    " parallel",
    errors="sx: over- or under-rotation exp(-i (pi/2)(1+e) X/2). CZ: an extra exp(-i d ZZ/2) per coupler, and depolarising of both qubits."
    " Parallel CZ: an extra exp(-i z ZZ/2) on every coupler that joins a qubit of one gate with a qubit of another. All qubits: relaxation"
    " to |0> and dephasing in every moment. Reset: a residual excited population. Readout: asymmetric assignment errors that may depend on"
    " the state of other qubits. The opaque routines are exact, apart from relaxation and dephasing for their duration",
    n_qubits=N_QUBITS,
    couplers=COUPLERS,
    native_gates=("rz", "sx", "cz", "measure", "delay", "barrier"),
    opaque_routines=BOXES,
    routine_qubits=BOX_QUBITS,
    sx_ns=compiling.SX_NS,
    cz_ns=compiling.CZ_NS,
    routine_ns=compiling.BOX_NS,
    max_moments=MAX_MOMENTS,
    max_circuit_us=MAX_DURATION_US,
    max_circuits=MAX_CIRCUITS,
    max_job_shots=MAX_JOB_SHOTS,
    max_program_characters=qasm.MAX_TEXT,
    rep_us=REP_US,
    job_s=JOB_S,
    circuit_s=CIRCUIT_S,
    max_phase_drift_mrad_per_h=5.0,
    max_readout_drift_per_h=0.003,
)
