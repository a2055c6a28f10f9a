"""How long tracing and planning may take."""

import time

import pytest

import pypto
from pypto import ir

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


@pytest.mark.parametrize(("operations", "seconds"), [(2_000, 0.5), (20_000, 8.0)])
def test_unrolled_kernels_compile_in_time(operations, seconds):
    kernel = rows_unrolled(operations // 4)
    begin = time.process_time()
    ir.compile(kernel)
    assert time.process_time() - begin <= seconds


def test_sequential_branches_are_not_enumerated():
    statements = [len(branches(count).to_text().splitlines()) for count in (1, 10, 20)]
    one = (statements[2] - statements[1]) / 10
    assert statements[1] - statements[0] == 9 * one
