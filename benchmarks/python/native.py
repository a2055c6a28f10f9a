"""A launch of three resident tensors, waited for or submitted, from C and from Python, in one process and one run."""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

import pypto
from dispatch import trivial
from harness import Candidate, measure, pin, report
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

PACKAGE = Path(pypto.__file__).parent
PEERS = Path(__file__).resolve().parents[1] / "peers"
SHAPE = (16, 16)
HANDLE = "Python handle, three resident tensors"
LAUNCH = "C, three resident tensors"
SUBMIT = "C submit, wait and release"


class LoopCandidate(Candidate):
    """A candidate whose loop is in C: the loop's own cost is a nanosecond and is not subtracted."""

    def run(self, repeat: int) -> None:
        """All calls of one sample."""
        self.call(repeat)

    def loop_cost(self, empty_ns: float) -> float:
        """Nothing."""
        return 0.0


class NativeCaller:
    """A worker, tensors and a registration made through the C interface, and the C loop over them."""

    def __init__(self, compiled: ir.CompiledProgram, folder: Path) -> None:
        loop = folder / "libnative_launch.so"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", str(PEERS / "native_launch.c"), f"-I{PACKAGE / 'include'}",
             f"-L{PACKAGE}", "-l:libpypto.so.0", f"-Wl,-rpath,{PACKAGE}", "-o", str(loop)],
            check=True,
        )  # fmt: skip
        self.core = ctypes.CDLL(str(PACKAGE / "libpypto.so.0"))
        loops = ctypes.CDLL(str(loop))
        self.launches, self.submits = loops.native_launches, loops.native_submits
        for function in (self.launches, self.submits):
            function.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
        path = folder / "program.pto"
        compiled.save(path)
        program, self.worker, self.registration = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()
        self.check(self.core.pypto_program_load(str(path).encode(), ctypes.byref(program)))
        self.check(self.core.pypto_worker_open(None, ctypes.byref(self.worker)))
        self.check(self.core.pypto_worker_register(self.worker, program, ctypes.byref(self.registration)))
        self.check(self.core.pypto_program_release(program))
        self.tensors = (ctypes.c_uint64 * 3)(*(self.tensor(shape) for shape in (SHAPE, SHAPE, (1, 1))))

    def tensor(self, shape: tuple[int, ...]) -> int:
        handle = ctypes.c_uint64()
        dims = (ctypes.c_int64 * len(shape))(*shape)
        self.check(
            self.core.pypto_tensor_alloc(self.worker, 0, dims, ctypes.c_size_t(len(shape)), None, ctypes.byref(handle))
        )
        return handle.value

    def check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(f"status {status}")

    def launch(self, count: int) -> None:
        self.check(self.launches(self.registration, self.tensors, 3, count))

    def submit(self, count: int) -> None:
        self.check(self.submits(self.registration, self.tensors, 3, count))

    def close(self) -> None:
        for tensor in self.tensors:
            self.check(self.core.pypto_tensor_release(ctypes.c_uint64(tensor)))
        self.check(self.core.pypto_registration_release(self.registration))
        self.check(self.core.pypto_worker_release(self.worker))


@contextmanager
def another_thread(native: NativeCaller) -> Iterator[None]:
    """A thread that has called the library and lives on."""
    called, go_on = threading.Event(), threading.Event()

    def call() -> None:
        native.check(native.core.pypto_worker_check(native.worker))
        called.set()
        go_on.wait()

    thread = threading.Thread(target=call)
    thread.start()
    called.wait()
    yield
    go_on.set()
    thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    compiled = ir.compile(trivial)
    with tempfile.TemporaryDirectory() as folder, ChipWorker(config=RunConfig()) as worker:
        native = NativeCaller(compiled, Path(folder))
        x, y = (worker.alloc_tensor(SHAPE, torch.float32) for _ in range(2))
        out = worker.alloc_tensor((1, 1), torch.float32)
        handle = worker.register(compiled)
        handle(x, y, out)
        native.launch(1)
        pin()
        figures = measure(
            [
                Candidate(HANDLE, lambda: handle(x, y, out)),
                LoopCandidate(LAUNCH, native.launch),
                Candidate("Python submit and wait", lambda: handle.submit(x, y, out).wait()),
                LoopCandidate(SUBMIT, native.submit),
            ]
        )
        with another_thread(native):
            figures |= measure([LoopCandidate(f"{SUBMIT}, another thread calls too", native.submit)])
        native.close()
    launch, submit = (
        figures[part]["median_ns"] / figures[whole]["median_ns"] for part, whole in ((LAUNCH, HANDLE), (SUBMIT, LAUNCH))
    )
    ratios = {"launch_to_handle": launch, "submit_to_launch": submit}
    report("Launch, nanoseconds per call", figures, arguments.json, ratios)
    print(f"\nC launch / Python handle: {launch:.2f}\nC submit, wait and release / C launch: {submit:.2f}")


if __name__ == "__main__":
    main()
