"""Declarations made of torch tensors, the NZ layout, and views of bytes as another dtype."""

import sys
import types
from dataclasses import dataclass, field

import pytest
import torch
from frontend_samples import refuse

import pypto
from pypto.frontend.kernels.signature import Signature

FP32, FP16, INT8, INT16, INT32 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT8, pypto.DT_INT16, pypto.DT_INT32
T = pypto.Tensor
NZ, ND = pypto.TileOpFormat.TILEOP_NZ, pypto.TileOpFormat.TILEOP_ND


def test_from_torch():
    x = torch.zeros(3, 5, dtype=torch.float16)
    spec = pypto.from_torch(x, "x", dynamic_axis=[0, -1])
    assert (spec.name, spec.shape, spec.dtype, spec.format) == ("x", [-1, -1], FP16, ND)
    assert spec.data is x
    first, second = (int(pypto.from_torch(x).name.removeprefix("TENSOR_")) for _ in range(2))
    assert second == first + 1
    assert pypto.from_torch(torch.tensor(1.0)).shape == [1]
    assert pypto.from_torch(x, format=NZ).shape == [16, 16]
    assert pypto.from_torch(torch.zeros(2, 17, 33, dtype=torch.int8), format=NZ).shape == [2, 32, 64]
    assert pypto.from_torch(torch.zeros(17, 9), format=NZ, dynamic_axis=[0]).shape == [-1, 16]


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (([1.0],), TypeError, "from_torch(): expected a torch.Tensor, got list"),
        ((torch.zeros(2, dtype=torch.complex64),), TypeError, "dtype torch.complex64 is not supported"),
        ((torch.zeros(2), "", [1]), IndexError, "dynamic axis 1 is out of range for 1 dims"),
        ((torch.zeros(2), "", ["a"]), TypeError, "dynamic_axis is a list of ints, got 'a' in it"),
    ],
)
def test_from_torch_refuses(arguments, kind, text):
    with pytest.raises(pypto.FeError) as caught:
        pypto.from_torch(*arguments)
    assert isinstance(caught.value, kind)
    assert text in str(caught.value)


def test_from_torch_annotates_a_kernel():
    x = torch.randn(5, 4)
    declared = pypto.from_torch(x, dynamic_axis=[0])

    @pypto.frontend.jit
    def kernel(a: declared, out: declared):
        for i in pypto.loop(a.shape[0]):
            out[i : i + 1, :] = a[i : i + 1, :] * 2

    out = torch.zeros(5, 4)
    kernel(x, out)
    assert torch.equal(out, x * 2)
    kernel(torch.ones(2, 4), torch.zeros(2, 4))
    assert kernel.cache_info().misses == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
@pytest.mark.parametrize("shape", [(1, 1), (16, 32), (17, 33), (2, 3, 5, 40)])
def test_nz_and_back(shape, dtype):
    x = torch.arange(1, torch.Size(shape).numel() + 1).reshape(shape).to(dtype)
    width = 32 // x.element_size()
    nz = pypto.nd_to_nz(x)
    rows, columns = -(-shape[-2] // 16), -(-shape[-1] // width)
    assert nz.shape == (*shape[:-2], columns, rows, 16, width)
    assert torch.equal(pypto.nz_to_nd(nz, shape), x)
    for row, column in {(0, 0), (shape[-2] - 1, shape[-1] - 1), (shape[-2] // 2, shape[-1] // 2)}:
        cell = nz[..., column // width, row // 16, row % 16, column % width]
        assert torch.equal(cell, x[..., row, column])
    assert nz.double().sum() == x.double().sum()


def test_nz_refuses():
    with pytest.raises(ValueError, match="NZ is a layout of 2 dims or more"):
        pypto.nz_shape([3], FP32)
    with pytest.raises(ValueError, match=r"\[3, 4\] is \[1, 1, 16, 8\] in NZ, got \[3, 4\]"):
        pypto.nz_to_nd(torch.zeros(3, 4), [3, 4])


@dataclass
class NpuTensor:
    shape: tuple = (16, 16)
    dtype: torch.dtype = torch.float16
    number: int = 2
    device: types.SimpleNamespace = field(default_factory=lambda: types.SimpleNamespace(type="npu"))


def test_formats_are_compared_on_an_npu_only(monkeypatch):
    vendor = types.ModuleType("torch_npu")
    vendor.get_npu_format = lambda tensor: tensor.number
    monkeypatch.setitem(sys.modules, "torch_npu", vendor)

    def kernel(x: T([16, 16], FP16, format=NZ), y: T([16, 16], FP16)):
        """Nothing."""

    signature = Signature(kernel)
    signature.bind_tensor(0, NpuTensor(number=29))
    signature.bind_tensor(0, torch.zeros(16, 16, dtype=torch.float16))
    signature.bind_tensor(1, NpuTensor(number=29))
    with pytest.raises(pypto.FeError, match=r"The format of 1st input tensor 'x' \(TILEOP_ND\) does not match"):
        signature.bind_tensor(0, NpuTensor(number=2))
    assert pypto.from_torch(NpuTensor(number=29)).format == NZ
    assert pypto.from_torch(NpuTensor(number=2)).format == ND


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (torch.float32, torch.int32),
        (torch.float32, torch.int8),
        (torch.int16, torch.float32),
        (torch.uint8, torch.int64),
    ],
)
def test_view_as_another_dtype(source, target):
    kinds = {torch.float32: FP32, torch.int32: INT32, torch.int8: INT8, torch.int16: INT16, torch.int64: pypto.DT_INT64}
    x = torch.randint(0, 100, (3, 2, 16)).to(source)

    @pypto.frontend.jit
    def kernel(x: T([3, 2, 16]), out: T()):
        out[:] = pypto.view(x, dtype=kinds[target])

    expected = x.view(target)
    out = torch.zeros_like(expected)
    kernel(x, out)
    assert torch.equal(out, expected)


def test_view_of_bytes_keeps_the_valid_part():
    @pypto.frontend.jit
    def kernel(x: T([4, 6], FP32), n: T([1], INT32), out: T([4, 12], INT16)):
        m = n[0]
        window = pypto.view(x, [4, 6], [0, 0], valid_shape=[2, m])
        out[0:4, 0:12] = window.view(dtype=INT16)

    x, out = torch.randn(4, 6), torch.full((4, 12), 7, dtype=torch.int16)
    kernel(x, torch.tensor([3], dtype=torch.int32), out)
    expected = torch.full((4, 12), 7, dtype=torch.int16)
    expected[:2, :6] = x.view(torch.int16)[:2, :6]
    assert torch.equal(out, expected)


def test_view_of_bytes_refuses():
    @pypto.frontend.jit
    def odd(x: T([4, 3], INT8), out: T([4, 3], INT8)):
        out[:] = pypto.view(x, dtype=INT16)

    @pypto.frontend.jit
    def window(x: T([4, 4], INT8), out: T([4, 4], INT8)):
        out[:] = pypto.view(x, [4, 4], [0, 0], dtype=INT8)

    refuse(
        odd, "pypto.view", "the 3 elements of 1 bytes in the last dim", "are no whole number of DT_INT16, of 2 bytes"
    )
    refuse(window, "pypto.view", "view(): dtype= stands alone", kind=TypeError)
