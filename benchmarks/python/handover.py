"""A kernel of about 700 microseconds: on the calling thread alone and with helpers, awake or asleep; and the GIL."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch

import pypto
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

ROWS, COLUMNS = 512, 1024
REST_SECONDS = 0.005
ROUNDS = 60


@pypto.frontend.jit
def long_chain(
    x: pypto.Tensor([ROWS, COLUMNS], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, COLUMNS], pypto.DT_FP32),
):
    """Five exponentials per element, whose values stay between 0 and 1."""
    y = pypto.exp(x * -1.0)
    y = pypto.exp(y * -1.0)
    y = pypto.exp(y * -1.0)
    y = pypto.exp(y * -1.0)
    out[:] = pypto.exp(y * -1.0)


def after_rest(call: Callable[[], object]) -> dict[str, float]:
    """One call at a time, each after a rest in which the helpers fell asleep."""
    samples = []
    for _ in range(ROUNDS):
        time.sleep(REST_SECONDS)
        begin = time.perf_counter_ns()
        call()
        samples.append(float(time.perf_counter_ns() - begin))
    return {"median_ns": statistics.median(samples), "min_ns": min(samples), "samples": len(samples)}


def beside_python(call: Callable[[], object]) -> tuple[dict[str, float], float]:
    """Calls while another thread runs Python code: their times, and what that thread got done, in steps per call."""
    steps, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            steps[0] += 1

    other = threading.Thread(target=count)
    other.start()
    samples, before = [], steps[0]
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        call()
        samples.append(float(time.perf_counter_ns() - begin))
    done = (steps[0] - before) / ROUNDS
    stop.set()
    other.join()
    return {"median_ns": statistics.median(samples), "min_ns": min(samples), "samples": len(samples)}, done


def run(cores: int) -> dict[str, dict[str, float]]:
    """All rows in a process whose device has that many cores."""
    torch.set_num_threads(1)
    x = torch.rand(ROWS, COLUMNS)
    with ChipWorker(config=RunConfig()) as worker:
        handle = worker.register(ir.compile(long_chain))
        rx, out = worker.alloc_tensor((ROWS, COLUMNS), torch.float32, init=x), worker.alloc_tensor(x.shape, x.dtype)
        for _ in range(5):
            handle(rx, out)  # the helpers start before this thread is pinned
        pin()
        title = f"{cores} core" + ("s" if cores > 1 else "")
        figures = measure([Candidate(f"{title}: back to back", lambda: handle(rx, out))], rounds=ROUNDS)
        figures[f"{title}: after a rest"] = after_rest(lambda: handle(rx, out))
        figures[f"{title}: device time"] = {
            "median_ns": 1e3 * handle.device_wall_us(),
            "min_ns": 1e3 * handle.device_wall_us(),
            "samples": 1,
        }
        row, steps = beside_python(lambda: handle(rx, out))
        figures[f"{title}: beside a busy Python thread"] = {**row, "steps_of_the_other_per_call": steps}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--cores", type=int, default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cores is not None:
        print(json.dumps(run(arguments.cores)))
        return
    figures: dict[str, dict[str, float]] = {}
    for cores in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
        environment = {**os.environ, "PYPTO_MOCK_CORES": str(cores)}
        command = [sys.executable, __file__, "--cores", str(cores)]
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        figures.update(json.loads(done.stdout.splitlines()[-1]))
    report("A kernel of about 700 microseconds, nanoseconds per call", figures, arguments.json)
    for name, row in figures.items():
        if "steps_of_the_other_per_call" in row:
            print(f"{name}: the other thread made {row['steps_of_the_other_per_call']:.0f} steps per call")


if __name__ == "__main__":
    main()
