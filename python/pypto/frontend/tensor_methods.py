"""Operators and methods of traced tensors; each is the operation of the same name."""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from pypto.frontend.places import trace_error
from pypto.frontend.tracer import TensorLike

if TYPE_CHECKING:
    from pypto.frontend.tensor import Tensor


def _operations() -> Any:
    from pypto.frontend import operations

    return operations


class TensorMethods(TensorLike):
    """What a tensor inherits: arithmetic, indexing, and refusals where Python expects a value."""

    __slots__ = ()

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        return _operations().add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _operations().add(self, other)

    def __sub__(self, other: Any) -> Any:
        return _operations().sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operations().neg(_operations().sub(self, other))

    def __mul__(self, other: Any) -> Any:
        return _operations().mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operations().mul(self, other)

    def __truediv__(self, other: Any) -> Any:
        return _operations().div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operations().mul(_operations().reciprocal(self), other)

    def __matmul__(self, other: Any) -> Any:
        return _operations().matmul_operator(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _operations().matmul_operator(other, self)

    def __neg__(self) -> Any:
        return _operations().neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _operations().abs(self)

    # Indexing.

    def __getitem__(self, key: Any) -> Any:
        from pypto.frontend import indexing

        return indexing.read(cast("Tensor", self), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from pypto.frontend import indexing

        indexing.write(cast("Tensor", self), key, value)

    # Python values that a tensor cannot become.

    def _no_value(self, *_: Any) -> NoReturn:
        raise trace_error(
            TypeError,
            "a tensor has no value while the kernel is traced: conditions and bounds are ints or symbolic integers, "
            "element-wise choices are operations such as pypto.maximum",
        )

    __bool__ = __int__ = __float__ = _no_value

    def __iter__(self) -> NoReturn:
        raise trace_error(TypeError, "Tensors are not iterable; use pypto.loop over x.shape[0] and slices of x")

    def __len__(self) -> NoReturn:
        raise trace_error(TypeError, "a tensor has no len(); use x.shape[0]")

    def __contains__(self, item: Any) -> NoReturn:
        raise trace_error(TypeError, "`in` does not look into tensors")

    # Operators without an operation in this version.

    def _refused(self, *_: Any) -> NoReturn:
        raise trace_error(
            NotImplementedError,
            "comparisons, //, %, ** and bit operations of tensors are not in this version; `is` compares objects",
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refused
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refused
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refused
    __hash__ = object.__hash__

    # Named operations.

    def add(self, other: Any) -> Any:
        """Element-wise sum."""
        return _operations().add(self, other)

    def sub(self, other: Any) -> Any:
        """Element-wise difference."""
        return _operations().sub(self, other)

    def mul(self, other: Any) -> Any:
        """Element-wise product."""
        return _operations().mul(self, other)

    def div(self, other: Any) -> Any:
        """Element-wise quotient."""
        return _operations().div(self, other)

    def maximum(self, other: Any) -> Any:
        """The larger of both, element by element."""
        return _operations().maximum(self, other)

    def minimum(self, other: Any) -> Any:
        """The smaller of both, element by element."""
        return _operations().minimum(self, other)

    def neg(self) -> Any:
        """-x."""
        return _operations().neg(self)

    def exp(self) -> Any:
        """E to the power x."""
        return _operations().exp(self)

    def log(self) -> Any:
        """Natural logarithm."""
        return _operations().log(self)

    def sqrt(self) -> Any:
        """Square root."""
        return _operations().sqrt(self)

    def rsqrt(self) -> Any:
        """1 / sqrt(x)."""
        return _operations().rsqrt(self)

    def reciprocal(self) -> Any:
        """1 / x."""
        return _operations().reciprocal(self)

    def abs(self) -> Any:
        """Magnitude."""
        return _operations().abs(self)

    def relu(self) -> Any:
        """max(x, 0)."""
        return _operations().relu(self)

    def sigmoid(self) -> Any:
        """1 / (1 + exp(-x))."""
        return _operations().sigmoid(self)

    def softmax(self, dim: int) -> Any:
        """exp(x - max) / sum along a dim."""
        return _operations().softmax(self, dim)

    def sum(self, dim: int, keepdim: bool = False) -> Any:
        """Sum along a dim."""
        return _operations().sum(self, dim, keepdim)

    def amax(self, dim: int, keepdim: bool = False) -> Any:
        """Largest value along a dim."""
        return _operations().amax(self, dim, keepdim)

    def amin(self, dim: int, keepdim: bool = False) -> Any:
        """Smallest value along a dim."""
        return _operations().amin(self, dim, keepdim)

    def matmul(self, other: Any, out_dtype: Any, **options: Any) -> Any:
        """Matrix product."""
        return _operations().matmul(self, other, out_dtype, **options)

    def cast(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """Conversion to another dtype."""
        return _operations().cast(self, dtype, *arguments, **options)

    def clone(self) -> Any:
        """A copy."""
        return _operations().clone(self)

    def reshape(self, shape: Any, **options: Any) -> Any:
        """The same elements in another shape."""
        return _operations().reshape(self, shape, **options)

    def unsqueeze(self, dim: int) -> Any:
        """A new dim of extent 1."""
        return _operations().unsqueeze(self, dim)

    def transpose(self, dim0: int, dim1: int) -> Any:
        """Two dims swapped."""
        return _operations().transpose(self, dim0, dim1)

    def view(self, shape: Any = None, offsets: Any = None, **options: Any) -> Any:
        """A window."""
        return _operations().view(self, shape, offsets, **options)

    def assemble(self, src: Any, offsets: Any) -> None:
        """Writes `src` into this tensor at offsets."""
        _operations().assemble(src, offsets, self)
