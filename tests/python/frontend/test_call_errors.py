"""What a direct call raises is an error of pypto: also what the runtime finds wrong with arguments."""

import pytest
import torch

import pypto

FP32 = pypto.DT_FP32
T = pypto.Tensor


def make():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN], FP32), out: T([pypto.DYN], FP32)):
        for i in pypto.loop(0, x.shape[0], 4):
            out[i : i + 4] = x[i : i + 4] + 1

    return kernel


@pytest.mark.parametrize("calls_before", [0, 2])
def test_arguments_that_the_runtime_refuses(calls_before):
    kernel = make()
    for _ in range(calls_before):
        kernel(torch.zeros(8), torch.zeros(8))
    with pytest.raises(pypto.FeError, match="not all tensors are contiguous") as caught:
        kernel(torch.zeros(8), torch.zeros(16)[::2])
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith("ErrCode: F00002, ValueError: argument 'out' is an output")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(pypto.PyptoError):
        kernel(torch.zeros(8), torch.zeros(8, device="meta"))
    x, out = torch.randn(8), torch.zeros(8)
    kernel(x, out)
    assert torch.equal(out, x + 1)


def test_anything_else_is_a_general_error(monkeypatch):
    def fail(*_):
        raise LookupError("nothing there")

    kernel = make()
    monkeypatch.setattr(pypto.runtime, "dispatch_kernel", fail)
    with pytest.raises(pypto.PyptoGeneralError, match="Failed to call JIT function 'kernel'. LookupError: nothing"):
        kernel(torch.zeros(8), torch.zeros(8))


def test_interrupts_pass_as_they_are(monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    kernel = make()
    monkeypatch.setattr(pypto.runtime, "dispatch_kernel", fail)
    with pytest.raises(KeyboardInterrupt):
        kernel(torch.zeros(8), torch.zeros(8))


def test_a_tensor_without_dims_has_the_shape_of_one_element():
    @pypto.frontend.jit
    def kernel(x: T(), out: T()):
        assert x.shape == [1]
        out[:] = x + 1

    @pypto.frontend.jit
    def declared(x: T([1], FP32), out: T([1], FP32)):
        out[:] = x + 1

    for each in (kernel, declared):
        for _ in range(2):
            out = torch.zeros(())
            each(torch.tensor(3.0), out)
            assert out.item() == 4.0
