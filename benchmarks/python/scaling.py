"""Two cores of the mock device against one, on kernels of a millisecond and more.

Two processes, one with one core and one with two, hold the same kernels on resident tensors and are timed in turn, so
that both see the same machine. The speed-up is the ratio of the minima; `busy` is how much of the two cores the engine
filled, from a profile of one call. What the machine itself gives two cores, in registers and in memory, is measured in
the same run (peers/cores.c) and printed first: rows that memory bounds cannot pass it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import multiprocessing
import os
import subprocess
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness import machine

CORES = Path(__file__).resolve().parents[1] / "peers" / "cores.c"
LIMITS = {
    "copies, 0.5 MiB each": (0, 1 << 19),
    "copies, 4 MiB each": (0, 1 << 22),
    "copies, 16 MiB each": (0, 1 << 24),
    "reading, 16 MiB each": (1, 1 << 24),
    "FP32 in registers": (2, 1 << 22),
    "INT8 in registers": (3, 1 << 22),
}
LEAST_NS = 1e6
SAMPLES = 5  # calls per turn


class Server:
    """Answers questions about the kernels in a process of its own; one kernel is held at a time."""

    def __init__(self, worker: Any, only: str) -> None:
        import kernels_models
        import kernels_moves

        everything = [*kernels_models.rows(), *kernels_moves.rows()]
        self.rows = [row for row in everything if any(word in row.name for word in only.split(","))]
        self.worker = worker
        self.place = -1
        self.handle: Any = None
        self.tensors: list[Any] = []

    def hold(self, place: int) -> None:
        """Registers the kernel in place of the former one and runs it until its launch is kept."""
        from pypto import ir

        if place == self.place:
            return
        for tensor in self.tensors:
            self.worker.free_tensor(tensor)
        if self.handle is not None:
            self.handle.unregister()
        row = self.rows[place]
        self.place = place
        self.handle = self.worker.register(ir.compile(row.kernel, *row.inputs, *row.outputs))
        self.tensors = [
            self.worker.alloc_tensor(tuple(tensor.shape), tensor.dtype, init=tensor)
            for tensor in (*row.inputs, *row.outputs)
        ]
        for _ in range(3):
            self.handle(*self.tensors)

    def fastest(self) -> float:
        """Nanoseconds of the fastest of a few calls."""
        best = float("inf")
        for _ in range(SAMPLES):
            begin = time.perf_counter_ns()
            self.handle(*self.tensors)
            best = min(best, time.perf_counter_ns() - begin)
        return best

    def busy(self, cores: int) -> float:
        """The share of the cores' time that was spent in tiles."""
        from pypto.runtime import profile

        figures = profile(self.handle, tuple(self.tensors))
        return figures.busy_ns / figures.device_ns / cores


def serve(pipe: Connection, cores: int, only: str) -> None:
    """The process with so many cores: sends the names, then answers (place, wish) until None comes."""
    os.environ["PYPTO_MOCK_CORES"] = str(cores)
    import torch

    from pypto.runtime import ChipWorker, RunConfig

    torch.set_num_threads(1)
    torch.manual_seed(0)
    with ChipWorker(config=RunConfig()) as worker:
        server = Server(worker, only)
        pipe.send([row.name for row in server.rows])
        while (question := pipe.recv()) is not None:
            place, wish = question
            server.hold(place)
            pipe.send(server.busy(cores) if wish == "busy" else server.fastest())
    pipe.close()


class Client:
    """One of the two processes."""

    def __init__(self, cores: int, only: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, cores, only))
        self.process.start()
        self.names: list[str] = self.pipe.recv()

    def ask(self, place: int, wish: str) -> float:
        """A figure of the kernel at this place."""
        self.pipe.send((place, wish))
        return float(self.pipe.recv())

    def close(self) -> None:
        """Ends the process."""
        self.pipe.send(None)
        self.process.join()


def machine_limits() -> dict[str, float]:
    """How much faster two cores of this machine do the same work on memory of their own, side by side."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    both = (ctypes.c_int * 2)(*cores)
    limits = {}
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "cores.so"
        subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-pthread", "-o", library, CORES], check=True)
        at_once = ctypes.CDLL(str(library)).at_once
    at_once.restype = ctypes.c_double
    at_once.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
    for name, (kind, size) in LIMITS.items():
        rounds = 40 if size > 1 << 23 else 100
        limits[name] = 2 * at_once(both, 1, kind, size, rounds) / at_once(both, 2, kind, size, rounds)
    return limits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--only", default="", help="rows whose name holds one of these words, with commas between")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    limits = machine_limits()
    print("two cores of this machine against one: " + ", ".join(f"{name} {x:.2f}" for name, x in limits.items()))
    one, two = Client(1, arguments.only), Client(2, arguments.only)
    table: dict[str, dict[str, float]] = {}
    print(f"{'':34} {'one core us':>12} {'two cores us':>13} {'speed-up':>9} {'busy':>6}")
    for place, name in enumerate(one.names):
        alone = both = float("inf")
        for _ in range(arguments.rounds):
            alone = min(alone, one.ask(place, "time"))
            both = min(both, two.ask(place, "time"))
            if alone < LEAST_NS:
                break
        if alone < LEAST_NS:
            continue
        busy = two.ask(place, "busy")
        table[name] = {"one_ns": alone, "two_ns": both, "speed_up": alone / both, "busy": busy}
        print(f"{name:34} {alone / 1e3:12.1f} {both / 1e3:13.1f} {alone / both:9.2f} {busy:6.0%}", flush=True)
    one.close()
    two.close()
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"machine": machine(), "limits": limits, "rows": table}, indent=1))


if __name__ == "__main__":
    main()
