"""The worked example: three loops over 64 rows, its inputs and its golden outputs. As a script: runs it for its log."""

import sys

import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker

B, L, H, D = 1, 64, 1, 16


@pypto.frontend.jit
def three_loops(
    dy: pypto.Tensor([B, L, H, D], pypto.DT_FP32),
    weight: pypto.Tensor([H, D, D], pypto.DT_FP32),
    output1: pypto.Tensor([B, L, D], pypto.DT_FP32),
    output2: pypto.Tensor([B, L, D], pypto.DT_FP32),
):
    tmp_assemble = pypto.tensor([B, L, H, D], output1.dtype, "tmp_assemble")
    tmp_exclusive = pypto.tensor([B, L, H, D], output2.dtype, "tmp_exclusive")
    for _i, _t in pypto.loop_unroll(0, 1, 1, name="l_loop_0"):
        pypto.set_vec_tile_shapes(1, 64, 1, 256)
        tmp_exclusive[:] = pypto.add(dy, dy)
    for j, t in pypto.loop_unroll(0, L, 1, name="l_loop_1"):
        dy_v = dy[0, j : j + t, 0]
        pypto.set_cube_tile_shapes([128, 128], [128, 128], [128, 128])
        dx = pypto.matmul(dy_v, weight[0], pypto.DT_FP32, b_trans=True)
        pypto.set_vec_tile_shapes(1, 64, 1, 512)
        tmp_assemble[0, j : j + t, 0] = dx + 0.0
    for k, t in pypto.loop_unroll(0, L, 1, name="l_loop_2"):
        pypto.set_vec_tile_shapes(1, 64, 1, 512)
        output1[0, k : k + t] = tmp_assemble[0, k : k + t, 0]
        output2[0, k : k + t] = tmp_exclusive[0, k : k + t, 0]


def compiled(**runtime_options):
    with pypto.options(runtime_options=runtime_options):
        return ir.compile(three_loops)


def inputs():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(B, L, H, D, generator=generator), torch.randn(H, D, D, generator=generator)


def golden(dy, weight):
    return (dy[:, :, 0].double() @ weight[0].double().T).float(), (dy + dy)[:, :, 0]


def main(depths):
    """One launch by count, then one for each list of depths."""
    with ChipWorker() as worker:
        for number in [None, *depths]:
            program = compiled() if number is None else compiled(stitch_function_num_per_pool=number)
            worker.register(program)(*inputs())


if __name__ == "__main__":
    main([[int(depth) for depth in argument.split(",")] for argument in sys.argv[1:]])
