"""Golden tensors: with `enable_pass_verify` on, every direct call of a kernel compares its outputs with them."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import Any

from pypto import _core
from pypto.config import scopes
from pypto.errors import VerifyError, fe_error
from pypto.frontend.kernels import verify_prints
from pypto.frontend.tracing.tracer import require

_LOG_INFO = 1
_goldens: contextvars.ContextVar[tuple[Any, ...] | None] = contextvars.ContextVar("pypto_goldens", default=None)


def set_verify_golden_data(goldens: Sequence[Any] | None = None) -> None:
    """The tensors that the outputs of the kernels called next must equal; None ends it. For this context.

    One per output in order, or one per tensor parameter with None for those that are not compared. The verify option
    `enable_pass_verify` switches the comparison on, `pass_verify_error_tol` is [rtol, atol], an empty
    `pass_verify_pass_filter` switches it off. A difference is a VerifyError with count and largest error per output;
    agreement is a log record at INFO.
    """
    if goldens is not None and not isinstance(goldens, list | tuple):
        raise fe_error(TypeError, f"set_verify_golden_data(): expected a list of tensors, got {type(goldens).__name__}")
    _goldens.set(None if goldens is None else tuple(goldens))


def tolerance_of(node: scopes.OptionScope) -> tuple[float, float] | None:
    """rtol and atol when the options of a scope ask for the comparison."""
    values: dict[str, Any] = node.get_group("verify")
    if not values["enable_pass_verify"] or not values["pass_verify_pass_filter"]:
        return None
    tolerance = values["pass_verify_error_tol"]
    if len(tolerance) != 2:
        raise fe_error(ValueError, f"pass_verify_error_tol: expected [rtol, atol], got {tolerance}")
    return float(tolerance[0]), float(tolerance[1])


def check(runtime: Any, image: Any, tensors: Sequence[Any], tolerance: tuple[float, float]) -> None:
    """Compares the outputs of a call that has ended; VerifyError when one differs. No goldens: nothing to compare."""
    goldens = _goldens.get()
    if goldens is None:
        return
    rtol, atol = tolerance
    try:
        outputs = runtime.compare_outputs(image.parameters[: len(tensors)], tensors, goldens, rtol, atol)
    except ValueError as error:
        raise fe_error(ValueError, f"set_verify_golden_data(): {error}") from None
    wrong = [output for output in outputs if output.mismatches]
    if wrong:
        text = "\n".join(map(str, wrong))
        raise VerifyError(f"kernel '{image.name}' differs from its golden data (rtol {rtol:g}, atol {atol:g}):\n{text}")
    for output in outputs:
        _core.write_log(_LOG_INFO, f"kernel={image.name}, verified: {output}")


def pass_verify_print(*values: Any) -> None:
    """Shows tensors, numbers and texts of the running kernel, as `print` does, while `enable_pass_verify` is on.

    Direct calls show the values when they have ended, in the order in which they came about, each place the first 64 at
    most (fewer of large tensors), as `set_print_options` says; a record at INFO holds them too. Other ways to compile,
    and tensors with dynamic dims, give what the values are (dtype, shape, expression).
    """
    trace = require("pass_verify_print()")
    if trace.prints is not None:
        trace.prints.add(values)
    elif tolerance_of(scopes.current()) is not None:
        verify_prints.describe(values)
