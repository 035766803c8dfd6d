#!/usr/bin/env bash
# Installs paimon-rust's Python wheel into a virtual environment, once, and prints the Python that has it.
# usage: setup.sh [DIRECTORY]   default: below $PAIMON_GO_TEST_HOME
set -euo pipefail
dir=${1:-${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}/rust}
if [ ! -e "$dir/.done" ]; then
  rm -rf "$dir"
  mkdir -p "$(dirname "$dir")"
  python3 -m venv "$dir"
  "$dir/bin/pip" install -q --disable-pip-version-check 'pypaimon-rust==0.4.0' 'pyarrow>=20' >&2
  touch "$dir/.done"
fi
echo "$dir/bin/python"
