#!/usr/bin/env bash
# Sets a fresh machine up, installs the package and runs the main example: a resident weight on the simulated device.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bash "$root/.ci/setup.sh"
bash "$root/.ci/install.sh"
exec "$root/.venv/bin/python" "$root/examples/runtime/resident_weights.py"
