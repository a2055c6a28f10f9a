"""benchmark(): host time and device time of a compiled program, round by round."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from typing import Any

from pypto import _core
from pypto.runtime import current
from pypto.runtime.config import RunConfig
from pypto.runtime.worker import ChipWorker

_PERCENTILES = (50, 90, 95, 99)


def percentile(values: list[float], percent: float) -> float:
    """Linear interpolation between closest ranks."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@dataclass(frozen=True)
class BenchmarkStats:
    """Rounds of one benchmark, in microseconds.

    `host_wall_us`: the whole call as Python sees it; `device_wall_us`: start to end on the device's clock; `copy_us`:
    copies both ways; `overhead_us`: host less device less copies. Aggregates are attributes such as
    `host_wall_us_median`, `device_wall_us_p99`; suffixes: median mean min max stdev p50 p90 p95 p99.
    """

    kernel: str
    host_wall_us: list[float]
    device_wall_us: list[float]
    copy_us: list[float]

    @property
    def rounds(self) -> int:
        """How many rounds were measured."""
        return len(self.host_wall_us)

    @property
    def overhead_us(self) -> list[float]:
        """Host time that is neither device time nor copies, per round."""
        times = zip(self.host_wall_us, self.device_wall_us, self.copy_us, strict=True)
        return [host - device - copies for host, device, copies in times]

    def aggregate(self, series: str) -> dict[str, float]:
        """Median, mean, min, max, stdev and percentiles of one series."""
        values: list[float] = getattr(self, series)
        figures = {
            "median": statistics.median(values),
            "mean": statistics.fmean(values),
            "min": min(values),
            "max": max(values),
            "stdev": statistics.stdev(values) if len(values) > 1 else 0.0,
        }
        return figures | {f"p{percent}": percentile(values, percent) for percent in _PERCENTILES}

    def __getattr__(self, name: str) -> float:
        """Aggregates by name: `<series>_<figure>`."""
        series, _, figure = name.rpartition("_")
        if series in ("host_wall_us", "device_wall_us", "copy_us", "overhead_us"):
            figures = self.aggregate(series)
            if figure in figures:
                return figures[figure]
        raise AttributeError(f"BenchmarkStats has no attribute {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        series = ("host_wall_us", "device_wall_us", "copy_us", "overhead_us")
        return {
            "kernel": self.kernel,
            "rounds": self.rounds,
            **{name: getattr(self, name) for name in series},
            "aggregates": {name: self.aggregate(name) for name in series},
        }

    def to_json(self) -> str:
        """to_dict() as JSON."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        """A table of the aggregates."""
        columns = ("median", "min", "mean", "max", "stdev", "p90", "p99")
        lines = [f"{self.kernel}: {self.rounds} rounds, microseconds"]
        lines.append(f"{'':>12}" + "".join(f"{column:>11}" for column in columns))
        for series, label in (
            ("host_wall_us", "host"),
            ("device_wall_us", "device"),
            ("copy_us", "copies"),
            ("overhead_us", "overhead"),
        ):
            figures = self.aggregate(series)
            lines.append(f"{label:>12}" + "".join(f"{figures[column]:11.2f}" for column in columns))
        return "\n".join(lines)

    def plot(self, path: str) -> None:
        """Writes a picture of the rounds; needs the extra `pypto[plot]`."""
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plot() draws with matplotlib: pip install 'pypto[plot]'", name=error.name) from None

        figure, axes = pyplot.subplots(figsize=(8, 4))
        axes.plot(self.host_wall_us, label="host")
        axes.plot(self.device_wall_us, label="device")
        axes.set(xlabel="round", ylabel="microseconds", title=self.kernel)
        axes.legend()
        figure.savefig(path)
        pyplot.close(figure)


def _check_rounds(rounds: int, warmup: int) -> None:
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds <= 0:
        raise ValueError(f"rounds must be a positive int, got {rounds!r}")
    if isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 0:
        raise ValueError(f"warmup must be an int of at least 0, got {warmup!r}")


def benchmark(
    compiled: Any,
    args: Any,
    *,
    rounds: int = 100,
    warmup: int = 3,
    platform: str | None = None,
    device_id: int | None = None,
    config: RunConfig | None = None,
    worker: ChipWorker | None = None,
) -> BenchmarkStats:
    """Registers once, dispatches warmup + rounds times; `args` may hold DeviceTensors of the worker in use."""
    _check_rounds(rounds, warmup)
    if config is not None and (platform is not None or device_id is not None):
        raise ValueError("give config, or platform and device_id, not both")
    if worker is not None and not isinstance(worker, ChipWorker):
        raise TypeError(f"worker must be a ChipWorker, got {type(worker).__name__}")
    if worker is not None and config is not None and config.binding != worker.config.binding:
        raise ValueError(f"config is {config.binding}, the worker's is {worker.config.binding}")
    if config is None:
        config = RunConfig(platform or compiled.platform, device_id or 0)
    own = None
    if worker is None:
        worker = current.find(config.platform, config.device_id)
    if worker is None:
        worker = own = ChipWorker(config)
    try:
        return _measure(worker.register(compiled), tuple(args), rounds, warmup)
    finally:
        if own is not None:
            own.close()


def _measure(handle: _core.RegistrationHandle, args: tuple[Any, ...], rounds: int, warmup: int) -> BenchmarkStats:
    for _ in range(warmup):
        handle(*args)
    host, device, copies = [], [], []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        handle(*args)
        host.append((time.perf_counter_ns() - begin) / 1e3)
        device.append(handle.device_wall_us())
        copies.append(0.0)
    # Copy times come from rounds of their own: the clock calls around copies stay out of the rounds above.
    timed = [_core.timed_call(handle, *args) for _ in range(min(rounds, 10))]
    typical = statistics.median(copy_ns / 1e3 for copy_ns, _, _ in timed)
    if not any(device):
        # A kernel of another compiler writes no times: those rounds are timed by events around the launch.
        device = [statistics.median(device_ns / 1e3 for _, _, device_ns in timed)] * len(device)
    name = handle.name
    handle.unregister()
    return BenchmarkStats(name, host, device, [typical] * len(copies))
