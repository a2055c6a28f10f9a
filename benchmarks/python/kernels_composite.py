"""Kernels that move data and kernels of several operations, beside torch eager: ratio, bandwidth, geometric means.

One thread each by default; `--cores 2` gives the mock's device and torch two. `--only WORD,…` keeps the rows whose name
holds one of them. Every kernel is compared with torch before it is timed. `of roof` is the share of what the cores can
do, as measured at the start: arithmetic of the products or memory, whichever takes longer.
"""

import argparse
import json
import math
import os
from pathlib import Path

import torch

import kernels_models
import kernels_moves
import peaks
from harness import Candidate, machine, measure, pin
from kernels_moves import Row
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

COPY_BYTES = 16 << 20


def copy_bandwidth() -> float:
    """Bytes read and written per nanosecond by a warm copy of 16 MiB: the roofline of the moves."""
    source = torch.randn(COPY_BYTES // 4)
    target = torch.empty_like(source)
    figures = measure([Candidate("copy", lambda: target.copy_(source))], rounds=40)
    return 2 * COPY_BYTES / figures["copy"]["min_ns"]


def expected(row: Row) -> tuple[torch.Tensor, ...]:
    """What torch computes, as a tuple beside the outputs of the row."""
    result = row.peer()
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)  # type: ignore[arg-type]


def check(row: Row) -> None:
    """Stops when an output differs from torch's by more than the row allows."""
    source = row.inputs[0]
    for place, pair in enumerate(zip(row.outputs, expected(row), strict=True)):
        got, wanted = pair
        if place > 0 and source.dtype == torch.bfloat16:
            # Among equal elements torch may name any: the elements themselves are compared.
            got, wanted = (source.gather(-1, index.long()) for index in pair)  # noqa: PLW2901
        scale = max(1.0, float(wanted.double().abs().max()))
        error = float((got.double() - wanted.double()).abs().max()) / scale
        assert error <= row.allowed, f"{row.name}: output {place} differs by {error}"


def time_row(worker: ChipWorker, row: Row, rounds: int, cores: int) -> dict[str, float]:
    """Checks the kernel on host tensors, then times it on resident ones beside torch."""
    compiled = ir.compile(row.kernel, *row.inputs, *row.outputs)
    handle = worker.register(compiled)
    handle(*row.inputs, *row.outputs)
    check(row)
    resident = [
        worker.alloc_tensor(tuple(tensor.shape), tensor.dtype, init=tensor) for tensor in (*row.inputs, *row.outputs)
    ]
    if cores == 1:
        pin()
    figures = measure([Candidate("pypto", lambda: handle(*resident)), Candidate("torch", row.peer)], rounds=rounds)
    for tensor in resident:
        worker.free_tensor(tensor)
    handle.unregister()
    return {name: figures[name]["min_ns"] for name in ("pypto", "torch")} | {
        f"{name}_median": figures[name]["median_ns"] for name in ("pypto", "torch")
    }


def geometric_mean(ratios: list[float]) -> float:
    """Of positive numbers."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    os.environ["PYPTO_MOCK_CORES"] = str(arguments.cores)
    torch.set_num_threads(arguments.cores)
    torch.manual_seed(0)
    bandwidth = copy_bandwidth()
    print(f"copy bandwidth {bandwidth:.1f} GB/s (read + written), {arguments.cores} core(s); minima, microseconds")
    roof = peaks.measure_roof(arguments.cores)
    print(roof)
    print(f"{'':34} {'pypto':>10} {'torch':>10} {'ratio':>7} {'of roof':>8} {'GB/s':>7} {'of copy':>8}")
    table: dict[str, dict[str, float]] = {}
    families = {"moves": kernels_moves.rows(), "composites": kernels_models.rows()}
    means: dict[str, float] = {}
    with ChipWorker(config=RunConfig()) as worker:
        for family, rows in families.items():
            ratios = []
            for row in rows:
                if not any(word in row.name for word in arguments.only.split(",")):
                    continue
                figures = time_row(worker, row, arguments.rounds, arguments.cores)
                rate = row.moved / figures["pypto"]
                ratio = figures["pypto"] / figures["torch"]
                ratios.append(ratio)
                moved = row.moved or sum(tensor.nbytes for tensor in (*row.inputs, *row.outputs))
                reached = roof.fraction(figures["pypto"], row.operations, row.unit, moved)
                table[row.name] = figures | {"ratio": ratio, "gb_per_s": rate, "of_copy": rate / bandwidth}
                table[row.name]["of_roof"] = reached
                share = f"{rate:7.1f} {rate / bandwidth:7.0%}" if row.moved else ""
                loses = "  slower" if ratio > 1 else ""
                print(
                    f"{row.name:34} {figures['pypto'] / 1e3:10.1f} {figures['torch'] / 1e3:10.1f} {ratio:7.2f} "
                    f"{reached:8.0%} {share}{loses}",
                    flush=True,
                )
            if ratios:
                means[family] = geometric_mean(ratios)
                print(f"{family}: geometric mean {means[family]:.2f}")
    if arguments.json is not None:
        record = {"machine": machine(), "copy_gb_per_s": bandwidth, "cores": arguments.cores, "rows": table}
        arguments.json.write_text(json.dumps(record | {"geometric_means": means}, indent=1))


if __name__ == "__main__":
    main()
