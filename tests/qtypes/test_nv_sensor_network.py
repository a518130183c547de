"""nv_sensor_network: phases in Ornstein-Uhlenbeck noise against closed forms and qutip; fringes, costs, refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

import qtypes
from qtypes import AgentError, Clock, Device
from qtypes.nv_sensor_network import physics
from qtypes.nv_sensor_network.device import REFOCUS_S, SETUP_S, dead_us
from qtypes.nv_sensor_network.experiments import Point, RunCamera, RunGhz, RunRamsey, RunReference, moves
from qtypes.nv_sensor_network.physics import GAMMA

QTYPE = qtypes.load("nv_sensor_network")
PROFILE = QTYPE.Profile()
FOUR = tuple(k * np.pi / 2 for k in range(4))
QUIET = {"common_rms_nt": 0.0, "laser_drift_per_h": 0.0}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, **changes: Any) -> Device:
    hidden = QTYPE.draw(rng(seed), PROFILE).model_copy(update=QUIET | changes)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def points(*taus: float) -> tuple[Point, ...]:
    return tuple(Point(tau_us=t, phase_rad=p) for t in taus for p in FOUR)


@dataclass
class Seen:
    z: complex
    error: float


def fringe(counts: np.ndarray) -> Seen:
    """Complex amplitude of four phases, in photons."""
    return Seen(complex(np.mean(np.exp(1j * np.array(FOUR)) * counts.mean(axis=1)) * 2), float(np.sqrt(2 * counts.var() / counts.size)))


def height(d: Device) -> float:
    bright, dark = d.hidden.photons(0.0)
    return float(bright - dark) / 2


# Closed forms


def test_the_decay_is_quadratic_for_slow_noise_and_linear_for_fast_noise() -> None:
    assert physics.decay(3.0, 120.0, 1e5) == pytest.approx((GAMMA * 120 * 3) ** 2 / 2, rel=1e-4)
    assert physics.decay(1e4, 120.0, 1.0) == pytest.approx((GAMMA * 120) ** 2 * 1e4, rel=2e-4)


def test_an_echo_takes_slow_noise_out() -> None:
    assert physics.decay(10.0, 150.0, 1e3, echo=True) == pytest.approx((GAMMA * 150) ** 2 * 10.0**3 / (12 * 1e3), rel=5e-3)
    assert physics.decay(1e5, 20.0, 1.0, echo=True) == pytest.approx(physics.decay(1e5, 20.0, 1.0), rel=1e-4)


@pytest.mark.parametrize(("rms", "tc", "exponent"), [(100.0, 60.0, 1.0), (200.0, 300.0, 1.4), (60.0, 5.0, 0.35), (30.0, 1e4, 1.0)])
def test_decay_time_inverts_the_decay(rms: float, tc: float, exponent: float) -> None:
    assert physics.decay(physics.decay_time(rms, tc, exponent), rms, tc) == pytest.approx(exponent, rel=1e-9)


@pytest.mark.parametrize("echo", [False, True])
@pytest.mark.parametrize(("tau", "tc"), [(20.0, 200.0), (80.0, 60.0), (2.0, 300.0)])
def test_phases_have_the_variance_of_the_decay(tau: float, tc: float, echo: bool) -> None:
    n = 60_000
    rest = np.full(n, 5000.0)  # independent shots
    phase = physics.local_phases(rng(), np.full(n, tau), rest, 150.0, tc, echo)
    assert phase.var() == pytest.approx(2 * float(physics.decay(tau, 150.0, tc, echo)), rel=6 * np.sqrt(2 / n))
    assert abs(phase.mean()) < 5 * phase.std() / np.sqrt(n)


def test_neighbouring_shots_share_slow_noise() -> None:
    n, tau, period, tc = 400_000, 20.0, 50.0, 120.0
    phase = physics.local_phases(rng(2), np.full(n, tau), np.full(n, period - tau), 150.0, tc)
    for lag in (1, 2, 5):
        seen = float(np.mean(phase[lag:] * phase[:-lag]))
        assert seen == pytest.approx(float(physics.lagged_covariance(tau, period, np.array([lag]), 150.0, tc)[0]), rel=0.03)


def test_the_bridge_agrees_with_fine_steps() -> None:
    """One Ramsey and one echo shot against a path stepped 400 times, correlations with the path's ends included."""
    n, steps, tau, tc = 20_000, 400, 60.0, 90.0
    g = rng(3)
    x = g.standard_normal(n)
    first, whole, halves = x.copy(), np.zeros(n), np.zeros(n)
    keep = np.exp(-tau / steps / tc)
    for k in range(steps):
        y = keep * x + np.sqrt(1 - keep**2) * g.standard_normal(n)
        part = (x + y) / 2 * tau / steps * GAMMA * 100.0
        whole += part
        halves += part if k < steps // 2 else -part
        x = y
    ours = physics.local_phases(rng(4), np.full(n, tau), np.full(n, 5000.0), 100.0, tc)
    echo = physics.local_phases(rng(5), np.full(n, tau), np.full(n, 5000.0), 100.0, tc, echo=True)
    assert ours.std() == pytest.approx(whole.std(), rel=0.025)
    assert echo.std() == pytest.approx(halves.std(), rel=0.025)
    assert first.std() == pytest.approx(1, rel=0.03)


def test_the_sensitivity_scales_as_known_for_fast_and_for_slow_noise() -> None:
    """Without dead time one counter gains n in variance from a block under white noise (Huelga 1997), n^(3/2) under slow noise
    (Matsuzaki 2011, Chin 2012)."""

    def best(n: int, rms: float, tc: float) -> float:
        taus = np.geomspace(0.05, 2000.0, 3000)
        v = np.array([2 * n * float(physics.decay(t, rms, tc)) for t in taus])
        return float(np.min(np.exp(np.minimum(v, 600.0)) / (n**2 * taus)))

    assert best(1, 1000.0, 0.01) / best(4, 1000.0, 0.01) == pytest.approx(4, rel=0.01)
    assert best(1, 100.0, 1e5) / best(4, 100.0, 1e5) == pytest.approx(8, rel=0.01)
    # the same from the function that graders use, where the noise has no memory between shots
    one, four = (physics.field_variance(n, t, t, 1000.0, 0.01, 1.0, 1.0) for n, t in ((1, 1000.0), (4, 250.0)))
    assert one / four == pytest.approx(4, rel=0.02)


def test_the_readout_is_close_to_the_cramer_rao_bound_and_never_above() -> None:
    for bright, ratio in ((0.6, 0.65), (4.0, 0.6), (1.5, 0.7)):
        k = np.arange(60)
        p0, p1 = poisson.pmf(k, bright), poisson.pmf(k, bright * ratio)
        fisher = np.sum(((p0 - p1) / 2) ** 2 / ((p0 + p1) / 2))  # of the phase, per shot, at the steepest point
        ours = physics.readout_fidelity(bright, bright * ratio) ** 2
        assert 0.9 * fisher < ours <= fisher
        assert physics.bright_for(np.sqrt(ours), ratio) == pytest.approx(bright)


def test_the_error_of_a_run_is_the_predicted_one() -> None:
    d = device(local_rms_nt=180.0, local_correlation_us=250.0, bright=30.0, dark_ratio=0.3, b0_nt=0.0, gradient_nt_per_mm=0.0)
    tau, shots, parts = 20.0, 200_000, 400
    run = RunRamsey(nodes=(0,), points=(Point(tau_us=tau, phase_rad=np.pi / 2),), shots=shots)
    counts = run.run(d, Clock(0.0), rng(6)).arrays["counts"].values[0, 0]
    batch = counts.reshape(parts, -1).mean(axis=1)
    h = d.hidden
    slope = height(d) * np.exp(-physics.decay(tau, 180.0, 250.0)) * GAMMA * tau
    seen = float(batch.var(ddof=1) / slope**2) * (shots / parts) * (tau + dead_us(1)) * 1e-6
    predicted = physics.field_variance(1, tau, tau + dead_us(1), 180.0, 250.0, h.readout, 1.0)
    assert seen == pytest.approx(predicted, rel=5 * np.sqrt(2 / parts))
    independent = (h.readout * np.exp(-float(physics.decay(tau, 180.0, 250.0)))) ** -2 * (tau + 30) * 1e-6 / (GAMMA * tau) ** 2
    assert seen > 1.5 * independent  # the memory of the noise matters here


def test_qutip_gives_the_same_fringe_of_a_signed_block() -> None:
    """Gaussian noise gives a time-local master equation with rate d chi / dt (exact): three spins, signs + - +."""
    qutip = pytest.importorskip("qutip")
    rms, tc, tau, fields, signs = 150.0, 90.0, 30.0, (800.0, -300.0, 450.0), (1, -1, 1)

    def on(op: Any, k: int) -> Any:
        return qutip.tensor([op if j == k else qutip.qeye(2) for j in range(3)])

    up, down = qutip.basis(2, 0), qutip.basis(2, 1)
    bits = [(up, down) if s > 0 else (down, up) for s in signs]
    first, second = (qutip.tensor([b[k] for b in bits]) for k in (0, 1))
    h = sum(GAMMA * b * on(qutip.sigmaz(), k) / 2 for k, b in enumerate(fields))

    def root_of_rate(t: float) -> float:
        return float(np.sqrt((GAMMA * rms) ** 2 * tc * -np.expm1(-t / tc) / 2))

    jumps = [qutip.QobjEvo([[on(qutip.sigmaz(), k), root_of_rate]]) for k in range(3)]
    options = {"atol": 1e-10, "rtol": 1e-9, "nsteps": 20_000, "progress_bar": ""}
    state = qutip.mesolve(h, (first + second).unit(), [0.0, tau], c_ops=jumps, options=options).states[-1]
    coherence = 2 * complex(second.dag() * state * first)
    phase = GAMMA * tau * float(np.dot(signs, fields))
    expected = np.exp(-3 * float(physics.decay(tau, rms, tc))) * np.exp(1j * phase)
    assert abs(coherence - expected) < 1e-6


# Records


def test_blocks_show_the_product_of_the_contrasts_and_the_sum_of_the_phases() -> None:
    d = device(bright=8.0, dark_ratio=0.3, local_rms_nt=120.0, local_correlation_us=150.0, link_fidelity=0.95)
    h = d.hidden
    for n in (2, 4):
        tau = 12.0
        run = RunGhz(nodes=tuple(range(n)), signs=("+",) * n, points=points(tau), shots=20_000)
        seen = fringe(run.run(d, Clock(0.0), rng(n)).arrays["counts"].values)
        phase = GAMMA * tau * h.static_nt()[:n].sum()
        expected = height(d) * 0.95 ** (2 * (n - 1)) * np.exp(-n * float(physics.decay(tau, 120.0, 150.0))) * np.exp(1j * phase)
        assert abs(seen.z - expected) < 6 * seen.error


def test_opposite_signs_are_immune_to_the_common_field_and_equal_signs_are_not() -> None:
    loud = {"common_rms_nt": 3000.0, "common_correlation_s": 2.0, "bright": 8.0, "dark_ratio": 0.3}
    d = device(**loud)
    for signs, same in ((("+", "-"), True), (("+", "+"), False)):
        run = RunGhz(nodes=(0, 3), signs=signs, points=points(15.0), shots=10_000)
        seen = [fringe(run.run(d, Clock(t), rng(1)).arrays["counts"].values) for t in (0.0, 10.0)]
        assert (abs(seen[0].z - seen[1].z) < 6 * seen[0].error) is same


def test_one_node_is_read_at_a_time_and_the_camera_sees_all() -> None:
    d = device(bright=9.0, dark_ratio=0.3)
    h, tau = d.hidden, 5.0
    single = RunRamsey(nodes=(0, 3), points=points(tau), shots=5000).run(d, Clock(0.0), rng()).arrays
    frames = RunCamera(points=points(tau), shots=20_000).run(d, Clock(0.0), rng()).arrays["counts"].values
    assert (single["counts"].values.shape, frames.shape) == ((2, 4, 5000), (4, 4, 20_000))
    contrast = np.exp(-float(physics.decay(tau, h.local_rms_nt, h.local_correlation_us)))
    for node, counts, share in ((0, single["counts"].values[0], 1), (3, single["counts"].values[1], 1), (2, frames[2], 1 / 9)):
        seen = fringe(counts)
        expected = height(d) * share * contrast * np.exp(1j * GAMMA * tau * h.static_nt()[node])
        assert abs(seen.z - expected) < 6 * seen.error
    assert single["time_s"].values.tolist() == pytest.approx([SETUP_S, SETUP_S + 4 * 5000 * 35e-6 + REFOCUS_S])


def test_an_echo_hides_static_fields() -> None:
    d = device(bright=9.0, dark_ratio=0.3, common_rms_nt=400.0)
    for run in (
        RunRamsey(nodes=(0,), points=points(20.0), shots=5000, echo=True),
        RunGhz(nodes=(0, 1), signs=("+", "+"), points=points(20.0), shots=5000, echo=True),
    ):
        seen = fringe(run.run(d, Clock(0.0), rng()).arrays["counts"].values.reshape(4, -1))
        assert abs(np.angle(seen.z)) < 5 * seen.error / abs(seen.z)


def test_the_analysis_phase_has_a_period_of_a_turn() -> None:
    d = device()
    runs = [RunRamsey(nodes=(0,), points=(Point(tau_us=9.0, phase_rad=p),), shots=2000) for p in (1.0, 1.0 + 2 * np.pi)]
    a, b = (r.run(d, Clock(0.0), rng()).arrays["counts"].values for r in runs)
    assert (a == b).mean() > 0.999


def test_references_are_poissonian_and_the_laser_drifts() -> None:
    d = device(bright=2.0, dark_ratio=0.65, laser_drift_per_h=0.01)
    for prepare, mean in ((0, 2.0), (1, 1.3)):
        counts = RunReference(prepare=prepare, shots=100_000).run(d, Clock(0.0), rng()).arrays["counts"].values
        assert counts.mean() == pytest.approx(mean, abs=5 * np.sqrt(mean / 1e5))
        assert counts.var() == pytest.approx(mean, rel=0.03)
    assert d.hidden.photons(3600.0)[0] == pytest.approx(2.02)


def test_the_common_field_is_a_function_of_the_lab_clock() -> None:
    h = device(common_rms_nt=300.0, common_correlation_s=3.0).hidden
    t = np.arange(0.0, 6000.0, 0.5)
    path = h.common_nt(t)
    assert path.std() == pytest.approx(300.0, rel=0.1)
    assert np.mean(path[6:] * path[:-6]) / path.var() == pytest.approx(np.exp(-1), abs=0.08)
    assert h.common_nt(77.0) == pytest.approx(path[154])


# Costs and refusals


def test_moving_the_counter_costs_and_it_goes_home() -> None:
    assert [moves(p) for p in ((0,), (0, 0), (1,), (0, 1, 2, 3), (3, 3))] == [0, 0, 2, 4, 2]
    one = points(10.0)
    path = RunRamsey(nodes=(0, 1, 2, 3), points=one, shots=100).cost().to_json()
    assert path["lab_s"] == pytest.approx(SETUP_S + 4 * REFOCUS_S + 4 * 4 * 100 * 40e-6)
    assert path["shots"] == 1600
    waits = RunRamsey(nodes=(0,) * 5, points=one, shots=10, period_s=2.0).cost().to_json()
    assert waits["lab_s"] == pytest.approx(SETUP_S + 4 * 2.0 + 4 * 10 * 40e-6)
    block = RunGhz(nodes=(0, 1, 2), signs=("+",) * 3, points=one, shots=1000).cost().to_json()
    assert block["lab_s"] == pytest.approx(SETUP_S + 4000 * (10 + dead_us(3)) * 1e-6)
    far = RunGhz(nodes=(2, 1), signs=("+", "-"), points=one, shots=1000).cost().to_json()
    assert far["lab_s"] == pytest.approx(SETUP_S + 2 * REFOCUS_S + 4000 * (10 + dead_us(2)) * 1e-6)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (RunRamsey(nodes=(0, 4), points=points(5.0), shots=10), "nodes.1"),
        (RunRamsey(nodes=(0,) * 100, points=points(5.0), shots=1000), "shots"),
        (RunCamera(points=points(5.0), shots=100_000), "shots"),
        (RunGhz(nodes=(0, 0), signs=("+", "-"), points=points(5.0), shots=10), "nodes"),
        (RunGhz(nodes=(0, 1), signs=("+", "-", "+"), points=points(5.0), shots=10), "signs"),
        (RunGhz(nodes=(0, 5), signs=("+", "-"), points=points(5.0), shots=10), "nodes.1"),
    ],
)
def test_requests_that_do_not_fit_are_refused_by_field(request_: Any, field: str) -> None:
    with pytest.raises(AgentError) as refused:
        request_.admit(device().spec)
    assert refused.value.field == field
