"""What every example prints: shapes, the largest error against torch in FP64, host and device time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pypto import ir
from pypto.runtime import benchmark


def largest_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Largest difference, relative to the largest expected magnitude (at least 1)."""
    scale = max(1.0, float(expected.abs().max()))
    return float((got.double() - expected.double()).abs().max()) / scale


def check(title: str, kernel: Any, args: Sequence[Any], results: dict[str, tuple[Any, Any, float]]) -> None:
    """Prints one line per result, given as (got, expected, allowed error), then times the kernel with `args`."""
    shapes = ", ".join("×".join(map(str, arg.shape)) for arg in args if isinstance(arg, torch.Tensor))
    print(f"{title}: {shapes}")
    for name, (got, expected, allowed) in results.items():
        error = largest_error(got, expected)
        print(f"  {name}: largest error {error:.2e} (allowed {allowed:.0e})")
        assert error <= allowed, f"{title}: {name} differs by {error}"
    stats = benchmark(ir.compile(kernel, *args), args, rounds=10, warmup=2)
    print(f"  host {stats.host_wall_us_median:.1f} µs, device {stats.device_wall_us_median:.1f} µs per call")
