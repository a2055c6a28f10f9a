"""However a trace reads a captured tensor, a change of what it read is noticed at the next call."""

import collections
import warnings

import pytest
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor


class Plain(torch.Tensor):
    pass


class Reading(torch.Tensor):
    """Reads another tensor where it is multiplied."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return state.item() if func is torch.Tensor.mul else func(*args, **(kwargs or {}))


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, value):
        return value * self.weight


class Elements:
    """A sequence that reads a tensor."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        if index > 0:
            raise IndexError
        return state.item()


def total(value: torch.Tensor) -> float:
    return float(value.sum().item())


state = torch.ones(1)
parameter = torch.nn.Parameter(torch.ones(1))
plain, reading = torch.ones(1).as_subclass(Plain), torch.ones(1).as_subclass(Reading)
storage = state.untyped_storage()
sparse = torch.ones(1).to_sparse()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    scripted, module = torch.jit.script(total), torch.jit.script(Scale())
big = torch.zeros(1000)

READS = {
    "a gradient": lambda: parameter.grad.item(),
    "a subclass": lambda: plain.item(),
    "a function of a subclass": lambda: reading.mul(1),
    "a scripted function": lambda: scripted(state),
    "a scripted module": lambda: module(torch.ones(1)).item(),
    "a storage": lambda: float(storage[3]) * 256 + float(storage[2]),
    "another tensor of the memory": lambda: from_dlpack(to_dlpack(state)).item(),
    "a sequence of the user": lambda: torch.tensor(Elements()).sum().item(),
    "a deque": lambda: torch.tensor(collections.deque([state])).sum().item(),
    "a sparse tensor": lambda: sparse.sum().item(),
}


def put(number):
    parameter.grad = torch.tensor([number])
    for tensor in (state, plain, reading, sparse._values(), module.weight.data):
        tensor.fill_(number)


def call(kernel):
    out = torch.zeros(4)
    kernel(torch.zeros(4), out)
    return out[0].item()


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_change_is_noticed(read):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        pypto.set_vec_tile_shapes(4)
        out[:] = x + read()

    for number in (1.0, 1.0, 2.0, 2.0, 1.0, 3.0):
        put(number)
        assert call(kernel) == read()


def test_what_autograd_keeps_is_noticed():
    tensor = torch.ones(1)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        pypto.set_vec_tile_shapes(4)
        out[:] = x + (1.0 if tensor.requires_grad else 2.0) + (4.0 if tensor.grad is None else 8.0)

    for requires, gradient in ((False, None), (True, None), (True, torch.ones(1)), (True, None), (False, None)):
        for _ in range(3):
            tensor.requires_grad_(requires)
            tensor.grad = gradient
            assert call(kernel) == (1.0 if requires else 2.0) + (4.0 if gradient is None else 8.0)


def test_what_is_not_read_does_not_count():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        pypto.set_vec_tile_shapes(4)
        out[:] = x + torch.ones(2).sum().item() + big.numel() * state.item()

    state.fill_(1.0)
    for number in range(4):
        big.fill_(number)
        assert call(kernel) == 1002.0
    assert kernel.cache_info().misses == 1
