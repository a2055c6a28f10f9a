"""Times every kernel of examples/kernels with the arguments of its own main(), resident, on one core.

`--json FILE` keeps the figures; `--against FILE` compares with such a file and says what got slower.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from harness import Candidate, machine, measure, pin
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernels"
TOLERANCE = 1.1  # figures of two runs on a quiet machine differ by less

Call = tuple[str, Any, tuple[Any, ...]]


def collect(only: str) -> list[Call]:
    """Title, kernel and arguments of every check that the examples make; the checks themselves are not run again."""
    sys.path.insert(0, str(FOLDER))
    report = importlib.import_module("_report")
    calls: list[Call] = []
    note = lambda title, kernel, args, results: calls.append((title, kernel, tuple(args)))  # noqa: E731
    setattr(report, "check", note)  # noqa: B010  a module has no declared attributes
    for path in sorted(FOLDER.glob("[!_]*.py")):
        if only in path.stem:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(path.stem).main()
    return calls


def time_call(worker: ChipWorker, call: Call, rounds: int) -> dict[str, float]:
    """Minimum and median of a call on resident tensors."""
    _, kernel, args = call
    resident = [
        worker.alloc_tensor(tuple(arg.shape), arg.dtype, init=arg) if isinstance(arg, torch.Tensor) else arg
        for arg in args
    ]
    handle = worker.register(ir.compile(kernel, *args))
    figures = measure([Candidate("kernel", lambda: handle(*resident))], rounds=rounds)["kernel"]
    handle.unregister()
    for tensor in resident:
        if not isinstance(tensor, int | float):
            worker.free_tensor(tensor)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--against", type=Path, default=None)
    parser.add_argument("--only", default="", help="files whose name holds this")
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    os.environ["PYPTO_MOCK_CORES"] = "1"
    torch.set_num_threads(1)
    before = json.loads(arguments.against.read_text())["rows"] if arguments.against is not None else {}
    calls = collect(arguments.only)
    pin()
    rows: dict[str, dict[str, float]] = {}
    slower = []
    with ChipWorker(config=RunConfig()) as worker:
        for call in calls:
            shapes = ", ".join("x".join(map(str, arg.shape)) for arg in call[2] if isinstance(arg, torch.Tensor))
            name = f"{call[0]} {shapes}"
            rows[name] = time_call(worker, call, arguments.rounds)
            line = f"{rows[name]['min_ns'] / 1e3:10.2f} us  {name[:90]}"
            if name in before:
                ratio = rows[name]["min_ns"] / before[name]["min_ns"]
                line = f"{ratio:6.2f} {line}"
                if ratio > TOLERANCE:
                    slower.append(f"{name}: {ratio:.2f} times as long")
            print(line, flush=True)
    if before:
        print("\n".join(["", f"slower: {len(slower)} of {len(rows)}", *slower]))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
