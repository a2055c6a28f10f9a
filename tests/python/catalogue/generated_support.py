"""What the makers of generated cases share: shapes, values, and the table's dtypes and ranks."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from catalogue_support import RANGES, TORCH, values
from test_packed import packed_of
from test_small_floats import FP8, HF8_VALUES

import pypto
from pypto import _core
from pypto.frontend.catalogue.operations import CATALOGUE
from pypto.frontend.catalogue.ranks import RANKS

FP32, FP16, INT32, BOOL, UINT8 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT32, pypto.DT_BOOL, pypto.DT_UINT8
# By rank: extents of 1, and last tiles that are not full.
SHAPES = {1: [(1,), (75,)], 2: [(3, 37), (1, 5)], 3: [(3, 1, 19)], 4: [(2, 1, 3, 11)], 5: [(1, 2, 3, 1, 9)]}
TILES = {1: (32,), 2: (2, 16), 3: (2, 1, 8), 4: (1, 1, 2, 8), 5: (1, 1, 2, 1, 8), 6: (1, 1, 1, 2, 1, 8)}
PACKED = {pypto.DT_FP4_E2M1X2, pypto.DT_FP4_E1M2X2, pypto.DT_INT4}
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Case(NamedTuple):
    """A kernel out[:] = body(*inputs)."""

    inputs: list[tuple[torch.Tensor, Any]]  # with their dtypes
    body: Callable[..., Any]
    expected: torch.Tensor
    result: Any  # dtype
    ulps: float = 0.0
    absolute: float = 0.0


def dtypes_in_table(name):
    """Those of any platform."""
    found = {row[0]: row[1] for row in _core.COMPOSED}
    found |= {row[1].removeprefix("_"): {*row[6], *row[7]} for row in _core.OPERATIONS}
    return sorted(pypto.DataType(number) for number in found[name])


def ranks_in_table(name):
    low, high = RANKS[name]
    return range(low, high + 1)


def data(shape, dtype, seed=0):
    """Values with specials; of floats of eight bits, and of two elements in a byte, any codes."""
    if dtype in TORCH:
        return values(shape, dtype, seed)
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, 256, stored_shape(shape, dtype), generator=generator).to(torch.uint8)
    return codes.view(FP8[dtype]) if dtype in FP8 else codes


def fitting(shape, dtype):
    """A shape that tensors of a dtype can have: the last dim is even where two elements are in a byte."""
    return (*shape[:-1], 2 * shape[-1]) if dtype in PACKED else tuple(shape)


def stored_shape(shape, dtype):
    """Of the host's tensor."""
    return (*shape[:-1], shape[-1] // 2) if dtype in PACKED else tuple(shape)


def host_dtype(dtype):
    return torch.uint8 if dtype in PACKED or dtype == pypto.DT_HF8 else getattr(torch, pypto.dtypes.torch_name(dtype))


def codes_of(number, dtype):
    """A small whole number in each element of a byte of floats of four and eight bits, or of INT4."""
    if dtype in FP8:
        return int(torch.tensor(float(number)).to(FP8[dtype]).view(torch.uint8))
    one = {pypto.DT_HF8: 0x08, pypto.DT_INT4: 0x11, pypto.DT_FP4_E2M1X2: 0x22, pypto.DT_FP4_E1M2X2: 0x44}
    return one[dtype] if number else 0


def small(shape, dtype, seed=0):
    """Whole numbers whose sums and products are exact."""
    generator = torch.Generator().manual_seed(seed)
    low = 0 if RANGES.get(dtype, (-1, 0))[0] == 0 else -5
    return torch.randint(low, 6 if dtype != BOOL else 2, shape, generator=generator).to(TORCH[dtype])


def to_codes(x, dtype):
    """Whole numbers up to 4 as floats of four or eight bits."""
    if dtype in FP8:
        return x.to(FP8[dtype])
    if dtype == pypto.DT_INT4:
        pairs = x.to(torch.uint8).unflatten(-1, (-1, 2))
        return pairs[..., 0] + 16 * pairs[..., 1]
    if dtype in PACKED:
        return packed_of(x, dtype)
    table = {float(value): code for code, value in enumerate(HF8_VALUES.tolist())}
    return torch.tensor([table[float(each)] for each in x.flatten()], dtype=torch.uint8).reshape(x.shape)


def ones_and_zeros(shape, dtype, seed=0):
    """FP32, of what every dtype has, as are its sums: E8M0 has powers of two alone, so it gets ones."""
    if dtype == pypto.DT_FP8E8M0:
        return torch.ones(shape)
    return torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(seed)).float()


def bits(x):
    return x.view(_WORDS[x.element_size()])


def wide(x):
    return x.double() if x.dtype.is_floating_point else x.to(torch.int64)


def numbers(shape, low, high, seed=1):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int32)


def dim_of(shape):
    return len(shape) // 2


def in_place(name):
    """Updates of a copy."""

    def apply(x, *rest, **more):
        result = pypto.clone(x) if name.endswith("_") or name in ("axpy_", "index_add__ub", "scatter_update") else x
        returned = CATALOGUE[name](result, *rest, **more)
        return result if result is not x else returned

    return apply
