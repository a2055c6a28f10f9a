"""How long kernels take to compile (trace, plan, image), ten statements beside one, and what captured values add."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

import pypto
from harness import machine
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/python/frontend"))
from repeated_programs import FAMILIES, NESTED, kernel_of  # type: ignore[import-not-found]  # noqa: E402

FP32, T = pypto.DT_FP32, pypto.Tensor
LIMITS = {2_000: 0.5, 20_000: 8.0}  # seconds for so many operations
ROUNDS = 5


def rows_unrolled(count: int) -> Any:
    """A kernel of 4 operations per row."""

    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 64], FP32), out: T([pypto.DYN, 64], FP32)):
        for i in pypto.loop(0, x.shape[0], 64):
            for j in range(count):
                out[i + j : i + j + 1] = x[i + j : i + j + 1] * 2.0 + 1.0

    return kernel


def chain(count: int) -> Any:
    """A kernel of one long chain."""

    @pypto.frontend.jit
    def kernel(x: T([16, 64], FP32), out: T([16, 64], FP32)):
        y = x
        for _ in range(count):
            y = y * 1.5
        out[:] = y

    return kernel


def seconds_to_compile(make: Callable[[int], Any], count: int) -> float:
    """The least of several rounds, each with a kernel of its own."""
    best = float("inf")
    for _ in range(ROUNDS if count <= 2_000 else 2):
        kernel = make(count)
        begin = time.process_time()
        ir.compile(kernel)
        best = min(best, time.process_time() - begin)
    return best


class Numbers:
    scale = 2.0


@dataclasses.dataclass(frozen=True)
class Tiles:
    scale: float = 2.0


TILES, OBJECT, LISTED = Tiles(), Numbers(), [2.0] * 1000
ARRAY = torch.full((1000, 1000), 2.0).numpy()
TENSOR = torch.full((1000, 1000), 2.0)


def captured() -> dict[str, Any]:
    """Kernels that differ in what they read besides their arguments."""
    readers: dict[str, Callable[[], float]] = {
        "nothing": lambda: 2.0,
        "a class": lambda: Numbers.scale,
        "an object": lambda: OBJECT.scale,
        "a dataclass": lambda: TILES.scale,
        "a list of 1,000 numbers": lambda: LISTED[3],
        "an array of 4 MB": lambda: float(ARRAY[0, 0]),
        "a tensor of 4 MB": lambda: float(TENSOR[0, 0]),
    }

    def made(read: Callable[[], float]) -> Any:
        @pypto.frontend.jit
        def kernel(x: T([4, 8], FP32), out: T([4, 8], FP32)):
            out[:] = x * read()

        return kernel

    return {name: made(read) for name, read in readers.items()}


def microseconds_per_call(kernel: Any, calls: int = 50) -> float:
    x, out = torch.ones(4, 8), torch.zeros(4, 8)
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(calls):
            kernel(x, out)
        best = min(best, time.perf_counter() - begin)
    return best / calls * 1e6


def first_call(body: str, directory: pathlib.Path) -> float:
    """Seconds of a first call, which compiles: the least of several kernels."""
    best = float("inf")
    for _ in range(3):
        kernel, out = kernel_of(directory, body), torch.zeros(8)
        begin = time.process_time()
        kernel(torch.arange(1.0, 5.0), torch.tensor([1, 0, 2], dtype=torch.int32), out)
        best = min(best, time.process_time() - begin)
    return best


def repeated(figures: dict[str, float]) -> None:
    """A table: statements that bind containers and tensors anew, once and ten times; loops in loops, one and six."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for names, many in ((FAMILIES, 10), (NESTED, 6)):
            for family, program in names.items():
                one, all_of_them = (first_call(program(count), directory) for count in (1, many))
                figures[f"first call, {family} x {many} (ms)"] = all_of_them * 1e3
                print(
                    f"first call {family:40s} x 1 {one * 1e3:7.1f} ms   x {many:2d} {all_of_them * 1e3:7.1f} ms   "
                    f"{all_of_them / one:5.1f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write figures and the machine's description to this file")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for count, limit in LIMITS.items():
        for name, seconds in (
            ("rows", seconds_to_compile(rows_unrolled, count // 4)),
            ("chain", seconds_to_compile(chain, count)),
        ):
            figures[f"compile {count} operations, {name} (s)"] = seconds
            print(f"compile {count:6d} operations, {name:6s} {seconds:8.3f} s   (limit {limit} s)")
    repeated(figures)
    with ChipWorker(config=RunConfig()):
        for name, kernel in captured().items():
            figures[f"call that reads {name} (us)"] = cost = microseconds_per_call(kernel)
            print(f"call that reads {name:26s} {cost:10.1f} us")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"machine": machine(), "figures": figures}, file, indent=2)


if __name__ == "__main__":
    main()
