#!/usr/bin/env bash
# Fuzzes the reader of program files with libFuzzer: run.sh [seconds], one process, work in build/fuzz.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=${1:-600}
# The first clang that comes with libFuzzer (Debian: clang-16 and libclang-rt-16-dev).
clang=
for candidate in clang++ clang++-16 clang++-14; do
  if echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    "$candidate" -x c++ -fsanitize=fuzzer,address,undefined - -o /dev/null 2>/dev/null; then
    clang=$candidate
    break
  fi
done
[ -n "$clang" ] || { cat >&2 <<'TEXT'; exit 1; }
no clang++ with libFuzzer and the address sanitizer; on Debian: apt-get install clang-16 libclang-rt-16-dev
(the replay of the corpus needs neither: ctest --preset dev -R fuzz)
TEXT
work="$root/build/fuzz/$clang"
mkdir -p "$work/corpus" "$work/findings"
objects=()
for source in "$root"/cpp/src/pypto/program/*.cpp "$root"/cpp/src/pypto/base/*.cpp "$root/tests/fuzz/image_reader.cpp"; do
  object="$work/$(basename "$source" .cpp).o"
  if [ ! "$object" -nt "$source" ]; then
    "$clang" -std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
      "-I$root/cpp/src" -c "$source" -o "$object"
  fi
  objects+=("$object")
done
"$clang" -fsanitize=fuzzer,address,undefined "${objects[@]}" -ldl -o "$work/image_reader"
exec nice -n 19 "$work/image_reader" "$work/corpus" "$root/tests/fuzz/corpus" -max_total_time="$seconds" \
  -max_len=65536 -timeout=20 -rss_limit_mb=2048 -artifact_prefix="$work/findings/" -print_final_stats=1
