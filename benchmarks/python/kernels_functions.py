"""Functions, remainders, rounding, first extremes and scatters on the mock device beside torch eager, as in kernels.py.

Both sides are checked against FP64 first, at what single results may differ by.
"""

from collections.abc import Callable
from typing import Any

import torch

import pypto
from kernels import NAMES, Case, Inputs, main

SHAPES = ((256, 4096),)
DTYPES = (torch.float32, torch.bfloat16)


def unary(body: Callable[[Any], Any]) -> Any:
    def make(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        name = NAMES[dtype]

        @pypto.frontend.jit
        def kernel(x: pypto.Tensor(list(shape), name), out: pypto.Tensor(list(shape), name)):
            pypto.set_vec_tile_shapes(64, 512)
            out[:] = body(x)

        return kernel

    return make


def binary(body: Callable[[Any, Any], Any]) -> Any:
    def make(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        name = NAMES[dtype]

        @pypto.frontend.jit
        def kernel(
            x: pypto.Tensor(list(shape), name), y: pypto.Tensor(list(shape), name), out: pypto.Tensor(list(shape), name)
        ):
            pypto.set_vec_tile_shapes(64, 512)
            out[:] = body(x, y)

        return kernel

    return make


def extreme(body: Callable[..., Any], dim: int) -> Any:
    def make(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        result = [shape[0], 1] if dim == 1 else [1, shape[1]]

        @pypto.frontend.jit
        def kernel(x: pypto.Tensor(list(shape), NAMES[dtype]), out: pypto.Tensor(result, pypto.DT_INT32)):
            pypto.set_vec_tile_shapes(64, 512)
            out[:] = body(x, dim, True)

        return kernel

    return make


def scatter(reduce: str | None) -> Any:
    def make(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        name = NAMES[dtype]

        @pypto.frontend.jit
        def kernel(
            x: pypto.Tensor(list(shape), name),
            index: pypto.Tensor(list(shape), pypto.DT_INT64),
            source: pypto.Tensor(list(shape), name),
            out: pypto.Tensor(list(shape), name),
        ):
            pypto.set_vec_tile_shapes(64, 512)
            out[:] = pypto.scatter(x, 1, index, source, reduce=reduce)

        return kernel

    return make


def scattered(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    """Each place once, so that the order of the elements does not matter."""
    places = torch.stack([torch.randperm(shape[1]) for _ in range(shape[0])])
    return [torch.randn(shape).to(dtype), places, torch.randn(shape).to(dtype)]


def one_hot(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([shape[0]], pypto.DT_INT64), out: pypto.Tensor(list(shape), pypto.DT_INT64)):
        pypto.set_vec_tile_shapes(64, 512)
        out[:] = pypto.one_hot(x, shape[1])

    return kernel


def spread(low: float, high: float) -> Callable[[tuple[int, ...], torch.dtype], Inputs]:
    return lambda shape, dtype: [(torch.rand(shape) * (high - low) + low).to(dtype)]


def two(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    """The second without values near zero: whole numbers of quarters are exact in every dtype."""
    divisor = torch.randint(1, 30, shape) * torch.randint(0, 2, shape).mul(2).sub(1) * 0.25
    return [(torch.randint(-400, 400, shape) * 0.25).to(dtype), divisor.to(dtype)]


def function(name: str, low: float, high: float, peer: Callable[..., torch.Tensor] | None = None) -> Case:
    return Case(
        name,
        unary(getattr(pypto, name)),
        spread(low, high),
        peer or getattr(torch, name),
        shapes=SHAPES,
        dtypes=DTYPES,
    )


def function_of_two(name: str, peer: Callable[..., torch.Tensor] | None = None) -> Case:
    return Case(name, binary(getattr(pypto, name)), two, peer or getattr(torch, name), shapes=SHAPES, dtypes=DTYPES)


CASES = [
    Case(
        "round, 2 decimals",
        unary(lambda x: pypto.round(x, 2)),
        lambda shape, dtype: [(torch.randint(-400, 400, shape) * 0.125 + 0.05).to(dtype)],
        lambda x: torch.round(x, decimals=2),
        shapes=SHAPES,
        dtypes=DTYPES,
    ),
    function_of_two("remainder"),
    function_of_two("fmod"),
    function_of_two("floor_div", torch.floor_divide),
    function_of_two("atan2"),
    function_of_two("hypot"),
    function("tan", -1.5, 1.5),
    function("asin", -1, 1),
    function("acos", -1, 1),
    function("atan", -5, 5),
    function("sinh", -5, 5),
    function("cosh", -5, 5),
    function("asinh", -5, 5),
    function("acosh", 1, 9),
    function("atanh", -0.99, 0.99),
    function("cbrt", 0.1, 9, lambda x: x.pow(1 / 3)),
    function("erfc", -3, 3),
    function("expm1", -5, 5),
    function("exp2", -5, 5),
    function("log1p", -0.9, 9),
    function("log2", 0.1, 9),
    function("log10", 0.1, 9),
    *(
        Case(
            f"{name}, dim {dim}",
            extreme(getattr(pypto, name), dim),
            lambda shape, dtype: [torch.randperm(shape[0] * shape[1]).reshape(shape).to(torch.float32).to(dtype)],
            lambda x, name=name, dim=dim: getattr(torch, name)(x, dim, True),
            result=torch.int32,
            shapes=SHAPES,
            dtypes=(torch.float32,),
        )
        for name in ("argmax", "argmin")
        for dim in (1, 0)
    ),
    Case("scatter", scatter(None), scattered, lambda x, i, s: x.scatter(1, i.long(), s), shapes=SHAPES, dtypes=DTYPES),
    Case(
        "scatter, add",
        scatter("add"),
        scattered,
        lambda x, i, s: x.scatter_add(1, i.long(), s),
        shapes=SHAPES,
        dtypes=DTYPES,
    ),
    Case(
        "one hot",
        one_hot,
        lambda shape, dtype: [torch.randint(0, shape[1], (shape[0],))],
        lambda x: torch.nn.functional.one_hot(x.long(), 1024),
        result=torch.int64,
        shapes=((1024, 1024),),
        dtypes=(torch.int64,),
    ),
]


if __name__ == "__main__":
    main(CASES)
