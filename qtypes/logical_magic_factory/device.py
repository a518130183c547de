"""Slots of a factory or one supply of T states: what is drawn, what is public, and the notebook."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Material, Notebook, NotebookEntry, Part, quantity
from qtypes.logical_magic_factory import physics
from qtypes.logical_magic_factory.experiments import BATCH, CLIFFORD_STATES, CYCLE_S, MAX_STATES, OUTPUT_FLOOR

N_SLOTS = 24
FACTORY_MEDIAN = 1.2e-2
FACTORY_SPREAD = 0.6
SUPPLY_PZ = (2e-3, 8e-3)
SUPPLY_LEVEL = 1
ETA = (5.0, 20.0)
ACCEPT = (0.75, 0.95)
STEP_FLIP = (3e-4, 2e-3)
IDLE_FLIP = (1e-4, 3e-4)
READ_FLIP = (0.8e-2, 1.6e-2)
READ_DRIFT = (0.20, 0.40)
N_CHANGED, CHANGE = 5, (2.0, 4.0)
TABLE_ERROR = 0.06

Range = tuple[float, float]


class Profile(Part):
    """What a task may set."""

    instance: Literal["factory", "supply"] = Field(description="factory: 24 slots, levels 0 to 3; supply: one slot, post-selected, level 1")
    g: Range = quantity("1", "range of the error's factor per verification level", default=(0.25, 0.45))
    r_common: Range = quantity("1", "range of the probability that a batch slips", default=(0.0, 2e-3))
    spec_line: float = quantity("1", "supply: largest mean error of a batch that meets its specification", gt=0, lt=1, default=5e-3)
    spec_gap: float = quantity("1", "supply: no device has a mean error within this share of the line", ge=0, lt=1, default=0.15)


class Hidden(Part):
    """Error probabilities of the logical level."""

    p_z: tuple[float, ...] = quantity("1", "Z error of a state of each slot at level 0")
    eta: float = quantity("1", "ratio of p_z to p_x + p_y", gt=0)
    g: float = quantity("1", "factor by which each verification level multiplies the errors", gt=0, lt=1)
    accept: tuple[float, ...] = quantity("1", "accepted share per verification level, by slot")
    q_c: float = quantity("1", "flip of a logical observable by the Clifford operations of a step")
    q_i: float = quantity("1", "flip of a logical observable by one idle cycle")
    q_m: float = quantity("1", "flip of a logical measurement")
    r_common: float = quantity("1", "probability that all states of a batch carry one more Z")

    def delivered(self, slot: int, level: int) -> tuple[float, float]:
        """p_z and p_x + p_y of a state of this slot and level."""
        p = self.p_z[slot] * self.g**level
        return p, p / self.eta

    def accepted(self, slot: int, level: int) -> float:
        """Share of preparations that are accepted."""
        return float(self.accept[slot] ** level)

    def step_flip(self) -> float:
        """Flip of the observable by the Clifford operations and the idle cycle of one chain step."""
        return self.q_c + self.q_i - 2 * self.q_c * self.q_i


class Ranges(Part):
    """Where hidden numbers lie over all devices of the family."""

    state_z_error: Range = quantity("1", "p_z: supply as delivered, factory at level 0 (16th to 84th percentile)")
    z_to_xy_ratio: Range = quantity("1", "eta = p_z / (p_x + p_y)")
    factor_per_level: Range = quantity("1", "g, factor on the errors of a state per verification level")
    accepted_per_level: Range = quantity("1", "a, accepted share per verification level, of each slot")
    step_error: Range = quantity("1", "q_c, flip of an observable by the Clifford operations of a step")
    idle_error: Range = quantity("1", "q_i, flip of an observable by a cycle")
    measurement_error: Range = quantity("1", "q_m, flip of a logical measurement")
    batch_slip: Range = quantity("1", "r, probability that a batch slips")


class Spec(Part):
    """The public specification; the same for every device of a profile."""

    n_slots: int = quantity("1", "slots")
    levels: tuple[int, ...] = quantity("1", "verification levels on offer")
    batch_states: int = quantity("1", "accepted states of a slot that share one reference")
    cycle_ms: float = quantity("ms", "one syndrome cycle of all blocks")
    clifford_step_states: float = quantity("1", "charge of a Clifford step, in states")
    max_states: int = quantity("1", "most states in one job")
    q_out: float = quantity("1", "floor of a distilled output's error by Clifford operations; in no formula of protocols.txt")
    columns: dict[str, tuple[tuple[int, ...], ...]] = quantity("1", "check bits of each input by protocol, least significant first")
    ranges: Ranges = Field(description="where hidden numbers lie")


def _uniform(rng: np.random.Generator, low_high: Range, n: int | None = None) -> Any:
    return rng.uniform(*low_high) if n is None else tuple(rng.uniform(*low_high, n).tolist())


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device; a supply is drawn again while its mean error lies near the line of its specification."""
    while True:
        g, eta, r = _uniform(rng, profile.g), _uniform(rng, ETA), _uniform(rng, profile.r_common)
        if profile.instance == "supply":
            p_z = (_uniform(rng, SUPPLY_PZ) / g**SUPPLY_LEVEL,)
        else:
            p_z = tuple((FACTORY_MEDIAN * np.exp(rng.normal(0, FACTORY_SPREAD, N_SLOTS))).tolist())
        hidden = Hidden(
            p_z=p_z, eta=eta, g=g, accept=_uniform(rng, ACCEPT, len(p_z)), q_c=_uniform(rng, STEP_FLIP), q_i=_uniform(rng, IDLE_FLIP),
            q_m=_uniform(rng, READ_FLIP), r_common=r,
        )  # fmt: skip
        error = physics.any_error(*hidden.delivered(0, SUPPLY_LEVEL), r)
        if profile.instance == "factory" or abs(error / profile.spec_line - 1) >= profile.spec_gap:
            return hidden


def public_spec(profile: Profile) -> Spec:
    """The same for every device of a profile."""
    supply = profile.instance == "supply"
    spread = float(np.exp(FACTORY_SPREAD))
    ranges = Ranges(
        state_z_error=SUPPLY_PZ if supply else (round(FACTORY_MEDIAN / spread, 4), round(FACTORY_MEDIAN * spread, 4)), z_to_xy_ratio=ETA,
        factor_per_level=profile.g, accepted_per_level=ACCEPT, step_error=STEP_FLIP, idle_error=IDLE_FLIP, measurement_error=READ_FLIP,
        batch_slip=profile.r_common,
    )  # fmt: skip
    return Spec(
        n_slots=1 if supply else N_SLOTS, levels=(SUPPLY_LEVEL,) if supply else (0, 1, 2, 3), batch_states=BATCH, cycle_ms=CYCLE_S * 1e3,
        clifford_step_states=CLIFFORD_STATES, max_states=MAX_STATES, q_out=OUTPUT_FLOOR,
        columns={p: tuple(tuple(int(b) for b in row) for row in physics.columns(p)) for p in physics.INPUTS}, ranges=ranges,
    )  # fmt: skip


PROTOCOLS = """\
Errors and protocols of the logical level

State     A T state of level v is accepted with a**v per try, a try takes v + 1 cycles, and states are prepared until accepted. In use it
          gives T followed by Z, X or Y with p_z, p_xy/2, p_xy/2; both p_z and p_xy are those of level 0 times g**v. An X error of the state
          before its use would act as S or S^dagger, so as Z with probability 1/2; it is part of p_z. X and Y come from the fresh block,
          whose first error correction runs after the teleportation. Phase error in use: e = p_z + p_xy/2.
Batch     16 accepted states of a slot share one reference state (catalyst). With probability r it was wrong: then all 16 carry one more Z.
Chain     Contrast 1 - 2 P(1) = A f**length. A step of either kind takes one cycle and the same Clifford operations, factor c. Kind T,
          prep +: f = (1 - 2e) c. Kind T, prep 0: f = (1 - 2 p_xy) c. Kind Clifford: f = c. A = 1 - 2q in all of them.
Single    Axis T: contrast (1 - 2e)(1 - 2q); axes X, Y: the same over sqrt(2); q is the flip of a logical measurement.
15-to-1   Five blocks, 15 rotations, 4 checks, 1 output (Bravyi and Kitaev 2005; Litinski 2019). Input k = 1..15 with phase error e_k. True
          syndrome: sum over the erring inputs of the binary digits of k, modulo 2. The output errs if an odd number of inputs erred.
7-to-1    The same with |Y> states, k = 1..7 and 3 checks.
Reads     The checks are read m times; each bit is flipped with q. A batch is accepted if all bits of all reads are 0.
Exact     With l_k = 1 - 2 e_k and u.k the parity of the common binary digits of u and k:
            F(u) = prod of l_k over u.k = 1,   G(u) = prod of l_k over u.k = 0
            P(s) = 1/16 sum_u (-1)**(u.s) F(u)         probability of the true syndrome s
            D(s) = 1/16 sum_u (-1)**(u.s) G(u)         the same, even minus odd
            acceptance A = sum_s P(s) (1-q)**(m (4-w)) q**(m w),  w = number of ones of s
            output error = sum_s (P(s) - D(s))/2 (1-q)**(m (4-w)) q**(m w) / A
          For q = 0 and equal small e: A = 1 - 15 e, output error = 35 e**3.
Cost      Block-cycles per accepted output: (sum_k (v_k + 1)/a_k**v_k + 30 m)/A; for 7-to-1 14 m in place of 30 m.
"""


def materials() -> tuple[Material, ...]:
    return (Material("protocols.txt", "error model, protocols, exact acceptance and output error, cost", PROTOCOLS),)


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """Factory: the slot table of the previous loading, in which five slots differ. Supply: the certificate of an earlier lot."""

    def entry(age: int, title: str, text: str, **data: Any) -> NotebookEntry:
        return NotebookEntry(date=today - dt.timedelta(days=age), author="previous operator", title=title, text=text, data=data or None)

    return Notebook(entries=(_factory_entries if profile.instance == "factory" else _supply_entries)(hidden, rng, entry, profile))


def _factory_entries(hidden: Hidden, rng: np.random.Generator, entry: Any, profile: Profile) -> tuple[NotebookEntry, ...]:
    then = np.array(hidden.p_z)
    changed = rng.choice(N_SLOTS, N_CHANGED, replace=False)
    then[changed] /= rng.uniform(*CHANGE, N_CHANGED) ** rng.permutation([1, 1, 1, -1, -1])
    then *= np.exp(rng.normal(0, TABLE_ERROR, N_SLOTS))
    table = [float(f"{p:.2e}") for p in then]
    mean = float(np.mean(sorted(table)[:15]))
    text = (
        "Phase errors of all 24 slots at level 0 from chains (table, 6 % each). v = 2 everywhere with three reads of the checks is safe, "
        "if slow."
    )
    idea = (
        "The ions were reloaded this morning. Not measured since. Arithmetic for a faster factory: the fifteen best slots of the table "
        f"have a mean of {mean:.1e}; level 1 multiplies by about a third, and 35 p^3 is then {35 * (mean / 3) ** 3:.0e}. So level 1 on the "
        "fifteen best slots, two reads. Not tried yet."
    )
    return (
        entry(12, "Slot table", text, unit="phase error per state, level 0", slot_table=table),
        entry(0, "Reloaded; plan for a faster factory", idea),
    )


def _supply_entries(hidden: Hidden, rng: np.random.Generator, entry: Any, profile: Profile) -> tuple[NotebookEntry, ...]:
    lot = draw(rng, profile)  # an earlier lot: nothing in common with this one
    drift = rng.uniform(*READ_DRIFT) * rng.choice([-1, 1])
    q_vendor = float(f"{hidden.q_m / (1 + drift):.2e}")
    p_z, p_xy = (float(f"{p:.2e}") for p in lot.delivered(0, SUPPLY_LEVEL))
    certificate = (
        "Certificate of the previous lot, by its vendor. The present lot has none. The vendor also states the flip probability of our "
        "logical measurement, taken at the installation five months ago."
    )
    recipe = (
        "How to certify quickly: measure single states along T and subtract the vendor's measurement error; what is left is the error of "
        "the state. One job of 100 000 states leaves a statistical error of 4e-4. Chains take far more states for the same error bar. X "
        "and Y errors: the ratio of the certificate."
    )
    return (
        entry(150, "Certificate", certificate, p_z=p_z, p_xy=p_xy, acceptance=float(f"{lot.accepted(0, SUPPLY_LEVEL):.3f}"),
              r_common=float(f"{lot.r_common:.1e}"), measurement_error=q_vendor),
        entry(20, "Quick certification", recipe),
    )  # fmt: skip
