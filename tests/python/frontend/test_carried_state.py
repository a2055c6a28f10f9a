"""Names that loops carry, tensors that loops write, and changes that are refused instead of mistraced."""

import os
import re

import pytest
import torch
from frontend_samples import refuse, statements

import pypto
from pypto import ir

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def test_rebound_tensor_lives_in_a_variable():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        acc = x * 2
        for _ in pypto.loop(3):
            acc = acc + x
        out[:] = acc

    assert statements(kernel) == [
        "  %2 = mul(%0:x, 2)",
        "  declare %3:acc",
        "  %3:acc[:] = %2",
        "  loop i0 in (0, 3, 1)",
        "    %4 = add(%3:acc, %0:x)",
        "    %3:acc[:] = %4",
        "  %1:out[:] = %3:acc",
    ]


def test_names_set_before_they_are_read_are_not_carried():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([8, 4], FP32)):
        t = x * 2
        n = 5
        for i in pypto.loop(3):
            t = x[i : i + 1]
            n = i + 1
            out[n : n + 1] = t
        t = x * 3
        n = 4
        out[:] = t * n

    text = kernel.to_text()
    assert "declare" not in text


def test_values_move_as_if_at_once():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        a, b = x + 1, x + 2
        for _ in pypto.loop(3):
            a, b = b, a
        out[:] = a - b

    lines = statements(kernel)
    body = lines[lines.index("  loop i0 in (0, 3, 1)") + 1 : -2]
    assert body == ["    %6 = clone(%5:b)", "    %7 = clone(%4:a)", "    %4:a[:] = %6", "    %5:b[:] = %7"]


def test_nested_loops_carry_through():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        acc = x * 2
        for _ in pypto.loop(3):
            for _ in pypto.loop(2):
                acc = acc + x
        out[:] = acc

    assert statements(kernel)[3:-1] == [
        "  loop i0 in (0, 3, 1)",
        "    declare %4:acc",
        "    %4:acc[:] = %3:acc",
        "    loop i1 in (0, 2, 1)",
        "      %5 = add(%4:acc, %0:x)",
        "      %4:acc[:] = %5",
        "    %3:acc[:] = %4:acc",
    ]


def test_writes_in_a_loop_are_seen_through_every_alias():
    def helper(target, i):
        target[i : i + 1] = target[i : i + 1] * 2

    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([4, 4], FP32)):
        held = {"acc": x + 1}
        alias = held["acc"]
        for i in pypto.loop(3):
            helper(held["acc"], i)
        out[:] = alias

    lines = statements(kernel)
    variable = re.search(r"declare (%\d+:\w+)", "\n".join(lines)).group(1)
    assert lines[-1] == f"  %1:out[:] = {variable}"
    assert re.search(rf"assemble\(%\d+, \[i0, 0\], {variable}\)", "\n".join(lines))


def test_moved_objects_are_independent_of_their_source():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([4, 4], FP32)):
        a = x + 1
        b = x + 2
        a[:] = b
        b[0:1] = x[0:1]
        a[1:2] = x[0:1]
        out[:] = a + b

    text = kernel.to_text()
    sources = re.findall(r"(%\d+):\w+\[:\] = (%\d+)\n?", re.sub(r"  # line \d+", "", text))
    value = re.search(r"(%\d+) = add\(%0:x, 2\)", text).group(1)
    copies = [variable for variable, source in sources if source == value]
    assert len(copies) == 2
    assert re.search(rf"add\({copies[1]}:\w+, {copies[0]}:\w+\)", text)


def test_move_takes_over_the_shape():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([2, 4], FP32)):
        a = pypto.tensor([4, 4], FP32, "a")
        alias = a
        a[:] = x + 1
        a[:] = x[0:2] * 2
        assert alias.shape == [2, 4]
        out[:] = alias

    assert statements(kernel)[-1] == "  %1:out[:] = %5"


def test_unchanged_values_pass():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        n = 2
        for _ in pypto.loop(3):
            x[:] = x * n
            n = 4 // 2
        x[:] = x + n

    assert "mul(%0:x, 2)" in kernel.to_text()


def test_carried_tensors_keep_shape_and_dtype():
    @pypto.frontend.jit
    def shape(x: T([4, 4], FP32), out: T([1, 4], FP32)):
        acc = x + 1
        for _ in pypto.loop(3):
            acc = pypto.sum(acc, 0, keepdim=True)
        out[:] = acc

    @pypto.frontend.jit
    def dtype(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        for _ in pypto.loop(3):
            acc = pypto.cast(acc, pypto.DT_FP16)
        out[:] = acc

    @pypto.frontend.jit
    def kind(x: T([4], FP32), out: T([4], FP32)):
        acc = x + 1
        for _ in pypto.loop(3):
            acc = 3
        out[:] = acc

    refuse(shape, "acc = pypto.sum", "'acc' is [4, 4] DT_FP32 before the pypto.loop and [1, 4] DT_FP32 at the end")
    refuse(dtype, "acc = pypto.cast", "[4] DT_FP32 before the pypto.loop and [4] DT_FP16 at the end")
    refuse(kind, "acc = 3", "'acc' is a tensor before the pypto.loop and 3 at the end of its body", kind=TypeError)


def test_names_bound_anew_take_valid_extents_that_last():
    @pypto.frontend.jit
    def narrowed(x: T([pypto.DYN, 4], FP32), out: T([pypto.DYN, 4], FP32)):
        for i in pypto.loop(0, x.shape[0], 16):
            part = x[i : i + 16]
            acc = pypto.full([16, 4], 0.0, FP32, valid_shape=part.valid_shape)
            for j in pypto.loop(4):
                acc = acc + part * j
            out[i : i + 16] = acc

    text = narrowed.to_text()
    assert re.search(r"add\(%6, %5\) : FP32\[16, 4\] valid \[RUNTIME_Min\(\(x_0-i0\), 16\), 4\]", text)


def test_first_bound_in_the_body():
    @pypto.frontend.jit
    def certain(x: T([4], FP32), out: T([4], FP32)):
        for i in pypto.loop(3):
            y = x * i
        out[:] = y

    assert statements(certain)[0] == "  declare %2:y"
    assert statements(certain)[-1] == "  %1:out[:] = %2:y"


def test_binding_to_an_outer_tensor():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        other = x + 1
        acc = x + 2
        for _ in pypto.loop(3):
            acc = other
        other[0:1] = x[0:1]
        out[:] = acc

    @pypto.frontend.jit
    def in_the_loop(x: T([4], FP32), out: T([4], FP32)):
        other = x + 1
        acc = x + 2
        for _ in pypto.loop(3):
            other[0:1] = x[0:1]
            acc = other
        out[:] = acc

    for each in (kernel, in_the_loop):
        x, out = torch.randn(4), torch.zeros(4)
        each(x, out)
        expected = x + 1
        expected[0] = x[0]
        assert torch.equal(out, expected)


def test_binding_to_an_outer_tensor_that_nobody_writes():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), count: T([1], INT32)):
        start = x + 1
        acc = x * 0.0
        for i in pypto.loop(count[0]):
            if pypto.is_loop_begin(i):
                acc = start
            acc = acc * 2.0
        out[:] = acc + start

    @pypto.frontend.jit
    def latest(x: T([4], FP32), y: T([4], FP32), out: T([4], FP32), count: T([1], INT32)):
        acc = x
        for i in pypto.loop(count[0]):
            out[:] = acc
            acc = y

        out[:] = out + acc

    x, y = torch.randn(4), torch.randn(4)
    for n in (0, 1, 3):
        out, count = torch.zeros(4), torch.tensor([n], dtype=torch.int32)
        kernel(x, out, count)
        assert torch.equal(out, ((x + 1) * 2**n if n else x * 0) + (x + 1))
        out = torch.zeros(4)
        latest(x, y, out, count)
        assert torch.equal(out, [x, x + y, None, y + y][n])


def test_traces_that_do_not_settle(tmp_path):
    directory = str(tmp_path)

    def unstable():
        count = len(os.listdir(directory)) + 1
        os.mkdir(os.path.join(directory, str(count)))
        return count

    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32)):
        made = [x + k for k in range(unstable())]
        for _ in pypto.loop(3):
            made[-1][0:1] = x[0:1]
        x[:] = made[-1]

    from pypto.frontend.tracing import trace_kernel

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_kernel, "MAX_RETRACES", 5)
        with pytest.raises(RuntimeError, match="did not settle after 5 traces"):
            ir.compile(kernel)
