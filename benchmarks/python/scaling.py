"""Two cores of the mock device against one, on kernels of a millisecond and more.

Two processes, one with one core and one with two, hold the same kernels on resident tensors and are timed in turn, so
that both see the same machine. The speed-up is the ratio of the minima; `busy` is how much of the two cores the engine
filled, from a profile of one call.
"""

import argparse
import json
import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

LEAST_NS = 1e6
SAMPLES = 5  # calls per turn


def rows(only: str) -> list[object]:
    """The kernels of kernels_composite.py that hold one of the words in their names."""
    import kernels_models
    import kernels_moves

    everything = [*kernels_models.rows(), *kernels_moves.rows()]
    return [row for row in everything if any(word in row.name for word in only.split(","))]


def serve(pipe: Connection, cores: int, only: str) -> None:
    """Answers (row, wish): names for None, else nanoseconds of the fastest call, or the busy share of a profile."""
    os.environ["PYPTO_MOCK_CORES"] = str(cores)
    import time

    import torch

    from pypto import ir
    from pypto.runtime import ChipWorker, RunConfig, profile

    torch.set_num_threads(1)
    torch.manual_seed(0)
    known = rows(only)
    with ChipWorker(config=RunConfig()) as worker:
        held: dict[int, tuple[object, list[object]]] = {}
        while (question := pipe.recv()) is not None:
            place, wish = question
            if wish == "names":
                pipe.send([row.name for row in known])
                continue
            row = known[place]
            if place not in held:
                for handle, tensors in held.values():
                    for tensor in tensors:
                        worker.free_tensor(tensor)
                    handle.unregister()
                held.clear()
                handle = worker.register(ir.compile(row.kernel, *row.inputs, *row.outputs))
                tensors = [
                    worker.alloc_tensor(tuple(tensor.shape), tensor.dtype, init=tensor)
                    for tensor in (*row.inputs, *row.outputs)
                ]
                held[place] = handle, tensors
                for _ in range(3):
                    handle(*tensors)
            handle, tensors = held[place]
            if wish == "busy":
                figures = profile(handle, tuple(tensors))
                pipe.send(figures.busy_ns / figures.device_ns / cores)
                continue
            best = float("inf")
            for _ in range(SAMPLES):
                begin = time.perf_counter_ns()
                handle(*tensors)
                best = min(best, time.perf_counter_ns() - begin)
            pipe.send(best)
    pipe.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--only", default="", help="rows whose name holds one of these words, with commas between")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipes: dict[int, Connection] = {}
    processes = []
    for cores in (1, 2):
        mine, theirs = context.Pipe()
        processes.append(context.Process(target=serve, args=(theirs, cores, arguments.only)))
        processes[-1].start()
        pipes[cores] = mine

    def ask(cores: int, place: int, wish: str) -> object:
        pipes[cores].send((place, wish))
        return pipes[cores].recv()

    table: dict[str, dict[str, float]] = {}
    print(f"{'':34} {'one core us':>12} {'two cores us':>13} {'speed-up':>9} {'busy':>6}")
    for place, name in enumerate(ask(1, 0, "names")):  # type: ignore[arg-type, var-annotated]
        best = {1: float("inf"), 2: float("inf")}
        for _ in range(arguments.rounds):
            for cores in (1, 2):
                best[cores] = min(best[cores], ask(cores, place, "time"))  # type: ignore[type-var, assignment]
            if best[1] < LEAST_NS:
                break
        if best[1] < LEAST_NS:
            continue
        busy = ask(2, place, "busy")
        table[name] = {"one_ns": best[1], "two_ns": best[2], "speed_up": best[1] / best[2], "busy": busy}
        print(f"{name:34} {best[1] / 1e3:12.1f} {best[2] / 1e3:13.1f} {best[1] / best[2]:9.2f} {busy:6.0%}", flush=True)
    for pipe in pipes.values():
        pipe.send(None)
    for process in processes:
        process.join()
    if arguments.json is not None:
        from harness import machine

        arguments.json.write_text(json.dumps({"machine": machine(), "rows": table}, indent=1))


if __name__ == "__main__":
    main()
