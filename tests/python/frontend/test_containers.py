"""Python containers and objects must not change in loops; tensors of a body end with it."""

import numpy as np
import pytest
from frontend_samples import is_at, line_of, refuse

import pypto
from pypto import ir

FP32 = pypto.DT_FP32
T = pypto.Tensor


def test_containers_must_not_change():
    @pypto.frontend.jit
    def grown(x: T([4], FP32)):
        parts = []
        for _ in pypto.loop(3):
            parts.append(x + 1)
        x[:] = parts[0]

    @pypto.frontend.jit
    def element(x: T([4], FP32)):
        state = {"mode": "a"}
        for _ in pypto.loop(3):
            x[:] = x + len(state["mode"])
            state["mode"] = "ab"

    @pypto.frontend.jit
    def kinds(x: T([4], FP32)):
        state = [x + 1]
        for _ in pypto.loop(3):
            x[:] = state[0]
            state[0] = 3

    log: list = []

    def remember(value):
        log.append(value)
        return value

    @pypto.frontend.jit
    def captured(x: T([4], FP32)):
        for _ in pypto.loop(3):
            x[:] = remember(x + 1)

    refuse(grown, "parts.append", "parts (its length went from 0 to 1) changes in a pypto.loop", "x[:] = value")
    refuse(element, 'state["mode"] =', "state['mode'] changes in a pypto.loop")
    refuse(kinds, "state[0] = 3", "'state[0]' is a tensor before the pypto.loop and 3 at the end", kind=TypeError)
    with pytest.raises(ValueError, match=r"log \(its length went from 0 to 1\) changes in a pypto.loop") as caught:
        ir.compile(captured)
    is_at(caught.value, __file__, line_of(remember, "log.append"), "log.append")
    assert log == []


def test_containers_of_the_body_may_change():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        for _ in pypto.loop(3):
            parts = []
            for k in range(3):
                parts.append(x + k)
            x[:] = parts[0] + parts[2]

    assert kernel.to_text().count("add(") == 4


def test_tensors_of_a_body_end_with_it():
    def keep(held, value):
        held.value = value

    class Holder:
        value = None

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        for _ in pypto.loop(3):
            inner = Holder()
            keep(inner, x + 1)
            y = inner
        x[:] = y.value

    with pytest.raises(NameError, match="a tensor made inside the pypto.loop at line .* is used after it"):
        ir.compile(kernel)


def test_outer_variables_of_helpers():
    def make_iterator():
        return iter([1.0, 2.0, 3.0])

    @pypto.frontend.jit
    def outer_variable(x: T([4], FP32)):
        count = 0

        def counted(value):
            nonlocal count
            count += 1
            return value * count

        for _ in pypto.loop(3):
            x[:] = counted(x)

    @pypto.frontend.jit
    def iterator(x: T([4], FP32)):
        values = make_iterator()
        for _ in pypto.loop(3):
            x[:] = x * next(values)

    @pypto.frontend.jit
    def array(x: T([4], FP32)):
        for _ in pypto.loop(3):
            ARRAY[0] += 1
            x[:] = x * ARRAY[0]

    refuse(outer_variable, "nonlocal count", "Unsupported syntax: nonlocal", kind=SyntaxError)
    refuse(iterator, "x[:] = x * next", "values['elements left'] changes in a pypto.loop")
    refuse(array, "ARRAY[0] += 1", "ARRAY['contents'] changes in a pypto.loop")
    assert "mul" in pypto.frontend.jit(array_outside).to_text()


ARRAY = np.ones(3)


def array_outside(x: T([4], FP32)):
    ARRAY[0] += 1
    x[:] = x * float(ARRAY[0])


def test_lambdas_and_nested_functions_see_carried_names():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        acc = x + 1
        doubled = lambda: acc * 2  # noqa: E731

        def halved():
            return acc * 0.5

        for _ in pypto.loop(3):
            acc = doubled() + halved()
        x[:] = acc

    text = kernel.to_text()
    assert "mul(%2:acc, 2)" in text
    assert "mul(%2:acc, 0.5)" in text
