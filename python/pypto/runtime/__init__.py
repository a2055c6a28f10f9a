"""The runtime: workers, resident tensors, registered programs, benchmarks. Importing it starts nothing."""

from __future__ import annotations

from pypto._core import Completion, DeviceTensor, RegistrationHandle, WorkspaceReport, WorkspaceTask
from pypto.runtime.benchmark import BenchmarkStats, benchmark
from pypto.runtime.config import RunConfig
from pypto.runtime.dispatch import default_platform, dispatch_kernel
from pypto.runtime.log import log
from pypto.runtime.run import RunResult, compare_outputs, run
from pypto.runtime.trace import trace
from pypto.runtime.worker import ChipWorker

__all__ = [
    "BenchmarkStats",
    "ChipWorker",
    "Completion",
    "DeviceTensor",
    "RegistrationHandle",
    "RunConfig",
    "RunResult",
    "WorkspaceReport",
    "WorkspaceTask",
    "benchmark",
    "compare_outputs",
    "default_platform",
    "dispatch_kernel",
    "log",
    "run",
    "trace",
]
