"""Numbers that are known in a launch only, where operations take numbers."""

import pytest
import torch

import pypto
from pypto import ir

FP32, FP16 = pypto.DT_FP32, pypto.DT_FP16
CASES = {
    "rms_norm": (
        lambda v, s: pypto.rms_norm(v, None, s),
        lambda x, s: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + s),
    ),
    "axpy_": (lambda v, s: pypto.axpy_(v.clone(), v, s), lambda x, s: x + s * x),
    "lrelu": (pypto.lrelu, torch.nn.functional.leaky_relu),
    "clip": (lambda v, s: pypto.clip(v, -s, s), lambda x, s: x.clamp(-s, s)),
    "pow": (lambda v, s: pypto.pow(pypto.abs(v), s), lambda x, s: x.abs() ** s),
    "where": (lambda v, s: pypto.where(v > s, v, s), lambda x, s: torch.where(x > s, x, torch.tensor(s).double())),
    "full": (lambda v, s: v * pypto.full([4, 8], s, FP32), lambda x, s: x * s),
    "fillpad": (
        lambda v, s: pypto.fillpad(pypto.view(v, [4, 8], [0, 0], valid_shape=[4, 3]), value=s),
        lambda x, s: torch.cat([x[:, :3], torch.full((len(x), 5), s)], 1),
    ),
    "pad": (
        lambda v, s: pypto.pad(v[:, :6], [0, 2], value=s),
        lambda x, s: torch.cat([x[:, :6], torch.full((len(x), 2), s)], 1),
    ),
    "index_add": (
        lambda v, s: pypto.index_add(v, 1, pypto.arange(1), v[:, :1], alpha=s),
        lambda x, s: torch.cat([x[:, :1] * (1 + s), x[:, 1:]], 1),
    ),
    "scatter": (
        lambda v, s: pypto.scatter(v, 1, pypto.zeros(4, 1, dtype=pypto.DT_INT32), s),
        lambda x, s: torch.cat([torch.full((len(x), 1), s), x[:, 1:]], 1),
    ),
}


@pytest.mark.parametrize(("operation", "expected"), CASES.values(), ids=CASES.keys())
def test_a_number_of_each_launch(operation, expected):
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([pypto.DYNAMIC, 8], FP32), out: pypto.Tensor([pypto.DYNAMIC, 8], FP32), s: float):
        pypto.set_vec_tile_shapes(4, 8)
        for i in pypto.loop(0, x.shape[0], 4):
            out[i : i + 4, :] = operation(x[i : i + 4, :], s)

    program = ir.compile(kernel)
    x, out = torch.randn(6, 8), torch.empty(6, 8)
    for s in (0.5, 1.75):
        program(x, out, s)
        torch.testing.assert_close(out.double(), expected(x.double(), s), rtol=1e-6, atol=1e-6)


def test_what_is_no_number():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 8], FP32)):
        x[:] = pypto.rms_norm(x, None, x)

    with pytest.raises(TypeError, match=r"rms_norm\(\): epsilon is a number, got Tensor"):
        kernel.compile()


def test_half_types_are_compared_in_fp32():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 8], FP16), out: pypto.Tensor([4, 8], pypto.DT_BOOL), s: float):
        out[:] = x > s

    with pytest.raises(TypeError, match="a number of the launch is an FP32 element .* DT_FP16; use pypto.cast"):
        kernel.compile()
