"""Matrix products on the mock against torch; operands resident, whole calls.

Weights of few rows lie as they come, and transposed. The two take turns, so a weight of 16 MiB comes from beyond the
last-level cache where that does not hold both.
"""

import argparse
import os
from pathlib import Path

import torch

import peaks
import pypto
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

DTYPES = {
    "fp32": (torch.float32, pypto.DT_FP32, pypto.DT_FP32),
    "fp16": (torch.float16, pypto.DT_FP16, pypto.DT_FP16),
    "bf16": (torch.bfloat16, pypto.DT_BF16, pypto.DT_BF16),
    "int8": (torch.int8, pypto.DT_INT8, pypto.DT_INT32),
}
SHAPES = [(size, size, size, False) for size in (256, 512, 1024)]
SHAPES += [(m, 1024, 4096, b_trans) for b_trans in (False, True) for m in (1, 4, 8, 16, 32)]


def kernel(m: int, k: int, n: int, dtype: object, out_dtype: object, b_trans: bool = False) -> object:
    b_shape = [n, k] if b_trans else [k, n]

    @pypto.frontend.jit
    def product(a: pypto.Tensor([m, k], dtype), b: pypto.Tensor(b_shape, dtype), c: pypto.Tensor([m, n], out_dtype)):
        c[:] = pypto.matmul(a, b, out_dtype, b_trans=b_trans)

    return product


def values(shape: tuple[int, int], dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, dtype=dtype)
    return torch.randn(shape).to(dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--cores", type=int, default=1, help="of both sides; the calling thread is pinned if it is 1")
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES), choices=list(DTYPES))
    options = parser.parse_args()
    os.environ["PYPTO_MOCK_CORES"] = str(options.cores)
    torch.set_num_threads(options.cores)
    if options.cores == 1:
        pin()
    roof = peaks.measure_roof(options.cores)
    print(roof)
    figures: dict[str, dict[str, float]] = {}
    with ChipWorker(config=RunConfig()) as worker:
        for name in options.dtypes:
            torch_dtype, dtype, out_dtype = DTYPES[name]
            for m, k, n, b_trans in SHAPES:
                where = f"{name} {m}x{k}x{n}" + (" b_trans" if b_trans else "")
                a, b = values((m, k), torch_dtype), values((n, k) if b_trans else (k, n), torch_dtype)
                handle = worker.register(ir.compile(kernel(m, k, n, dtype, out_dtype, b_trans)))
                left, right = (worker.alloc_tensor(tuple(t.shape), t.dtype, init=t) for t in (a, b))
                out = worker.alloc_tensor((m, n), torch.int32 if name == "int8" else torch_dtype)
                peer = torch._int_mm if name == "int8" else torch.mm
                ours = Candidate("pypto", lambda h=handle, x=left, y=right, z=out: h(x, y, z))
                theirs = Candidate("torch", lambda f=peer, x=a, y=b.T if b_trans else b: f(x, y))
                for who, row in measure([ours, theirs], rounds=options.rounds).items():
                    figures[f"{where} {who}"] = {**row, "gops": 2 * m * k * n / row["min_ns"]}
                pair = [figures[f"{where} {who}"]["min_ns"] for who in ("pypto", "torch")]
                moved = sum(t.nbytes for t in (left, right, out))
                reached = roof.fraction(pair[0], 2.0 * m * k * n, name, moved)
                figures[f"{where} pypto"]["of_roof"] = reached
                print(
                    f"{where}: {pair[0]:.0f} ns, torch {pair[1]:.0f} ns, ratio {pair[0] / pair[1]:.2f}, "
                    f"{reached:.0%} of the roof"
                )
                for tensor in (left, right, out):
                    worker.free_tensor(tensor)
    report(f"matrix products against torch on {options.cores} cores", figures, options.json)


if __name__ == "__main__":
    main()
