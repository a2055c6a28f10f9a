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
SIZES_KIB = (4, 64, 1024, 2048, 4096, 8192, 16384, 65536)
COLUMNS = 1024  # FP32: rows of 4 KiB


@pypto.frontend.jit
def read_corner(
    x: pypto.Tensor([pypto.DYNAMIC, COLUMNS], pypto.DT_FP32),
    out: pypto.Tensor([1, 1], pypto.DT_FP32),
):
    """The whole of x goes to the device; one cell of it is computed with."""
    out[:] = x[0:1, 0:1] + 1.0


def writer(rows: int) -> ir.CompiledProgram:
    """A kernel whose whole output comes back from the device."""

    @pypto.frontend.jit
    def write_all(out: pypto.Tensor([rows, COLUMNS], pypto.DT_FP32)):
        out[:] = pypto.full([rows, COLUMNS], 1.0, pypto.DT_FP32)

    return ir.compile(write_all)


def peer_copies(folder: Path) -> ctypes.CDLL:
    library = folder / "copies.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, PEERS / "copies.c"], check=True)
    peers = ctypes.CDLL(str(library))
    for name in ("plain_copy", "streaming_copy"):
        getattr(peers, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return peers


NAMES = (
    "copy_from_host",
    "to_host(out=)",
    "handle with a host input",
    "handle with it resident",
    "handle with a host output",
    "handle with it on the device",
    "memcpy",
    "streaming stores",
)


def candidates(worker: ChipWorker, peers: ctypes.CDLL, kib: int, keep: list[object]) -> list[Candidate]:
    """All copies of one size; `keep` holds what the calls use."""
    rows = kib * 1024 // (COLUMNS * 4)
    source, target = torch.randn(rows, COLUMNS), torch.empty(rows, COLUMNS)
    resident = worker.alloc_tensor((rows, COLUMNS), torch.float32, init=source)
    corner = worker.alloc_tensor((1, 1), torch.float32, init=torch.ones(1, 1))
    read, write = worker.register(ir.compile(read_corner)), worker.register(writer(rows))
    keep += [source, target, resident, corner, read, write]
    to, start, size = target.data_ptr(), source.data_ptr(), kib * 1024
    return [
        Candidate(f"{kib} KiB: copy_from_host", lambda: resident.copy_from_host(source)),
        Candidate(f"{kib} KiB: to_host(out=)", lambda: resident.to_host(out=target)),
        Candidate(f"{kib} KiB: handle with a host input", lambda: read(source, corner)),
        Candidate(f"{kib} KiB: handle with it resident", lambda: read(resident, corner)),
        Candidate(f"{kib} KiB: handle with a host output", lambda: write(target)),
        Candidate(f"{kib} KiB: handle with it on the device", lambda: write(resident)),
        Candidate(f"{kib} KiB: memcpy", lambda: peers.plain_copy(to, start, size)),
        Candidate(f"{kib} KiB: streaming stores", lambda: peers.streaming_copy((to + 63) & ~63, start, size - 128)),
    ]


def start_copy_threads(worker: ChipWorker) -> None:
    """Before this thread is pinned: threads inherit where they may run."""
    large = torch.ones(16 << 20, dtype=torch.int8)
    worker.free_tensor(worker.alloc_tensor((16 << 20,), torch.int8, init=large))


def against_best(figures: dict[str, dict[str, float]], kib: int) -> dict[str, float]:
    """Speed of the copies of one size as a share of the faster of memcpy and streaming stores; target 0.9 at 8 MiB.

    Of a handle's copies the time is that of the call less that of the same call with the tensor resident.
    """
    median = {name: figures[f"{kib} KiB: {name}"]["median_ns"] for name in NAMES}
    best = min(median["memcpy"], median["streaming stores"])
    times = {
        "copy_from_host": median["copy_from_host"],
        "to_host(out=)": median["to_host(out=)"],
        "host input": median["handle with a host input"] - median["handle with it resident"],
        "host output": median["handle with a host output"] - median["handle with it on the device"],
    }
    return {name: round(best / max(time, 1.0), 3) for name, time in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--kib", type=int, nargs="*", default=SIZES_KIB)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep: list[object] = []
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, ChipWorker(config=RunConfig()) as worker:
        peers = peer_copies(Path(folder))
        start_copy_threads(worker)
        pin()
        for kib in arguments.kib:
            rows = measure(candidates(worker, peers, kib, keep), rounds=arguments.rounds)
            for name, row in rows.items():
                copies = not name.endswith(("resident", "device"))
                figures[name] = {**row, "gb_per_s": kib * 1024 / row["median_ns"]} if copies else row
    ratios = {f"{kib} KiB": against_best(figures, kib) for kib in arguments.kib}
    report("Copies, nanoseconds per call", figures, arguments.json, {"speed_against_best": ratios})
    for name, row in figures.items():
        if "gb_per_s" in row:
            print(f"{name}: {row['gb_per_s']:.1f} GB/s")
    for size, row in ratios.items():
        print(f"{size}: speed against the best of memcpy and streaming stores:", row)


if __name__ == "__main__":
    main()
