"""What the tests of the catalogue share: dtypes, values with specials, kernels made on the fly, comparison in ulps."""

import math

import torch

import pypto
from pypto import _core, ir

TORCH = {
    pypto.DT_FP32: torch.float32, pypto.DT_FP16: torch.float16, pypto.DT_BF16: torch.bfloat16,
    pypto.DT_INT32: torch.int32, pypto.DT_INT8: torch.int8, pypto.DT_BOOL: torch.bool, pypto.DT_INT16: torch.int16,
    pypto.DT_INT64: torch.int64, pypto.DT_UINT8: torch.uint8, pypto.DT_UINT16: torch.uint16,
    pypto.DT_UINT32: torch.uint32, pypto.DT_UINT64: torch.uint64,
}  # fmt: skip
PYPTO = {value: key for key, value in TORCH.items()}
FLOATS = (pypto.DT_FP32, pypto.DT_FP16, pypto.DT_BF16)
RANGES = {
    pypto.DT_INT8: (-128, 127), pypto.DT_UINT8: (0, 255), pypto.DT_INT16: (-(2**15), 2**15 - 1),
    pypto.DT_UINT16: (0, 2**16 - 1), pypto.DT_INT32: (-(2**31), 2**31 - 1), pypto.DT_UINT32: (0, 2**32 - 1),
    pypto.DT_INT64: (-(2**63), 2**63 - 1), pypto.DT_UINT64: (0, 2**63 - 1), pypto.DT_BOOL: (0, 1),
}  # fmt: skip
EPSILON = {pypto.DT_FP32: 2.0**-23, pypto.DT_FP16: 2.0**-10, pypto.DT_BF16: 2.0**-7}
# Units in the last place: the kernel's own error in FP32; half dtypes are computed in FP32 and rounded once.
HALF_ULPS = 0.51
SHAPES = [(1,), (300,), (3, 33), (2, 1, 17), (2, 3, 1, 19)]
BROADCASTS = [
    ((7,), (7,)), ((100,), (1,)), ((33, 40), (40,)), ((33, 1), (33, 40)), ((1, 40), (33, 1)), ((2, 3, 17), (3, 1)),
    ((2, 1, 3, 19), (5, 1, 19)),
]  # fmt: skip
TILES = {1: (64,), 2: (16, 32), 3: (2, 2, 16), 4: (1, 1, 2, 8), 5: (1, 1, 1, 2, 8)}
ROWS = {row[1]: row for row in _core.OPERATIONS}
SPECIALS = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e30, 88.0, -100.0, 1.0, -1.0, 0.5, -1.5, 2.5]


def dtypes_of(name):
    """(dtype, platform) for every dtype of a row but the 8-bit floats; a5 alone where a2a3 lacks it."""
    row = ROWS[name]
    pairs = [(pypto.DataType(number), "a2a3sim") for number in row[6]]
    pairs += [(pypto.DataType(number), "a5sim") for number in row[7] if number not in row[6]]
    return [(dtype, platform) for dtype, platform in pairs if dtype in TORCH]


def case_id(value):
    return value.name.removeprefix("DT_") if isinstance(value, pypto.DataType) else None


def values(shape, dtype, seed=0, scale=3.0):
    """Random values of a dtype with every special one in them, where the shape has room."""
    generator = torch.Generator().manual_seed(seed)
    if dtype in RANGES:
        low, high = RANGES[dtype]
        if dtype in (pypto.DT_INT64, pypto.DT_UINT64):
            x = torch.randint(low, high, shape, generator=generator, dtype=torch.int64)
        else:
            x = torch.randint(low, high + 1, shape, generator=generator, dtype=torch.int64)
        flat = x.view(-1)
        for index in range(0, flat.numel() - 1, 7):
            flat[index] = [low, high, 0, min(high, 1)][(index // 7) % 4]
        return x.to(TORCH[dtype])
    x = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
    flat = x.view(-1)
    for index in range(0, flat.numel() - 1, 5):
        flat[index] = SPECIALS[(index // 5) % len(SPECIALS)]
    return x.to(TORCH[dtype])


def spec(tensor):
    return pypto.Tensor(list(tensor.shape), PYPTO[tensor.dtype])


def run(body, inputs, output, platform="a2a3sim", tiles=None):
    """out[:] = body(*inputs) on the mock; `output` is an uninitialised tensor, returned."""
    tile = TILES[max(1, output.dim())] if tiles is None else tiles
    specs = [spec(tensor) for tensor in inputs]
    result = spec(output)
    if len(inputs) == 0:

        @pypto.frontend.jit
        def kernel(out: result):
            pypto.set_vec_tile_shapes(*tile)
            out[:] = body()

    elif len(inputs) == 1:
        first = specs[0]

        @pypto.frontend.jit
        def kernel(x: first, out: result):
            pypto.set_vec_tile_shapes(*tile)
            out[:] = body(x)

    elif len(inputs) == 2:
        first, second = specs

        @pypto.frontend.jit
        def kernel(x: first, y: second, out: result):
            pypto.set_vec_tile_shapes(*tile)
            out[:] = body(x, y)

    else:
        first, second, third = specs

        @pypto.frontend.jit
        def kernel(x: first, y: second, z: third, out: result):
            pypto.set_vec_tile_shapes(*tile)
            out[:] = body(x, y, z)

    compiled = ir.compile(kernel, platform=platform)
    compiled(*inputs, output)
    return output


def check(got, expected, ulps=0.5, absolute=0.0):
    """Equal dtypes that are no floats; else NaN alike and within `ulps` of the last place of the exact value."""
    assert got.shape == expected.shape
    if not got.dtype.is_floating_point:
        assert torch.equal(got.to(torch.int64), expected.to(torch.int64)), (got, expected)
        return
    epsilon = torch.finfo(got.dtype).eps
    rounded, wide, exact = expected.to(got.dtype), got.double(), expected.double()
    assert torch.equal(wide.isnan(), rounded.isnan()), (got, expected)
    finite = rounded.isfinite() & got.isfinite()
    either = (rounded.isinf() | got.isinf()) & ~rounded.isnan()
    edge = torch.finfo(got.dtype).max * (1 - epsilon)
    assert bool(((wide == rounded.double()) | (exact.abs() >= edge))[either].all()), (got, expected)
    unit = torch.maximum(exact.abs(), torch.tensor(torch.finfo(got.dtype).tiny)) * epsilon
    error = ((wide - exact).abs() / unit)[finite & ((wide - exact).abs() > absolute)]
    assert float(error.max() if error.numel() else 0.0) <= ulps, f"{float(error.max()):.2f} units"
