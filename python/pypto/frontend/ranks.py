"""How many dims the tensors of each operation may have, and the dtypes of those the core takes more of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.places import trace_error
from pypto.frontend.tensor import Tensor

MAX_RANK = 5
_DEFAULT = (1, 4)
_OWN_CHECKS = frozenset({"fillpad", "scatter_update", "unpack"})  # these say more than a number of dims

# Operations that are not limited to 1 to 4 dims. Those with (1, MAX_RANK) move, name or make tensors of any rank.
_ANY = (
    "assemble", "atomic_add", "clone", "concat", "conv", "deinterleave", "index_add", "index_add_", "index_add__ub",
    "index_add_ub", "interleave", "gather", "ones", "permute", "reshape", "rms_norm", "scatter", "sigmoid", "softmax",
    "transpose", "unsqueeze", "view", "zeros",
)  # fmt: skip
RANKS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_ANY, (1, MAX_RANK)), "matmul": (2, 4), "one_hot": (1, 3), "scaled_mm": (2, 4),
    "tril": (2, MAX_RANK), "triu": (2, MAX_RANK),
}  # fmt: skip
_SIZES = frozenset({"full", "normal", "uniform"})  # the first argument is a shape

DTYPES: dict[str, tuple[DataType, ...]] = {
    "transpose": (
        DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16, DataType.DT_INT32, DataType.DT_INT8, DataType.DT_INT16,
        DataType.DT_UINT8, DataType.DT_UINT16, DataType.DT_UINT32, DataType.DT_FP8E4M3, DataType.DT_FP8E5M2,
        DataType.DT_FP8E8M0, DataType.DT_HF8,
    ),
}  # fmt: skip


def ranks_of(name: str) -> tuple[int, int]:
    """The lowest and the highest number of dims."""
    return RANKS.get(name, _DEFAULT)


def _refuse(name: str, got: str) -> Exception:
    low, high = ranks_of(name)
    return trace_error(ValueError, f"{name}(): expected a tensor of {low} to {high} dims, got {got}")


def _check(name: str, values: Sequence[Any]) -> None:
    low, high = ranks_of(name)
    for index, value in enumerate(values):
        if isinstance(value, Tensor):
            rank = value.dim
            if rank > high or (rank < low and index == 0):
                raise _refuse(name, f"{rank}: {value.describe()}")
    accepted = DTYPES.get(name)
    if accepted is not None and isinstance(values[0], Tensor) and values[0].dtype not in accepted:
        texts = ", ".join(dtype.name.removeprefix("DT_") for dtype in accepted)
        got = values[0].dtype.name.removeprefix("DT_")
        raise trace_error(TypeError, f"{name}(): operand 0 {got} is not supported; accepted: {texts}")


def limited(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation as users call it: it refuses tensors of other ranks."""
    if name in _OWN_CHECKS:
        return operation
    if name in _SIZES:

        @functools.wraps(operation)
        def sized(size: Any, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(size, list | tuple) and not 1 <= len(size) <= ranks_of(name)[1]:
                raise _refuse(name, f"{len(size)}: {list(size)}")
            return operation(size, *arguments, **keywords)

        return sized

    @functools.wraps(operation)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        _check(name, arguments if arguments else tuple(keywords.values()))
        return operation(*arguments, **keywords)

    return checked
