#!/usr/bin/env bash
# Sets a fresh machine up and passes the tests: lints, C++ (ctest), the installed package (pytest), the examples.
# With --sanitizers also the C++ tests under the address and undefined-behaviour sanitizers, and those with threads under
# the thread sanitizer.
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
# What kernels say of themselves is for tracing: tensors as annotations, loops over traced numbers.
mypy benchmarks/python --no-warn-unused-ignores --disable-error-code valid-type --disable-error-code untyped-decorator \
  --disable-error-code no-untyped-def --disable-error-code var-annotated --disable-error-code misc

step "C++: build and ctest"
cmake --preset dev
cmake --build --preset dev
ctest --preset dev

# The fuzzer's corpus with mutations from a fixed seed, for a minute, beside the steps that follow.
replay_log=$(mktemp)
nice build/dev/tests/cpp/fuzz/fuzz_image_replay tests/fuzz/corpus 2000 60 >"$replay_log" 2>&1 &
replay=$!
trap 'kill "$replay" 2>/dev/null || true; rm -f "$replay_log"' EXIT

step "package: build, install, pytest"
bash .ci/install.sh
python -m pytest tests -n 2 --dist loadfile

step "operations, with each set of vector instructions but the best"
for simd in plain avx2; do
  [ "$simd" = plain ] || grep -qw "$simd" /proc/cpuinfo || continue
  PYPTO_SIMD=$simd python -m pytest tests/python/catalogue tests/python/test_matmul.py -q -n 2 --dist loadfile
done

step "examples"
for example in examples/*/[!_]*.py; do
  echo "-- $example"
  python "$example"
done

step "fuzzer: the end of the minute"
wait "$replay" || { cat "$replay_log"; exit 1; }
cat "$replay_log"

step "instructions per dispatch (nothing without valgrind)"
timeout 60 python benchmarks/python/instructions.py

if [ "${1:-}" = --sanitizers ]; then
  step "C++ under the address and undefined-behaviour sanitizers"
  cmake --preset asan >/dev/null
  cmake --build --preset asan
  ctest --preset asan

  step "C++ with threads under the thread sanitizer"
  bash tests/threads.sh
fi

step "done"
