"""Whether calls get slower with what is alive: 5,000 tensors, 200 programs and 8 workers against 3, 1 and 1."""

from __future__ import annotations

import argparse
import statistics
from contextlib import ExitStack, closing
from pathlib import Path

import torch

import pypto
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

TENSORS, PROGRAMS, WORKERS = 5000, 200, 8
ALLOWED = 1.05
ENOUGH = 20
SHAPE = (16, 16)


def make_program(number: int) -> object:
    """Programs that differ in one constant, so in their fingerprint."""
    added = float(number)

    @pypto.frontend.jit
    def add(x: pypto.Tensor([16, 16], pypto.DT_FP32), out: pypto.Tensor([16, 16], pypto.DT_FP32)):
        out[:] = x + added

    return ir.compile(add)


class Process:
    """One set-up: a worker that is called, beside the tensors, programs and workers that are alive."""

    def __init__(self, stack: ExitStack, programs: list[object], tensors: int, workers: int) -> None:
        opened = [stack.enter_context(closing(ChipWorker(config=RunConfig()))) for _ in range(workers)]
        self.worker = opened[len(opened) // 2]
        self.program = programs[len(programs) // 2]
        self.handles = [self.worker.register(program) for program in programs]
        self.handle = self.handles[len(programs) // 2]
        self.kept = [self.worker.alloc_tensor(SHAPE, torch.float32) for _ in range(tensors)]
        self.source, self.target = self.kept[tensors // 2], self.kept[-1]
        self.source.copy_from_host(torch.ones(SHAPE))
        self.x, self.out = torch.ones(SHAPE), torch.empty(SHAPE)

    def alloc_and_free(self) -> None:
        """One resident tensor for a moment."""
        self.worker.free_tensor(self.worker.alloc_tensor(SHAPE, torch.float32))

    def calls(self, label: str) -> list[Candidate]:
        """The calls that must not grow."""
        calls = {
            "handle, resident": lambda: self.handle(self.source, self.target),
            "handle, host": lambda: self.handle(self.x, self.out),
            "alloc_tensor + free_tensor": self.alloc_and_free,
            "register a known program": lambda: self.worker.register(self.program),
            "submit + wait": lambda: self.handle.submit(self.source, self.target).wait(),
        }
        return [Candidate(f"{name}; {label}", call) for name, call in calls.items()]


def compare(few: list[Candidate], many: list[Candidate]) -> dict[str, dict[str, float]]:
    """Ratio of minima and of medians; 1 means that nothing grew."""
    ratios = {}
    for small, large in zip(few, many, strict=True):
        a, b = small.row(), large.row()
        name = small.name.split(";")[0]
        ratios[name] = {
            "minima": round(b["min_ns"] / a["min_ns"], 3),
            "medians": round(b["median_ns"] / a["median_ns"], 3),
            "lower_quartiles": round(quartile(large) / quartile(small), 3),
        }
    return ratios


def quartile(candidate: Candidate) -> float:
    """A quarter of the samples is faster; those with a context switch count where few are without one."""
    few = len(candidate.samples) < ENOUGH
    return statistics.quantiles(candidate.samples + candidate.switched if few else candidate.samples, n=4)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    programs = [make_program(number) for number in range(PROGRAMS)]
    with ExitStack() as stack:
        small = Process(stack, programs[:1], 3, 1)
        pin()
        # The small set-up once alone in the process, then interleaved with the large one.
        alone = small.calls("alone")
        measure(alone, rounds=60)
        large = Process(stack, programs, TENSORS, WORKERS - 1)
        few, many = small.calls("small"), large.calls("large")
        figures = measure(few + many, rounds=100)
    figures.update({candidate.name: candidate.row() for candidate in alone})
    beside, process = compare(few, many), compare(alone, few)
    extra = {"large_against_small": beside, "small_beside_large_against_alone": process}
    report("Calls beside what is alive, nanoseconds", figures, arguments.json, extra)
    for name, row in beside.items():
        state = "ok" if row["lower_quartiles"] <= ALLOWED else "grew"
        print(
            f"{name}: large / small {row['lower_quartiles']:.3f} ({state}); small beside large / alone: "
            f"{process[name]['lower_quartiles']:.3f}"
        )


if __name__ == "__main__":
    main()
