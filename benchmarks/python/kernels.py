"""Kernels on the mock device beside torch eager: element-wise chains, norms, activations, rotary embedding and casts.

Each row is checked against FP64 first. Resident tensors on both sides, one thread each (`--cores 2`: two each). The
roofline column is the time that the bytes of the row take at the bandwidth measured at the start, over the time taken.
A further table of rows imports Case, Inputs and main from here.
"""

import argparse
import ctypes
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import pypto
from harness import Candidate, machine, measure, pin
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

SHAPES = ((1024, 4096), (128, 128))
DTYPES = (torch.float32, torch.bfloat16)
NAMES = {
    torch.float32: pypto.DT_FP32,
    torch.bfloat16: pypto.DT_BF16,
    torch.float16: pypto.DT_FP16,
    torch.int8: pypto.DT_INT8,
}
FP32 = pypto.DT_FP32
ROWS = 64  # that one step of a kernel's loop takes
HEAD = 128
EPSILON = 1e-5

Inputs = list[torch.Tensor]
Make = Callable[[tuple[int, ...], torch.dtype], Any]


@dataclass
class Case:
    """One kernel: how it is made, what it takes, what torch does instead."""

    name: str
    make: Make  # the jitted kernel; its last parameter is the output
    inputs: Callable[[tuple[int, ...], torch.dtype], Inputs]
    peer: Callable[..., torch.Tensor]
    allowed: float = 2e-6  # difference from FP64, of the largest value
    allowed_half: float = 1e-2  # the same where a half dtype takes part
    result: torch.dtype | None = None  # dtype of the output; that of the inputs if left out
    shapes: tuple[tuple[int, ...], ...] = SHAPES
    dtypes: tuple[torch.dtype, ...] = DTYPES


def one(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    return [torch.randn(shape).to(dtype)]


def two(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    return [torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)]


def three(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    return [*two(shape, dtype), torch.randn(shape).to(dtype)]


def normed(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    return [torch.randn(shape).to(dtype), torch.randn(shape[-1]).to(dtype), torch.randn(shape[-1]).to(dtype)]


def scaled(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    return normed(shape, dtype)[:2]


def rotated(shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
    frequencies = 10000.0 ** (-torch.arange(HEAD // 2, dtype=torch.float64) * 2 / HEAD)
    phase = torch.arange(shape[0], dtype=torch.float64)[:, None, None] * frequencies
    return [torch.randn(shape[0], shape[1] // HEAD, HEAD).to(dtype), phase.cos().to(dtype), phase.sin().to(dtype)]


def unary(
    body: Callable[[Any], Any], result: torch.dtype | None = None
) -> Callable[[tuple[int, ...], torch.dtype], Any]:
    """A kernel of one operand, computed in FP32; `body` is inlined."""

    def make(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        name, out_name = NAMES[dtype], NAMES[result or dtype]

        @pypto.frontend.jit
        def kernel(x: pypto.Tensor(list(shape), name), out: pypto.Tensor(list(shape), out_name)):
            pypto.set_vec_tile_shapes(ROWS, 512)
            out[:] = pypto.cast(body(pypto.cast(x, FP32)), out_name)

        return kernel

    return make


def chain(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    name = NAMES[dtype]

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor(list(shape), name), y: pypto.Tensor(list(shape), name), out: pypto.Tensor(list(shape), name)
    ):
        pypto.set_vec_tile_shapes(ROWS, 512)
        out[:] = pypto.exp(x * 2.0 + y)

    return kernel


def long_chain(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    name = NAMES[dtype]

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor(list(shape), name),
        y: pypto.Tensor(list(shape), name),
        z: pypto.Tensor(list(shape), name),
        out: pypto.Tensor(list(shape), name),
    ):
        pypto.set_vec_tile_shapes(ROWS, 512)
        mixed = pypto.maximum(x * y + z, x - y)
        out[:] = pypto.abs(mixed * 0.5 + x) * z - pypto.minimum(mixed, y)

    return kernel


def softmax(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    rows, columns = shape
    name = NAMES[dtype]

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([rows, columns], name), out: pypto.Tensor([rows, columns], name)):
        pypto.set_vec_tile_shapes(8, columns)
        for row in pypto.loop(0, rows, ROWS, name="rows"):
            block = pypto.cast(x[row : row + ROWS, :], FP32)
            exponent = pypto.exp(block - pypto.amax(block, -1, keepdim=True))
            out[row : row + ROWS, :] = pypto.cast(exponent / pypto.sum(exponent, -1, keepdim=True), name)

    return kernel


def layer_norm(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    rows, columns = shape
    name = NAMES[dtype]

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([rows, columns], name),
        weight: pypto.Tensor([columns], name),
        bias: pypto.Tensor([columns], name),
        out: pypto.Tensor([rows, columns], name),
    ):
        pypto.set_vec_tile_shapes(8, columns)
        for row in pypto.loop(0, rows, ROWS, name="rows"):
            block = pypto.cast(x[row : row + ROWS, :], FP32)
            centred = block - pypto.sum(block, -1, keepdim=True) * (1.0 / columns)
            variance = pypto.sum(centred * centred, -1, keepdim=True) * (1.0 / columns)
            normal = centred * pypto.rsqrt(variance + EPSILON)
            normal = normal * pypto.cast(weight, FP32) + pypto.cast(bias, FP32)
            out[row : row + ROWS, :] = pypto.cast(normal, name)

    return kernel


def rms_norm(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    rows, columns = shape
    name = NAMES[dtype]

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([rows, columns], name),
        weight: pypto.Tensor([columns], name),
        out: pypto.Tensor([rows, columns], name),
    ):
        pypto.set_vec_tile_shapes(8, columns)
        for row in pypto.loop(0, rows, ROWS, name="rows"):
            out[row : row + ROWS, :] = pypto.rms_norm(x[row : row + ROWS, :], weight, EPSILON)

    return kernel


def rotary(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    tokens, heads, half = shape[0], shape[1] // HEAD, HEAD // 2
    name = NAMES[dtype]

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([tokens, heads, HEAD], name),
        cos: pypto.Tensor([tokens, 1, half], name),
        sin: pypto.Tensor([tokens, 1, half], name),
        out: pypto.Tensor([tokens, heads, HEAD], name),
    ):
        pypto.set_vec_tile_shapes(4, heads, HEAD)
        for token in pypto.loop(0, tokens, ROWS, name="tokens"):
            part = slice(token, token + ROWS)
            first = pypto.cast(x[part, :, :half], FP32)
            second = pypto.cast(x[part, :, half:], FP32)
            c, s = pypto.cast(cos[part, :, :], FP32), pypto.cast(sin[part, :, :], FP32)
            out[part, :, :half] = pypto.cast(first * c - second * s, name)
            out[part, :, half:] = pypto.cast(second * c + first * s, name)

    return kernel


def cast_kernel(result: torch.dtype) -> Make:
    def make(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        name, out_name = NAMES[dtype], NAMES[result]

        @pypto.frontend.jit
        def kernel(x: pypto.Tensor(list(shape), name), out: pypto.Tensor(list(shape), out_name)):
            pypto.set_vec_tile_shapes(ROWS, 512)
            out[:] = pypto.cast(x, out_name)

        return kernel

    return make


def gelu_tanh(x: Any) -> Any:
    return x * 0.5 * (pypto.tanh((x * x * x * 0.044715 + x) * math.sqrt(2 / math.pi)) + 1.0)


def gelu_erf(x: Any) -> Any:
    return x * 0.5 * (pypto.erf(x * math.sqrt(0.5)) + 1.0)


def silu(x: Any) -> Any:
    return x * pypto.sigmoid(x)


def rotary_peer(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


F = torch.nn.functional
CASES = [
    Case("(x * 2 + y).exp()", chain, two, lambda x, y: (x * 2 + y).exp(), allowed=4e-6, allowed_half=5e-2),
    Case(
        "chain of 8",
        long_chain,
        three,
        lambda x, y, z: ((m := torch.maximum(x * y + z, x - y)) * 0.5 + x).abs() * z - torch.minimum(m, y),
    ),
    Case("softmax", softmax, one, lambda x: torch.softmax(x, -1)),
    Case("layer norm", layer_norm, normed, lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, EPSILON)),
    Case("rms norm", rms_norm, scaled, lambda x, w: F.rms_norm(x, (x.shape[-1],), w, EPSILON)),
    Case("gelu, tanh", unary(gelu_tanh), one, lambda x: F.gelu(x, approximate="tanh")),
    Case("gelu, erf", unary(gelu_erf), one, F.gelu),
    Case("silu", unary(silu), one, F.silu),
    Case("rotary", rotary, rotated, rotary_peer),
    *(
        Case(
            f"cast to {str(to).removeprefix('torch.')}",
            cast_kernel(to),
            lambda shape, dtype: [torch.randn(shape).to(dtype) * 40],
            lambda x, to=to: x.to(to),
            allowed_half=3e-2 if to == torch.int8 else 1e-2,
            result=to,
            dtypes=dtypes,
        )
        for to, dtypes in (
            (torch.bfloat16, (torch.float32,)),
            (torch.float16, DTYPES),
            (torch.float32, (torch.bfloat16,)),
            (torch.int8, DTYPES),
        )
    ),
]


def keep_memory() -> None:
    """Lets malloc keep what torch frees, so that its results lie in memory that is mapped already, as ours do."""
    libc = ctypes.CDLL(None)
    m_trim_threshold, m_mmap_threshold = -1, -3
    libc.mallopt(m_mmap_threshold, 1 << 30)
    libc.mallopt(m_trim_threshold, 2**31 - 1)


def bandwidth() -> float:
    """Bytes per nanosecond of one thread that reads 32 MiB and writes 32 MiB, torch or a copy, whichever is faster."""
    source, target = torch.randn(8 << 20), torch.empty(8 << 20)
    figures = measure([Candidate("copy", lambda: target.copy_(source))], rounds=20)
    return float(2 * source.nbytes / figures["copy"]["min_ns"])


def check(case: Case, inputs: Inputs, out: torch.Tensor) -> None:
    """Raises when the kernel's output is not what torch computes in FP64."""
    expected = case.peer(*(tensor.double() for tensor in inputs)).double()
    allowed = case.allowed if out.dtype == torch.float32 and inputs[0].dtype == torch.float32 else case.allowed_half
    wrong = (out.double() - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
    if not wrong <= allowed:
        raise SystemExit(f"{case.name}: differs from FP64 by {wrong:.2e}, allowed is {allowed:.0e}")


def time_case(case: Case, shape: tuple[int, ...], dtype: torch.dtype, rate: float, rounds: int) -> dict[str, Any]:
    """One row: both times, their ratio, and what the memory allows."""
    inputs = case.inputs(shape, dtype)
    expected = case.peer(*inputs)
    out = torch.empty(expected.shape, dtype=case.result or dtype)
    with ChipWorker(config=RunConfig()) as worker:
        resident = [worker.alloc_tensor(tuple(t.shape), t.dtype, init=t) for t in (*inputs, out)]
        handle = worker.register(ir.compile(case.make(shape, dtype)))
        handle(*resident)
        resident[-1].to_host(out)
        check(case, inputs, out)
        with torch.no_grad():
            calls = [
                Candidate("pypto", lambda: handle(*resident)),
                Candidate("torch", lambda: case.peer(*inputs)),
            ]
            figures = measure(calls, rounds=rounds)
    moved = sum(t.nbytes for t in (*inputs, out))
    ours, theirs = figures["pypto"]["min_ns"], figures["torch"]["min_ns"]
    return {
        "kernel": case.name,
        "shape": list(shape),
        "dtype": str(dtype).removeprefix("torch."),
        "pypto_us": ours / 1e3,
        "torch_us": theirs / 1e3,
        "ratio": ours / theirs,
        "median_ratio": figures["pypto"]["median_ns"] / figures["torch"]["median_ns"],
        "roofline": moved / rate / ours,
    }


def print_row(row: dict[str, Any]) -> None:
    shape = "x".join(map(str, row["shape"]))
    print(
        f"{row['kernel']:28} {shape:>12} {row['dtype']:>9} {row['pypto_us']:10.1f} {row['torch_us']:10.1f} "
        f"{row['ratio']:7.3f} {row['roofline']:9.2f}",
        flush=True,
    )


def main(cases: list[Case] = CASES) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    os.environ["PYPTO_MOCK_CORES"] = str(arguments.cores)
    keep_memory()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.cores)
    if arguments.cores == 1:
        pin()
    rate = bandwidth()
    print(f"read and write bandwidth of one thread: {rate:.1f} GB/s\n")
    print(f"{'':28} {'shape':>12} {'dtype':>9} {'pypto us':>10} {'torch us':>10} {'ratio':>7} {'roofline':>9}")
    rows = []
    for case in cases:
        if arguments.only not in case.name:
            continue
        for shape in case.shapes:
            for dtype in case.dtypes:
                rows.append(time_case(case, shape, dtype, rate, arguments.rounds))
                print_row(rows[-1])
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    slower = [row for row in rows if row["ratio"] > 1]
    print(f"\ngeometric mean of the ratios {mean:.3f}; slower than torch: {len(slower)} of {len(rows)}")
    if arguments.json is not None:
        record = {"machine": machine(), "cores": arguments.cores, "gb_per_s": rate, "rows": rows, "mean_ratio": mean}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
