"""Writes the golden program files of the present format version, and the seeds of the fuzzer beside them.

Run once per format version: files of a version that is out do not change any more.
"""

from __future__ import annotations

from pathlib import Path

import pypto
from pypto import ir
from pypto.dtypes import DT_INT32

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "data" / "program_v3"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
ROWS = pypto.frontend.dynamic("rows")
FP32, FP16 = pypto.DT_FP32, pypto.DT_FP16


@pypto.frontend.jit
def add_rows(x: pypto.Tensor([ROWS, 16], FP32), y: pypto.Tensor([ROWS, 16], FP32), out: pypto.Tensor([ROWS, 16], FP32)):
    for i in pypto.loop(0, x.shape[0], 8):
        out[i : i + 8, :] = x[i : i + 8, :] + y[i : i + 8, :]


@pypto.frontend.jit
def project(x: pypto.Tensor([64, 32], FP16), w: pypto.Tensor([32, 64], FP16), out: pypto.Tensor([64, 64], FP32)):
    for i in pypto.loop(0, 64, 32):
        if i > 0:
            out[i : i + 32, :] = pypto.matmul(x[i : i + 32, :], w, out_dtype=FP32)
        else:
            out[i : i + 32, :] = pypto.exp(pypto.matmul(x[i : i + 32, :], w, out_dtype=FP32))


def prebuilt() -> ir.CompiledProgram:
    """A mix kernel whose code is a few bytes."""
    tensor = ir.Parameter("x", "tensor", FP16, ("rows", 32), "inout")
    return ir.load_kernel(
        b"\x7fELF" + bytes(range(60)),
        entry="fused",
        parameters=[tensor, ir.Parameter("n", "int", DT_INT32), ir.Parameter("scale", "float")],
        blocks=20,
        magic="mix",
        platform="a2a3",
    )


def write() -> None:
    """Golden files; for the fuzzer whole files (kinds 0 and 3), plan sections (1) and debug sections (2)."""
    programs = {"add_rows": ir.compile(add_rows), "project": ir.compile(project), "fused": prebuilt()}
    for folder in (GOLDEN, CORPUS):
        folder.mkdir(parents=True, exist_ok=True)
    for name, program in programs.items():
        program.save(GOLDEN / f"{name}.pto")
        data = (GOLDEN / f"{name}.pto").read_bytes()
        table = (60 + len(program.platform) + 7) // 8 * 8
        for kind, whole in ((0, data), (3, data)):
            (CORPUS / f"{name}_{kind}").write_bytes(bytes([kind]) + whole)
        for index in range(2):
            start = int.from_bytes(data[table + index * 56 + 8 :][:8], "little")
            size = int.from_bytes(data[table + index * 56 + 16 :][:8], "little")
            (CORPUS / f"{name}_{index + 1}").write_bytes(bytes([index + 1]) + data[start : start + size])


if __name__ == "__main__":
    write()
