"""What the device is: hidden parameters, public spec, what a task may set, the draw and the notebook."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qtypes import Notebook, NotebookEntry, Part, quantity
from qtypes.blackbox_lindblad_dynamics.physics import Family, family, hamiltonian_labels

MAX_T_US = 6.0
STEP_US = 0.05
"""Durations are multiples of this: the clock of the sequencer."""
MAX_SETTINGS = 1000
MAX_JOB_SHOTS = 50_000
REP_US = 50.0
"""Preparation, readout and reset of one shot."""
LOAD_S = 0.002
"""Time to load one setting."""
MAX_COEFFICIENT = 1.5
MAX_RATE = 0.3

Positive = Annotated[float, Field(gt=0, le=MAX_COEFFICIENT)]
Rate = Annotated[float, Field(gt=0, le=MAX_RATE)]
Fraction = Annotated[float, Field(ge=0, lt=1)]


class Profile(Part):
    """What a task may set."""

    qubits: int = quantity("1", "number of qubits", ge=3, le=4, default=3)
    field: tuple[Positive, Positive] = quantity("rad/us", "size of a one-qubit term: range", default=(0.2, 1.2))
    coupling: tuple[Positive, Positive] = quantity("rad/us", "size of a two-qubit term: range", default=(0.3, 1.2))
    decay: tuple[Rate, Rate] = quantity("1/us", "rate of decay of each qubit: range", default=(0.03, 0.15))
    excitation: tuple[Rate, Rate] = quantity("1/us", "rate of excitation of the one qubit that has it: range", default=(0.035, 0.07))
    dephasing: tuple[Rate, Rate] = quantity("1/us", "dephasing rate K_qq of each qubit: range", default=(0.08, 0.16))
    correlation: tuple[Fraction, Fraction] = quantity(
        "1", "size of K_q,q+1 / sqrt(K_qq K_q+1,q+1) on the one bond that has it: range", default=(0.6, 0.9)
    )
    notebook_error: float = quantity("1", "relative error of the times in the notebook", ge=0.005, le=0.3, default=0.04)


class Hidden(Part):
    """What only the laboratory knows. The order of the terms is that of `physics.family`."""

    hamiltonian: tuple[float, ...] = quantity("rad/us", "coefficient of each candidate term, most of them 0")
    gamma_minus: tuple[float, ...] = quantity("1/us", "decay rate of each qubit")
    gamma_plus: tuple[float, ...] = quantity("1/us", "excitation rate of each qubit")
    dephasing: tuple[float, ...] = quantity("1/us", "K_qq of each qubit")
    correlated: tuple[float, ...] = quantity("1/us", "K_q,q+1 of each bond")
    false_1: tuple[float, ...] = quantity("1", "probability per qubit to read 1 in |0>")
    false_0: tuple[float, ...] = quantity("1", "probability per qubit to read 0 in |1>")

    @property
    def family(self) -> Family:
        return family(len(self.gamma_minus))

    def coefficients(self) -> NDArray[np.float64]:
        """All of the generator, `(terms,)`."""
        return np.array([*self.hamiltonian, *self.gamma_minus, *self.gamma_plus, *self.dephasing, *self.correlated])

    def generator(self) -> NDArray[np.float64]:
        return self.family.generator(self.coefficients())


class Spec(Part):
    """What the agent may know."""

    qubits: int = quantity("1", "number of qubits, in a line")
    hamiltonian_terms: tuple[str, ...] = Field(
        description="candidate terms of H, letter q is qubit q; H is the sum of coefficient times Pauli product"
    )
    equation: str = Field(description="the master equation and its families of dissipators")
    conventions: str = Field(description="states, bases and bits")
    coefficient_bound: float = quantity("rad/us", "no Hamiltonian coefficient is larger than this")
    rate_bound: float = quantity("1/us", "no rate is larger than this")
    max_t_us: float = quantity("us", "longest evolution")
    step_us: float = quantity("us", "durations are multiples of this")
    max_job_shots: int = quantity("1", "most shots of one job: settings x shots")
    rep_us: float = quantity("us", "time of a shot besides the evolution")
    load_s: float = quantity("s", "lab time to load one setting")


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device."""
    n = profile.qubits
    coefficients = dict.fromkeys(hamiltonian_labels(n), 0.0)

    def signed(low: float, high: float) -> float:
        return float(rng.choice((-1.0, 1.0)) * rng.uniform(low, high))

    for q in range(n):
        for axis in rng.choice(list("XYZ"), int(rng.integers(1, 3)), replace=False):
            coefficients["I" * q + str(axis) + "I" * (n - q - 1)] = signed(*profile.field)
    for q in range(n - 1):
        pair = "".join(str(c) for c in rng.choice(list("XYZ"), 2))
        coefficients["I" * q + pair + "I" * (n - q - 2)] = signed(*profile.coupling)
    hot, bond = int(rng.integers(n)), int(rng.integers(n - 1))
    dephasing = rng.uniform(*profile.dephasing, n)
    strength = signed(*profile.correlation) * float(np.sqrt(dephasing[bond] * dephasing[bond + 1]))
    excitation = float(rng.uniform(*profile.excitation))
    return Hidden(
        hamiltonian=tuple(coefficients.values()),
        gamma_minus=tuple(rng.uniform(*profile.decay, n).tolist()),
        gamma_plus=tuple(excitation if q == hot else 0.0 for q in range(n)),
        dephasing=tuple(dephasing.tolist()),
        correlated=tuple(strength if q == bond else 0.0 for q in range(n - 1)),
        false_1=tuple(rng.uniform(0.003, 0.02, n).tolist()),
        false_0=tuple(rng.uniform(0.01, 0.04, n).tolist()),
    )


def public_spec(profile: Profile) -> Spec:
    """The same for every device of a profile."""
    return Spec(
        qubits=profile.qubits, hamiltonian_terms=hamiltonian_labels(profile.qubits),
        equation="d rho/dt = -i [H, rho] + sum_q gamma_minus_q D[s-_q] rho + sum_q gamma_plus_q D[s+_q] rho "
        "+ 1/2 sum_ij K_ij (Z_i rho Z_j - {Z_i Z_j, rho}/2), with D[A] rho = A rho A^+ - {A^+ A, rho}/2, s- = |0><1|, s+ = |1><0|, and K "
        "real, symmetric, positive semidefinite, zero beyond neighbours. Dephasing alone damps the coherence of qubit q at the rate K_qq.",
        conventions="Letters of a state: 0 and 1 (Z), + and - (X), r and l (Y), the first of each pair has eigenvalue +1. Letter q of "
        "states and bases, and entry q of bits, is qubit q. Bit 0 is eigenvalue +1. Preparation has no error; each qubit is misread on its "
        "own, 0 as 1 and 1 as 0 with different probabilities below 5 %, the same along each axis.",
        coefficient_bound=MAX_COEFFICIENT, rate_bound=MAX_RATE, max_t_us=MAX_T_US, step_us=STEP_US, max_job_shots=MAX_JOB_SHOTS,
        rep_us=REP_US, load_s=LOAD_S,
    )  # fmt: skip


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """T1 and T2* of each qubit alone, and the local rates that follow if nothing heats and nothing is correlated."""
    n = profile.qubits
    relaxation = np.array(hidden.gamma_minus) + np.array(hidden.gamma_plus)
    t1 = np.exp(profile.notebook_error * rng.standard_normal(n)) / relaxation
    t2 = np.exp(profile.notebook_error * rng.standard_normal(n)) / (relaxation / 2 + np.array(hidden.dephasing))
    pure = np.maximum(1 / t2 - 1 / (2 * t1), 0.0)
    first, second = sorted((int(d) for d in rng.choice(np.arange(6, 60), 2, replace=False)), reverse=True)
    return Notebook(
        entries=(
            NotebookEntry(
                date=today - dt.timedelta(days=first), author="previous operator", title="T1 and T2*, one qubit at a time",
                text="All fields and couplings switched off, the other qubits left in |0>. T1 from the decay of |1>, T2* from Ramsey "
                "fringes.",
                data={"t1_us": t1.round(2).tolist(), "t2star_us": t2.round(2).tolist()},
            ),
            NotebookEntry(
                date=today - dt.timedelta(days=second), author="previous operator", title="Noise model",
                text="Local rates from the times above, for simulations: cold bath assumed, so gamma_plus is zero, and each qubit dephases "
                "by itself. H was not characterised with everything switched on.",
                data={"gamma_minus": (1 / t1).round(3).tolist(), "gamma_plus": [0.0] * n, "dephasing": pure.round(3).tolist()},
            ),
        )
    )  # fmt: skip
