#!/usr/bin/env bash
# install.sh ENVIRONMENT LOCK [DISTRIBUTION...]: makes the virtual environment if it is not there, installs exactly what the lock file lists
# (every file checked against its hash), then the local distributions in place. Quick where nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1 lock=$2
shift 2

if ! "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
  python=$(scripts/find_python.sh)
  echo "== $venv: $("$python" -V), $python"
  "$python" -m venv --clear "$venv"
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Bytecode is left to the first import: compiling all of it takes longer than unpacking.
pip() { # quiet while all is well; everything it said where it is not
  "$venv/bin/python" -m pip install --no-compile --no-deps "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

echo "== $venv: installing $(grep -c '^[a-z0-9].*==' "$lock") packages of $lock"
pip --require-hashes --requirement "$lock"
for distribution in "$@"; do pip --no-build-isolation --editable "$distribution"; done
