#!/usr/bin/env bash
# Prepares a fresh machine: Debian packages when they are missing, and the virtual environment .venv with what
# development needs. Run again at will; sourced scripts find the environment's programs first in PATH afterwards.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

need_debian=()
command -v g++ >/dev/null || need_debian+=(g++)
command -v cmake >/dev/null || need_debian+=(cmake)
[ -e /usr/include/gtest/gtest.h ] || need_debian+=(libgtest-dev)
[ -e /usr/include/gmock/gmock.h ] || need_debian+=(libgmock-dev)
[ -e /usr/include/benchmark/benchmark.h ] || need_debian+=(libbenchmark-dev)
command -v ccache >/dev/null || need_debian+=(ccache)
command -v clang++ >/dev/null || need_debian+=(clang)
command -v pkg-config >/dev/null || need_debian+=(pkg-config)
# Kernels are compiled for that processor too.
command -v aarch64-linux-gnu-g++ >/dev/null || need_debian+=(g++-aarch64-linux-gnu)
# A test embeds the interpreter: its header and its shared library.
python3 -c 'import os, sys, sysconfig as s
v = s.get_config_var
header = os.path.join(v("INCLUDEPY"), "Python.h")
libraries = [os.path.join(d, v("LDLIBRARY")) for d in (v("LIBDIR"), v("LIBPL")) if d]
sys.exit(not (os.path.exists(header) and any(map(os.path.exists, libraries))))' || need_debian+=(libpython3-dev)
if [ ${#need_debian[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need_debian[@]}"
fi

[ -x "$root/.venv/bin/python" ] || python3 -m venv "$root/.venv"
"$root/.venv/bin/python" -m pip install -q "torch==2.13.0"
"$root/.venv/bin/python" -m pip install -q -r "$root/.ci/requirements.txt"
