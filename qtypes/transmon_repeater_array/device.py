"""A line of four nodes: what is drawn, what is public, and the notebook."""

from __future__ import annotations

import datetime as dt

import numpy as np
from pydantic import Field

from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.transmon_repeater_array import physics
from qtypes.transmon_repeater_array.protocol import BELL_US

SLOT_US = 2.0
MEMORY_SLOTS = 3
MAX_WAIT_US = 60.0
N_NODES, N_LINKS = physics.N_NODES, physics.N_LINKS
LINK_ERROR = (0.035, 0.041)
DOMINANT = (0.86, 0.92)
PHASE_LIKE = 0.7
SHARED = (0.70, 0.85)
CORRELATION_US = (4.0, 7.0)
GATE_ERROR = (1e-3, 2.5e-3)
READOUT = (4e-3, 8e-3)
T2_US = (350.0, 500.0)
T2_SPREAD = 0.1
AUTHOR = "previous operator"

Range = tuple[float, float]


class Profile(Part):
    """What a task may set."""

    link_error: Range = quantity("1", "range of the error of a raw link pair", default=LINK_ERROR)
    shared: Range = quantity("1", "range of the share of errors that pairs of one time window have in common", default=SHARED)


class Link(Part):
    """Pauli errors of the raw pairs of a link."""

    x: float = quantity("1", "probability of X", ge=0, lt=1)
    y: float = quantity("1", "probability of Y", ge=0, lt=1)
    z: float = quantity("1", "probability of Z", ge=0, lt=1)

    def vector(self) -> physics.Floats:
        """As a vector of `physics`."""
        return physics.link_vector(self.x, self.y, self.z)


class Hidden(Part):
    """Errors of links, gates, readout and memories."""

    links: tuple[Link, ...] = Field(min_length=N_LINKS, max_length=N_LINKS, description="raw pairs of each link")
    shared: float = quantity("1", "probability that two pairs made at the same time have one source of error", ge=0, le=1)
    correlation_us: float = quantity("us", "decay time of that probability with the separation", gt=0)
    gate_error: tuple[float, ...] = quantity("1", "depolarising error of a CNOT at each node")
    readout: tuple[float, ...] = quantity("1", "probability of a wrong bit at each node")
    t2_us: tuple[float, ...] = quantity("us", "coherence time of the memories at each node")


class Ranges(Part):
    """Where hidden numbers lie over all devices of the family."""

    link_error: Range = quantity("1", "sum of the Pauli errors of a raw link pair")
    gate_error: Range = quantity("1", "depolarising error of a CNOT: any of the 15 Paulis")
    readout: Range = quantity("1", "probability of a wrong bit")
    t2_us: Range = quantity("us", "coherence time of a memory, mean of a device; nodes differ by up to 10 %")


class Spec(Part):
    """The public specification; the same for every device of a profile."""

    n_nodes: int = quantity("1", "nodes in the line, 0 to 3")
    n_links: int = quantity("1", "links; link k joins nodes k and k + 1")
    slot_us: float = quantity("us", "time slot: one raw pair on every link; separations are multiples of it")
    max_wait_us: float = quantity("us", "longest separation or hold")
    memory_slots: int = quantity("1", "halves that an end node can hold")
    bell_us: float = quantity("us", "CNOT and readout, of a Bell measurement or a check; others wait meanwhile")
    clifford_classes: tuple[str, ...] = quantity("1", "classes of local Cliffords: images of X, Y, Z up to sign")
    ranges: Ranges = Field(description="where hidden numbers lie")


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device: the first link errs in phase, the others too or along one other axis, common to both."""
    other = int(rng.choice([1, 3]))
    links = []
    for k in range(N_LINKS):
        axis = 2 if k == 0 or rng.random() < PHASE_LIKE else other
        error, weight, part = rng.uniform(*profile.link_error), rng.uniform(*DOMINANT), rng.uniform()
        rest = [a for a in (1, 2, 3) if a != axis]
        p = dict(zip((axis, *rest), error * np.array([weight, (1 - weight) * part, (1 - weight) * (1 - part)]), strict=True))
        links.append(Link(x=float(p[1]), y=float(p[3]), z=float(p[2])))
    t2 = rng.uniform(*T2_US) * rng.uniform(1 - T2_SPREAD, 1 + T2_SPREAD, N_NODES)
    return Hidden(
        links=tuple(links), shared=rng.uniform(*profile.shared), correlation_us=rng.uniform(*CORRELATION_US),
        gate_error=tuple(rng.uniform(*GATE_ERROR, N_NODES).tolist()), readout=tuple(rng.uniform(*READOUT, N_NODES).tolist()),
        t2_us=tuple(t2.tolist()),
    )  # fmt: skip


def public_spec(profile: Profile) -> Spec:
    """The same for every device of a profile."""
    return Spec(
        n_nodes=N_NODES, n_links=N_LINKS, slot_us=SLOT_US, max_wait_us=MAX_WAIT_US, memory_slots=MEMORY_SLOTS, bell_us=BELL_US,
        clifford_classes=physics.CLASSES, ranges=Ranges(link_error=profile.link_error, gate_error=GATE_ERROR, readout=READOUT, t2_us=T2_US),
    )  # fmt: skip


def notebook(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> Notebook:
    """Bit flips of the links from 4000 pairs each, read in Z only, and a protocol that was made for them."""
    seen = [round(float(rng.binomial(4000, link.x + link.y)) / 4000, 4) for link in hidden.links]
    text = (
        "Link test after the cold cables were connected: 4000 pairs per link, both halves read in Z, readout subtracted. Bit flips "
        + ", ".join(f"{100 * f:.1f} %" for f in seen)
        + ". X and Y were not looked at, the test was for the heralding."
    )
    plan = (
        "Default purification for the repeater: no local Cliffords, bilateral CNOT, keep if the Z checks agree, which catches bit flips. "
        "Two pairs in adjacent slots, since memories lose coherence while the first one waits. Used so in the single-link demonstration "
        "of last winter. Not yet run over three links."
    )
    return Notebook(
        entries=(
            NotebookEntry(date=today - dt.timedelta(days=16), author=AUTHOR, title="Links", text=text, data={"bit_flips": seen}),
            NotebookEntry(
                date=today - dt.timedelta(days=5), author=AUTHOR, title="Purification: default", text=plan,
                data={
                    "local_cliffords": ["XYZ"] * N_NODES, "swap_order": "together", "slot_separation_us": SLOT_US, "rounds": 1,
                    "accept_rule": "even",
                },
            ),
        )
    )  # fmt: skip
