"""Timing of small calls: pinned, interleaved in random order, samples with a context switch thrown away."""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_NS = 600_000


def pin(core: int = 0) -> None:
    """Keeps the calling thread on one of the cores it may use; threads that exist already stay free."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[core % len(allowed)]})


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return {
        "processor": next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), ""),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


@dataclass
class Candidate:
    """One call to time; `repeat` calls make one sample."""

    name: str
    call: Callable[..., object]  # without arguments, unless a subclass gives some
    repeat: int = 0
    samples: list[float] = field(default_factory=list)
    switched: list[float] = field(default_factory=list)  # with a context switch inside

    def run(self, repeat: int) -> None:
        """The calls of one sample."""
        call = self.call
        for _ in range(repeat):
            call()

    def loop_cost(self, empty_ns: float) -> float:
        """What the loop itself costs per call."""
        return empty_ns

    def calibrate(self) -> None:
        """Chooses how many calls fill one sample. The first calls, which may compile or allocate, are not timed."""
        self.run(5)
        self.repeat = 1
        while True:
            begin = time.perf_counter_ns()
            self.run(self.repeat)
            elapsed = time.perf_counter_ns() - begin
            if elapsed >= SAMPLE_NS // 2:
                self.repeat = max(1, round(self.repeat * SAMPLE_NS / elapsed))
                return
            self.repeat *= 4

    def sample(self, empty_ns: float) -> None:
        """One sample in nanoseconds per call, less the cost of the loop itself."""
        switches = _switches()
        begin = time.perf_counter_ns()
        self.run(self.repeat)
        elapsed = time.perf_counter_ns() - begin
        kept = self.samples if _switches() == switches else self.switched
        kept.append(elapsed / self.repeat - self.loop_cost(empty_ns))

    def row(self) -> dict[str, float]:
        """Figures of the samples without a context switch; of all, which the row says, when every sample had one."""
        used = self.samples or self.switched
        figures = {"median_ns": statistics.median(used), "min_ns": min(used), "samples": len(self.samples)}
        return figures if self.samples else {**figures, "switched_samples": len(used)}


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nivcsw + usage.ru_nvcsw


def _loop_cost() -> float:
    """Nanoseconds of an empty loop step with a call of a function that does nothing."""
    candidate = Candidate("empty", lambda: None)
    candidate.calibrate()
    for _ in range(1000):
        candidate.sample(0.0)
        if len(candidate.samples) == 30:
            break
    return candidate.row()["median_ns"]


def measure(candidates: list[Candidate], rounds: int = 120, seed: int = 0) -> dict[str, dict[str, float]]:
    """Times all candidates in one run; median and minimum in nanoseconds per call.

    The candidate's own lambda frame is subtracted as measured on a lambda that does nothing.
    """
    order = random.Random(seed)
    for candidate in candidates:
        candidate.calibrate()
    empty_ns = _loop_cost()
    for _ in range(rounds):
        for candidate in order.sample(candidates, len(candidates)):
            candidate.sample(empty_ns)
    return {candidate.name: candidate.row() for candidate in candidates}


def report(
    title: str, figures: dict[str, dict[str, float]], path: Path | None, extra: Mapping[str, object] | None = None
) -> None:
    """Prints a table and, with a path, writes the JSON beside the machine's description."""
    print(f"\n{title}")
    width = max(len(name) for name in figures)
    print(f"{'':{width}} {'median ns':>12} {'min ns':>12}")
    for name, row in figures.items():
        note = "  (every sample had a context switch)" if "switched_samples" in row else ""
        print(f"{name:{width}} {row['median_ns']:12.1f} {row['min_ns']:12.1f}{note}")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"title": title, "machine": machine(), "figures": figures, **(extra or {})}
        path.write_text(json.dumps(record, indent=1))
