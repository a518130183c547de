"""Raw arrays as plots: counts add up to all shots, means are the means, and what was left out is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evidence import Bundle
from graders.kit import GradedSession
from qtypes import Clock
from results.viewer import detectors
from results.viewer.axes import axis_of
from results.viewer.iq import principal
from results.viewer.numbers import bounded, number, unit_of
from results.viewer.views import views
from tests.graders.in_process import Bench

RNG = np.random.default_rng(3)


def info(name: str, values: np.ndarray, *axes: str, unit: str = "1", layout: str = "") -> dict[str, Any]:
    return {"name": name, "axes": list(axes), "unit": unit, "layout": layout, "dtype": values.dtype.str, "shape": list(values.shape)}


def made(name: str, values: np.ndarray, *axes: str, request: dict[str, Any] | None = None, **more: Any) -> dict[str, dict[str, Any]]:
    summary = more.pop("summary", {})
    return {v["title"]: v for v in views([info(name, values, *axes, **more)], {name: values}, request or {}, summary)}


def test_a_cloud_counts_every_shot_and_a_sweep_gives_the_mean_of_each_point() -> None:
    tau = np.array([0.0, 2e4, 6e4, 1e5])
    z = (np.exp(-tau / 4e4)[:, None] * (3 - 2j) + RNG.normal(size=(4, 900)) + 1j * RNG.normal(size=(4, 900))).astype(np.complex64)
    found = made("iq", z, "point", "shot", unit="mV", request={"sweep": [{"name": "tau_ns", "values": tau.tolist()}]})
    assert sum(found["iq: cloud"]["values"]) == z.size
    assert sum(found["projected shots"]["series"][0]["y"]) == 900
    curve = found["swept signal"]["series"][0]
    assert curve["x"] == [0, 20, 60, 100]
    assert found["swept signal"]["x"] == {"label": "tau", "unit": "µs"}
    direction, centre = principal(z.astype(complex))
    assert curve["y"] == pytest.approx(((z.mean(1) - centre) * np.conj(direction)).real, rel=1e-3, abs=1e-3)
    assert curve["e"] == pytest.approx(np.full(4, 1 / 30), rel=0.1)
    assert abs(np.angle(direction / (3 - 2j))) < 0.1


def test_a_sweep_over_a_grid_of_two_columns_is_a_map_and_over_few_values_a_curve_each() -> None:
    x, y = (v.ravel() for v in np.meshgrid(np.arange(9.0), np.arange(8.0)))
    z = np.broadcast_to((x + 10 * y)[:, None], (72, 5)).astype(np.complex64)
    columns = [{"name": "offset_mhz", "values": x.tolist()}, {"name": "gain", "values": y.tolist()}]
    found = made("iq", z, "point", "shot", request={"sweep": columns})["swept signal"]
    assert (found["kind"], found["rows"], found["cols"]) == ("map", 8, 9)
    table = np.array(found["values"]).reshape(8, 9)
    assert np.allclose(np.diff(table, axis=1), 1, atol=0.02)
    assert np.allclose(np.diff(table, axis=0), 10, atol=0.02)
    few = [{"name": "offset_mhz", "values": x[:27].tolist()}, {"name": "gain", "values": y[:27].tolist()}]
    series = made("iq", z[:27], "point", "shot", request={"sweep": few})["swept signal"]["series"]
    assert [s["name"] for s in series] == ["gain 0", "gain 1", "gain 2"]


def test_packed_bits_of_each_state_are_counted_against_what_was_prepared() -> None:
    states = ["000", "101", "111"]
    bits = np.array([[[int(c) for c in s]] * 400 for s in states], dtype=np.uint8) ^ (RNG.random((3, 400, 3)) < 0.1)
    packed = np.packbits(bits.astype(np.uint8), axis=-1, bitorder="little")
    found = made("bits", packed, "state", "shot", "byte", request={"states": states, "shots": 400})
    ones = np.array(found["bits: share of ones"]["values"]).reshape(3, 3)
    assert pytest.approx(bits.mean(1), abs=1e-3) == ones.T
    table = found["read against prepared"]
    assert table["x"]["names"] == states
    shares = np.array(table["values"]).reshape(8, 3)
    assert shares.sum(0) == pytest.approx(np.ones(3), abs=2e-3)
    assert [table["y"]["names"][k] for k in shares.argmax(0)] == states


def test_a_decay_over_depths_is_an_expectation_with_its_error() -> None:
    depths, p = [0, 8, 64], np.array([0.02, 0.1, 0.4])
    bits = (RNG.random((3, 20, 50, 2)) < p[:, None, None, None]).astype(np.uint8)
    found = made("bits", bits, "depth", "twirl", "shot", "qubit", request={"depths": depths, "other": [1, 2, 3]})
    curve = found["expectation against the sweep"]["series"][0]
    assert curve["x"] == depths
    assert curve["y"] == pytest.approx(1 - 2 * bits[..., 0].mean((1, 2)), abs=1e-4)
    assert "all twirls" in found["expectation against the sweep"]["note"]
    assert sum(np.array(found["strings read, setting by setting"]["values"]).reshape(4, 3)[:, 0]) == pytest.approx(1, abs=2e-3)


def test_long_strings_are_counted_from_the_top_and_the_rest_is_told() -> None:
    bits = (RNG.random((5000, 10)) < 0.3).astype(np.uint8)
    found = made("bits", bits, "shot", "bit")["strings read"]
    assert len(found["values"]) == 24
    rest = int(str(found["note"]).rsplit("were read ", 1)[1].split(" ")[0].replace(",", ""))
    assert sum(found["values"]) + rest == 5000


def test_integers_and_the_clock_are_told_apart_from_bits() -> None:
    attempts = RNG.integers(1, 5, 300).astype(np.uint16)
    assert sum(made("attempts", attempts, "shot")["attempts: how often each value"]["values"]) == 300
    clock = np.linspace(0, 5, 300)
    assert made("time_s", clock, "shot", unit="s", layout="lab clock at the start of the shot") == {}


def test_detection_rates_are_those_of_the_circuit() -> None:
    bench = Bench("lattice_surgery_cnot", b"1" * 32)
    model = bench.qtype.tools()["run_memory"]
    request = model.model_validate_json('{"shots": 2000, "patch": "C", "basis": "Z", "rounds": 3}')
    meas = request.run(bench.device, Clock(0.0), np.random.default_rng(1)).arrays["meas"].values
    circuit = detectors.circuit_of(request, bench.device.spec)
    found = {v["title"]: v for v in detectors.views(meas, circuit, 2304)}
    bits = np.unpackbits(meas, axis=1, count=circuit.num_measurements, bitorder="little").astype(bool)
    events = circuit.compile_m2d_converter().convert(measurements=bits, append_observables=False)
    rates = sorted(v for v in found["detectors"]["values"] if v is not None)
    assert rates == pytest.approx(sorted(events.mean(0)), abs=1e-3)
    assert sum(found["events a shot"]["series"][0]["y"]) == 2000
    assert len(found["raw observables"]["values"]) == circuit.num_observables == 1


def test_every_record_of_a_session_is_drawn(relaxation: Any) -> None:
    session = GradedSession(Bundle(relaxation.bundle))
    described = {e.data["job_id"]: e.data["record"]["arrays"] for e in session.bundle.events() if e.kind == "job_completed"}
    for job in session.jobs:
        assert len(views(described[job.job_id], job.arrays(), job.request.model_dump(mode="json"), {})) >= 2


def test_what_is_too_long_to_read_is_cut_and_says_so() -> None:
    assert bounded(list(range(1000)))[-1] == "… 300 of 1,000 entries shown"
    assert bounded("x" * 7000).endswith("6,000 of 7,000 characters shown")
    assert bounded({str(k): k for k in range(400)})["…"] == "300 of 400 fields shown"
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert "nested deeper" in str(bounded(deep))
    assert number(0.123456789) == 0.12346
    assert number(float("nan")) is None
    assert unit_of("tau_ns") == ("tau", "ns")
    assert unit_of("gain") == ("gain", "")


def test_an_axis_takes_the_list_named_after_it_and_else_one_of_its_length() -> None:
    assert axis_of("depth", 3, {"depths": [1, 2, 4], "x": [7, 8, 9]}).varied == ["depths"]
    assert axis_of("point", 3, {"offsets_mhz": [1, 2, 4]}).label == {"label": "offsets", "unit": "MHz"}
    assert axis_of("point", 3, {"a": [1, 2]}).values is None
    assert axis_of("state", 2, {"states": ["01", "11"]}).names == ("01", "11")
