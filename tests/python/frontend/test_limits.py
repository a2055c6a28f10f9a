"""How long tracing and planning may take."""

import sys

import pytest

import pypto
from pypto import ir
from pypto.frontend.tracing.tracer import Trace

FP32 = pypto.DT_FP32
T = pypto.Tensor


def rows_unrolled(count: int):
    """A kernel of 4 operations per row."""

    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 64], FP32), out: T([pypto.DYN, 64], FP32)):
        for i in pypto.loop(0, x.shape[0], 64):
            for j in range(count):
                out[i + j : i + j + 1] = x[i + j : i + j + 1] * 2.0 + 1.0

    return kernel


def branches(count: int):
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32), out: T([64, 64], FP32), n: int):
        y = x + 1.0
        for j in range(count):
            if n > j:
                y = y * 2.0
            else:
                y = y + 1.0
        out[:] = y

    return kernel


def test_work_grows_with_the_operations():
    texts = [rows_unrolled(count).to_text() for count in (10, 20)]
    assert [text.count("add(") for text in texts] == [10, 20]


def calls_while(action) -> int:
    """Function calls of Python and of C code that an action makes."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def chain(count: int):
    @pypto.frontend.jit
    def kernel(x: T([16, 64], FP32), out: T([16, 64], FP32)):
        y = x
        for _ in range(count):
            y = y * 1.5
        out[:] = y

    return kernel


def carried(count: int):
    @pypto.frontend.jit
    def kernel(x: T([16, 64], FP32), out: T([16, 64], FP32)):
        y = x + 0.0
        for _ in range(count):
            for _ in pypto.loop(2):
                y = y * 1.5
        out[:] = y

    return kernel


# How often a trace runs does not depend on the number of operations: what a second run needs, the first one finds.
@pytest.mark.parametrize(("make", "most"), [(rows_unrolled, 900), (chain, 150), (branches, 2000), (carried, 1200)])
def test_calls_per_operation_do_not_grow(make, most):
    calls = []
    for count in (50, 100, 200):
        kernel = make(count)
        kernel.to_text()  # sources are read and rewritten
        calls.append(calls_while(kernel.to_text))
    first, second = (calls[1] - calls[0]) / 50, (calls[2] - calls[1]) / 100
    assert second <= 1.05 * first
    assert second <= most, calls


@pytest.mark.parametrize("make", [branches, carried])
def test_what_branches_and_loops_need_is_found_in_one_trace(make, monkeypatch):
    traces = []
    begin = Trace.__init__
    monkeypatch.setattr(Trace, "__init__", lambda self, *given: traces.append(begin(self, *given)))
    make(20).to_text()
    assert len(traces) <= 2


def test_plans_grow_with_the_operations():
    sizes = [len(ir.compile(rows_unrolled(count))._image.to_text().splitlines()) for count in (50, 100, 200)]
    assert sizes[2] - sizes[1] <= 2.05 * (sizes[1] - sizes[0])


def test_sequential_branches_are_not_enumerated():
    statements = [len(branches(count).to_text().splitlines()) for count in (1, 10, 20)]
    one = (statements[2] - statements[1]) / 10
    assert statements[1] - statements[0] == 9 * one
