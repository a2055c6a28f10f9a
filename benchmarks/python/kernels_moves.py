"""Kernels that move or select data, each beside what torch does eagerly: the rows of kernels_composite.py."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

import pypto

DTYPES = {"fp32": (pypto.DT_FP32, torch.float32), "bf16": (pypto.DT_BF16, torch.bfloat16)}
SHAPES = ((1024, 4096), (128, 128))


@dataclass
class Row:
    """One kernel with its arguments; `peer` gives what torch computes of the same tensors."""

    name: str
    kernel: Callable[..., None]
    inputs: tuple[torch.Tensor, ...]
    outputs: tuple[torch.Tensor, ...]
    peer: Callable[[], object]
    moved: int = 0  # bytes read and written, for the bandwidth column
    allowed: float = 0.0  # largest error, relative to the largest magnitude
    copies: bool = False  # held against the copy bandwidth
    updates: bool = False  # the outputs are inputs too: torch starts from clones of them
    operations: float = 0.0  # of the products, for the roofline; a multiply-add counts as two
    unit: str = "fp32"  # what computes them


def _random(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape).to(dtype)


def _copies(rows: int, columns: int, name: str) -> list[Row]:
    tile, kind = DTYPES[name]
    label = f"{name} {rows}x{columns}"

    @pypto.frontend.jit
    def clone(x: pypto.Tensor([rows, columns], tile), out: pypto.Tensor([rows, columns], tile)):
        out[:] = pypto.clone(x)

    @pypto.frontend.jit
    def transpose(x: pypto.Tensor([rows, columns], tile), out: pypto.Tensor([columns, rows], tile)):
        out[:] = pypto.transpose(x, 0, 1)

    half = columns // 2

    @pypto.frontend.jit
    def concat(
        x: pypto.Tensor([rows, half], tile),
        y: pypto.Tensor([rows, half], tile),
        out: pypto.Tensor([rows, columns], tile),
    ):
        out[:] = pypto.concat([x, y], 1)

    heads, width = columns // 64, 64

    @pypto.frontend.jit
    def permute(x: pypto.Tensor([rows, heads, width], tile), out: pypto.Tensor([heads, rows, width], tile)):
        out[:] = pypto.permute(x, [1, 0, 2])

    @pypto.frontend.jit
    def reverse(x: pypto.Tensor([rows, heads, width], tile), out: pypto.Tensor([width, heads, rows], tile)):
        out[:] = pypto.permute(x, [2, 1, 0])

    x, halves = _random((rows, columns), kind), [_random((rows, half), kind) for _ in range(2)]
    x3 = x.view(rows, heads, width)
    moved = 2 * x.numel() * x.element_size()
    like = torch.empty_like
    turned, first, last = like(x.T.contiguous()), like(x3.transpose(0, 1).contiguous()), x3.permute(2, 1, 0)
    last = torch.empty(last.shape, dtype=kind)
    return [
        Row(f"copy {label}", clone, (x,), (like(x),), x.clone, moved, copies=True),
        Row(f"transpose {label}", transpose, (x,), (turned,), x.T.contiguous, moved),
        Row(
            f"concat {label}", concat, tuple(halves), (like(x),), lambda: torch.cat(halves, 1), moved, copies=True
        ),
        Row(
            f"permute 1,0,2 {label}", permute, (x3,), (first,), lambda: x3.transpose(0, 1).contiguous(), moved,
            copies=True,
        ),
        Row(f"permute 2,1,0 {label}", reverse, (x3,), (last,), lambda: x3.permute(2, 1, 0).contiguous(), moved),
    ]  # fmt: skip


def _indexed(rows: int, columns: int, name: str) -> list[Row]:
    tile, kind = DTYPES[name]
    label = f"{name} {rows}x{columns}"
    picked = rows // 2

    @pypto.frontend.jit
    def gather(
        x: pypto.Tensor([rows, columns], tile),
        index: pypto.Tensor([rows, columns], pypto.DT_INT32),
        out: pypto.Tensor([rows, columns], tile),
    ):
        out[:] = pypto.gather(x, 1, index)

    @pypto.frontend.jit
    def select(
        x: pypto.Tensor([rows, columns], tile),
        index: pypto.Tensor([rows], pypto.DT_INT32),
        out: pypto.Tensor([rows, columns], tile),
    ):
        out[:] = pypto.index_select(x, 0, index)

    @pypto.frontend.jit
    def update(
        index: pypto.Tensor([1, picked], pypto.DT_INT32),
        values: pypto.Tensor([picked, columns], tile),
        out: pypto.Tensor([rows, columns], tile),
    ):
        out[:] = pypto.scatter_update(out, -2, index, values)

    x, values = _random((rows, columns), kind), _random((picked, columns), kind)
    index = torch.randint(0, columns, (rows, columns), dtype=torch.int32)
    wide, chosen = index.long(), torch.randint(0, rows, (rows,), dtype=torch.int32)
    places = torch.randperm(rows)[:picked]
    target, written = x.clone(), x.clone()
    item, like = x.element_size(), torch.empty_like
    return [
        Row(
            f"gather {label}", gather, (x, index), (like(x),), lambda: torch.gather(x, 1, wide),
            x.numel() * (2 * item + 4),
        ),
        Row(
            f"index_select {label}", select, (x, chosen), (like(x),), lambda: torch.index_select(x, 0, chosen),
            2 * x.numel() * item, copies=True,
        ),
        Row(
            f"scatter_update {label}", update, (places.int().view(1, -1), values), (target,),
            lambda: written.index_copy_(0, places, values), 2 * values.numel() * item, copies=True, updates=True,
        ),
    ]  # fmt: skip


def _ordered(rows: int, columns: int, name: str) -> list[Row]:
    tile, kind = DTYPES[name]
    label = f"{name} {rows}x{columns}"

    @pypto.frontend.jit
    def topk(
        x: pypto.Tensor([rows, columns], tile),
        best: pypto.Tensor([rows, 8], tile),
        index: pypto.Tensor([rows, 8], pypto.DT_INT32),
    ):
        values, places = pypto.topk(x, 8)
        best[:] = values
        index[:] = places

    @pypto.frontend.jit
    def along(x: pypto.Tensor([rows, columns], tile), out: pypto.Tensor([rows, columns], tile)):
        out[:] = pypto.cumsum(x, 1)

    @pypto.frontend.jit
    def down(x: pypto.Tensor([rows, columns], tile), out: pypto.Tensor([rows, columns], tile)):
        out[:] = pypto.cumsum(x, 0)

    x = _random((rows, columns), kind)
    moved = 2 * x.numel() * x.element_size()
    best, places = torch.empty(rows, 8, dtype=kind), torch.empty(rows, 8, dtype=torch.int32)
    allowed = 1e-5 if name == "fp32" else 1e-2
    like = torch.empty_like
    return [
        Row(f"topk 8 {label}", topk, (x,), (best, places), lambda: torch.topk(x, 8), moved // 2),
        Row(f"cumsum 1 {label}", along, (x,), (like(x),), lambda: x.cumsum(1), moved, allowed),
        Row(f"cumsum 0 {label}", down, (x,), (like(x),), lambda: x.cumsum(0), moved, allowed),
    ]


def _sorts(rows: int, columns: int) -> list[Row]:
    label = f"fp32 {rows}x{columns}"

    @pypto.frontend.jit
    def argsort(x: pypto.Tensor([rows, columns], pypto.DT_FP32), out: pypto.Tensor([rows, columns], pypto.DT_INT32)):
        out[:] = pypto.argsort(x, -1)

    x = torch.randn(rows, columns)
    out = torch.empty(rows, columns, dtype=torch.int32)
    return [Row(f"argsort {label}", argsort, (x,), (out,), lambda: x.argsort(dim=-1, stable=True), 2 * x.numel() * 4)]


def rows() -> list[Row]:
    """All rows, in the order in which they are printed."""
    made: list[Row] = []
    for shape in SHAPES:
        for name in DTYPES:
            made += _copies(*shape, name) + _indexed(*shape, name) + _ordered(*shape, name)
        made += _sorts(*shape)
    return made
