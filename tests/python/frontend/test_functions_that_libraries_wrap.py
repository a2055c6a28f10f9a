"""What a function of the user reads counts where a decorator of a library has wrapped it."""

import contextlib
import functools
import types

import numpy as np
import pytest
import torch

import pypto
from pypto.frontend.kernels.content import content_digest

FP32, T = pypto.DT_FP32, pypto.Tensor
state = types.SimpleNamespace(number=1.0, tensor=torch.ones(1))


def of_a_library(function):
    """As a decorator of a library that keeps nothing of what it wraps but the function."""

    def run():
        return function()

    run.__module__ = "torch.decorators"
    return run


@of_a_library
def hidden():
    return state.number


@torch.no_grad()
def without_gradients():
    return state.number + state.tensor.item()


@torch.inference_mode()
@torch.no_grad()
def wrapped_twice():
    return state.number


@torch.no_grad()
def of_the_kernel(value):
    return value * state.number


@contextlib.contextmanager
def opened():
    yield state.number


class Holds:
    @torch.no_grad()
    def method(self):
        return state.number


@functools.singledispatch
def dispatched(value):
    return state.number


as_ufunc = np.frompyfunc(lambda value: value * state.number, 1, 1)


def in_a_block(_):
    with opened() as number:
        return number


READS = {
    "a function": lambda x: x + without_gradients(),
    "a function that is wrapped twice": lambda x: x + wrapped_twice(),
    "a tensor of the kernel": lambda x: of_the_kernel(x + 1.0),
    "a context": lambda x: x + in_a_block(x),
    "a function that nothing else tells of": lambda x: x + hidden(),
    "a ufunc": lambda x: x + float(as_ufunc(1.0)),
    "a method": lambda x: x + Holds().method(),
    "a function of several types": lambda x: x + dispatched(1),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_change_of_what_it_reads_is_noticed(read):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        pypto.set_vec_tile_shapes(4)
        out[:] = read(x)

    for number in (1.0, 1.0, 2.0, 2.0, 1.0, 3.0):
        state.number = number
        state.tensor.fill_(number)
        out = torch.zeros(4)
        kernel(torch.zeros(4), out)
        assert out.tolist() == read(torch.zeros(4)).tolist()


def test_a_call_that_repeats_is_taken_by_the_core():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        pypto.set_vec_tile_shapes(4)
        out[:] = x + without_gradients()

    out = torch.zeros(4)
    for _ in range(5):
        kernel(torch.zeros(4), out)
    assert kernel._known_hits >= 3


def test_images_on_disk_depend_on_it():
    def one():
        return 1

    def two():
        return 2

    digests = [content_digest(of_a_library(function)) for function in (one, two, one)]
    assert digests[0] == digests[2] != digests[1]
