"""Rooflines: what a core of this machine can do, measured when the benchmark begins (peers/peaks.c)."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

SOURCE = Path(__file__).resolve().parents[1] / "peers" / "peaks.c"
MEMORY_BYTES = 64 << 20  # beyond the caches of a core
ROUNDS = 400_000


@dataclass(frozen=True)
class Roof:
    """Operations per nanosecond by dtype (a multiply-add counts as two) and bytes read per nanosecond; all cores."""

    operations: dict[str, float]
    read: float
    cores: int = 1

    def of(self, dtype: str) -> float:
        """The peak of the unit that computes this dtype: FP32's where it has none of its own."""
        return self.operations.get(dtype) or self.operations["fp32"]

    def fraction(self, ns: float, operations: float, dtype: str, moved: float) -> float:
        """Share of the roof that a run of `ns` reached: arithmetic or memory, whichever takes longer."""
        least = max(operations / self.of(dtype), moved / self.read)
        return least / ns

    def __str__(self) -> str:
        peaks = ", ".join(f"{name} {rate:.0f}" for name, rate in self.operations.items() if rate)
        return f"roof of {self.cores} core(s): {peaks} Gop/s in registers, reading {self.read:.1f} GB/s"


def _least_ns(work: Callable[[], object], times: int) -> float:
    least = float("inf")
    for _ in range(times):
        begin = time.perf_counter_ns()
        work()
        least = min(least, time.perf_counter_ns() - begin)
    return least


def measure_roof(cores: int = 1) -> Roof:
    """Of one core, the calling thread's, times `cores`; memory is shared by all cores and not multiplied."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "peaks.so"
        subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        peers = ctypes.CDLL(str(library))
    sink = (ctypes.c_float * 4)()
    operations = {}
    for name in ("fp32", "bf16", "int8"):
        run = getattr(peers, f"peak_{name}")
        run.restype, run.argtypes = ctypes.c_double, [ctypes.c_long, ctypes.c_void_p]
        done = run(1, sink) * ROUNDS
        operations[name] = cores * done / _least_ns(lambda run=run: run(ROUNDS, sink), 9)
    peers.read_all.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    memory = torch.zeros(MEMORY_BYTES // 4)
    address = memory.data_ptr() + -memory.data_ptr() % 64
    size = MEMORY_BYTES - 4096
    return Roof(operations, size / _least_ns(lambda: peers.read_all(address, size, sink), 7), cores)
