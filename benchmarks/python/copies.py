"""What copies between host and device cost, against memcpy and streaming stores of the same bytes."""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

import pypto
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

PEERS = Path(__file__).resolve().parents[1] / "peers"
SIZES_KIB = (4, 64, 1024, 8192, 65536)
COLUMNS = 1024  # FP32: rows of 4 KiB


@pypto.frontend.jit
def read_corner(
    x: pypto.Tensor([pypto.DYNAMIC, COLUMNS], pypto.DT_FP32),
    out: pypto.Tensor([1, 1], pypto.DT_FP32),
):
    """The whole of x goes to the device; one cell of it is computed with."""
    out[:] = x[0:1, 0:1] + 1.0


def peer_copies(folder: Path) -> ctypes.CDLL:
    library = folder / "copies.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, PEERS / "copies.c"], check=True)
    peers = ctypes.CDLL(str(library))
    for name in ("plain_copy", "streaming_copy"):
        getattr(peers, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return peers


def candidates(worker: ChipWorker, peers: ctypes.CDLL, kib: int, keep: list[object]) -> list[Candidate]:
    """All copies of one size; `keep` holds what the calls use."""
    rows = kib * 1024 // (COLUMNS * 4)
    source, target = torch.randn(rows, COLUMNS), torch.empty(rows, COLUMNS)
    resident = worker.alloc_tensor((rows, COLUMNS), torch.float32, init=source)
    corner = worker.alloc_tensor((1, 1), torch.float32)
    read = worker.register(ir.compile(read_corner))
    keep += [source, target, resident, corner, read]
    to, start, size = target.data_ptr(), source.data_ptr(), kib * 1024
    return [
        Candidate(f"{kib} KiB: copy_from_host", lambda: resident.copy_from_host(source)),
        Candidate(f"{kib} KiB: to_host(out=)", lambda: resident.to_host(out=target)),
        Candidate(f"{kib} KiB: handle with a host input", lambda: read(source, corner)),
        Candidate(f"{kib} KiB: handle with it resident", lambda: read(resident, corner)),
        Candidate(f"{kib} KiB: memcpy", lambda: peers.plain_copy(to, start, size)),
        Candidate(f"{kib} KiB: streaming stores", lambda: peers.streaming_copy((to + 63) & ~63, start, size - 128)),
    ]


def against_best(figures: dict[str, dict[str, float]], kib: int) -> dict[str, float]:
    """Speed of the copies of one size as a share of the faster of memcpy and streaming stores; target 0.9."""
    best = min(figures[f"{kib} KiB: {name}"]["median_ns"] for name in ("memcpy", "streaming stores"))
    names = ("copy_from_host", "to_host(out=)")
    return {name: round(best / figures[f"{kib} KiB: {name}"]["median_ns"], 3) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep: list[object] = []
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, ChipWorker(config=RunConfig()) as worker:
        peers = peer_copies(Path(folder))
        pin()
        for kib in SIZES_KIB:
            rows = measure(candidates(worker, peers, kib, keep), rounds=40)
            for name, row in rows.items():
                figures[name] = row if name.endswith("resident") else {**row, "gb_per_s": kib * 1024 / row["median_ns"]}
    ratios = {f"{kib} KiB": against_best(figures, kib) for kib in SIZES_KIB}
    report("Copies, nanoseconds per call", figures, arguments.json, {"speed_against_best": ratios})
    for name, row in figures.items():
        if "gb_per_s" in row:
            print(f"{name}: {row['gb_per_s']:.1f} GB/s")
    for size, row in ratios.items():
        print(f"{size}: speed against the best of memcpy and streaming stores:", row)


if __name__ == "__main__":
    main()
