"""Classes of the user that kernels used are not kept by the tracer."""

import enum
import gc
import weakref

import pytest

import pypto
from pypto import ir


class Number(int):
    """An int with more to it."""


def enumeration():
    return enum.IntEnum("Mode", {"ONE": 1}).ONE


def number():
    return type("Size", (Number,), {})(1)


def plain():
    return type("Plain", (), {"__index__": lambda self: 1})()


@pytest.mark.parametrize("make", [enumeration, number, plain])
def test_nothing_holds_the_class(make):
    value = make()

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4], pypto.DT_FP32), n: pypto.Tensor([1], pypto.DT_INT32)):
        for _ in pypto.loop(n[0]):
            x[:] = x + [1.0, 2.0][value]  # noqa: F821 - deleted below

    ir.compile(kernel)
    kind = weakref.ref(type(value))
    del kernel, value
    gc.collect()
    assert kind() is None
