"""Kernels recorded by `with pypto.function(...)`."""

import sys
import threading

import pytest
import torch
from frontend_samples import line_of

import pypto
from pypto.runtime import _device_run_once_data_from_host as run_once

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32


def double(x):
    return x * 2


def test_record_and_run():
    a = pypto.tensor([8, 16], FP32, "a")
    b = pypto.tensor([8, 16], FP32, "b")
    out = pypto.tensor([8, 16], FP32, "out")
    rows, touched = 2, []
    with pypto.function("MAIN", a, b, out) as recorded:
        touched.append("traced")
        pypto.set_vec_tile_shapes(4, 16)
        total = pypto.zeros(rows, 16)
        for i in pypto.loop(0, 8, rows):
            part = a[i : i + rows, :] + double(b[i : i + rows, :])
            total = total + part
            if i >= 4:
                part = part + total
            out[i : i + rows, :] = part
    assert "total" not in locals() and "i" not in locals()
    x, y, got = torch.randn(8, 16), torch.randn(8, 16), torch.zeros(8, 16)
    run_once([x, y], [got])
    total, expected = torch.zeros(2, 16), torch.zeros(8, 16)
    for i in range(0, 8, 2):
        part = x[i : i + 2] + y[i : i + 2] * 2
        total = total + part
        expected[i : i + 2] = part + total if i >= 4 else part
    torch.testing.assert_close(got, expected)
    got.zero_()
    run_once(x, y, got)
    torch.testing.assert_close(got, expected)


def test_from_torch_brings_its_data():
    x, out = torch.randn(6, 4), torch.zeros(6, 4)
    a, o = pypto.from_torch(x, "a", dynamic_axis=[0]), pypto.from_torch(out, "o", dynamic_axis=[0])
    with pypto.function("scale", [a], [o]):
        for i in pypto.loop(a.shape[0]):
            o[i : i + 1, :] = a[i : i + 1, :] * 3
    run_once(a, o)
    assert torch.equal(out, x * 3)
    other = torch.zeros(2, 4)
    run_once(torch.ones(2, 4), other)
    assert torch.equal(other, torch.full((2, 4), 3.0))


def test_with_options_around_it_and_one_line():
    a = pypto.tensor([4], FP32)
    with pypto.options(vec_tile_shapes=[4]), pypto.function("one", a):
        a[:] = a + 1  # noqa: E701
    x = torch.zeros(4)
    run_once(x)
    assert x.tolist() == [1.0] * 4


def test_tracing_tools_are_left_alone():
    a = pypto.tensor([4], FP32)
    seen = []

    def tool(frame, event, argument):
        seen.append(event)
        return tool

    before = sys.gettrace()
    sys.settrace(tool)
    try:
        with pypto.function("traced", a):
            a[:] = a + 1
        assert sys.gettrace() is tool
    finally:
        sys.settrace(before)


def test_errors_point_into_the_block():
    a = pypto.tensor([4], FP32)
    with pytest.raises(pypto.CompileError) as caught, pypto.function("wrong", a):
        a[:] = a + pypto.zeros(3)
    assert caught.value.lineno == line_of(test_errors_point_into_the_block, "a[:] = a + pypto.zeros(3)")
    with pytest.raises(pypto.CompileError, match="Unsupported syntax: try") as caught, pypto.function("wrong", a):
        try:  # noqa: SIM105
            a[:] = a
        except ValueError:
            pass
    assert caught.value.filename == __file__


def test_refusals():
    a = pypto.tensor([4], FP32)
    alias = a
    with pytest.raises(pypto.FeError, match="expected tensors made by pypto.tensor or pypto.from_torch, got Tensor"):
        pypto.function("f", torch.zeros(4))
    with pytest.raises(pypto.FeError, match="a and alias are one tensor"), pypto.function("f", a):
        a[:] = alias + 1
    with pytest.raises(pypto.FeError, match="as the last item of a with statement"):
        pypto.function("f", a).__enter__()
    with pytest.raises(pypto.FeError, match=r"function\(\) decorates a function, got int"):
        pypto.function(3)

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4], FP32)):
        with pypto.function("inner", x):
            x[:] = x

    with pytest.raises(TypeError, match="expected tensors made by pypto.tensor"):
        kernel.compile()


def test_running_what_was_not_recorded():
    caught = []

    def other_thread():
        try:
            run_once(torch.zeros(4))
        except RuntimeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=other_thread)
    thread.start()
    thread.join()
    assert caught == ['nothing was recorded: write `with pypto.function("name", a, b):` first']
    a = pypto.tensor([4], FP32)
    with pypto.function("f", a):
        a[:] = a + 1
    with pytest.raises(ValueError, match=r"'f' takes 1 tensors \['a'\], got 2"):
        run_once(torch.zeros(4), torch.zeros(4))
    with pytest.raises(ValueError, match="'a' holds no data"):
        run_once(a)
