"""What workspace records cost: launches with log level ERROR and with INFO, with few and with many device tasks."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import pypto
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RegistrationHandle, RunConfig, log

ROWS = 65
ALLOWED_US, ALLOWED_US_PER_TASK = 20.0, 5.0


@pypto.frontend.jit
def rows(x: pypto.Tensor([ROWS, 16], pypto.DT_FP32), out: pypto.Tensor([ROWS, 16], pypto.DT_FP32)):
    """One root instance a row; the product of each row crosses from one leaf to another, so it takes workspace."""
    for i in pypto.loop(ROWS):
        row = pypto.matmul(x[i : i + 1, :], x[i : i + 1, :], pypto.DT_FP32, a_trans=True)
        out[i : i + 1, :] = row[0:1, :] + 1.0


@dataclass
class AtLevel(Candidate):
    """A candidate that is timed at one log level; the switch is outside of the timed calls."""

    level: str = "error"

    def calibrate(self) -> None:
        log(self.level)
        super().calibrate()

    def sample(self, empty_ns: float) -> None:
        log(self.level)
        super().sample(empty_ns)


def registered(worker: ChipWorker, runtime_options: dict[str, object]) -> RegistrationHandle:
    with pypto.options(runtime_options=runtime_options):
        return worker.register(ir.compile(rows))


def pair(name: str, call: Callable[[], object]) -> list[Candidate]:
    return [
        AtLevel(f"{name}, INFO {'on' if level == 'info' else 'off'}", call, level=level) for level in ("error", "info")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, ChipWorker(config=RunConfig()) as worker:
        log("error", path=folder)
        x = worker.alloc_tensor((ROWS, 16), torch.float32, init=torch.randn(ROWS, 16))
        out = worker.alloc_tensor((ROWS, 16), torch.float32)
        handles = {
            "1 task": registered(worker, {}),
            "1 task, 8 copies": registered(worker, {"device_sched_parallelism": 8}),
            f"{ROWS} tasks": registered(worker, {"stitch_function_max_num": 1}),
        }
        for handle in handles.values():
            handle(x, out)
        tasks = {name: handle.workspace_report().device_tasks for name, handle in handles.items()}
        pin()
        figures = measure([c for name, h in handles.items() for c in pair(name, lambda h=h: h(x, out))], rounds=60)
        log("environment")
    report("Workspace records, nanoseconds per launch", figures, arguments.json)
    print()
    for name, count in tasks.items():
        cost = (figures[f"{name}, INFO on"]["median_ns"] - figures[f"{name}, INFO off"]["median_ns"]) / 1e3
        allowed = ALLOWED_US + ALLOWED_US_PER_TASK * count
        print(f"{name}: records cost {cost:.1f} us a launch, {cost / count:.2f} us a task; allowed {allowed:.0f} us")


if __name__ == "__main__":
    main()
