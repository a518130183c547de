# Each target does its own set-up on a fresh machine, and nothing twice. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-docker lint format harbor images lock clean distclean

# One BLAS thread: the laboratory parallelises over jobs, and small matrices are slower on more.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Bytecode is written at the first import; without it each of the many processes of a test run compiles its libraries again.
unexport PYTHONDONTWRITEBYTECODE

RUNTIME := .venv/.installed-runtime
DEV := .venv/.installed-dev
HARBOR := .venv-harbor/.installed
LOCAL := agent_env .
PYTEST := .venv/bin/python -m pytest

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(RUNTIME) ## the reference experimentalist runs one task on this machine, and is graded
	@.venv/bin/qharbor run lattice_surgery_cnot --agent reference

test: $(DEV) ## lint, import contracts, all tests that need no Docker
	@.venv/bin/ruff check --quiet .
	@.venv/bin/lint-imports --no-logo >.lint-imports.log 2>&1 || { cat .lint-imports.log; exit 1; }; rm -f .lint-imports.log
	@$(PYTEST) -n 2 $(ARGS)

test-slow: $(DEV) ## the long statistical checks
	@$(PYTEST) -m slow $(ARGS)

test-docker: $(DEV) $(HARBOR) images ## whole trials through Harbor and Docker
	@$(PYTEST) -m docker --durations=10 tests/docker $(ARGS)

lint: $(DEV) ## ruff, mypy, import contracts
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo

format: $(DEV) ## order imports, apply the safe fixes
	@.venv/bin/ruff check --fix .

harbor: $(HARBOR) ## Harbor in its own environment, .venv-harbor
	@.venv-harbor/bin/harbor --version

images: $(RUNTIME) ## the two container images
	@.venv/bin/python -m qharbor.images

lock: ## write the lock files anew from pyproject.toml (needs uv)
	@scripts/lock.sh

clean: ## what tests and builds leave behind
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .lint-imports.log
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean ## also the environments
	@rm -rf .venv .venv-harbor

$(RUNTIME): requirements.lock pyproject.toml agent_env/pyproject.toml scripts/install.sh
	@scripts/install.sh .venv requirements.lock $(LOCAL)
	@touch $@

$(DEV): requirements-dev.lock pyproject.toml agent_env/pyproject.toml scripts/install.sh
	@scripts/install.sh .venv requirements-dev.lock $(LOCAL)
	@touch $(RUNTIME) $@

$(HARBOR): requirements-harbor.lock scripts/install.sh
	@scripts/install.sh .venv-harbor requirements-harbor.lock
	@touch $@

.PHONY: bench
bench: $(DEV) ## each benchmark against its named alternative, see bench/README.md
	@for b in sidecar_start submit_latency lattice_surgery_job transmon_vs_qutip blackbox_vs_aer_mps cycle_recon_vs_stim memory_job rydberg_memory_job digital_gate_vs_aer multilevel_vs_qutip magic_factory_vs_aer trapped_ion_chain_vs_qutip blackbox_lindblad_dynamics_vs_qutip driven_dissipative_transmon_array_vs_qutip ftqc_resource_estimation_vs_stim bose_hubbard_chain_vs_qutip repeater_vs_stim network_vs_qutip transmon_erasure_qutrit_vs_qutip nv_sensor_network_vs_qutip trapped_ion_state_copy_vs_qutip ion_trap_gate_model_vs_aer gmon_ring_3q_vs_qutip kitaev_chain_vs_qutip spin_chain_control_vs_qutip fault_tolerance_oracle stabilizer_refusals stabilizer_synthesis; do echo "== bench.$$b"; .venv/bin/python -m bench.$$b || exit 1; done
