"""`view(x, dtype=dt)` of tensors with dynamic dims, of BOOL and of FP4."""

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, FP16, INT32, UINT8, BOOL = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT32, pypto.DT_UINT8, pypto.DT_BOOL
T, N = pypto.Tensor, pypto.DYN


@pytest.mark.parametrize("rows", [1, 4, 7])
def test_windows_of_a_tensor_of_any_number_of_rows(rows):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), whole: T([N, 8], INT32), raw: T([N, 32], UINT8), part: T([N, 4], FP16)):
        numbers, octets, halves = (pypto.view(x, dtype=dtype) for dtype in (INT32, UINT8, FP16))
        assert numbers.shape[1] == 8 and octets.shape[1] == 32 and octets.dtype == UINT8
        for i in pypto.loop(0, x.shape[0], 4):
            whole[i : i + 4] = numbers[i : i + 4] + 1
            raw[i : i + 4] = octets[i : i + 4, :]
            part[i : i + 4] = pypto.view(halves, [4, 4], [i, 2])

    x = torch.randn(rows, 8)
    whole, raw = torch.zeros(rows, 8, dtype=torch.int32), torch.zeros(rows, 32, dtype=torch.uint8)
    part = torch.zeros(rows, 4, dtype=torch.float16)
    kernel(x, whole, raw, part)
    assert torch.equal(whole, x.view(torch.int32) + 1)
    assert torch.equal(raw, x.view(torch.uint8))
    assert torch.equal(part.view(torch.int16), x.view(torch.int16)[:, 2:6])


def test_a_window_with_fewer_valid_cells():
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([4, 8], INT32), n: T([1], INT32)):
        numbers = pypto.view(x, dtype=INT32)
        out[0:4] = pypto.view(numbers, [4, 8], [1, 0], valid_shape=[n[0], 5])

    x, out = torch.randn(6, 8), torch.zeros(4, 8, dtype=torch.int32)
    kernel(x, out, torch.tensor([2], dtype=torch.int32))
    expected = torch.zeros(4, 8, dtype=torch.int32)
    expected[:2, :5] = x.view(torch.int32)[1:3, :5]
    assert torch.equal(out, expected)


def test_bytes_of_bool_and_bool_of_bytes():
    @pypto.frontend.jit
    def kernel(mask: T([3, 4], BOOL), raw: T([3, 4], UINT8), bits: T([3, 1], INT32), back: T([3, 4], BOOL)):
        octets = pypto.view(mask, dtype=UINT8)
        bits[:] = pypto.view(mask, dtype=INT32)
        back[:] = pypto.view(raw, dtype=BOOL)
        raw[:] = octets

    mask = torch.rand(3, 4) > 0.5
    raw = torch.tensor([[0, 1, 2, 255]] * 3, dtype=torch.uint8)
    bits, back, before = torch.zeros(3, 1, dtype=torch.int32), torch.zeros(3, 4, dtype=torch.bool), raw.clone()
    kernel(mask, raw, bits, back)
    assert torch.equal(raw, mask.view(torch.uint8))
    assert torch.equal(bits, mask.view(torch.int32))
    assert torch.equal(back, before != 0)
    assert torch.equal(back.view(torch.uint8), (before != 0).view(torch.uint8))


def test_the_same_dtype_is_a_value_too():
    @pypto.frontend.jit
    def kernel(x: T([4, 8], FP32), y: T([N, 8], FP32), out: T([4, 8], FP32), more: T([4, 8], FP32)):
        same, dynamic = pypto.view(x, dtype=FP32), pypto.view(y, dtype=FP32)
        x[0:2] = x[2:4]
        same[3:4] = x[0:1]
        out[:] = same
        more[:] = dynamic[1:5]

    x, y, out, more = torch.randn(4, 8), torch.randn(5, 8), torch.zeros(4, 8), torch.zeros(4, 8)
    expected = x.clone()
    expected[3] = x[2]
    kernel(x, y, out, more)
    assert torch.equal(out, expected) and torch.equal(more, y[1:5])


def test_fp4_pairs_and_their_bytes():
    @pypto.frontend.jit
    def kernel(x: T([3, 8], pypto.DT_FP4_E2M1X2), raw: T([3, 4], UINT8), back: T([3, 8], pypto.DT_FP4_E2M1X2)):
        octets = pypto.view(x, dtype=UINT8)
        raw[:] = octets
        back[:] = pypto.view(octets, dtype=pypto.DT_FP4_E2M1X2)

    compiled = pypto.ir.compile(kernel, platform="a5sim")
    x = torch.randint(0, 256, (3, 4), dtype=torch.uint8)
    raw, back = torch.zeros_like(x), torch.zeros_like(x)
    compiled(x, raw, back)
    assert torch.equal(raw, x) and torch.equal(back, x)


def test_refusals():
    @pypto.frontend.jit
    def operand(x: T([N, 8], FP32), out: T([N, 8], INT32)):
        out[0:4] = pypto.view(x, dtype=INT32) + 1

    @pypto.frontend.jit
    def written(x: T([N, 8], FP32), out: T([N, 8], INT32)):
        numbers = pypto.view(x, dtype=INT32)
        x[0:1] = x[1:2]
        out[0:4] = numbers[0:4]

    @pypto.frontend.jit
    def last(x: T([4, N], FP32), out: T([4, N], INT32)):
        out[0:4, 0:4] = pypto.view(x, dtype=INT32)[0:4, 0:4]

    @pypto.frontend.jit
    def between(x: T([N, 8], FP32), out: T([4, 4], FP16)):
        out[0:4] = pypto.view(x, dtype=FP16)[0:4, 1:5]

    refuse(operand, "pypto.view", "Dynamic shape tensors are not allowed as operation operands")
    refuse(written, "x[0:1] = x[1:2]", "a tensor that is viewed as DT_INT32 as a whole cannot be written into as well")
    refuse(last, "pypto.view", "view(): dtype= needs a static last dim, which is rescaled")
    refuse(between, "pypto.view", "begins and ends at static multiples of 4 bytes, got offset 2 and extent 8 in bytes")
