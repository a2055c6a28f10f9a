"""What a dispatch costs: resident and host tensors, against torch and the other libraries that are installed."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import pypto
from dispatch_peers import peers
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

SHAPE = (16, 16)


@pypto.frontend.jit
def trivial(
    x: pypto.Tensor([16, 16], pypto.DT_FP32),
    y: pypto.Tensor([16, 16], pypto.DT_FP32),
    out: pypto.Tensor([1, 1], pypto.DT_FP32),
):
    """Three parameters, one leaf of one cell."""
    out[:] = x[0:1, 0:1] + y[0:1, 0:1]


@pypto.frontend.jit
def add(
    x: pypto.Tensor([16, 16], pypto.DT_FP32),
    y: pypto.Tensor([16, 16], pypto.DT_FP32),
    out: pypto.Tensor([16, 16], pypto.DT_FP32),
):
    out[:] = x + y


@torch.no_grad()
def without_grad(handle: Callable[..., object], *arguments: torch.Tensor) -> None:
    handle(*arguments)


def alloc_and_free(worker: ChipWorker, elements: int) -> None:
    worker.free_tensor(worker.alloc_tensor((elements,), torch.float32))


def import_time() -> float:
    """Milliseconds of `import pypto` in a fresh interpreter, less the bare interpreter; the better of five."""

    def run(code: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begin

    return 1e3 * (min(run("import pypto") for _ in range(5)) - min(run("pass") for _ in range(5)))


def upload(worker: ChipWorker) -> dict[str, float]:
    """GB/s of an 8-MiB upload into a resident tensor and of a torch copy of the same bytes."""
    source = torch.randn(2 << 20)
    target = torch.empty_like(source)
    resident = worker.alloc_tensor(tuple(source.shape), torch.float32)
    figures = measure(
        [
            Candidate("upload of 8 MiB", lambda: resident.copy_from_host(source)),
            Candidate("torch copy_ of 8 MiB", lambda: target.copy_(source)),
        ]
    )
    worker.free_tensor(resident)
    return {name: 8 * 2**20 / row["median_ns"] for name, row in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    milliseconds = import_time()
    torch.set_num_threads(1)
    x, y, out = torch.randn(SHAPE), torch.randn(SHAPE), torch.empty(SHAPE)
    with ChipWorker(config=RunConfig()) as worker:
        rx = worker.alloc_tensor(SHAPE, torch.float32, init=x)
        ry = worker.alloc_tensor(SHAPE, torch.float32, init=y)
        rout = worker.alloc_tensor(SHAPE, torch.float32, init=out)
        rone = worker.alloc_tensor((1, 1), torch.float32)
        compiled = ir.compile(add)
        compiled_empty = ir.compile(trivial)
        empty, handle = worker.register(compiled_empty), worker.register(compiled)
        handle(x, y, out)
        weight = torch.nn.Parameter(torch.empty(SHAPE))

        def submit_and_wait() -> None:
            empty.submit(rx, ry, rone).wait()

        pin()
        figures = measure(
            [
                Candidate("handle, three resident tensors, trivial kernel", lambda: empty(rx, ry, rone)),
                Candidate("compiled, three resident tensors, trivial kernel", lambda: compiled_empty(rx, ry, rone)),
                Candidate("jitted kernel, three resident tensors, trivial kernel", lambda: trivial(rx, ry, rone)),
                Candidate("handle, three resident tensors, 16x16 add", lambda: handle(rx, ry, rout)),
                Candidate("handle, three host tensors, 16x16 add", lambda: handle(x, y, out)),
                Candidate("handle, x and out host, y resident, 16x16 add", lambda: handle(x, ry, out)),
                Candidate("compiled, three host tensors, 16x16 add", lambda: compiled(x, y, out)),
                Candidate("jitted kernel, three host tensors, 16x16 add", lambda: add(x, y, out)),
                Candidate("handle, out requires grad, under no_grad", lambda: without_grad(handle, x, y, weight)),
                Candidate("submit and wait, three resident tensors, trivial kernel", submit_and_wait),
                Candidate("register a known program", lambda: worker.register(compiled)),
                Candidate("alloc_tensor and free_tensor of 1 KiB", lambda: alloc_and_free(worker, 256)),
                Candidate("alloc_tensor and free_tensor of 1 MiB", lambda: alloc_and_free(worker, 1 << 18)),
                *peers(x, y, out),
            ]
        )
        bandwidth = upload(worker)
    extra = {"import_ms": milliseconds, "bandwidth_gb_per_s": bandwidth}
    report("Dispatch, nanoseconds per call", figures, arguments.json, extra)
    print(f"\nimport pypto: {milliseconds:.1f} ms")
    for name, rate in bandwidth.items():
        print(f"{name}: {rate:.1f} GB/s")


if __name__ == "__main__":
    main()
