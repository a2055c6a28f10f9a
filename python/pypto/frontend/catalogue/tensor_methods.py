"""Operators and methods of traced tensors; each is the operation of the same name."""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from pypto.frontend.catalogue import logical
from pypto.frontend.catalogue.instead import instead_of
from pypto.frontend.foreign import apply_ufunc, refuse_function
from pypto.frontend.places import trace_error
from pypto.frontend.tracing.tracer import TensorLike

if TYPE_CHECKING:
    from pypto.frontend._catalogue import CatalogueMethods
    from pypto.frontend.tensor import Tensor
else:

    class CatalogueMethods:
        """Stands for the methods of the catalogue, which operations.py adds."""

        __slots__ = ()


def _operations() -> Any:
    from pypto.frontend.catalogue import operations

    return operations


class TensorMethods(TensorLike, CatalogueMethods):
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
        return _operations().div(other, self)

    def __matmul__(self, other: Any) -> Any:
        return _operations().matrix.matmul_operator(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _operations().matrix.matmul_operator(other, self)

    def __neg__(self) -> Any:
        return _operations().neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _operations().abs(self)

    def __round__(self, digits: int | None = None) -> Any:
        return _operations().round(self, digits or 0)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    # Functions of torch and numpy, and attributes of their tensors.

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any) -> NoReturn:
        refuse_function("torch", getattr(function, "__name__", str(function)))

    def __array_function__(self, function: Any, *_: Any) -> NoReturn:
        refuse_function("numpy", function.__name__)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return apply_ufunc(function, method, inputs, keywords)

    if not TYPE_CHECKING:  # for which there are no other attributes

        def __getattr__(self, name: str) -> NoReturn:
            general = ": it holds numbers only when the kernel runs, and has the operations of pypto as methods"
            raise AttributeError(f"a tensor of the kernel has no attribute '{name}'{instead_of(name) or general}")

    # Indexing.

    def __getitem__(self, key: Any) -> Any:
        from pypto.frontend.catalogue import indexing

        return indexing.read(cast("Tensor", self), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from pypto.frontend.catalogue import indexing

        indexing.write(cast("Tensor", self), key, value)

    # Python values that a tensor cannot become.

    def _no_value(self, *_: Any) -> NoReturn:
        raise trace_error(
            TypeError,
            "a tensor has no value while the kernel is traced: conditions and bounds are ints or symbolic integers, "
            "element-wise choices are operations such as pypto.maximum, pypto.where and pypto.logical_and",
        )

    __bool__ = __int__ = __float__ = _no_value

    def __iter__(self) -> NoReturn:
        raise trace_error(TypeError, "Tensors are not iterable; use pypto.loop over x.shape[0] and slices of x")

    def __len__(self) -> NoReturn:
        raise trace_error(TypeError, "a tensor has no len(); use x.shape[0]")

    def __copy__(self) -> NoReturn:
        raise trace_error(TypeError, "copy.copy() of a tensor would share its cells. Instead: y = pypto.clone(x)")

    def __deepcopy__(self, _: Any) -> Any:
        return _operations().clone(self)

    def __contains__(self, item: Any) -> NoReturn:
        raise trace_error(TypeError, "`in` does not look into tensors. Instead: pypto.where(x == value, a, b)")

    # Comparisons, integer division, powers and bits.

    def __lt__(self, other: Any) -> Any:
        return _operations().lt(self, other)

    def __le__(self, other: Any) -> Any:
        return _operations().le(self, other)

    def __gt__(self, other: Any) -> Any:
        return _operations().gt(self, other)

    def __ge__(self, other: Any) -> Any:
        return _operations().ge(self, other)

    def __eq__(self, other: Any) -> Any:
        return _operations().eq(self, other)

    def __ne__(self, other: Any) -> Any:
        return _operations().ne(self, other)

    def __floordiv__(self, other: Any) -> Any:
        return _operations().floor_div(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _operations().floor_div(other, self)

    def __mod__(self, other: Any) -> Any:
        return _operations().remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _operations().remainder(other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise trace_error(TypeError, "pow() of tensors takes two of them. Instead: pypto.pow(x, y) % modulus")
        return _operations().pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return _operations().pow(other, self)

    def __and__(self, other: Any) -> Any:
        return logical.both(self, other)

    def __rand__(self, other: Any) -> Any:
        return logical.both(other, self)

    def __or__(self, other: Any) -> Any:
        return logical.either(self, other)

    def __ror__(self, other: Any) -> Any:
        return logical.either(other, self)

    def __xor__(self, other: Any) -> Any:
        return logical.one_of(self, other)

    def __rxor__(self, other: Any) -> Any:
        return logical.one_of(other, self)

    def __lshift__(self, other: Any) -> Any:
        return _operations().bitwise_left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _operations().bitwise_left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return _operations().bitwise_right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _operations().bitwise_right_shift(other, self)

    def __invert__(self) -> Any:
        return logical.opposite(self)

    __hash__ = object.__hash__

    # Other operations of the catalogue are methods too (operations.py adds them).

    def assemble(self, src: Any, offsets: Any) -> None:
        """Writes `src` into this tensor at offsets."""
        _operations().assemble(src, offsets, self)
