#!/usr/bin/env bash
# Prints the path of a Python >= 3.12 that can make virtual environments, or says what to do. `PYTHON=/path` overrides the search.
set -uo pipefail

# A candidate counts only if it runs: a version manager's shim may be on PATH for a version that is not selected.
works() {
  "$1" - <<'PY' >/dev/null 2>&1
import sys
import ensurepip, venv
sys.exit(sys.version_info < (3, 12))
PY
}

old=()
try() {
  local path
  path=$(command -v "$1" 2>/dev/null) || return 1
  if works "$path"; then
    "$path" -c 'import sys; print(sys.executable)'
    exit 0
  fi
  old+=("$path ($("$path" -V 2>&1 | head -n 1))")
  return 1
}

if [[ -n ${PYTHON:-} ]]; then
  try "$PYTHON"
  echo "PYTHON=$PYTHON is not a Python >= 3.12 with the modules venv and ensurepip." >&2
  exit 1
fi

for name in python3.12 python3.13 python3.14 python3 python; do try "$name"; done
for root in "${PYENV_ROOT:-$HOME/.pyenv}/versions" "$HOME/.local/share/uv/python" /opt/homebrew/bin /usr/local/bin; do
  for path in "$root"/3.1[2-9]*/bin/python3 "$root"/*cpython-3.1[2-9]*/bin/python3 "$root"/python3.1[2-9]; do
    [[ -x $path ]] && try "$path"
  done
done
if command -v uv >/dev/null 2>&1; then
  path=$(uv python find --no-python-downloads '>=3.12' 2>/dev/null) && try "$path"
fi

{
  echo "Quantum-Harbor needs Python 3.12 or newer, with the modules venv and ensurepip; none was found."
  ((${#old[@]})) && printf '  looked at: %s\n' "${old[@]}"
  echo "Get one, then run the same command again:"
  echo "  Debian 13, Ubuntu 24.04   sudo apt-get install python3 python3-venv"
  echo "  macOS                     brew install python@3.12"
  echo "  pyenv                     pyenv install 3.12"
  echo "  uv                        uv python install 3.12"
  echo "or name one: PYTHON=/path/to/python3.12 make demo"
} >&2
exit 1
