"""run(): the one-shot way to try a kernel and compare its outputs."""

from __future__ import annotations

import inspect
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

    def __str__(self) -> str:
        """Count and largest error, and the first mismatches."""
        lines = [
            f"{self.name}: {self.mismatches} of {self.elements} elements differ, "
            f"largest error {self.max_abs_error:.3e} absolute, {self.max_rel_error:.3e} relative"
        ]
        lines += [f"  {index}: got {got}, expected {expected}" for index, got, expected in self.first]
        return "\n".join(lines)


@dataclass(frozen=True)
class RunResult:
    """What one run gave. `execution_time`: seconds of compile, dispatch and comparison together."""

    passed: bool
    execution_time: float
    outputs: list[OutputComparison]

    def __str__(self) -> str:
        """A line per output, and the first mismatches."""
        lines = [f"{'passed' if self.passed else 'FAILED'} in {self.execution_time:.3f} s"]
        lines += [f"  {line}" for output in self.outputs for line in str(output).splitlines()]
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

    Scalars of a kernel, and defaults of those not given, are compiled in, as in a direct call.
    `golden`: the expected tensors in order of the outputs, or a callable that makes them from the inputs as they were
    before the run; one that takes as many arguments as the kernel gets the outputs' old values as well. Without it
    `passed` says only that the dispatch succeeded.
    """
    begin = time.perf_counter()
    platform = config.platform if config is not None else "a2a3sim"
    compiled, tensors = (kernel, args) if is_compiled(kernel) else kernel.compile_call(args, platform)
    expected = golden(*_golden_arguments(golden, compiled, _clones(args))) if callable(golden) else golden
    worker = current.find(compiled.platform) if config is None else current.find(*config.binding)
    own = ChipWorker(config) if worker is None and config is not None else None
    worker = own or worker or current.default_worker(compiled.platform)
    try:
        returned = worker.run(compiled, *tensors)
        outputs = _compare_all(compiled, tensors, returned, expected, rtol, atol)
    finally:
        if own is not None:
            own.close()
    passed = all(output.mismatches == 0 for output in outputs)
    return RunResult(passed, time.perf_counter() - begin, outputs)


def _clones(args: tuple[Any, ...]) -> list[Any]:
    return [argument.clone() if hasattr(argument, "clone") else argument for argument in args]


def _golden_arguments(golden: Callable[..., Any], compiled: Any, args: list[Any]) -> list[Any]:
    """All arguments where the callable says that it takes so many, else those that the kernel reads."""
    try:
        inspect.signature(golden).bind(*args)
    except (TypeError, ValueError):  # ValueError: a built-in function does not say what it takes
        parameters = compiled._image.parameters
        return [arg for arg, row in zip(args, parameters, strict=False) if row["direction"] != "out"]
    return args


def _compare_all(
    compiled: Any, args: tuple[Any, ...], returned: Any, expected: Any, rtol: float, atol: float
) -> list[OutputComparison]:
    if expected is None:
        return []
    fresh = () if returned is None else returned if isinstance(returned, tuple) else (returned,)
    goldens = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    return compare_outputs(compiled._image.parameters, (*args, *fresh), goldens, rtol, atol)


def compare_outputs(
    parameters: Sequence[dict[str, Any]], values: Sequence[Any], goldens: Sequence[Any], rtol: float, atol: float
) -> list[OutputComparison]:
    """Compares the outputs among `values`, which are those of `parameters` (rows of an image) in order.

    One golden tensor per output, or one per parameter with None for what is not compared; ValueError for another
    number of them.
    """
    import torch

    pairs = list(zip(parameters, values, strict=True))
    written = [index for index, (row, _) in enumerate(pairs) if row["is_tensor"] and row["direction"] != "in"]
    wanted = dict(zip(written, goldens, strict=False)) if len(goldens) == len(written) else dict(enumerate(goldens))
    if len(goldens) not in (len(written), len(pairs)):
        names = [pairs[index][0]["name"] for index in written]
        raise ValueError(f"{len(goldens)} golden tensors for {len(written)} outputs: {names}")
    outputs = []
    for index in written:
        if wanted.get(index) is None:
            continue
        row, value = pairs[index]
        got = value if isinstance(value, torch.Tensor) else value.to_host()
        outputs.append(_compare(row["name"], got, torch.as_tensor(wanted[index]), rtol, atol))
    return outputs
