"""`pypto.loop` and `pypto.loop_unroll`: their arguments, and the plain loops that they become."""
# ruff: noqa: D105, D107

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from pypto.frontend.kernels.arrays import kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import SymbolicScalar, as_int, maximum, static_int
from pypto.frontend.tracing.tracer import require


@dataclass(frozen=True)
class Section:
    """One plain loop: `repeat` bodies per iteration, each `step` apart; `extent` is the k of loop_unroll."""

    start: Any
    stop: Any
    stride: Any  # from one iteration to the next
    step: Any  # from one body to the next
    repeat: int
    extent: Any

    def trip_count(self) -> int | None:
        """Iterations, when known while tracing."""
        start, stop, stride = static_int(self.start), static_int(self.stop), static_int(self.stride)
        if start is None or stop is None or stride is None:
            distance = static_int(self.stop - self.start)
            if distance is None or stride is None:
                return None
            return trips(0, distance, stride)
        return trips(start, stop, stride)


def trips(start: int, stop: int, step: int) -> int:
    """max(0, ceil((stop - start) / step))."""
    return max(0, -((start - stop) // step))


def factors_of(unroll_list: Any) -> list[int]:
    """Unique factors in descending order, with 1."""
    factors = {1}
    if not isinstance(unroll_list, Iterable | None):
        given = type(unroll_list).__name__
        raise trace_error(TypeError, f"unroll_list is a list of ints, such as [8, 4], got {given}")
    for factor in unroll_list or ():
        number = as_int(factor)
        if number is None or isinstance(factor, bool) or number <= 0:
            raise trace_error(ValueError, f"unroll factor {factor} must be a positive integer")
        factors.add(number)
    return sorted(factors, reverse=True)


def _iterations(start: Any, stop: Any, step: Any) -> Any:
    known_step = static_int(step)
    if known_step is None:
        sign = (step > 0) * 2 - 1
        return maximum((stop - start + step - sign) // step, 0)
    distance, size = (stop - start, known_step) if known_step > 0 else (start - stop, -known_step)
    known = static_int(distance)
    if known is not None:
        return max(0, -(-known // size))
    return maximum((distance + (size - 1)) // size, 0)


def sections(start: Any, stop: Any, step: Any, factors: list[int], *, repeat: bool) -> list[Section]:
    """The loops for each factor: floor(left / f) iterations for each f > 1, then the rest one by one."""
    if factors == [1]:
        return [Section(start, stop, step, step, 1, step)]
    known_step = static_int(step)
    step = step if known_step is None else known_step
    left = _iterations(start, stop, step)
    made = []
    for factor in factors:
        stride = step * factor
        if factor == 1:
            made.append(Section(start, stop, step, step, 1, step))
            continue
        batches = left // factor
        end = start + batches * stride
        made.append(Section(start, end, stride, step, factor if repeat else 1, stride))
        left, start = left - batches * factor, end
    return made


class Loop:
    """What `pypto.loop` returns: only a `for` statement of a kernel can run it."""

    pairs = False

    def __init__(self, what: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        require(f"{what}()")
        if not 1 <= len(arguments) <= 3:
            raise trace_error(TypeError, f"{what}() takes 1 to 3 positional arguments but {len(arguments)} were given")
        for argument in arguments:
            if not isinstance(argument, SymbolicScalar) and as_int(argument) is None:
                raise trace_error(
                    TypeError, f"{what}(): bounds are ints or symbolic integers, got {kind_name(argument)}"
                )
        bounds = [argument if isinstance(argument, SymbolicScalar) else as_int(argument) for argument in arguments]
        self.start, self.stop = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        self.step = bounds[2] if len(bounds) == 3 else 1
        if static_int(self.step) == 0:
            raise trace_error(ValueError, f"{what}(): the step must not be 0")
        self.name = str(options["name"] or "")
        self.parallel = bool(options["parallel"])
        self.submit_before = bool(options["submit_before_loop"])
        self.factors = factors_of(options["unroll_list"])

    def sections(self) -> list[Section]:
        """The plain loops to build, in order."""
        return sections(self.start, self.stop, self.step, self.factors, repeat=not self.pairs)

    def runs_at_all(self) -> Any:
        """Whether there is an iteration: a bool or a symbolic condition."""
        start: Any = self.start
        stop: Any = self.stop
        step: Any = self.step
        known = static_int(step)
        if known is None:
            return ((step > 0) & (start < stop)) | ((step < 0) & (start > stop))
        return start < stop if known > 0 else start > stop

    def __iter__(self) -> NoReturn:
        raise trace_error(
            TypeError,
            "pypto.loop runs only as `for i in pypto.loop(...)` in a kernel or in a plain helper of it, not in a "
            "comprehension, a generator or library code",
        )


class LoopUnroll(Loop):
    """What `pypto.loop_unroll` returns: yields (index, extent)."""

    pairs = True


def loop(
    *arguments: Any,
    name: str = "",
    idx_name: str = "",
    unroll_list: Any = None,
    parallel: bool = False,
    submit_before_loop: bool = False,
) -> Loop:
    """A loop of the running kernel: `for i in pypto.loop(stop)`, `(start, stop)` or `(start, stop, step)`.

    `unroll_list` repeats the body; `parallel` and `submit_before_loop` are scheduling only.
    """
    options = {
        "name": name or idx_name,
        "unroll_list": unroll_list,
        "parallel": parallel,
        "submit_before_loop": submit_before_loop,
    }
    return Loop("loop", arguments, options)


def loop_unroll(
    *arguments: Any,
    unroll_list: Any = None,
    name: str = "",
    idx_name: str = "",
    parallel: bool = False,
    submit_before_loop: bool = False,
) -> LoopUnroll:
    """A loop in batches: `for idx, k in pypto.loop_unroll(start, stop, step, unroll_list=[8, 4])`.

    For each factor f > 1 floor(left / f) batches run with k = f * step, then the rest one by one with k = step.
    """
    options = {
        "name": name or idx_name,
        "unroll_list": unroll_list,
        "parallel": parallel,
        "submit_before_loop": submit_before_loop,
    }
    return LoopUnroll("loop_unroll", arguments, options)


def _innermost_bounds(what: str, index: Any) -> tuple[Any, Any, Any]:
    if not isinstance(index, SymbolicScalar) and as_int(index) is None:
        raise trace_error(TypeError, f"{what}(): expected the index of a loop, got {kind_name(index)}")
    scope = require(f"{what}()").innermost_loop()
    if scope is None or scope.bounds is None:
        raise trace_error(RuntimeError, f"{what}() must be called in a pypto.loop")
    return scope.bounds


def is_loop_begin(index: Any) -> Any:
    """Whether `index` is the start of the innermost loop."""
    start, _, _ = _innermost_bounds("is_loop_begin", index)
    return index == start


def is_loop_end(index: Any) -> Any:
    """Whether `index` + step reaches the stop of the innermost loop; never true for a last batch of several steps."""
    _, stop, step = _innermost_bounds("is_loop_end", index)
    known, after = static_int(step), index + step
    if known is None:
        return ((step > 0) & (after >= stop)) | ((step < 0) & (after <= stop))
    return after >= stop if known > 0 else after <= stop


def cond(condition: Any) -> Any:
    """Marks a condition of the running kernel; gives it back."""
    return condition
