#!/usr/bin/env bash
# Writes the four lock files from the two pyproject.toml and requirements-harbor.in. Needs uv (`pip install uv`).
# Releases move only with `scripts/lock.sh --upgrade`. No index address is written into a lock.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v uv >/dev/null || { echo "scripts/lock.sh needs uv: https://docs.astral.sh/uv/ or 'pip install uv'" >&2; exit 1; }

lock() { # OUTPUT ARGUMENT...
  local out=$1
  shift
  uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-annotate --no-header \
    --no-emit-package quantum-harbor-lab --no-emit-package quantum-harbor --output-file "$out" "$@"
  echo "$out: $(grep -c '^[a-z0-9].*==' "$out") packages"
}

lock requirements.lock "$@" pyproject.toml --group build
lock requirements-dev.lock "$@" pyproject.toml --group build --extra dev --constraint requirements.lock
lock requirements-harbor.lock "$@" requirements-harbor.in
lock agent_env/requirements.lock "$@" agent_env/pyproject.toml --group agent_env/pyproject.toml:build --extra workbench
