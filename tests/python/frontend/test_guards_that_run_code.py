"""While the core looks whether a call is one that it knows, Python code may run, in which anything can change."""

import gc
import sys

import pytest
import torch
from test_changes_are_noticed import kernel_of, result
from torch.overrides import TorchFunctionMode

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor


def reused():
    """Takes what memory was given back."""
    return [b"\xff" * size for size in range(1, 2048, 8) for _ in range(4)]


class Forgetting(TorchFunctionMode):
    def __init__(self, kernel):
        super().__init__()
        self.kernel = kernel
        self.calls = 0
        self.taken = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        self.kernel._forget_calls()
        self.taken += reused()
        return func(*args, **(kwargs or {}))


class Finalized:
    def __init__(self, kernel, taken):
        self.itself = self
        self.kernel = kernel
        self.taken = taken

    def __del__(self):
        self.kernel._forget_calls()
        self.taken += reused()


def test_modes_of_torch_forget_the_calls():
    kernel = kernel_of(lambda held: held[0].item(), torch.full([1], 2.0))
    assert result(kernel) == result(kernel) == 2
    x, out = torch.ones(4), torch.empty(4)
    with Forgetting(kernel) as mode:
        kernel(x, out)
    assert mode.calls > 0
    assert out.tolist() == [2] * 4


@pytest.mark.parametrize("held", [[{n} for n in range(9)], {n: {n} for n in range(9)}], ids=["list", "dict"])
def test_finalizers_forget_the_calls(held):
    kernel = kernel_of(lambda held: float(len(held) + 1), held)
    x, out = torch.ones(4), torch.empty(4)
    thresholds = gc.get_threshold()
    for _ in range(20):
        kernel(x, out)
        kernel(x, out)
        taken = []
        Finalized(kernel, taken)
        gc.set_threshold(1)
        kernel(x, out)
        gc.set_threshold(*thresholds)
        assert out.tolist() == [len(held) + 1] * 4
        assert taken


FACTOR = 2.0


def test_a_name_is_bound_anew_while_a_key_is_made(monkeypatch):
    asked = ValueError(1)  # of which the core asks for a key

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * FACTOR if asked is not None else x

    def as_another_thread(frame, event, argument):
        if frame.f_code.co_name == "value_key":
            globals()["FACTOR"] = 3.0

    assert result(kernel) == result(kernel) == 2
    monkeypatch.setitem(globals(), "FACTOR", 2.0)  # and puts it back behind the test
    monkeypatch.setitem(globals(), "ANOTHER", 1)  # a version that was not seen
    x, out = torch.ones(4), torch.empty(4)
    sys.setprofile(as_another_thread)
    kernel(x, out)
    sys.setprofile(None)
    assert result(kernel) == FACTOR == 3
