"""`pypto.Element`: a number of a dtype goes with tensors of that dtype, in every operation; `pow` promotes."""

import pytest
import torch

import pypto
from pypto import ir

FP32, FP16, BF16, INT32 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_BF16, pypto.DT_INT32
Element = pypto.Element
ONE = Element(FP16, 1.0)


def kernel_of(operation):
    @pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
    def kernel(
        x: pypto.Tensor([4], FP32),
        h: pypto.Tensor([4], FP16),
        i: pypto.Tensor([4], INT32),
        out: pypto.Tensor([4], FP32),
    ):
        out[:] = operation(x, h, i)

    return kernel


@pytest.mark.parametrize(
    "operation",
    [
        lambda x, h, i: x + ONE,
        lambda x, h, i: ONE + x,
        lambda x, h, i: ONE - x,
        lambda x, h, i: ONE / x,
        lambda x, h, i: x % ONE,
        lambda x, h, i: ONE // x,
        lambda x, h, i: pypto.maximum(x, ONE),
        lambda x, h, i: pypto.clip(x, Element(FP16, 0.0), ONE),
        lambda x, h, i: x > ONE,
        lambda x, h, i: pypto.where(x > 0, x, ONE),
        lambda x, h, i: pypto.where(x > 0, ONE, Element(FP32, 1.0)),
        lambda x, h, i: h + Element(FP32, 1.0),
        lambda x, h, i: i + Element(FP32, 1),
        lambda x, h, i: i + Element(pypto.DT_INT16, 1),
        lambda x, h, i: pypto.pow(i, Element(pypto.DT_INT16, 1)),
        lambda x, h, i: pypto.lrelu(x, ONE),
        lambda x, h, i: pypto.scatter(x, 0, i, ONE),
        lambda x, h, i: pypto.scatter_(pypto.clone(x), 0, i, ONE),
        lambda x, h, i: pypto.index_add(x, 0, i, x, alpha=ONE),
    ],
)
def test_another_dtype_is_refused(operation):
    with pytest.raises(TypeError, match=r"\(\): Element\(DT_\w+, [\d.]+\) does not combine with DT_\w+; use pypto"):
        ir.compile(kernel_of(operation))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda x, h, i: x + Element(FP32, 0.1), lambda x, h, i: x + 0.1),
        (lambda x, h, i: pypto.cast(h * Element(FP16, 0.1), FP32), lambda x, h, i: (h * h.new_tensor(0.1)).float()),
        (lambda x, h, i: pypto.cast(i + Element(INT32, 3), FP32), lambda x, h, i: (i + 3).float()),
        (lambda x, h, i: pypto.where(x > 2.0, Element(FP32, 0.5), x), lambda x, h, i: torch.where(x > 2, 0.5, x)),
        (lambda x, h, i: pypto.scatter(x, 0, i, Element(FP32, 0.5)), lambda x, h, i: x.scatter(0, i.long(), 0.5)),
        (lambda x, h, i: pypto.pow(h, Element(FP32, 0.3)), lambda x, h, i: h.float() ** 0.3),
        (lambda x, h, i: pypto.pow(x, Element(FP16, 0.3)), lambda x, h, i: x ** torch.tensor(0.3).half().float()),
        (lambda x, h, i: pypto.pow(Element(BF16, 0.3), h), lambda x, h, i: torch.tensor(0.3).bfloat16().float() ** x),
        (lambda x, h, i: pypto.cast(pypto.pow(i, Element(INT32, 2)), FP32), lambda x, h, i: (i * i).float()),
        (lambda x, h, i: pypto.pow(i, Element(FP32, 0.5)), lambda x, h, i: i.float() ** 0.5),
    ],
)  # fmt: skip
def test_its_own_dtype_and_pow(operation, expected):
    x, i, out = torch.arange(1.0, 5.0), torch.tensor([2, 0, 3, 1], dtype=torch.int32), torch.zeros(4)
    kernel_of(operation)(x, x.half(), i, out)
    torch.testing.assert_close(out, expected(x, x.half(), i), rtol=1e-6, atol=0)
