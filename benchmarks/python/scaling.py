"""Two cores of the mock device against one, on kernels of a millisecond and more.

Two processes, one with one core and one with two, hold the same kernels on resident tensors and are timed in turn, so
that both see the same machine. The speed-up is the ratio of the minima; `busy` is how much of the two cores the engine
filled, from a profile of one call.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness import machine

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--only", default="", help="rows whose name holds one of these words, with commas between")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
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
        arguments.json.write_text(json.dumps({"machine": machine(), "rows": table}, indent=1))


if __name__ == "__main__":
    main()
