"""How a kernel declares its tensor parameters: `pypto.Tensor([d0, d1], dtype)` and its other spellings."""
# ruff: noqa: D105, D107

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pypto.dtypes import DataType, to_dtype
from pypto.errors import fe_error
from pypto.frontend.places import trace_error


class TileOpFormat(enum.IntEnum):
    """Layout of a tensor's elements."""

    TILEOP_ND = 0
    TILEOP_NZ = 1


class StaticDim:
    """A dim that is free but fixed for one compilation."""

    def __repr__(self) -> str:
        return "pypto.STATIC"


@dataclass(frozen=True, eq=False)
class DynamicDim:
    """A dim that may differ from call to call; dims with one name are equal."""

    name: str = ""

    def __repr__(self) -> str:
        return f"dynamic({self.name!r})" if self.name else "pypto.DYNAMIC"

    def _no_number(self, *_: Any) -> NoReturn:
        """A declaration used as the size that it declares; `pypto.loop(T)` and `x[:T]` come here too."""
        named = f" or pypto.symbolic_scalar({self.name!r})" if self.name else ""
        raise trace_error(
            TypeError, f"{self!r} declares a dim and is no number. Instead: write its size, as in x.shape[0]{named}"
        )

    __index__ = __int__ = __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_number
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _no_number
    __lt__ = __le__ = __gt__ = __ge__ = _no_number
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Identity; in a kernel the question whether a dim is a number is a mistake that must not be answered."""
        from pypto.frontend.tracing import tracer

        if self is not other and isinstance(other, int | float) and tracer.current() is not None:
            self._no_number()
        return self is other


STATIC = StaticDim()
DYNAMIC = DynamicDim()
DYN = DYNAMIC

Dim = int | StaticDim | DynamicDim


def dynamic(name: str) -> DynamicDim:
    """A named dynamic dim: every dim declared with this name has the same value in one call."""
    if not isinstance(name, str) or not name:
        raise fe_error(TypeError, f"dynamic(): expected a name, got {name!r}")
    return DynamicDim(name)


@dataclass(frozen=True, eq=False)
class TensorSpec:
    """The declaration of a tensor parameter."""

    dims: tuple[Dim, ...] = ()
    any_rank: bool = True  # more static dims may follow: a trailing `...`, or no shape at all
    dtype: DataType | None = None
    format: TileOpFormat | None = None
    name: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    data: Any = None  # of `from_torch`: the host's tensor

    @property
    def shape(self) -> list[Any]:
        """The dims: sizes, -1 for dynamic ones, pypto.STATIC for free ones."""
        return [-1 if isinstance(dim, DynamicDim) else dim for dim in self.dims]

    def to_tensor(self) -> TensorSpec:
        """Marks the annotation of a tensor parameter."""
        return self

    def __repr__(self) -> str:
        dims = [repr(dim) for dim in self.dims] + (["..."] if self.any_rank else [])
        dtype = f", {self.dtype.name}" if self.dtype is not None else ""
        return f"pypto.Tensor([{', '.join(dims)}]{dtype})"


def _to_dim(value: Any) -> Dim:
    if isinstance(value, StaticDim | DynamicDim):
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise fe_error(
            TypeError,
            f"pypto.Tensor: a dim is an int, pypto.STATIC, pypto.DYNAMIC or frontend.dynamic(name), got {value!r}",
        )
    number = int(value.__index__())
    if number == -1:  # what from_torch and older kernels write for a dynamic axis
        return DYNAMIC
    if number <= 0:
        raise fe_error(ValueError, f"pypto.Tensor: a static dim must be positive, got {number}")
    return number


def make_spec(shape: Any = None, dtype: Any = None, format: Any = None, name: str = "") -> TensorSpec:  # noqa: A002
    """A declaration from the arguments of `pypto.Tensor(...)`."""
    entries: Sequence[Any]
    if shape is None or shape is Ellipsis:
        entries = ()
    elif isinstance(shape, Sequence) and not isinstance(shape, str):
        entries = shape
    else:
        raise fe_error(TypeError, f"pypto.Tensor: expected a list of dims, got {shape!r}")
    any_rank = not entries
    if entries and entries[-1] is Ellipsis:
        entries, any_rank = entries[:-1], True
    if any(entry is Ellipsis for entry in entries):
        raise fe_error(ValueError, "pypto.Tensor: `...` stands at the end of the dims only")
    checked = None
    if dtype is not None:
        try:
            checked = to_dtype(dtype, "pypto.Tensor")
        except TypeError as error:
            raise fe_error(TypeError, str(error)) from None
    layout = None if format is None else TileOpFormat(format)
    return TensorSpec(tuple(_to_dim(entry) for entry in entries), any_rank, checked, layout, str(name or ""))


def spec_from_brackets(item: Any) -> TensorSpec:
    """A declaration from `pypto.Tensor[...]`: positional items or one dict."""
    if isinstance(item, dict):
        unknown = sorted(set(item) - {"shape", "dtype", "name", "format"})
        if unknown:
            raise fe_error(ValueError, f"pypto.Tensor[...]: unknown entries {unknown}")
        return make_spec(**item)
    if isinstance(item, tuple) and item and (item[0] is Ellipsis or isinstance(item[0], list | tuple)):
        return make_spec(*item)
    if isinstance(item, list | tuple) and not any(isinstance(entry, DataType) for entry in item):
        return make_spec(item)
    return make_spec(item) if item is Ellipsis else make_spec(None, item)
