#!/usr/bin/env bash
# Builds the package from this tree and installs it into .venv.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export PATH="$root/.venv/bin:$PATH"
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) python -m pip install -q --no-build-isolation --no-deps --force-reinstall \
  --config-settings=cmake.define.PYPTO_WARNINGS_AS_ERRORS=ON .
