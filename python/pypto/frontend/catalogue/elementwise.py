"""Element-wise operations, made from the core's table of operations; here is what a row does not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pypto import _core
from pypto.dtypes import DataType, is_float
from pypto.frontend.catalogue.arguments import Element, to_operand, to_scalar, to_tensor_argument
from pypto.frontend.catalogue.declarations import make
from pypto.frontend.catalogue.signatures import PrecisionType, check_precision, signature_of
from pypto.frontend.floats import FloatScalar
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import static_int
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.tracer import require

_Function = TypeVar("_Function", bound=Callable[..., Any])


def emit(name: str, inputs: list[Any], **attributes: Any) -> Tensor:
    """Adds an operation of the table to the kernel."""
    trace = require(f"{name.removeprefix('_')}()")
    what = f"{trace.operation or name}()" if name.startswith("_") else f"{name}()"
    if Element in map(type, inputs):
        _check_dtypes_of_elements(what, inputs[name == "where" :])
    operands = [to_operand(trace, value, what) for value in inputs]
    return make(trace, trace.build("op", name, operands, attributes))


def _check_dtypes_of_elements(what: str, inputs: list[Any]) -> None:
    """An Element does not combine with another dtype: that of the first tensor, or of an Element before it."""
    dtypes = [value.dtype for value in inputs if isinstance(value, Tensor)]
    for value in inputs:
        if not isinstance(value, Element):
            continue
        dtypes.append(value.dtype)
        if value.dtype != dtypes[0]:
            raise trace_error(TypeError, f"{what}: {_not_with(repr(value), dtypes[0])}")


def _not_with(number: str, dtype: DataType) -> str:
    return f"{number} does not combine with {dtype.name}; use pypto.Element(pypto.{dtype.name}, value)"


def _named(operation: _Function, name: str, doc: str) -> _Function:
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = doc
    operation.__signature__ = signature_of(name)  # type: ignore[attr-defined]
    return operation


def _unary(name: str, doc: str) -> Callable[..., Tensor]:
    def operation(x: Any, precision_type: Any = None) -> Tensor:
        check_precision(name, precision_type)
        return emit(name, [to_tensor_argument(x, f"{name}()")])

    return _named(operation, name, doc)


# What a number on the left of these becomes: x + y = y + x and so on.
_COMMUTATIVE = {"add", "mul", "maximum", "minimum", "eq", "ne"}
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}


def _binary(name: str, doc: str) -> Callable[..., Tensor]:
    def operation(x: Any, y: Any, precision_type: Any = None) -> Tensor:
        check_precision(name, precision_type)
        if name in _COMPARISONS:
            check_elements(name, x, y)
        if isinstance(x, Tensor):
            return emit(name, [x, y])
        to_operand(require(f"{name}()"), x, f"{name}()")
        other = to_tensor_argument(y, f"{name}()")
        if name in _COMMUTATIVE:
            return emit(name, [other, x])
        if name == "sub":
            return ELEMENTWISE["neg"](emit("sub", [other, x]))  # type: ignore[no-any-return]
        if name == "div" and is_float(other.dtype):
            return emit("mul", [emit("reciprocal", [other]), x])
        return emit(name, [x, other])

    return _named(operation, name, doc)


def check_elements(name: str, *operands: Any) -> None:
    """A float literal is an FP32 element here: it must go with the dtype of the tensor."""
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    for number in operands:
        if not tensors or not isinstance(number, float | FloatScalar):
            continue
        dtype = tensors[0].dtype
        if not is_float(dtype) or dtype == DataType.DT_FP32:
            continue
        text = _not_with("a float literal is an FP32 element and", dtype)
        if isinstance(number, FloatScalar):
            text = f"a number of the launch is an FP32 element and does not combine with {dtype.name}; use pypto.cast"
        raise trace_error(TypeError, f"{name}(): {text}")


_MAKERS: dict[str, Callable[[str, str], Any]] = {"unary": _unary, "binary": _binary}
ELEMENTWISE: dict[str, Any] = {
    row[1]: _MAKERS[row[2]](row[1], row[5])
    for row in _core.OPERATIONS
    if row[2] in _MAKERS and not row[1].startswith("_")
}
add: Callable[..., Tensor] = ELEMENTWISE["add"]
sub: Callable[..., Tensor] = ELEMENTWISE["sub"]
mul: Callable[..., Tensor] = ELEMENTWISE["mul"]
div: Callable[..., Tensor] = ELEMENTWISE["div"]
maximum: Callable[..., Tensor] = ELEMENTWISE["maximum"]
minimum: Callable[..., Tensor] = ELEMENTWISE["minimum"]
neg: Callable[..., Tensor] = ELEMENTWISE["neg"]
exp: Callable[..., Tensor] = ELEMENTWISE["exp"]
rsqrt: Callable[..., Tensor] = ELEMENTWISE["rsqrt"]
gt: Callable[..., Tensor] = ELEMENTWISE["gt"]
floor_div: Callable[..., Tensor] = ELEMENTWISE["floor_div"]
remainder: Callable[..., Tensor] = ELEMENTWISE["remainder"]


def greater(a: Any, b: Any) -> Tensor:
    """The same as `gt`."""
    return gt(a, b)


def cast_to(x: Tensor, dtype: DataType, **attributes: Any) -> Tensor:
    """x itself when it has the dtype."""
    return x if x.dtype == dtype else emit("cast", [x], dtype=int(dtype), **attributes)


# Of two dtypes `pow` takes the one that stands further left; FP16 and BF16 give FP32.
_POWER_ORDER = [DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16, DataType.DT_INT32]


def pow(base: Any, exp: Any, precision_type: Any = PrecisionType.HIGH_PRECISION) -> Tensor:  # noqa: A001
    """Base to the power exp; dtypes promote FP32 > FP16 > BF16 > INT32, FP16 with BF16 gives FP32."""
    check_precision("pow", precision_type)
    for tensor, number in ((base, exp), (exp, base)):
        if isinstance(tensor, Tensor) and not isinstance(number, Tensor):
            if isinstance(number, Element):
                return _pow_of_element(base, exp, tensor.dtype, number)
            whole = static_int(number) is not None
            dtype = tensor.dtype if is_float(tensor.dtype) or whole else DataType.DT_FP32
            promoted = cast_to(tensor, dtype)
            return emit("pow", [promoted, exp] if tensor is base else [base, promoted])
    left, right = to_tensor_argument(base, "pow()"), to_tensor_argument(exp, "pow()")
    common = _power_dtype(left.dtype, right.dtype)
    return emit("pow", [left, right] if common is None else [cast_to(left, common), cast_to(right, common)])


def _power_dtype(a: DataType, b: DataType) -> DataType | None:
    """What two dtypes become; None where they stay what they are."""
    dtypes = {a, b}
    if len(dtypes) == 1 or not dtypes.issubset(_POWER_ORDER):
        return None
    halves = dtypes == {DataType.DT_FP16, DataType.DT_BF16}
    return DataType.DT_FP32 if halves else min(dtypes, key=_POWER_ORDER.index)


def _pow_of_element(base: Any, exp: Any, dtype: DataType, element: Element) -> Tensor:
    """One of the two is a tensor of a dtype, the other one an Element."""
    common = _power_dtype(dtype, element.dtype)
    if common is not None:
        dtype, element = common, Element(common, element.rounded())
    operands = [cast_to(each, dtype) if isinstance(each, Tensor) else element for each in (base, exp)]
    return emit("pow", operands)


def where(cond: Any, a: Any, b: Any) -> Tensor:
    """A where the condition (BOOL) holds, else b; numbers are FP32 or INT32 elements unless a tensor says otherwise."""
    chosen = to_tensor_argument(cond, "where()")
    check_elements("where", a, b)
    ranks = {operand.dim for operand in (chosen, a, b) if isinstance(operand, Tensor)}
    if len(ranks) > 1:
        raise trace_error(ValueError, f"where(): operands have equal ranks, got {sorted(ranks)}; use pypto.reshape")
    return emit("where", [chosen, a, b])


def clip(x: Any, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """min(max(x, lower), upper); bounds are both numbers or both tensors, None for no bound."""
    result = to_tensor_argument(x, "clip()")
    given = [bound for bound in (min, max) if bound is not None]
    if len(given) == 2 and isinstance(given[0], Tensor) != isinstance(given[1], Tensor):
        raise trace_error(TypeError, "clip(): bounds are both numbers or both tensors")
    if not given:
        return emit("clone", [result])
    if min is not None:
        result = maximum(result, min)
    return result if max is None else minimum(result, max)


def round(x: Any, decimals: int = 0) -> Tensor:  # noqa: A001
    """Half to even at the given decimal."""
    source = to_tensor_argument(x, "round()")
    places = static_int(decimals)
    if places is None:
        raise trace_error(TypeError, f"round(): decimals is an int, got {type(decimals).__name__}")
    return emit("_rint", [source]) if places == 0 else emit("_round_at", [source, places])


def lrelu(x: Any, negative_slope: float = 0.01) -> Tensor:
    """X where x >= 0, else negative_slope * x."""
    return emit("_leaky", [to_tensor_argument(x, "lrelu()"), negative_slope])


def prelu(x: Any, weight: Any) -> Tensor:
    """X where x >= 0, else weight * x, with one weight per index of dim 1; a tensor of one dim has one."""
    from pypto.frontend.catalogue.operations import reshape

    source, slopes = to_tensor_argument(x, "prelu()"), to_tensor_argument(weight, "prelu()")
    shape = source.static_shape("prelu()")
    count = shape[1] if len(shape) > 1 else 1
    if slopes.static_shape("prelu()") != (count,):
        raise trace_error(ValueError, f"prelu(): expected weights of shape [{count}], got {slopes.shape}")
    if len(shape) == 1:
        return emit("_leaky", [source, slopes])
    return emit("_leaky", [source, reshape(slopes, [1, shape[1], *[1] * (len(shape) - 2)])])


def axpy_(y: Any, x: Any, alpha: float = 1.0) -> Tensor:
    """Y becomes alpha * x + y, computed in FP32; returns y."""
    target, source = to_tensor_argument(y, "axpy_()"), to_tensor_argument(x, "axpy_()")
    allowed = {(DataType.DT_FP32, DataType.DT_FP32), (DataType.DT_FP32, DataType.DT_FP16)}
    if (target.dtype, source.dtype) not in {*allowed, (DataType.DT_FP16, DataType.DT_FP16)}:
        raise trace_error(
            TypeError, f"axpy_(): y and x are FP32 or FP16 (x may be FP16 for FP32), got {target.dtype.name} and "
            f"{source.dtype.name}"
        )  # fmt: skip
    wide = [cast_to(tensor, DataType.DT_FP32) for tensor in (target, source)]
    target.move(cast_to(add(wide[0], mul(wide[1], to_scalar(alpha, "axpy_(): alpha"))), target.dtype))
    return target


EXPLICIT: dict[str, Any] = {
    function.__name__: function for function in (axpy_, clip, greater, lrelu, pow, prelu, round, where)
}  # fmt: skip
