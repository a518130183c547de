"""What the device is: hidden parameters, public spec, what a task may set, the draw and the notebook."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qtypes import Notebook, NotebookEntry, Part, quantity
from qtypes.bose_hubbard_chain.physics import MAX_BOSONS, N_LEVELS, N_SITES, Chain

MAX_TIME_NS = 40.0
TICK_NS = 0.5
MAX_TIMES = 24
MAX_PATTERNS = 16
MAX_JOB_SHOTS = 10_000
REP_US = 250.0
"""Time from shot to shot."""
SETTING_S = 2.0
"""Time to load one setting: initial state and duration, or pattern."""
TWO_LEVEL_SHOTS = 400
_SPECTROSCOPY_MHZ = 0.3

Positive = Annotated[float, Field(gt=0, le=1000)]
Fraction = Annotated[float, Field(ge=0, le=0.3)]
Column = tuple[float, float, float, float]
Confusion = tuple[Column, Column, Column, Column]


class Profile(Part):
    """What a task may set."""

    j_mhz: tuple[Positive, Positive] = quantity("MHz", "couplings J/h: range", default=(30.0, 60.0))
    u_mhz: tuple[Positive, Positive] = quantity("MHz", "-U/h: range of the mean over the chain", default=(120.0, 220.0))
    u_scatter: float = quantity("1", "relative standard deviation of U from site to site", ge=0, le=0.2, default=0.05)
    mu_mhz: float = quantity("MHz", "standard deviation of mu/h", gt=0, le=100, default=30.0)
    delay_ns: tuple[Fraction | Positive, Positive] = quantity("ns", "switch-on delay: range", default=(0.3, 1.5))
    confusion: tuple[Fraction, Fraction] = quantity("1", "probability to read a wrong level: range", default=(0.02, 0.08))
    u_shift: tuple[Fraction, Fraction] = quantity("1", "how much smaller |U| is at the idle flux: range", default=(0.10, 0.15))


class Hidden(Part):
    """What only the laboratory knows. Lists run over sites 0 to 5, or over bonds (i, i + 1)."""

    j_mhz: tuple[float, ...] = quantity("MHz", "J_i/h of the 5 bonds", min_length=N_SITES - 1, max_length=N_SITES - 1)
    u_mhz: tuple[float, ...] = quantity("MHz", "U_i/h of the 6 sites", min_length=N_SITES, max_length=N_SITES)
    mu_mhz: tuple[float, ...] = quantity("MHz", "mu_i/h of sites 1 to 5 at lab time 0", min_length=N_SITES - 1, max_length=N_SITES - 1)
    mu_drift_mhz_per_h: tuple[float, ...] = quantity(
        "MHz/h", "drift of mu of sites 1 to 5", min_length=N_SITES - 1, max_length=N_SITES - 1
    )
    delay_ns: float = quantity("ns", "time after the start of the pulse at which H begins to act", ge=0)
    t1_us: tuple[float, ...] = quantity("us", "lifetime of |1>", min_length=N_SITES, max_length=N_SITES)
    tphi_us: tuple[float, ...] = quantity("us", "pure dephasing time of |0>, |1>", min_length=N_SITES, max_length=N_SITES)
    confusion: tuple[Confusion, ...] = quantity("1", "[site][read][true]", min_length=N_SITES, max_length=N_SITES)
    gain_mv: float = quantity("mV", "homodyne signal per unit of the quadrature (a + a^dag)/sqrt(2)", gt=0)
    offset_mv: float = quantity("mV", "homodyne signal of the vacuum")
    efficiency: float = quantity("1", "quantum efficiency of the homodyne detection", gt=0, le=1)

    def mu_at(self, t_s: float) -> NDArray[np.float64]:
        """mu of all sites `(6,)` at a lab time; site 0 is the reference."""
        return np.array([0.0, *(m + d * t_s / 3600 for m, d in zip(self.mu_mhz, self.mu_drift_mhz_per_h, strict=True))])

    def chain(self, t_s: float) -> Chain:
        """The chain with its channels at a lab time."""
        return Chain(np.array(self.j_mhz), np.array(self.u_mhz), self.mu_at(t_s), np.array(self.t1_us), np.array(self.tphi_us))


class Spec(Part):
    """What the agent may know."""

    sites: int = quantity("1", "number of sites, in a line")
    hamiltonian: str = Field(description="model and conventions")
    coupling_range_mhz: tuple[float, float] = quantity("MHz", "each J_i lies in this range")
    max_bosons: int = quantity("1", "most bosons in an initial state; `+` counts as one")
    levels: int = quantity("1", "levels that the readout tells apart: 0, 1, 2, and 3 or more")
    max_time_ns: float = quantity("ns", "longest pulse")
    tick_ns: float = quantity("ns", "pulse lengths are multiples of this")
    max_job_shots: int = quantity("1", "most shots of one job")
    rep_period_us: float = quantity("us", "time from shot to shot")
    setting_load_s: float = quantity("s", "lab time to load one setting")


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device."""
    u = -rng.uniform(*profile.u_mhz) * (1 + profile.u_scatter * rng.standard_normal(N_SITES))
    return Hidden(
        j_mhz=_list(rng.uniform(*profile.j_mhz, N_SITES - 1)), u_mhz=_list(u),
        mu_mhz=_list(profile.mu_mhz * rng.standard_normal(N_SITES - 1)),
        mu_drift_mhz_per_h=_list(0.3 * rng.standard_normal(N_SITES - 1)), delay_ns=float(rng.uniform(*profile.delay_ns)),
        t1_us=_list(rng.uniform(8, 20, N_SITES)), tphi_us=_list(rng.uniform(2, 5, N_SITES)),
        confusion=tuple(_confusion(rng, profile) for _ in range(N_SITES)),
        gain_mv=float(rng.uniform(0.8, 1.25)), offset_mv=float(rng.uniform(-0.4, 0.4)), efficiency=float(rng.uniform(0.4, 0.7)),
    )  # fmt: skip


def _list(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def _confusion(rng: np.random.Generator, profile: Profile) -> Confusion:
    """Errors go mostly one level down (relaxation during the readout), less often one up, rarely further."""
    out = np.zeros((N_LEVELS, N_LEVELS))
    for true in range(N_LEVELS):
        weight = np.array([{1: 0.7, -1: 0.25}.get(true - r, 0.05) if r != true else 0.0 for r in range(N_LEVELS)])
        weight *= rng.uniform(0.7, 1.3, N_LEVELS)
        error = rng.uniform(*profile.confusion)
        out[:, true] = error * weight / weight.sum()
        out[true, true] = 1.0 - error
    a, b, c, d = ((float(r[0]), float(r[1]), float(r[2]), float(r[3])) for r in out)
    return (a, b, c, d)


def public_spec(profile: Profile) -> Spec:
    """The same for every device of a profile."""
    return Spec(
        sites=N_SITES,
        hamiltonian="H/h = -sum J_i (a_i^dag a_{i+1} + h.c.) + sum U_i/2 n_i (n_i - 1) + sum mu_i n_i, sites 0 to 5, J_i > 0, U_i < 0, "
        "mu_0 = 0. A pulse of t_ns switches H on; it begins to act after a delay that does not depend on t_ns, and ends with the pulse. "
        "Before and after, each site keeps its state in the frame of site 0. Initial states: letter i of the string is site i, a digit is "
        "that level, + is (|0> + |1>)/sqrt(2). Readout: level of each site, three or more bosons as 3, sites err independently.",
        coupling_range_mhz=profile.j_mhz, max_bosons=MAX_BOSONS, levels=N_LEVELS, max_time_ns=MAX_TIME_NS, tick_ns=TICK_NS,
        max_job_shots=MAX_JOB_SHOTS, rep_period_us=REP_US, setting_load_s=SETTING_S,
    )  # fmt: skip


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """U from spectroscopy at the idle flux, and the procedure of the last operator: one boson, two levels, no delay."""
    idle = np.array(hidden.u_mhz) * (1 - rng.uniform(*profile.u_shift, N_SITES))
    measured = idle + _SPECTROSCOPY_MHZ * rng.standard_normal(N_SITES)
    u = [round(float(v), 1) for v in measured]
    read_one = [
        round(float(rng.binomial(TWO_LEVEL_SHOTS, site[1][1] + site[2][1] + site[3][1]) / TWO_LEVEL_SHOTS), 3) for site in hidden.confusion
    ]
    spectroscopy, walks = (today - dt.timedelta(days=int(d)) for d in (rng.integers(60, 120), rng.integers(5, 30)))
    return Notebook(
        entries=(
            NotebookEntry(
                date=spectroscopy, author="previous operator", title="Anharmonicities",
                text="Two-photon spectroscopy of each transmon alone, at its idle flux, couplers off. U/h in MHz, good to 0.3 MHz there; "
                "not repeated at the flux of the chain.",
                data={"u_mhz": u},
            ),
            NotebookEntry(
                date=walks, author="previous operator", title="How to get J and mu",
                text="Walks of one boson with two-level readout (anything but 0 is 1), fitted with the pulse length as set, delay taken as "
                f"0. |1> read as 1, per site: {read_one}. U comes from the spectroscopy. Two bosons on a site not looked at.",
                data={"delay_ns": 0.0, "read_one": read_one},
            ),
        )
    )  # fmt: skip
