"""The two programs of the foreign framework: make_programs.py add.pto scale.pto."""

import sys

import pypto
from pypto import ir

ROWS = pypto.frontend.dynamic("rows")


@pypto.frontend.jit
def add_bias(
    x: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
    bias: pypto.Tensor([1, 16], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
):
    for i in pypto.loop(0, x.shape[0], 8):
        out[i : i + 8, :] = x[i : i + 8, :] + bias


@pypto.frontend.jit
def scale(
    x: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
    factor: float,
):
    for i in pypto.loop(0, x.shape[0], 8):
        out[i : i + 8, :] = x[i : i + 8, :] * factor


ir.compile(add_bias).save(sys.argv[1])
ir.compile(scale).save(sys.argv[2])
