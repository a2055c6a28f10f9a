"""The parameters of a kernel: which are tensors, what their annotations say, and how arguments bind to them."""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pypto.dtypes import PACKED, DataType, from_host_dtype, serves
from pypto.errors import fe_error
from pypto.frontend.annotations import DynamicDim, StaticDim, TensorSpec
from pypto.frontend.formats import format_of
from pypto.frontend.rewriting.checks import check_kernel
from pypto.frontend.rewriting.source import read_kernel_source

NO_DEFAULT = inspect.Parameter.empty
_MAX_BOUND = 1024


def ordinal(index: int) -> str:
    """1st, 2nd, 3rd, 4th, …"""
    number = index + 1
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


@dataclass(frozen=True)
class ScalarParameter:
    """A parameter that is no tensor."""

    name: str
    annotation: Any
    default: Any  # NO_DEFAULT without one
    keyword_only: bool


@dataclass(frozen=True)
class BoundTensor:
    """What a trace must know of a tensor argument: the name, dtype, and each dim as a size, None or a symbol name."""

    name: str
    dtype: DataType
    dims: tuple[int | str | None, ...]


def names_around(function: types.FunctionType) -> dict[str, Any]:
    """What string annotations name of the functions that a kernel is made in, taken while these run.

    Annotations as strings (`from __future__ import annotations`) capture nothing: a variable that the body does not
    use is found in the frames around the definition only.
    """
    texts = [text for text in function.__annotations__.values() if isinstance(text, str)]
    if not texts or "<locals>" not in function.__qualname__:
        return {}
    names = {name for text in texts for name in _names_in(text)}
    found: dict[str, Any] = {}
    code, frame = function.__code__, sys._getframe(1)
    while frame is not None and names:
        if _holds(frame.f_code, code):
            here = frame.f_locals
            found.update((name, here[name]) for name in names if name in here)
            names, code = names - found.keys(), frame.f_code
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _holds(outer: types.CodeType, inner: types.CodeType) -> bool:
    """Whether a function or class is defined somewhere inside of another."""
    parts = [constant for constant in outer.co_consts if isinstance(constant, types.CodeType)]
    return inner in parts or any(_holds(part, inner) for part in parts)


def _names_in(text: str) -> set[str]:
    try:
        return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    except SyntaxError:
        return set()


def _resolve(annotation: Any, function: types.FunctionType, around: Mapping[str, Any]) -> Any:
    """The object of a string annotation (`from __future__ import annotations`)."""
    if not isinstance(annotation, str):
        return annotation
    captured = dict(around) | {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if _is_set(cell)
    }
    try:
        return eval(annotation, function.__globals__, captured)  # noqa: S307  what typing.get_type_hints does
    except NameError as error:
        name = getattr(error, "name", None) or str(error)
        raise fe_error(
            NameError,
            f"annotation '{annotation}' of kernel '{function.__name__}' names {name}, which is neither global nor a "
            "variable of the functions around the kernel when jit() is called in them; with `from __future__ import "
            "annotations` set it before, drop that import in the module, or use the variable in the body",
        ) from None


def _is_set(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None or True
    except ValueError:
        return False


class Signature:
    """Tensor parameters first, then the others."""

    def __init__(self, function: types.FunctionType, around: Mapping[str, Any] = types.MappingProxyType({})) -> None:
        self.tensors: list[tuple[str, TensorSpec]] = []
        self.scalars: list[ScalarParameter] = []
        self._bound: dict[tuple[Any, ...], BoundTensor] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                check_kernel(read_kernel_source(function))  # raises, with its place
            annotation = _resolve(parameter.annotation, function, around)
            if hasattr(annotation, "to_tensor") and not isinstance(annotation, type):
                if self.scalars:
                    raise fe_error(
                        TypeError,
                        "Non-tensor parameters must come after all tensor parameters. Found tensor parameter "
                        f"'{parameter.name}' after non-tensor parameter(s).",
                    )
                self.tensors.append((parameter.name, annotation.to_tensor()))
            else:
                keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
                self.scalars.append(ScalarParameter(parameter.name, annotation, parameter.default, keyword_only))

    # Binding a call.

    def split(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tensors and scalars of a direct call, with the errors of a call."""
        count = len(self.tensors)
        if len(arguments) < count:
            named = [name for name, _ in self.tensors if name in keywords]
            hint = f" Tensors are positional: pass {', '.join(named)} without a name." if named else ""
            raise fe_error(TypeError, f"Expected at least {count} tensor argument(s), got {len(arguments)}.{hint}")
        tensors = arguments[:count]
        for index, tensor in enumerate(tensors):
            self._check_is_tensor(index, tensor)
        return tensors, self.bind_scalars(arguments[count:], keywords, require_all=True)

    def _check_is_tensor(self, index: int, value: Any) -> None:
        name = self.tensors[index][0]
        if type(value).__name__ == "DTensor":
            raise fe_error(TypeError, f"Input {name} (index {index}) is a DTensor; pass its local tensor")
        if not is_tensor_argument(value):
            raise fe_error(
                TypeError, f"Input {name} (index {index}) must be a torch.Tensor, got {type(value).__name__}"
            )

    def bind_scalars(
        self, positional: tuple[Any, ...], keywords: dict[str, Any], *, require_all: bool
    ) -> dict[str, Any]:
        """Values of the parameters that are no tensors, by name; defaults fill in where all are required."""
        allowed = [parameter.name for parameter in self.scalars if not parameter.keyword_only]
        if len(positional) > len(allowed):
            raise fe_error(
                TypeError,
                f"Too many positional arguments: expected at most {len(self.tensors) + len(allowed)}, got "
                f"{len(self.tensors) + len(positional)}.",
            )
        names = [parameter.name for parameter in self.scalars]
        unknown = sorted(set(keywords) - set(names))
        if unknown:
            raise fe_error(TypeError, f"Unknown keyword argument(s): {unknown}. Valid non-tensor parameters: {names}.")
        values = dict(zip(allowed, positional, strict=False))
        for name, value in keywords.items():
            if name in values:
                raise fe_error(TypeError, f"Non-tensor parameter '{name}' is given twice.")
            values[name] = value
        for parameter in self.scalars:
            if parameter.name not in values and require_all:
                if parameter.default is NO_DEFAULT:
                    raise fe_error(TypeError, f"Missing required non-tensor argument '{parameter.name}'.")
                values[parameter.name] = parameter.default
            if is_tensor_argument(values.get(parameter.name)):
                raise fe_error(
                    TypeError,
                    f"Non-tensor parameter '{parameter.name}' must not be a torch.Tensor; tensors come first and are "
                    "annotated with pypto.Tensor",
                )
        return values

    def bind_tensor(self, index: int, sample: Any) -> BoundTensor:
        """A tensor parameter with the dims and dtype of its annotation, filled in from a sample where left open."""
        if sample is None:
            name, spec = self.tensors[index]
            dtype, dims = self._declared_dtype(name, spec), self._declared_dims(name, spec)
            return BoundTensor(name, dtype, _bytes_of_pairs(name, dims) if dtype in PACKED else dims)
        if self.tensors[index][1].format is not None:
            self._check_format(index, sample)
        key = (index, tuple(sample.shape), sample.dtype)
        bound = self._bound.get(key)
        if bound is None:
            if len(self._bound) >= _MAX_BOUND:
                self._bound.clear()
            bound = self._bound[key] = self._bind_sample(index, sample)
        return bound

    def _check_format(self, index: int, sample: Any) -> None:
        """A layout that was declared is compared with that of a tensor on an NPU."""
        name, spec = self.tensors[index]
        layout = format_of(sample)
        if spec.format is not None and layout is not None and layout != spec.format:
            raise fe_error(
                ValueError,
                f"The format of {ordinal(index)} input tensor '{name}' ({layout.name}) does not match the format of "
                f"input tensor definition ({spec.format.name}).",
            )

    def _bind_sample(self, index: int, sample: Any) -> BoundTensor:
        name, spec = self.tensors[index]
        dtype = from_host_dtype(sample.dtype)
        if dtype is None or (spec.dtype is not None and not serves(dtype, spec.dtype)):
            expected = "a supported dtype" if spec.dtype is None else spec.dtype.name
            got = sample.dtype if dtype is None else dtype.name
            raise fe_error(
                TypeError,
                f"The dtype of {ordinal(index)} input tensor '{name}' ({got}) does not match the dtype of input tensor "
                f"definition ({expected}).",
            )
        declared = dtype if spec.dtype is None else spec.dtype
        shape = _shape_of(sample)
        if declared not in PACKED:
            return BoundTensor(name, declared, self._match_dims(index, shape))
        dims = self._match_dims(index, (*shape[:-1], 2 * shape[-1]))
        return BoundTensor(name, declared, _bytes_of_pairs(name, dims))

    def _match_dims(self, index: int, shape: tuple[int, ...]) -> tuple[int | str | None, ...]:
        name, spec = self.tensors[index]
        rank = len(spec.dims)
        if len(shape) < rank or (len(shape) > rank and not spec.any_rank):
            raise fe_error(
                ValueError,
                f"The number of dimensions of {ordinal(index)} input tensor '{name}' ({len(shape)}) does not match the "
                f"number of dimensions of input tensor definition ({rank}).",
            )
        dims: list[int | str | None] = []
        for axis, size in enumerate(shape):
            declared = spec.dims[axis] if axis < rank else None
            if isinstance(declared, DynamicDim):
                dims.append(declared.name or None)
                continue
            if isinstance(declared, int) and declared != size:
                raise fe_error(
                    ValueError,
                    f"The shape of {ordinal(index)} input tensor '{name}' {list(shape)} does not match the shape of "
                    f"input tensor definition {_definition(spec)}.",
                )
            dims.append(size)
        return tuple(dims)

    @staticmethod
    def _declared_dtype(name: str, spec: TensorSpec) -> DataType:
        if spec.dtype is None:
            raise fe_error(TypeError, f"parameter '{name}' declares no dtype: give a sample argument, or declare one")
        return spec.dtype

    @staticmethod
    def _declared_dims(name: str, spec: TensorSpec) -> tuple[int | str | None, ...]:
        if spec.any_rank or any(isinstance(dim, StaticDim) for dim in spec.dims):
            raise fe_error(
                TypeError, f"parameter '{name}' leaves its shape open {_definition(spec)}: give a sample argument"
            )
        return tuple(dim if isinstance(dim, int) else (getattr(dim, "name", "") or None) for dim in spec.dims)


def _bytes_of_pairs(name: str, dims: tuple[int | str | None, ...]) -> tuple[int | str | None, ...]:
    """Dims as those of the host tensor: the last one counts pairs."""
    last = dims[-1]
    if not isinstance(last, int) or last % 2:
        raise fe_error(
            ValueError,
            f"parameter '{name}': the last dim of a tensor of two elements in a byte is static and even, got {last}",
        )
    return (*dims[:-1], last // 2)


def _definition(spec: TensorSpec) -> str:
    dims = [repr(dim) for dim in spec.dims] + (["..."] if spec.any_rank else [])
    return f"[{', '.join(dims)}]"


def is_tensor_argument(value: Any) -> bool:
    """A torch tensor, a numpy array, a DeviceTensor or anything else with a shape and a dtype."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, TensorSpec)


def _shape_of(sample: Any) -> tuple[int, ...]:
    shape = tuple(int(size) for size in sample.shape)
    return shape or (1,)
