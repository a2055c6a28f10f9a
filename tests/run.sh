#!/usr/bin/env bash
# Sets a fresh machine up and passes the tests: lints, C++ (ctest), the installed package (pytest), the examples.
# With --sanitizers also the C++ tests under the address and undefined-behaviour sanitizers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

step "set up"
bash .ci/setup.sh
export PATH="$root/.venv/bin:$PATH"

step "lint"
ruff check .
ruff format --check .
git ls-files '*.cpp' '*.hpp' '*.h' '*.c' | xargs -r clang-format --dry-run --Werror
mypy

step "C++: build and ctest"
cmake --preset dev
cmake --build --preset dev
ctest --preset dev

step "package: build, install, pytest"
bash .ci/install.sh
python -m pytest tests -n 2 --dist loadfile

step "examples"
for example in examples/*/[!_]*.py; do
  echo "-- $example"
  python "$example"
done

step "instructions per dispatch (nothing without valgrind)"
timeout 60 python benchmarks/python/instructions.py

if [ "${1:-}" = --sanitizers ]; then
  step "C++ under the address and undefined-behaviour sanitizers"
  cmake --preset asan >/dev/null
  cmake --build --preset asan
  ctest --preset asan
fi

step "done"
