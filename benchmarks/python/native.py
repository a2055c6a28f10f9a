"""A launch of three resident tensors from C beside the Python handle, in one process and one run."""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
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
        self.loop = ctypes.CDLL(str(loop)).native_launches
        self.loop.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
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
        self.check(self.loop(self.registration, self.tensors, 3, count))

    def close(self) -> None:
        for tensor in self.tensors:
            self.check(self.core.pypto_tensor_release(ctypes.c_uint64(tensor)))
        self.check(self.core.pypto_registration_release(self.registration))
        self.check(self.core.pypto_worker_release(self.worker))


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
        names = ("Python handle, three resident tensors", "C, three resident tensors")
        figures = measure([Candidate(names[0], lambda: handle(x, y, out)), LoopCandidate(names[1], native.launch)])
        native.close()
    ratio = figures[names[1]]["median_ns"] / figures[names[0]]["median_ns"]
    report("Launch, nanoseconds per call", figures, arguments.json, {"ratio": ratio})
    print(f"\nC / Python handle: {ratio:.2f}")


if __name__ == "__main__":
    main()
