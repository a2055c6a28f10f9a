"""The runtime: workers, resident tensors, registered programs, benchmarks. Importing it starts nothing."""

from __future__ import annotations

from pypto._core import (
    Completion,
    DeviceTensor,
    LaunchProfile,
    ProfileLeaf,
    ProfileLine,
    ProfileOperation,
    ProfileRun,
    RegistrationHandle,
    WorkspaceReport,
    WorkspaceTask,
)
from pypto.runtime._torch import tensor_text
from pypto.runtime.benchmark import BenchmarkStats, benchmark
from pypto.runtime.config import RunConfig
from pypto.runtime.dispatch import (
    _device_run_once_data_from_host,
    default_platform,
    dispatch_kernel,
    keep_recorded,
    outputs_behind,
)
from pypto.runtime.log import log
from pypto.runtime.profile import profile
from pypto.runtime.run import RunResult, compare_outputs, run
from pypto.runtime.trace import trace
from pypto.runtime.worker import ChipWorker

__all__ = [
    "BenchmarkStats",
    "ChipWorker",
    "Completion",
    "DeviceTensor",
    "LaunchProfile",
    "ProfileLeaf",
    "ProfileLine",
    "ProfileOperation",
    "ProfileRun",
    "RegistrationHandle",
    "RunConfig",
    "RunResult",
    "WorkspaceReport",
    "WorkspaceTask",
    "_device_run_once_data_from_host",
    "benchmark",
    "compare_outputs",
    "default_platform",
    "dispatch_kernel",
    "keep_recorded",
    "log",
    "outputs_behind",
    "profile",
    "run",
    "tensor_text",
    "trace",
]
