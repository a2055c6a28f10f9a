#!/usr/bin/env bash
# Builds and runs the C++ tests with threads under the thread sanitizer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tests=(test_device test_mock_acl test_mock_acl_memory test_mock_acl_engine test_runtime_mock test_capi)

# The sanitizer's map of the address space does not fit every random layout.
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_layout=(setarch "$(uname -m)" -R); fi
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
printf 'int main() {}\n' >"$probe/probe.cpp"
g++ -fsanitize=thread "$probe/probe.cpp" -o "$probe/probe"
if ! "${fixed_layout[@]}" "$probe/probe"; then
  echo "left out: programs with the thread sanitizer do not start on this machine"
  exit 0
fi

cmake --preset tsan >/dev/null
"${fixed_layout[@]}" cmake --build --preset tsan --target "${tests[@]}"
for name in "${tests[@]}"; do
  "${fixed_layout[@]}" "$(find build/tsan/tests -name "$name" -type f)" --gtest_brief=1
done
