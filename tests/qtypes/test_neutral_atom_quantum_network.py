"""neutral_atom_quantum_network: fringes and limits, master equation of qutip, what leaves node B, records, what is public."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import qtypes
from qtypes import AgentError, Clock, Device
from qtypes.neutral_atom_quantum_network import Profile, RequestBits, RunEntangled, RunPairTomography, RunSeparable, physics, store
from qtypes.neutral_atom_quantum_network.device import INTERROGATION_MS

QTYPE = qtypes.load("neutral_atom_quantum_network")
PROFILE = Profile()
TODAY = dt.date(2026, 3, 1)
NO_READ_ERROR = {"readout_a": 0.0, "readout_b": 0.0}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, **changes: object) -> Device:
    hidden = QTYPE.draw(rng(seed), PROFILE).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def arrays(request: Any, dev: Device, seed: int = 1, start_s: float = 0.0) -> dict[str, np.ndarray]:
    request.admit(dev.spec)
    return {k: a.values for k, a in request.run(dev, Clock(start_s), rng(seed)).arrays.items()}


def bought(request: Any, dev: Device, record: dict[str, np.ndarray], **fields: Any) -> dict[str, Any]:
    kind = {"run_separable": "separable", "run_entangled": "entangled", "run_pair_tomography": "tomography"}[request.tool]
    query = RequestBits(**{"job_id": "j", "kind": kind, "count": request.shots} | fields)
    return query.answer(dev, record, request, rng())


def parity(request: Any, dev: Device, seed: int = 1, start_s: float = 0.0) -> float:
    """Mean parity; node B's setting is undone."""
    record = arrays(request, dev, seed, start_s)
    result = bought(request, dev, record)
    b = np.array(list(result["bits"]), dtype=int) ^ np.array(list(result.get("settings", "0" * request.shots)), dtype=int)
    return float((1 - 2 * (record["bits_a"] ^ b)).mean())


# Closed forms

PHASE = [(0.0, 0.0), (0.7, -2.1), (3.0, 1.2)]


@pytest.mark.parametrize(("a", "b"), PHASE)
@pytest.mark.parametrize("dephased", [0.0, 0.4, 1.0])
def test_the_parity_fringe_has_the_stated_amplitude(dephased: float, a: float, b: float) -> None:
    fidelity, offset = 0.9, 0.35
    rho = physics.pair_state(fidelity, dephased, offset)
    p = physics.outcomes(rho, a, b, "equator")
    v = physics.visibility(fidelity, dephased)
    assert p.sum() == pytest.approx(1.0)
    assert p[0] + p[3] == pytest.approx((1 + v * np.cos(offset + a + b)) / 2)
    assert p[0] + p[1] == pytest.approx(0.5)
    if dephased == 0.0:
        assert v == pytest.approx((4 * fidelity - 1) / 3)
    if dephased == 1.0:
        assert v == pytest.approx(2 * fidelity - 1)


@pytest.mark.parametrize("dephased", [0.0, 0.4, 1.0])
def test_the_fidelity_is_that_with_the_turned_bell_state(dephased: float) -> None:
    ket = np.array([1, 0, 0, np.exp(0.35j)]) / np.sqrt(2)
    rho = physics.pair_state(0.9, dephased, 0.35)
    assert (ket.conj() @ rho @ ket).real == pytest.approx(0.9)
    zz = physics.outcomes(rho, 1.0, 2.0, "ZZ") @ np.array([1, -1, -1, 1])
    assert (1 + zz + 2 * physics.visibility(0.9, dephased)) / 4 == pytest.approx(0.9)  # how a tomography finds it


def test_a_hold_costs_coherence_and_no_populations() -> None:
    rho = physics.pair_state(0.93, 0.1, 0.2)
    later = physics.held(rho, 7.0, 35.0)
    sign = np.array([1, -1, -1, 1])
    ratio = (physics.outcomes(later, -0.2, 0.0, "equator") @ sign) / (physics.outcomes(rho, -0.2, 0.0, "equator") @ sign)
    assert ratio == pytest.approx(np.exp(-2 * 7.0 / 35.0))
    np.testing.assert_allclose(physics.outcomes(later, 0, 0, "ZZ"), physics.outcomes(rho, 0, 0, "ZZ"))


@pytest.mark.parametrize("time_ms", [0.5, 8.0])
def test_states_agree_with_the_master_equation_of_qutip(time_ms: float) -> None:
    """Phases by a Hamiltonian, decoherence by two collapse operators, Pauli errors by Kraus operators; to 1e-7."""
    import qutip as qt

    f, s, offset, t2, phases = 0.91, 0.15, -0.3, 40.0, (0.8, -1.7)
    up, down = qt.basis(2, 0), qt.basis(2, 1)
    ket = (qt.tensor(up, up) + np.exp(1j * offset) * qt.tensor(down, down)).unit()
    p = physics.pauli_errors(f, s)
    rho = (1 - sum(p.values())) * qt.ket2dm(ket)
    for axis, operator in {"x": qt.sigmax(), "y": qt.sigmay(), "z": qt.sigmaz()}.items():
        rho = rho + p[axis] * qt.ket2dm(qt.tensor(qt.qeye(2), operator) * ket)
    sites = [qt.tensor(qt.sigmaz(), qt.qeye(2)), qt.tensor(qt.qeye(2), qt.sigmaz())]
    hamiltonian = sum(phase / time_ms / 2 * z for phase, z in zip(phases, sites, strict=True))
    decay = [np.sqrt(0.5 / t2) * z for z in sites]
    options = {"atol": 1e-11, "rtol": 1e-10, "nsteps": 20_000}
    final = qt.mesolve(hamiltonian, rho, [0.0, time_ms], decay, options=options).states[-1]
    both = qt.tensor(*[(qt.sigmax() + qt.sigmaz()) / np.sqrt(2)] * 2)
    expected = np.real((both * final * both).diag())
    found = physics.outcomes(physics.held(physics.pair_state(f, s, offset), time_ms, t2), *phases, "equator")
    np.testing.assert_allclose(found, expected, atol=1e-7)


# Records


@pytest.mark.parametrize("sigma", [2.0, 3.0])
def test_separable_parity_has_half_the_amplitude_whatever_the_spread(sigma: float) -> None:
    dev = device(3, lo_sigma_rad=sigma, **NO_READ_ERROR)
    h = dev.hidden
    keep = np.exp(-2 * INTERROGATION_MS / h.t2_ms)
    for k, extra in enumerate((0.0, np.pi / 2)):
        seen = np.mean([
            parity(RunSeparable(analysis_a_rad=-h.phi_a_rad, analysis_b_rad=extra - h.phi_b_rad, shots=3000), dev, 10 * k + n)
            for n in range(8)
        ])  # fmt: skip
        assert seen == pytest.approx(keep * np.cos(extra) / 2, abs=5 / np.sqrt(24_000) + np.exp(-2 * sigma**2) / 2)


def test_single_node_fringes_are_nearly_flat() -> None:
    dev = device(4, lo_sigma_rad=2.5, **NO_READ_ERROR)
    requests = [RunSeparable(analysis_a_rad=a, analysis_b_rad=0.0, shots=3000) for a in (0.0, 2.0, 4.0)]
    means = [arrays(request, dev, k)["bits_a"].mean() for k, request in enumerate(requests)]
    assert np.abs(np.array(means) - 0.5).max() < np.exp(-(2.5**2) / 2) / 2 + 5 * 0.5 / np.sqrt(3000)


def test_entangled_parity_shows_the_sum_and_the_offset() -> None:
    dev = device(5)
    h = dev.hidden
    contrast = (1 - 2 * h.readout_a) * (1 - 2 * h.readout_b)
    v = physics.visibility(h.fidelity, h.dephased) * contrast
    keep = np.exp(-2 * INTERROGATION_MS / h.t2_ms)
    for k, (a, b) in enumerate(PHASE):
        expected = v * keep * np.cos(h.phi_a_rad + h.phi_b_rad + h.offset_rad + a + b)
        assert parity(RunEntangled(analysis_a_rad=a, analysis_b_rad=b, shots=3000), dev, k) == pytest.approx(expected, abs=0.11)
        expected = v * np.cos(h.offset_rad + a + b)
        request = RunPairTomography(basis="equator", analysis_a_rad=a, analysis_b_rad=b, shots=3000)
        assert parity(request, dev, k) == pytest.approx(expected, abs=0.11)
    zz = parity(RunPairTomography(basis="ZZ", shots=3000), dev)
    p = physics.pauli_errors(h.fidelity, h.dephased)
    assert zz == pytest.approx((1 - 2 * (p["x"] + p["y"])) * contrast, abs=0.05)


def test_the_offset_drifts_with_the_lab_clock() -> None:
    dev = device(6, offset_rad=0.0, drift_rad_per_s=np.pi / 2 / 1000)
    request = RunPairTomography(basis="equator", shots=50)
    early, late = (np.mean([parity(request, dev, s, t) for s in range(20)]) for t in (0.0, 1000.0))
    assert early > 0.7
    assert abs(late) < 0.2


def test_heralding_takes_the_stated_number_of_attempts() -> None:
    dev = device(7)
    attempts = arrays(RunEntangled(analysis_a_rad=0.0, analysis_b_rad=0.0, shots=3000), dev)["attempts"]
    assert attempts.mean() == pytest.approx(1 / dev.hidden.herald, rel=0.1)


# The classical channel


def test_what_is_stored_tells_nothing_without_the_key() -> None:
    """Enciphered bytes are uniform, differ between jobs, and have no correlation with either node's bits."""
    dev = device(8, **NO_READ_ERROR, fidelity=1.0, dephased=0.0, offset_rad=0.0, drift_rad_per_s=0.0)
    request = RunPairTomography(basis="ZZ", shots=3000)  # perfect correlation of the bits
    record, other = arrays(request, dev, 1), arrays(request, dev, 2)
    stored = record["stored_at_b"]
    assert abs(np.mean(stored & 1) - 0.5) < 5 * 0.5 / np.sqrt(3000)
    assert abs(np.mean((stored & 1) == record["bits_a"]) - 0.5) < 5 * 0.5 / np.sqrt(3000)
    counts = np.bincount(stored, minlength=256)
    assert ((counts - 3000 / 256) ** 2 / (3000 / 256)).sum() < 255 + 5 * np.sqrt(2 * 255)
    assert (record["nonce"] != other["nonce"]).any()
    assert bought(request, dev, record)["bits"] == "".join(map(str, record["bits_a"]))
    wrong = store.sealed(stored, "12345", record["nonce"])
    assert abs(np.mean((wrong & 1) == record["bits_a"]) - 0.5) < 5 * 0.5 / np.sqrt(3000)


def test_a_part_of_the_bits_is_that_part() -> None:
    dev = device(9)
    request = RunSeparable(analysis_a_rad=0.1, analysis_b_rad=0.2, shots=200)
    record = arrays(request, dev)
    whole, part = bought(request, dev, record), bought(request, dev, record, first=50, count=30)
    assert part["bits"] == whole["bits"][50:80]
    assert part["settings"] == whole["settings"][50:80]


def test_bits_are_charged_by_what_they_tell() -> None:
    charged = {k: RequestBits(job_id="j", kind=k, count=100).cost().amounts for k in ("separable", "entangled", "tomography")}
    assert charged == {"separable": {"sensing_bits": 200}, "entangled": {"sensing_bits": 100}, "tomography": {"calibration_bits": 100}}
    assert RunEntangled(analysis_a_rad=0.0, analysis_b_rad=0.0, shots=70).cost().amounts["sensing_pairs"] == 70
    assert RunPairTomography(basis="ZZ", shots=70).cost().amounts["calibration_pairs"] == 70
    assert not {"sensing_pairs", "calibration_pairs"} & set(RunSeparable(analysis_a_rad=0.0, analysis_b_rad=0.0, shots=70).cost().amounts)


@pytest.mark.parametrize("fields", [{"kind": "tomography"}, {"kind": "separable"}, {"first": 100, "count": 101}])
def test_a_purchase_that_does_not_fit_the_job_is_refused(fields: dict[str, Any]) -> None:
    dev = device()
    request = RunEntangled(analysis_a_rad=0.0, analysis_b_rad=0.0, shots=200)
    with pytest.raises(AgentError):
        bought(request, dev, arrays(request, dev), **fields)


# Draws, what is public


def test_devices_lie_in_the_public_ranges() -> None:
    for seed in range(40):
        h = QTYPE.draw(rng(seed), PROFILE)
        assert 0.2 <= abs(h.offset_rad) <= 0.4
        assert abs(h.drift_rad_per_s) <= 0.05 / 600
        assert 0.89 <= h.fidelity <= 0.95


def test_the_notebook_dates_its_offset_before_the_fibre_was_moved() -> None:
    h = device(3).hidden
    entries = QTYPE.notebook(h, rng(2), PROFILE, TODAY).entries
    assert entries[0].data is not None
    assert entries[0].data["phase_offset_rad"] == 0.0
    assert entries[0].data["fidelity"] > h.fidelity
    assert [e.date for e in entries] == sorted(e.date for e in entries)


def test_the_spec_is_the_same_for_all_devices() -> None:
    assert device(1).spec == device(2).spec
