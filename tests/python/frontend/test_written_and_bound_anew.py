"""A name of a loop that is written into (`x[a:b] = v`) and bound anew (`x = x + 1`), as eager torch has it."""

import functools

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor
N = pypto.DYN


def write_then_bind(x, acc, loop):
    for i in loop(4):
        acc[i : i + 1, :] = x[i : i + 1, :]
        acc = acc + x
    return acc


def bind_then_write(x, acc, loop):
    for i in loop(4):
        acc = acc * 0.5
        acc[i : i + 1, :] = x[i : i + 1, :] + acc[0:1, :]
    acc[0:1, :] = acc[1:2, :]
    return acc


def nested(x, acc, loop):
    for _ in loop(2):
        for j in loop(3):
            acc[j : j + 1, :] = acc[j : j + 1, :] + x[j : j + 1, :]
            acc = acc * 2
        acc[3:4, :] = acc[0:1, :]
    acc[2:3, :] = acc[3:4, :]
    return acc


def inner_writes_outer_binds(x, acc, loop):
    for _ in loop(3):
        for j in loop(4):
            acc[j : j + 1, :] = acc[j : j + 1, :] + x[j : j + 1, :]
        acc = acc * 0.5
    return acc


def branches(x, acc, loop):
    for i in loop(4):
        acc[3:4, :] = acc[3:4, :] + 1
        if i < 2:
            acc[i : i + 1, :] = x[i : i + 1, :]
        else:
            acc = acc + x
    return acc


def two_names(x, acc, loop):
    other = x * 2
    for i in loop(4):
        acc[i : i + 1, :] = other[0:1, :]
        other[i : i + 1, :] = x[i : i + 1, :]
        acc = acc + other
        other = other - 1
    return acc + other


def previous(x, acc, loop):
    before = x * 0
    for i in loop(4):
        acc[i : i + 1, :] = x[i : i + 1, :] + before[0:1, :]
        before = acc
        acc = acc + 1
    return acc + before


def as_value(view):
    """Views are values in a kernel, and other names of the same cells in torch."""
    return view.clone() if isinstance(view, torch.Tensor) else view


def views(x, acc, loop):
    total = x * 0
    for i in loop(4):
        old = as_value(acc[0:2, :])
        acc[0:2, :] = x[0:2, :] + 1
        acc = acc + x
        total[0:2, :] = total[0:2, :] + old
    return total + acc


def in_a_list(x, acc, loop):
    state = [acc, x + 1]
    for i in loop(3):
        state[0][i : i + 1, :] = state[1][i : i + 1, :]
        state[0] = state[0] + x
    return state[0] + state[1]


BODIES = [
    write_then_bind, bind_then_write, nested, inner_writes_outer_binds, branches, two_names, previous, views, in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("unroll_list", [None, [2]])
def test_as_in_eager_torch(body, unroll_list):
    def loop(*bounds):
        return pypto.loop(*bounds, unroll_list=unroll_list) if unroll_list else pypto.loop(*bounds)

    @pypto.frontend.jit
    def kernel(x: T([4, 8], FP32), out: T([4, 8], FP32)):
        acc = x + 3
        out[:] = body(x, acc, loop)

    x, out = torch.randn(4, 8), torch.zeros(4, 8)
    kernel(x, out)
    torch.testing.assert_close(out, body(x, x + 3, range))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_loop_that_may_not_run(n):
    @pypto.frontend.jit
    def kernel(x: T([N, 8], FP32), out: T([4, 8], FP32)):
        acc = pypto.full([4, 8], 2.0, FP32)
        for i in pypto.loop(x.shape[0]):
            acc[i : i + 1, :] = x[i : i + 1, :]
            acc = acc + 1
        acc[3:4, :] = acc[0:1, :]
        out[:] = acc

    x, out = torch.randn(n, 8), torch.zeros(4, 8)
    kernel(x, out)
    expected = torch.full((4, 8), 2.0)
    for i in range(n):
        expected[i] = x[i]
        expected = expected + 1
    expected[3] = expected[0]
    torch.testing.assert_close(out, expected)


def alias(x, out, loop):
    acc = x + 1
    other = acc
    for _ in loop(3):
        acc[0:2] = x[0:2]
        acc = acc + x
    out[:] = acc + other


def inside(x, out, loop):
    acc = x + 1
    other = acc
    for _ in loop(3):
        out[:] = other
        acc[0:2] = x[0:2] * 3
        acc = acc + x
    out[:] = acc + out


def from_outside(x, out, loop):
    base = x + 1
    for _ in loop(2):
        acc = base
        for _ in loop(3):
            acc[0:2] = acc[0:2] + x[0:2]
            acc = acc + x
        out[:] = out + acc
    out[:] = out + base


def parameter(x, out, loop):
    for _ in loop(3):
        out[0:2] = x[0:2]
        out = out + x
    x[:] = out


def both_carried(x, out, loop):
    acc = x + 1
    a_name = acc
    for _ in loop(3):
        acc[0:2] = a_name[2:4]
        a_name = a_name * 2
        acc = acc + x
    out[:] = acc + a_name


def end_as_one(x, out, loop):
    acc = x + 1
    before = x + 2
    for _ in loop(3):
        out[:] = out + before
        acc[0:2] = x[0:2]
        acc = acc + x
        before = acc
    out[:] = out + acc
    before[3:4] = x[0:1]
    out[:] = out + acc * 3


def taken(x, out, loop):
    acc = x + 1
    other = x + 2
    for _ in loop(3):
        acc[0:2] = x[0:2]
        acc, other = other, acc + x
    out[:] = acc + other


def swapped(x, out, loop):
    one, other = x, out
    for _ in loop(3):
        one[0:1] = one[0:1] + other[1:2] + 1
        one, other = other, one
    one[2:3] = x[3:4] * 2


def one_of_a_table(x, out, loop):
    table = {"one": [x + 2, out + 3]}
    acc = x + 1
    for i in loop(4):
        acc[0:2] = x[0:2] * 2
        acc = table["one"][1]
        if i == 2:
            acc = table["one"][0]
    out[:] = acc + table["one"][0] * 3 + table["one"][1] * 5


def now_and_then(x, out, loop):
    for i in loop(4):
        if i == 2:
            out = out * 2
        out[:] = out + x
        x[1:2] = out[0:1]
    x[:] = x + out


def in_two_loops(x, out, loop):
    acc = x
    for i in loop(2):
        for _ in loop(2):
            acc[0:1] = acc[0:1] + 1
            if i == 1:
                acc = acc + x
        acc[1:2] = x[2:3] * 2
    out[:] = acc


def whichever(x, out, loop):
    acc = x + 1
    kept = out
    for i in loop(4):
        if i < 2:
            kept = acc
        acc[0:1] = kept[1:2] + 1
        kept[2:3] = acc[0:1] * 2
        if i == 2:
            acc = kept * 3
    out[:] = out + acc * 3 + kept * 5


def held_in_a_list(x, out, loop):
    state = [x, out]
    for _ in loop(3):
        state[0][0:1] = state[1][1:2] + 1
        state[0], state[1] = state[1], state[0]
    state[0][3:4] = x[0:1]


SHARED = [
    alias, inside, from_outside, parameter, both_carried, end_as_one, taken, swapped, now_and_then, in_two_loops,
    whichever, held_in_a_list, one_of_a_table,
]  # fmt: skip


@pytest.mark.parametrize("body", SHARED, ids=lambda body: body.__name__)
@pytest.mark.parametrize("unroll_list", [None, [2]])
def test_tensors_with_other_names(body, unroll_list):
    def loop(*bounds):
        return pypto.loop(*bounds, unroll_list=unroll_list) if unroll_list else pypto.loop(*bounds)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        body(x, out, loop)

    x, out = torch.randn(4), torch.randn(4)
    expected = [x.clone(), out.clone()]
    body(*expected, range)
    kernel(x, out)
    torch.testing.assert_close([x, out], expected)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_loop_that_may_leave_a_name_as_it_was(n):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), count: T([1], INT32), out: T([4], FP32)):
        acc = x
        for _ in pypto.loop(count[0]):
            acc[0:1] = acc[1:2] + 1
            acc = acc * 2
        acc[3:4] = acc[0:1]
        out[:] = acc

    x, out = torch.randn(4), torch.zeros(4)
    wanted = x.clone()
    acc = wanted
    for _ in range(n):
        acc[0:1] = acc[1:2] + 1
        acc = acc * 2
    acc[3:4] = acc[0:1]
    kernel(x, torch.tensor([n], dtype=torch.int32), out)
    torch.testing.assert_close([x, out], [wanted, acc])


def test_what_cannot_be_followed():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), k: T([1], INT32), out: T([4], FP32)):
        if k[0] > 0:
            acc = x + 1
        for _ in pypto.loop(3):
            acc[0:2] = x[0:2]
            acc = acc + x
        out[:] = acc

    refuse(kernel, "acc[0:2] = x[0:2]", "'acc' is bound anew in the loop and cannot be written into as well")


class Holder:
    def __init__(self, tensor):
        self.tensor = tensor


HELD = {
    "an attribute": lambda other: functools.partial(getattr, Holder(other), "tensor"),
    "an element": lambda other: functools.partial(lambda held: held[0][1], [(1, other)]),
    "a captured name": lambda other: lambda: other,
    "a default": lambda other: lambda held=other: held,
    "a partial": lambda other: functools.partial(lambda held: held, other),
    "a value of a dict": lambda other: {"held": other}.get,
}


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("kind", HELD)
def test_a_name_becomes_a_tensor_that_something_holds(kind, n):
    hold, arguments = HELD[kind], ("held",) if kind == "a value of a dict" else ()

    def looped(x, acc, pick, loop):
        for _ in loop:
            acc[0:2] = x[0:2] + acc[2:4]
            acc = pick(*arguments)
            acc[1:3] = acc[0:2] + 1
        return acc

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), count: T([1], INT32), out: T([4], FP32), beside: T([4], FP32)):
        other = x + 2
        out[:] = looped(x, x + 1, hold(other), pypto.loop(count[0]))
        beside[:] = other

    x, out, beside = torch.randn(4), torch.zeros(4), torch.zeros(4)
    other = Eager(x + 2)
    wanted = looped(Eager(x), Eager(x + 1), hold(other), range(n))
    kernel(x, torch.tensor([n], dtype=torch.int32), out, beside)
    torch.testing.assert_close([out, beside], [wanted.value, other.value])


class Eager:
    """A tensor whose slices are values, as in a kernel."""

    def __init__(self, value):
        self.value = value

    def __getitem__(self, key):
        return Eager(self.value[key].clone())

    def __setitem__(self, key, value):
        self.value[key] = value.value

    def __add__(self, other):
        return Eager(self.value + (other.value if isinstance(other, Eager) else other))
