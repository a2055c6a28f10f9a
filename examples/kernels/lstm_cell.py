"""An LSTM layer over a sequence: the hidden and the cell state are carried through the loop."""

from __future__ import annotations

import torch
from _report import check

import pypto

BATCH, INPUT, HIDDEN = 16, 48, 64


def sigmoid(x):
    """1 / (1 + e^-x)"""
    return pypto.reciprocal(pypto.exp(-x) + 1.0)


@pypto.frontend.jit
def lstm(
    x: pypto.Tensor([pypto.DYNAMIC, BATCH, INPUT], pypto.DT_FP32),
    w_input: pypto.Tensor([4 * HIDDEN, INPUT], pypto.DT_FP32),
    w_hidden: pypto.Tensor([4 * HIDDEN, HIDDEN], pypto.DT_FP32),
    bias: pypto.Tensor([4 * HIDDEN], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, BATCH, HIDDEN], pypto.DT_FP32),
    last_cell: pypto.Tensor([BATCH, HIDDEN], pypto.DT_FP32),
):
    """Gates in torch's order: input, forget, cell, output."""
    pypto.set_vec_tile_shapes(BATCH, 4 * HIDDEN)
    pypto.set_cube_tile_shapes([16, 16], [64, 64], [128, 128])
    hidden = pypto.zeros(BATCH, HIDDEN)
    cell = pypto.zeros(BATCH, HIDDEN)
    for step in pypto.loop(x.shape[0], name="steps"):
        gates = pypto.matmul(x[step, :, :], w_input, pypto.DT_FP32, b_trans=True)
        gates = gates + pypto.matmul(hidden, w_hidden, pypto.DT_FP32, b_trans=True) + bias
        enter = sigmoid(gates[:, 0:HIDDEN])
        forget = sigmoid(gates[:, HIDDEN : 2 * HIDDEN])
        candidate = pypto.tanh(gates[:, 2 * HIDDEN : 3 * HIDDEN])
        leave = sigmoid(gates[:, 3 * HIDDEN : 4 * HIDDEN])
        cell = forget * cell + enter * candidate
        hidden = leave * pypto.tanh(cell)
        out[step, :, :] = hidden
    last_cell[:] = cell


def main() -> None:
    torch.manual_seed(0)
    reference = torch.nn.LSTM(INPUT, HIDDEN).double()
    weights = [parameter.detach() for parameter in reference.parameters()]
    w_input, w_hidden = weights[0].float(), weights[1].float()
    bias = (weights[2] + weights[3]).float()
    for steps in (1, 30):
        x = torch.randn(steps, BATCH, INPUT)
        out, last_cell = torch.empty(steps, BATCH, HIDDEN), torch.empty(BATCH, HIDDEN)
        args = (x, w_input, w_hidden, bias, out, last_cell)
        lstm(*args)
        expected, (_, cell) = reference(x.double())
        results = {"out": (out, expected.detach(), 1e-5), "cell": (last_cell, cell[0].detach(), 1e-5)}
        check("LSTM", lstm, args, results)


if __name__ == "__main__":
    main()
