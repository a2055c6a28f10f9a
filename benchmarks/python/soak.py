"""Many dispatches over twenty programs and changing shapes: resident set and counters stay flat after warm-up."""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path

import torch

import pypto
from harness import machine
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

PROGRAMS = 20
ROWS = (1, 2, 3, 5, 8, 13, 16, 32)
COLUMNS = 16
STEP = 8


def make_kernel(factor: float):
    @pypto.frontend.jit
    def scale(
        x: pypto.Tensor([pypto.DYNAMIC, COLUMNS], pypto.DT_FP32),
        out: pypto.Tensor([pypto.DYNAMIC, COLUMNS], pypto.DT_FP32),
    ):
        for row in pypto.loop(0, x.shape[0], STEP):
            out[row : row + STEP, :] = x[row : row + STEP, :] * factor

    return scale


def resident_kib() -> int:
    """KiB of memory that the process has in RAM."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


class Soak:
    """The programs with resident and host tensors of every shape."""

    def __init__(self, worker: ChipWorker) -> None:
        self.worker = worker
        self.factors = [1.0 + 0.125 * i for i in range(PROGRAMS)]
        self.handles = [worker.register(ir.compile(make_kernel(factor))) for factor in self.factors]
        self.host = {rows: (torch.randn(rows, COLUMNS), torch.empty(rows, COLUMNS)) for rows in ROWS}
        self.resident = {
            rows: (worker.alloc_tensor((rows, COLUMNS), torch.float32, init=x), worker.alloc_tensor(x.shape, x.dtype))
            for rows, (x, _) in self.host.items()
        }
        self.order = random.Random(1)

    def dispatch(self, count: int) -> None:
        """Host, mixed, resident and submitted calls in random order; every 997th result is checked."""
        for number in range(count):
            program = self.order.randrange(PROGRAMS)
            handle, rows = self.handles[program], self.order.choice(ROWS)
            x, out = self.host[rows]
            rx, rout = self.resident[rows]
            kind = number % 4
            if kind == 0:
                handle(x, out)
            elif kind == 1:
                handle(rx, out)
            elif kind == 2:
                handle(rx, rout)
            else:
                handle.submit(rx, out).wait()
            if number % 997 in (0, 1) and kind != 2:
                torch.testing.assert_close(out, x * self.factors[program])

    def figures(self) -> dict[str, int]:
        """What must not grow: resident set, bytes on the device, loads of programs."""
        memory = {f"memory.{name}": value for name, value in self.worker.memory_info().items()}
        counters = {f"counters.{name}": value for name, value in self.worker.counters().items()}
        return {"resident_kib": resident_kib(), **memory, **counters}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with ChipWorker(config=RunConfig()) as worker:
        soak = Soak(worker)
        soak.dispatch(max(arguments.calls // 10, 2 * PROGRAMS * len(ROWS)))
        begin, first = time.perf_counter(), soak.figures()
        soak.dispatch(arguments.calls)
        seconds, last = time.perf_counter() - begin, soak.figures()
    print(f"{arguments.calls} dispatches over {PROGRAMS} programs and {len(ROWS)} shapes in {seconds:.1f} s")
    for name, value in last.items():
        print(f"{name:40} {first[name]:14} {value:14} {value - first[name]:+12}")
    if arguments.json is not None:
        record = {"title": "Soak", "machine": machine(), "calls": arguments.calls, "seconds": seconds}
        arguments.json.write_text(json.dumps({**record, "first": first, "last": last}, indent=1))


if __name__ == "__main__":
    main()
