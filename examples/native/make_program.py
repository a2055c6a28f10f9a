"""Compiles the kernel of the native examples and saves it: the one step that needs Python."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pypto
from pypto import ir

BATCH = pypto.frontend.dynamic("batch")


@pypto.frontend.jit
def linear(
    x: pypto.Tensor([BATCH, 64], pypto.DT_FP32),
    weight: pypto.Tensor([64, 128], pypto.DT_FP32),
    out: pypto.Tensor([BATCH, 128], pypto.DT_FP32),
):
    pypto.set_cube_tile_shapes([16, 16], [64, 64], [128, 128])
    for i in pypto.loop(0, x.shape[0], 16, name="rows"):
        out[i : i + 16, :] = pypto.matmul(x[i : i + 16, :], weight, pypto.DT_FP32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=Path, default=Path(tempfile.gettempdir()) / "linear.pto")
    path = parser.parse_args().path
    compiled = ir.compile(linear)
    compiled.save(path)
    print(f"{path}: {compiled.name} for {compiled.platform}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
