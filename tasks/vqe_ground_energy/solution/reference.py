"""Reference solver of vqe_ground_energy.

1. Amplify the errors: trains of sx on all qubits; trains of CZ, alone and in parallel, on a qubit in superposition whose partner is in |0>.
2. Fit amplitude errors and phases, minimise the energy of the ansatz in that model.
3. Response matrix of the readout with pulses that invert exactly on this device, then the energy in both bases, the X basis turned exactly.
"""

from __future__ import annotations

import numpy as np
from circuits import HEAD, MEASURE, ansatz, energy_of
from model import Coherent, N, classical_optima, rz
from scipy.optimize import minimize

import lab

TRAINS = (0, 1, 2, 3, 5, 7, 9, 13, 17, 21)
REPEATS = (1, 2, 4, 8, 14)
TURNS = (0.0, np.pi / 2, np.pi, 3 * np.pi / 2)
JOB_SHOTS = 20_000
FINAL_JOBS = 3
# (gates of the train, qubit in superposition)
CONFIGURATIONS = (("cz q[0], q[1];", 1), ("cz q[1], q[2];", 1), ("cz q[2], q[3];", 2),
                  ("cz q[0], q[1];\ncz q[2], q[3];", 1), ("cz q[0], q[1];\ncz q[2], q[3];", 2))  # fmt: skip


def amplitudes(dev: lab.Lab) -> tuple[tuple[float, ...], str]:
    """Relative errors of sx: n pulses turn by n (pi / 2) (1 + e); contrast and offset of the readout are fitted along."""
    programs = [HEAD + "".join("sx q;\n" for _ in range(n)) + MEASURE for n in TRAINS]
    record = dev.run("run_circuits", circuits=programs, shots=JOB_SHOTS // len(TRAINS))
    excited = record["bits"][:, 0].mean(axis=1)
    grid = np.linspace(-0.08, 0.08, 3201)
    turn = np.array(TRAINS)[:, None] * np.pi / 2 * (1 + grid)
    out = []
    for q in range(N):
        y = excited[:, q] - excited[:, q].mean()
        x = -np.cos(turn)
        x = x - x.mean(axis=0)
        out.append(float(grid[((x * y[:, None]).sum(0) ** 2 / (x * x).sum(0)).argmax()]))
    return tuple(out), record.job_id


def phases(dev: lab.Lab) -> tuple[np.ndarray, list[str]]:
    """Phase per gate, rad, that the qubit in superposition picks up in each configuration."""
    programs = []
    for gates, q in CONFIGURATIONS:
        for n in REPEATS:
            train = "barrier q;\n" + (gates + "\nbarrier q;\n") * n
            programs += [HEAD + f"sx q[{q}];\n" + train + f"rz({turn!r}) q[{q}];\nsx q[{q}];\n" + MEASURE for turn in TURNS]
    records = [dev.submit("run_circuits", circuits=programs, shots=JOB_SHOTS // len(programs)) for _ in range(2)]
    done = [r.result() for r in records]
    excited = np.mean([r["bits"][:, 0].mean(axis=1) for r in done], axis=0).reshape(len(CONFIGURATIONS), len(REPEATS), len(TURNS), N)
    grid = np.linspace(-0.7, 0.7, 14001)
    found = []
    for k, (_, q) in enumerate(CONFIGURATIONS):
        # populations are b + a cos(turn + n phase): four turns give the complex fringe, whatever b
        fringe = excited[k, :, :, q] @ np.exp(-1j * np.array(TURNS))
        found.append(float(grid[(fringe[:, None] * np.exp(-1j * np.array(REPEATS)[:, None] * grid)).real.sum(0).argmax()]))
    return np.array(found), [r.job_id for r in done]


def flip(model: Coherent, q: int) -> str:
    """Three sx with rz between them that take |0> to |1> in spite of the amplitude error."""

    def missed(angles: np.ndarray) -> float:
        u = model.pulse(q) @ rz(angles[1]) @ model.pulse(q) @ rz(angles[0]) @ model.pulse(q)
        return float(abs(u[0, 0]) ** 2)

    starts = ([2.1, 2.1], [-2.1, 2.1], [0.3, 1.5], [0.1, 3.0])
    a, b = min((minimize(missed, start, method="Nelder-Mead") for start in starts), key=lambda r: r.fun).x
    return f"sx q[{q}];\nrz({float(a)!r}) q[{q}];\nsx q[{q}];\nrz({float(b)!r}) q[{q}];\nsx q[{q}];\n"


def to_x(model: Coherent, q: int) -> str:
    """Two sx with rz that turn X into Z: the middle angle brings Z to the equator, the first aligns it."""
    swing = np.sin(np.pi / 2 * (1 + model.sx[q]))
    middle = 2 * np.arccos(1 / (np.sqrt(2) * swing))
    u = model.pulse(q) @ rz(middle) @ model.pulse(q)
    axis = u.conj().T @ np.diag([1, -1]) @ u
    first = -np.angle(axis[1, 0])  # of x + i y
    return f"rz({float(first)!r}) q[{q}];\nsx q[{q}];\nrz({float(middle)!r}) q[{q}];\nsx q[{q}];\n"


def response_matrix(dev: lab.Lab, model: Coherent) -> tuple[np.ndarray, list[str]]:
    programs = [HEAD + "".join(flip(model, q) for q in range(N) if s >> q & 1) + MEASURE for s in range(16)]
    jobs = [dev.submit("run_circuits", circuits=programs, shots=JOB_SHOTS // 16) for _ in range(2)]
    records = [j.result() for j in jobs]
    strings = np.concatenate([r["bits"][:, 0] for r in records], axis=1) @ (1 << np.arange(N))
    return np.array([np.bincount(s, minlength=16) / s.size for s in strings]).T, [r.job_id for r in records]


def main() -> None:
    with lab.connect() as dev:
        for entry in dev.notebook():
            print(entry["date"], entry["title"])
        sx, sx_job = amplitudes(dev)
        measured, phase_jobs = phases(dev)
        alone = measured[:3]
        parallel = float(((measured[3] - alone[0]) + (measured[4] - alone[2])) / 2)
        model = Coherent(sx, tuple(float(x) for x in alone), parallel)
        print(f"sx errors {np.round(sx, 4)}, CZ phases {np.round(alone, 3)}, parallel {parallel:.3f} rad")
        ideal = classical_optima(np.random.default_rng(7))
        theta, expected = min((model.best(start) for start in ideal), key=lambda r: r[1])
        print(f"energy in the model {expected:.3f}, of classical optima {np.round(model.energy(np.array(ideal)), 3)}")
        response, response_jobs = response_matrix(dev, model)
        body = ansatz(theta)
        programs = [body + MEASURE, body + "barrier q;\n" + "".join(to_x(model, q) for q in range(N)) + MEASURE]
        finals = [dev.submit("run_circuits", circuits=programs, shots=JOB_SHOTS // 2) for _ in range(2 * FINAL_JOBS)]
        records = [j.result() for j in finals]
        z, x = (np.concatenate([r["bits"][k, 0] for r in records]) for k in (0, 1))
        energy, sigma, terms = energy_of(z, x, response)
        print(f"energy {energy:.3f} +- {sigma:.3f}")
        answer = {
            "theta": theta.tolist(), "energy_readout_mitigated": energy, "energy_sigma": sigma, "term_expectations": terms.tolist(),
            "job_ids": [sx_job, *phase_jobs, *response_jobs, *(r.job_id for r in records)],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
