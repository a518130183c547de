"""bose_hubbard_chain against closed forms, and against qutip: `sesolve` for the closed chain, `mesolve` for loss and dephasing."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import Any

import numpy as np
import pytest
import qutip
from scipy.special import jv
from scipy.stats import chi2

from qtypes import AgentError, Clock, Device, seeds
from qtypes.bose_hubbard_chain import QTYPE, Hidden, Profile, RunLevelReference, RunOccupation, RunQuadrature
from qtypes.bose_hubbard_chain.physics import (
    DIM,
    FOCK,
    INDEX,
    N_SITES,
    RAD_PER_NS,
    SECTORS,
    Chain,
    fock,
    lowering,
    occupations,
    oscillator,
    prepared,
    probability_slopes,
    quadratures,
    read,
    site_matrix,
)

PROFILE = Profile()
HIDDEN: Hidden = QTYPE.draw(seeds.generator(seeds.root_from(b"chain"), "device"), PROFILE)
DEVICE = Device(QTYPE.spec(HIDDEN, PROFILE), HIDDEN, PROFILE)
NONE = np.zeros(N_SITES)
TIMES = np.array([2.0, 7.0, 18.0])


def rng(name: str) -> np.random.Generator:
    return seeds.generator(seeds.root_from(b"test"), name)


def closed() -> Chain:
    return Chain(np.array(HIDDEN.j_mhz), np.array(HIDDEN.u_mhz), HIDDEN.mu_at(0.0))


def with_changes(**changes: Any) -> Device:
    return Device(DEVICE.spec, Hidden.model_validate(HIDDEN.model_dump() | changes), PROFILE)


def probability(chain: Chain, initial: str, t: Any) -> np.ndarray:
    return np.abs(chain.evolved(prepared(initial), np.atleast_1d(t))) ** 2


def at(*occupation: int) -> int:
    return INDEX[occupation]


def test_dimensions_are_the_binomial_ones() -> None:
    assert DIM == 210
    assert [s.stop - s.start for s in SECTORS] == [1, 6, 21, 56, 126]


@pytest.mark.parametrize("initial", ["020020", "301000", "1+0+10"])
def test_bosons_and_norm_are_conserved(initial: str) -> None:
    p = probability(closed(), initial, TIMES)
    start = np.abs(prepared(initial)) ** 2
    for part in SECTORS:
        assert p[:, part].sum(axis=1) == pytest.approx(np.full(3, start[part].sum()), abs=1e-12)


def test_one_boson_walks_by_bessel_functions() -> None:
    """Amplitude i^d J_d(2 J t) over a distance d (Konno 2002 for the infinite line); images behind sites 0 and 7 stand for the ends."""
    chain = Chain(np.full(5, 45.0), np.full(6, -180.0), NONE)
    for t in (3.0, 11.0):
        x = 2 * RAD_PER_NS * 45.0 * t
        got = chain.evolved(prepared("010000"), [t])[0]
        for m in range(1, 7):
            near, far = (np.arange(-4, 5) * 14 + m - 2), (np.arange(-4, 5) * 14 + m + 2)
            images = sum(1j ** int(d) * jv(d, x) for d in near) - sum(1j ** int(d) * jv(d, x) for d in far)
            assert got[at(*(int(i == m - 1) for i in range(6)))] == pytest.approx(images, abs=1e-10)


def test_two_bosons_without_interaction_bunch() -> None:
    """Hong, Ou and Mandel 1987: a balanced coupler leaves no coincidences."""
    j = np.array([50.0, 0, 0, 0, 0])
    t = np.pi / 4 / (RAD_PER_NS * 50.0)
    p = probability(Chain(j, NONE, NONE), "110000", t)[0]
    assert p[at(1, 1, 0, 0, 0, 0)] == pytest.approx(0.0, abs=1e-12)
    assert p[at(2, 0, 0, 0, 0, 0)] == pytest.approx(0.5)
    assert probability(Chain(j, np.full(6, -400.0), NONE), "110000", t)[0][at(1, 1, 0, 0, 0, 0)] > 0.5


def test_a_doublon_hops_in_second_order() -> None:
    """At J << |U| the pair goes over as one, with amplitude 2 J^2/U (Winkler et al. 2006)."""
    j, u = 4.0, -200.0
    chain = Chain(np.array([j, 0, 0, 0, 0]), np.full(6, u), NONE)
    half = np.pi / 2 / (RAD_PER_NS * 2 * j**2 / abs(u))
    p = probability(chain, "200000", [half / 2, half])
    assert p[:, at(0, 2, 0, 0, 0, 0)] == pytest.approx([0.5, 1.0], abs=0.05)
    assert p[:, at(1, 1, 0, 0, 0, 0)].max() < 8 * (j / u) ** 2 * 2


def test_turned_signs_leave_occupations() -> None:
    """(U, mu) -> (-U, -mu): H turns its sign up to a sign on every second site; Fock states to occupations do not tell."""
    c = closed()
    turned = Chain(c.j_mhz, -c.u_mhz, -c.mu_mhz)
    for initial in ("020020", "101011"):
        assert probability(c, initial, TIMES) == pytest.approx(probability(turned, initial, TIMES), abs=1e-10)
    assert np.abs(probability(c, "020020", TIMES) - probability(Chain(c.j_mhz, c.u_mhz, -c.mu_mhz), "020020", TIMES)).max() > 0.02
    one = [Chain(c.j_mhz, u * c.u_mhz, s * c.mu_mhz) for u, s in ((1, 1), (0.5, -1))]
    assert probability(one[0], "010000", TIMES) == pytest.approx(probability(one[1], "010000", TIMES), abs=1e-10)
    mean = [[(psi[t].conj() * psi[s]) @ e for psi in x.evolved(prepared("+00000"), TIMES)] for x in one for t, s, e in [lowering()[1]]]
    assert np.abs(np.subtract(*mean)).max() > 0.1  # the phase does


@cache
def site_operators(levels: int, sites: int) -> list[qutip.Qobj]:
    eye, a = qutip.qeye(levels), qutip.destroy(levels)
    return [qutip.tensor([a if k == i else eye for k in range(sites)]) for i in range(sites)]


def qutip_hamiltonian(chain: Chain, ops: list[qutip.Qobj]) -> qutip.Qobj:
    h = sum(c.dag() * c * m + 0.5 * u * c.dag() * c.dag() * c * c for c, u, m in zip(ops, chain.u_mhz, chain.mu_mhz, strict=False))
    for j, a, b in zip(chain.j_mhz, ops, ops[1:], strict=False):
        h = h - j * (a.dag() * b + b.dag() * a)
    return RAD_PER_NS * h


def test_the_closed_chain_agrees_with_qutip() -> None:
    ops = site_operators(4, N_SITES)
    psi = qutip.basis([4] * 6, [0, 2, 0, 0, 1, 0])
    options = {"rtol": 1e-9, "atol": 1e-11, "nsteps": 100_000, "progress_bar": ""}
    ends = qutip.sesolve(qutip_hamiltonian(closed(), ops), psi, [0.0, *TIMES], options=options).states[1:]
    got = closed().evolved(prepared("020010"), TIMES)
    part = SECTORS[3]
    for k, end in enumerate(ends):
        theirs = end.full().reshape([4] * 6)[tuple(FOCK[part].T.astype(int))]
        assert np.abs(theirs - got[k, part]).max() < 1e-6


def three_sites(t1_us: float, tphi_us: float) -> Chain:
    j = np.array([45.0, 38.0, 0, 0, 0])
    return Chain(j, np.full(6, -160.0), np.array([0, 20.0, -15.0, 0, 0, 0]), np.full(6, t1_us), np.full(6, tphi_us))


@cache
def lossy_master_equation() -> tuple[Chain, np.ndarray]:
    """Three sites, T1 = 240 ns and Tphi = 180 ns, 20 ns after |2 1 0>: the density matrix by qutip."""
    chain = three_sites(0.24, 0.18)
    ops = site_operators(4, 3)
    jumps = [np.sqrt(1 / 240.0) * a for a in ops] + [np.sqrt(2 / 180.0) * a.dag() * a for a in ops]
    options = {"rtol": 1e-7, "atol": 1e-9, "nsteps": 100_000, "progress_bar": ""}
    rho = qutip.mesolve(qutip_hamiltonian(chain, ops), qutip.basis([4] * 3, [2, 1, 0]), [0.0, 20.0], jumps, options=options).states[-1]
    return chain, rho.full()


def test_jumps_agree_with_the_master_equation() -> None:
    chain, rho = lossy_master_equation()
    shots = 700
    n = occupations(rng("jumps"), chain.unravelled(rng("unravelled"), prepared("210000"), 20.0, shots))
    seen = np.bincount(np.ravel_multi_index(tuple(n[:, :3].T.astype(int)), (4, 4, 4)), minlength=64)
    expected = shots * np.diag(rho).real
    lost = shots - expected[np.indices((4, 4, 4)).sum(axis=0).ravel() == 3].sum()
    assert lost > 100
    big = expected > 8
    assert expected[~big].sum() > 1
    s, e = np.append(seen[big], seen[~big].sum()), np.append(expected[big], expected[~big].sum())
    assert chi2.sf(((s - e) ** 2 / e).sum(), len(s) - 1) > 1e-3
    assert not n[:, 3:].any()


def test_no_jump_has_the_probability_of_its_rate() -> None:
    """One boson on a site that is cut off: exp(-t/T1) of loss, and dephasing does not change occupations."""
    chain = Chain(np.zeros(5), np.full(6, -160.0), NONE, np.full(6, 0.02), np.full(6, 0.05))
    psi = chain.evolved(prepared("010000"), [10.0])[0]
    assert (np.abs(psi) ** 2).sum() == pytest.approx(np.exp(-10 / 20 - 2 * 10 / 50))
    n = occupations(rng("decay"), chain.unravelled(rng("u"), prepared("010000"), 10.0, 600))
    assert n[:, 1].mean() == pytest.approx(np.exp(-0.5), abs=0.08)
    ends = chain.unravelled(rng("c"), prepared("0+0000"), 10.0, 600)
    coherence = sum(c * s[at(0, 0, 0, 0, 0, 0)].conj() * s[at(0, 1, 0, 0, 0, 0)] for c, s in ends) / 600
    assert abs(coherence) == pytest.approx(0.5 * np.exp(-10 / 40 - 10 / 50), abs=0.06)


def test_reading_follows_the_confusion() -> None:
    confusion = np.array(HIDDEN.confusion)
    assert confusion.sum(axis=1) == pytest.approx(np.ones((6, 4)))
    error = 1 - np.diagonal(confusion, axis1=1, axis2=2)
    assert error.min() >= 0.02
    assert error.max() <= 0.08
    levels = np.tile(np.array([0, 1, 2, 3, 4, 1], dtype=np.uint8), (40_000, 1))
    n = read(rng("read"), levels, confusion)
    for site, true in enumerate((0, 1, 2, 3, 3, 1)):
        assert np.bincount(n[:, site], minlength=4) / 40_000 == pytest.approx(confusion[site, :, true], abs=0.006)


def test_quadratures_of_known_states() -> None:
    dx = 0.01
    assert (oscillator() * dx) @ oscillator().T == pytest.approx(np.eye(5), abs=1e-9)
    shots = 40_000
    for level in range(4):
        x = quadratures(rng(f"x{level}"), [(shots, prepared(f"{level}00000"))], 0, 0.7)
        assert x.mean() == pytest.approx(0.0, abs=6 * np.sqrt((level + 0.5) / shots))
        assert x.var() == pytest.approx(level + 0.5, rel=0.04)
    psi = (fock((0, 0, 0, 0, 0, 0)) + 1j * fock((0, 0, 1, 0, 0, 0))) / np.sqrt(2)  # <a> = i/2
    for phase, mean in ((0.0, 0.0), (np.pi / 2, np.sqrt(0.5)), (np.pi / 4, 0.5), (-np.pi / 2, -np.sqrt(0.5))):
        assert quadratures(rng("y"), [(shots, psi)], 2, phase).mean() == pytest.approx(mean, abs=0.025)


def test_the_matrix_of_a_site_is_that_of_qutip() -> None:
    psi = closed().evolved(prepared("1+0+00"), [5.0])[0]
    full = np.zeros([5] * 6, dtype=complex)
    full[tuple(FOCK.T.astype(int))] = psi
    table = np.moveaxis(full, 3, 0).reshape(5, -1)
    assert site_matrix(psi, 3) == pytest.approx(table @ table.conj().T, abs=1e-12)


@pytest.mark.parametrize("initial", ["010000", "020020"])
def test_slopes_are_those_of_differences(initial: str) -> None:
    c, t = closed(), np.array([5.0, 13.0])
    bosons = sum(map(int, initial))
    start = np.tile(prepared(initial)[SECTORS[bosons]], (2, 1))
    par = np.concatenate([c.j_mhz, c.u_mhz, c.mu_mhz])
    p, slopes = probability_slopes(bosons, c.j_mhz, c.u_mhz, c.mu_mhz, start, t)
    assert p == pytest.approx(probability(c, initial, t)[:, SECTORS[bosons]])
    for k in (0, 4, 5, 10, 11, 13, 16):
        ends = [probability(Chain(x[:5], x[5:11], x[11:]), initial, t) for x in (par + 1e-3 * np.eye(17)[k], par - 1e-3 * np.eye(17)[k])]
        assert slopes[k] == pytest.approx((ends[0] - ends[1])[:, SECTORS[bosons]] / 2e-3, abs=1e-7)
    late = (probability(c, initial, t + 1e-4) - probability(c, initial, t - 1e-4))[:, SECTORS[bosons]] / 2e-4
    assert slopes[17] == pytest.approx(late, abs=1e-6)


def test_nothing_moves_before_the_delay() -> None:
    device = with_changes(delay_ns=1.2, confusion=(tuple(map(tuple, np.eye(4).tolist())),) * 6)
    n = RunOccupation(initial="020110", times_ns=(0.0, 1.0, 6.0), shots=200).run(device, Clock(0.0), rng("d")).arrays["n"].values
    assert (n[:2] == [0, 2, 0, 1, 1, 0]).all()
    assert (n[2] != [0, 2, 0, 1, 1, 0]).any()


def test_energies_drift_with_the_lab_clock() -> None:
    assert HIDDEN.mu_at(7200.0)[1:] - np.array(HIDDEN.mu_mhz) == pytest.approx(2 * np.array(HIDDEN.mu_drift_mhz_per_h))
    request = RunOccupation(initial="010000", times_ns=(20.0,), shots=5000)
    records = [request.run(DEVICE, Clock(t), rng("same")).arrays["n"].values for t in (0.0, 7200.0)]
    assert (records[0] != records[1]).any()


def test_a_job_is_the_closed_chain_read_with_errors() -> None:
    shots, t = 4000, 9.0
    n = RunOccupation(initial="110011", times_ns=(t,), shots=shots).run(DEVICE, Clock(0.0), rng("job")).arrays["n"].values[0]
    p = probability(closed(), "110011", t - HIDDEN.delay_ns)[0]
    column = np.minimum(FOCK, 3)
    for site, confusion in enumerate(np.array(HIDDEN.confusion)):
        expected = confusion @ np.bincount(column[:, site], weights=p, minlength=4)
        assert np.bincount(n[:, site], minlength=4) / shots == pytest.approx(expected, abs=0.035)


def test_refusals_and_costs() -> None:
    spec = DEVICE.spec
    for bad, field in (
        (RunOccupation(initial="220+00", times_ns=(2.0,), shots=10), "initial"),
        (RunOccupation(initial="020000", times_ns=(2.0, 3.3), shots=10), "times_ns.1"),
        (RunQuadrature(initial="+00000", times_ns=(2.0, 3.0), site=1, lo_phase_rad=0.0, shots=5001), "shots"),
        (RunLevelReference(patterns=("000000", "111111"), shots=6000), "shots"),
    ):
        with pytest.raises(AgentError) as refused:
            bad.admit(spec)
        assert refused.value.field == field
    cost = RunOccupation(initial="020000", times_ns=(2.0, 3.5), shots=100).cost()
    assert cost.to_json() == {"shots": 200.0, "settings": 2.0, "jobs": 1.0, "lab_s": 4.05}


def test_draws_stay_in_their_ranges_and_the_notebook_is_of_another_flux() -> None:
    for k in range(20):
        h = QTYPE.draw(rng(f"draw{k}"), PROFILE)
        assert all(30 <= j <= 60 for j in h.j_mhz)
        assert 0.3 <= h.delay_ns <= 1.5
        assert -290 < min(h.u_mhz) <= max(h.u_mhz) < -90
        book = QTYPE.notebook(h, rng("n"), PROFILE, dt.date(2026, 1, 31))
        old = np.array(book.entries[0].data["u_mhz"])  # type: ignore[index]
        off = 1 - old / np.array(h.u_mhz)
        assert 0.09 < off.min() <= off.max() < 0.16
