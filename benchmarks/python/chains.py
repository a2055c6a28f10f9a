"""Element-wise chains on one core of the mock device beside the same chain as one loop in C (peers/chains.c).

The loop is what one writes by hand: compiled with -O3 for this processor, so that it is vectorised, and all stays in
registers. Both sides are checked against each other; resident tensors, 1024×4096 and 128×128, FP32 and BF16.
"""

import argparse
import ctypes
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import pypto
from harness import Candidate, machine, measure, pin
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

SOURCE = Path(__file__).resolve().parents[1] / "peers" / "chains.c"
SHAPES = ((1024, 4096), (128, 128))
DTYPES = {"fp32": (pypto.DT_FP32, torch.float32), "bf16": (pypto.DT_BF16, torch.bfloat16)}
CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "scale_add": lambda x, y: x * 2.0 + y,
    "gate": lambda x, y: pypto.minimum(pypto.maximum(x * 0.25 + 0.5, 0.0), 1.0) * y,
    "scale_add_exp": lambda x, y: pypto.exp(x * 2.0 + y),
}


def peers(folder: Path) -> ctypes.CDLL:
    """The loops, compiled."""
    library = folder / "chains.so"
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return ctypes.CDLL(str(library))


def kernel(name: str, shape: tuple[int, int], tile: pypto.DataType) -> Callable[..., None]:
    chain = CHAINS[name]

    @pypto.frontend.jit
    def run(x: pypto.Tensor(shape, tile), y: pypto.Tensor(shape, tile), out: pypto.Tensor(shape, tile)):
        out[:] = chain(x, y)

    return run


def time_row(loops: ctypes.CDLL, name: str, shape: tuple[int, int], dtype: str, rounds: int) -> dict[str, Any]:
    """Both times of one chain, in one run."""
    tile, kind = DTYPES[dtype]
    x, y = (torch.randn(shape).to(kind) for _ in range(2))
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    loop = getattr(loops, f"{name}_{dtype}")
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (theirs, x, y)]
    size = ctypes.c_size_t(x.numel())
    with ChipWorker(config=RunConfig()) as worker:
        handle = worker.register(ir.compile(kernel(name, shape, tile)))
        resident = [worker.alloc_tensor(shape, kind, init=tensor) for tensor in (x, y, ours)]
        calls = [
            Candidate("pypto", lambda: handle(*resident)),
            Candidate("loop", lambda: loop(*pointers, size)),
        ]
        figures = measure(calls, rounds=rounds)
        resident[-1].to_host(ours)
    allowed = 2e-2 if dtype == "bf16" else 2e-6
    torch.testing.assert_close(ours, theirs, rtol=allowed, atol=allowed)
    pypto_ns, loop_ns = figures["pypto"]["min_ns"], figures["loop"]["min_ns"]
    return {
        "chain": name,
        "shape": list(shape),
        "dtype": dtype,
        "pypto_us": pypto_ns / 1e3,
        "loop_us": loop_ns / 1e3,
        "ratio": pypto_ns / loop_ns,
        "gb_per_s": 3 * x.numel() * x.element_size() / pypto_ns,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    pin()
    rows = []
    print(f"{'':16} {'shape':>12} {'dtype':>6} {'pypto us':>10} {'loop us':>10} {'ratio':>7} {'GB/s':>7}")
    with tempfile.TemporaryDirectory() as folder:
        loops = peers(Path(folder))
        for name in CHAINS:
            for shape in SHAPES:
                for dtype in DTYPES:
                    row = time_row(loops, name, shape, dtype, arguments.rounds)
                    rows.append(row)
                    print(
                        f"{name:16} {'x'.join(map(str, shape)):>12} {dtype:>6} {row['pypto_us']:10.1f} "
                        f"{row['loop_us']:10.1f} {row['ratio']:7.3f} {row['gb_per_s']:7.1f}",
                        flush=True,
                    )
    slow = [row for row in rows if row["ratio"] > 1.1]
    print(f"\nslower than 1.1 times the loop: {len(slow)} of {len(rows)}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
