"""run(): the one-shot way to try a kernel and compare its outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pypto.runtime import current
from pypto.runtime.config import RunConfig
from pypto.runtime.worker import ChipWorker, is_compiled

_SHOWN = 5


@dataclass(frozen=True)
class OutputComparison:
    """One output against its golden tensor."""

    name: str
    max_abs_error: float
    max_rel_error: float
    mismatches: int
    elements: int
    first: list[tuple[tuple[int, ...], float, float]] = field(default_factory=list)  # index, got, expected


@dataclass(frozen=True)
class RunResult:
    """What one run gave. `execution_time`: seconds of compile, dispatch and comparison together."""

    passed: bool
    execution_time: float
    outputs: list[OutputComparison]

    def __str__(self) -> str:
        """A line per output, and the first mismatches."""
        lines = [f"{'passed' if self.passed else 'FAILED'} in {self.execution_time:.3f} s"]
        for output in self.outputs:
            lines.append(
                f"  {output.name}: {output.mismatches} of {output.elements} elements differ, "
                f"largest error {output.max_abs_error:.3e} absolute, {output.max_rel_error:.3e} relative"
            )
            lines += [f"    {index}: got {got}, expected {expected}" for index, got, expected in output.first]
        return "\n".join(lines)


def _compare(name: str, got: Any, expected: Any, rtol: float, atol: float) -> OutputComparison:
    import torch

    if tuple(got.shape) != tuple(expected.shape):
        raise ValueError(f"golden of '{name}' has shape {tuple(expected.shape)}, the output {tuple(got.shape)}")
    wide, golden = got.double(), expected.double()
    same = torch.isclose(wide, golden, rtol=rtol, atol=atol, equal_nan=True)
    error = torch.where(same & ~(wide - golden).isfinite(), 0.0, (wide - golden).abs()).nan_to_num(float("inf"))
    relative = torch.where(golden == 0, torch.zeros_like(error), error / golden.abs()).nan_to_num(0.0)
    wrong = [tuple(int(i) for i in index) for index in (~same).nonzero()[:_SHOWN]]
    return OutputComparison(
        name,
        float(error.max()) if error.numel() else 0.0,
        float(relative.max()) if relative.numel() else 0.0,
        int((~same).sum()),
        got.numel(),
        [(index, float(wide[index]), float(golden[index])) for index in wrong],
    )


def run(
    kernel: Any,
    *args: Any,
    golden: Callable[..., Any] | Sequence[Any] | Any = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    config: RunConfig | None = None,
) -> RunResult:
    """Compiles (or takes a CompiledProgram), dispatches once, and compares every output with `golden`.

    `golden`: a callable over the arguments as they were before the run, or the expected tensors, in order of the
    outputs. Without it `passed` says only that the dispatch succeeded.
    """
    begin = time.perf_counter()
    platform = config.platform if config is not None else "a2a3sim"
    compiled = kernel if is_compiled(kernel) else kernel.compile(*args, platform=platform)
    expected = golden(*_clones(args)) if callable(golden) else golden
    worker = current.find(compiled.platform) if config is None else current.find(*config.binding)
    own = ChipWorker(config) if worker is None and config is not None else None
    worker = own or worker or current.default_worker(compiled.platform)
    try:
        returned = worker.run(compiled, *args)
        outputs = _compare_all(compiled, args, returned, expected, rtol, atol)
    finally:
        if own is not None:
            own.close()
    passed = all(output.mismatches == 0 for output in outputs)
    return RunResult(passed, time.perf_counter() - begin, outputs)


def _clones(args: tuple[Any, ...]) -> list[Any]:
    return [argument.clone() if hasattr(argument, "clone") else argument for argument in args]


def _compare_all(
    compiled: Any, args: tuple[Any, ...], returned: Any, expected: Any, rtol: float, atol: float
) -> list[OutputComparison]:
    if expected is None:
        return []
    import torch

    fresh = () if returned is None else returned if isinstance(returned, tuple) else (returned,)
    values = (*args, *fresh)
    written = [
        (parameter.name, value)
        for parameter, value in zip(compiled.parameters, values, strict=True)
        if parameter.direction in ("out", "inout")
    ]
    goldens = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    if len(goldens) != len(written):
        raise ValueError(f"{len(goldens)} golden tensors for {len(written)} outputs: {[name for name, _ in written]}")
    return [
        _compare(name, value if isinstance(value, torch.Tensor) else value.to_host(), torch.as_tensor(want), rtol, atol)
        for (name, value), want in zip(written, goldens, strict=True)
    ]
