"""Instructions per dispatch, counted by callgrind: stable where times are not."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import machine

PEERS = Path(__file__).resolve().parents[1] / "peers"
CALLS = 1000
WARM_UP = 50


def build_marks(folder: Path) -> Path:
    library = folder / "marks.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, PEERS / "callgrind_marks.c"], check=True)
    return library


def dispatch_cases() -> dict[str, Callable[[], object]]:
    """One call of each kind. Imports stay here: the outer process needs none of them."""
    import torch

    from dispatch import SHAPE, add, trivial
    from pypto import ir
    from pypto.runtime import ChipWorker, RunConfig

    torch.set_num_threads(1)
    x, y, out = torch.randn(SHAPE), torch.randn(SHAPE), torch.empty(SHAPE)
    worker = ChipWorker(config=RunConfig())
    worker.__enter__()
    rx, ry, rout = (worker.alloc_tensor(SHAPE, torch.float32, init=t) for t in (x, y, out))
    rone = worker.alloc_tensor((1, 1), torch.float32)
    compiled_empty, compiled = ir.compile(trivial), ir.compile(add)
    empty, handle = worker.register(compiled_empty), worker.register(compiled)
    return {
        "an empty Python function": lambda: None,
        "handle, three resident tensors, trivial kernel": lambda: empty(rx, ry, rone),
        "compiled, three resident tensors, trivial kernel": lambda: compiled_empty(rx, ry, rone),
        "jitted kernel, three resident tensors, trivial kernel": lambda: trivial(rx, ry, rone),
        "handle, three resident tensors, 16x16 add": lambda: handle(rx, ry, rout),
        "handle, x and out host, y resident, 16x16 add": lambda: handle(x, ry, out),
        "handle, three host tensors, 16x16 add": lambda: handle(x, y, out),
        "submit and wait, three resident tensors, trivial kernel": lambda: empty.submit(rx, ry, rone).wait(),
        "alloc_tensor and free_tensor of 1 KiB": lambda: worker.free_tensor(worker.alloc_tensor((256,), torch.float32)),
        "register a known program": lambda: worker.register(compiled),
    }


def scale_cases() -> dict[str, Callable[[], object]]:
    """The calls of scale.py beside little and beside much that is alive."""
    from contextlib import ExitStack

    import torch

    import scale

    torch.set_num_threads(1)
    stack = ExitStack()
    programs = [scale.make_program(number) for number in range(scale.PROGRAMS)]
    small = scale.Process(stack, programs[:1], 3, 1)
    large = scale.Process(stack, programs, scale.TENSORS, scale.WORKERS - 1)
    calls = {candidate.name: candidate.call for candidate in (*small.calls("small"), *large.calls("large"))}
    return {"an empty Python function": lambda: None, **calls}


CASES = {"dispatch": dispatch_cases, "scale": scale_cases}


def run_counted(marks_path: str, calls: int, cases: str) -> None:
    """Inside valgrind: one dump per case, named by its place in the list."""
    marks = ctypes.CDLL(marks_path)
    marks.end_count.argtypes = [ctypes.c_char_p]
    for index, (name, call) in enumerate(CASES[cases]().items()):
        print(f"case: {name}", flush=True)
        for _ in range(WARM_UP):
            call()
        marks.begin_count()
        for _ in range(calls):
            call()
        marks.end_count(f"case {index}".encode())
    os._exit(0)


def read_dumps(folder: Path) -> dict[str, int]:
    """Instructions by trigger, from the dumps that callgrind wrote; those of all threads together."""
    totals: dict[str, int] = {}
    for path in folder.glob("out.*"):
        trigger = None
        for line in path.read_text().splitlines():
            if line.startswith("desc: Trigger: Client Request: "):
                trigger = line.rsplit(": ", 1)[1]
            elif line.startswith(("summary:", "totals:")) and trigger is not None:
                totals[trigger] = int(line.split()[1])
    return totals


def count(calls: int, cases: str) -> dict[str, float]:
    """Instructions per call of each case, less the loop and the empty function."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        marks = build_marks(folder)
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=no"]
        command += [f"--callgrind-out-file={folder}/out", sys.executable, __file__]
        command += ["--marks", str(marks), "--calls", str(calls), "--cases", cases]
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"the counted process ended with {done.returncode}:\n{done.stderr}")
        totals = read_dumps(folder)
    names = case_names(done.stdout)
    figures = {label: totals[f"case {index}"] / calls for index, label in enumerate(names)}
    empty = figures.pop(names[0])
    return {label: figure - empty for label, figure in figures.items()}


def case_names(text: str) -> list[str]:
    return [line.removeprefix("case: ") for line in text.splitlines() if line.startswith("case: ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--cases", choices=CASES, default="dispatch", help="scale: the calls of scale.py")
    parser.add_argument("--marks", default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.marks is not None:
        return run_counted(arguments.marks, arguments.calls, arguments.cases)
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing is counted")
        return None
    figures = count(arguments.calls, arguments.cases)
    width = max(len(name) for name in figures)
    print(f"{'':{width}} {'instructions':>14}")
    for name, figure in figures.items():
        print(f"{name:{width}} {figure:14.1f}")
    if arguments.json is not None:
        record = {"title": "Instructions per call", "calls": arguments.calls, "machine": machine(), "figures": figures}
        arguments.json.write_text(json.dumps(record, indent=1))
    return None


if __name__ == "__main__":
    main()
