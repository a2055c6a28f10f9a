"""Runs inside the framework's process while its own threads dispatch: one runtime serves both."""

import os
import sys
from pathlib import Path

import numpy as np

import pypto
from pypto import ir, testing
from pypto.runtime import ChipWorker, RunConfig

assert pypto.get_global_config("foreign.mark") == 42, "the process has two runtimes"
assert testing.live_bytes() > 0, "the framework's tensors are on another mock"
loaded = {
    line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libpypto.so" in line
}
assert loaded == {os.environ.get("EXPECTED_LIBRARY", str(Path(pypto.__file__).parent / "libpypto.so.0"))}, loaded
add = ir.load(sys.argv[1])
with ChipWorker(config=RunConfig()) as worker:
    handle = worker.register(add)
    bias = np.full((1, 16), 3.0, np.float32)
    for rows in range(1, 50):
        x = np.full((rows, 16), rows, np.float32)
        out = np.zeros_like(x)
        handle(x, bias, out)
        assert (out == rows + 3.0).all(), out
    assert worker.counters()["launches"] == 49
print("Python is done")
