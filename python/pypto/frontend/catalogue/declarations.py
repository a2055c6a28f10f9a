"""Tensors that a kernel declares, copies, and objects for what operations give."""

from __future__ import annotations

from typing import Any

from pypto.frontend import symbolic
from pypto.frontend.annotations import make_spec
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import tracer
from pypto.frontend.tracing.tracer import Trace


def make(trace: Trace, tensor_id: int) -> Tensor:
    """An object for the result of an operation."""
    return Tensor.make(trace, tensor_id)


def declare(shape: Any, dtype: Any, name: str = "") -> Tensor:
    """`pypto.tensor(shape, dtype, name)` in a kernel: a tensor with undefined contents."""
    from pypto.frontend.catalogue.arguments import to_dtype_argument, to_extents

    trace = tracer.require("tensor()")
    extents = to_extents(shape, "tensor()")
    exprs = [symbolic.to_expr(trace, extent, "tensor()") for extent in extents]
    for extent, expr in zip(extents, exprs, strict=True):
        if trace.builder.expr_loops(expr) or trace.builder.expr_slots(expr):
            raise trace_error(
                ValueError,
                f"tensor(): the extent {extent} is known only while the kernel runs; sizes may depend on dims and "
                "scalar parameters only. Instead: declare the largest size and use views with valid_shape",
            )
    number = int(to_dtype_argument(dtype, "tensor()"))
    return Tensor.make(trace, trace.build("declare", str(name or ""), number, exprs), variable=True)


def tensor(shape: Any = None, dtype: Any = None, name: Any = "", format: Any = None) -> Any:  # noqa: A002
    """In a kernel: declares a tensor with undefined contents. Elsewhere: the same as `pypto.Tensor(...)`."""
    if tracer.current() is None:
        return make_spec(shape, dtype, format, name)
    return declare(shape, dtype, name)


def clone(x: Tensor) -> Tensor:
    """A copy."""
    trace = tracer.require("clone()")
    return Tensor.make(trace, trace.build("op", "clone", [("tensor", x.use())], {}))
