"""Names that stand for one of two tensors, depending on the running kernel: writes reach the right one."""

import itertools

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def either(a, b, n, m):
    t = a
    if n > 0:
        t = b
    t[0:2, :] = a[2:4, :]
    return t + b


def seen_through_the_others(a, b, n, m):
    p, q = a + 1, b * 2
    t = p if n > 0 else q
    p[0:1, :] = a[3:4, :]
    q[1:2, :] = b[3:4, :]
    r = t + 0
    t[2:3, :] = p[0:1, :] + q[1:2, :]
    return r + t * 3 + p * 5 + q * 7


def moved(a, b, n, m):
    p, q = a + 1, b * 2
    if n > 0:
        t = p
    else:
        t = q
    t[:] = a * 3
    p[:] = p + t
    return t + p * 3 + q * 5


def whole_of_itself(a, b, n, m):
    p, q = a + 1, b * 2
    t = p if n > 0 else q
    t[:] = p
    t[0:4, :] = q
    return t + p * 3 + q * 5


def chain(a, b, n, m):
    p = a + 1
    t = p
    if n > 0:
        t = b
    s = t
    if m > 0:
        s = a
    s[0:1, :] = p[1:2, :]
    p[1:2, :] = p[1:2, :] * 2
    t[2:3, :] = s[0:1, :]
    return p + t * 3 + s * 5


def nested(a, b, n, m):
    p, q = a + 1, b * 2
    t = p
    if n > 0:
        if m > 0:
            t = q
        else:
            t = a * 4
    t[0:2, :] = b[2:4, :]
    q[1:3, :] = a[1:3, :]
    return t + p * 3 + q * 5


def two_names_of_a_fresh_one(a, b, n, m):
    s, t = a + 1, b + 2
    if n > 0:
        s = a * b
        t = s
    s[0:1, :] = a[3:4, :]
    t[1:2, :] = b[3:4, :]
    return s + t * 3


def joined_in_a_branch(a, b, n, m):
    p, q = a + 1, b * 2
    s = p
    t = q
    if n > 0:
        u = p if m > 0 else a * 7
        s = u
        t = u
    s[0:1, :] = a[3:4, :]
    t[1:2, :] = b[3:4, :]
    p[2:3, :] = b[0:1, :]
    return s + t * 3 + p * 5 + q * 7


def in_loops(a, b, n, m):
    p, q = a + 1, b * 2
    for i in LOOP(4):
        t = p
        if i > n:
            t = q
        t[i : i + 1, :] = t[0:1, :] + 1
        if m > i:
            t[:] = t * 2
    return p + q * 3


def inside_a_loop_behind(a, b, n, m):
    p, q = a + 1, b * 2
    t = p if n > 0 else q
    for i in LOOP(3):
        t[i : i + 1, :] = q[3:4, :] + t[0:1, :]
        p[3:4, :] = p[3:4, :] + 1
    return t + p * 3 + q * 5


def bound_anew_in_a_loop(a, b, n, m):
    t = a if n > 0 else b
    for _ in LOOP(3):
        t[0:1, :] = b[1:2, :] + t[0:1, :]
        if m > 0:
            t = t + 1
    t[1:2, :] = a[0:1, :]
    return t


def two_names_of_the_old_one(a, b, n, m):
    p = a + 1
    t = s = p
    if n > 0:
        t = b * 2
        s = a * 3
    t[0:1, :] = a[3:4, :]
    s[1:2, :] = b[3:4, :]
    return t + s * 3


def in_a_list(a, b, n, m):
    p, q = a + 1, b * 2
    state = [p, q]
    if n > 0:
        state[0] = q
    state[0][0:1, :] = a[3:4, :]
    q[1:2, :] = a[2:3, :]
    return state[0] + p * 3 + q * 5


def through_a_helper(a, b, n, m):
    def chosen(p, q):
        if n > 0:
            return p
        return q

    p, q = a + 1, b * 2
    chosen(p, q)[0:1, :] = a[3:4, :]
    return p + q * 3


def another_name_of_the_old_one(a, b, n, m):
    t = a + 1
    alias = t
    if n > 0:
        t = b * 2
    t[0:1, :] = a[3:4, :]
    alias[1:2, :] = b[3:4, :]
    return t + alias * 3


LOOP = range
BODIES = [
    either, seen_through_the_others, moved, whole_of_itself, chain, nested, two_names_of_a_fresh_one,
    joined_in_a_branch, in_loops, inside_a_loop_behind, bound_anew_in_a_loop, two_names_of_the_old_one, in_a_list,
    through_a_helper, another_name_of_the_old_one,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_as_in_eager_torch(body, monkeypatch):
    @pypto.frontend.jit
    def kernel(a: T([4, 8], FP32), b: T([4, 8], FP32), k: T([2], INT32), out: T([4, 8], FP32)):
        out[:] = body(a, b, k[0], k[1])

    for n, m in itertools.product((0, 1, 2), (0, 3)):
        a, b, out = torch.randn(4, 8), torch.randn(4, 8), torch.zeros(4, 8)
        eager = [a.clone(), b.clone()]
        expected = body(*eager, n, m)
        with monkeypatch.context() as patch:
            patch.setitem(body.__globals__, "LOOP", pypto.loop)
            kernel(a, b, torch.tensor([n, m], dtype=torch.int32), out)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close([a, b], eager)


def test_a_parameter_of_dynamic_extent():
    @pypto.frontend.jit
    def kernel(a: T([pypto.DYN, 4], FP32), b: T([pypto.DYN, 4], FP32), k: T([1], INT32), x: T([2, 4], FP32)):
        cache = pypto.reshape(a, [a.shape[0], 4], inplace=True)
        for i in pypto.loop(2):
            part = x[i : i + 1, :] if i == k[0] else x[0:1, :] * 2
            part[0:1, 0:2] = x[1:2, 2:4]
            pypto.assemble(part, [i, 0], b)
        cache[0:2, :] = x

    for which in (0, 1):
        a, b, x = torch.zeros(5, 4), torch.zeros(3, 4), torch.randn(2, 4)
        kernel(a, b, torch.tensor([which], dtype=torch.int32), x)
        expected = torch.zeros(3, 4)
        for i in range(2):
            expected[i] = x[i] if i == which else x[0] * 2
            expected[i, 0:2] = x[1, 2:4]
        torch.testing.assert_close(b, expected)
        assert torch.equal(a[0:2], x)


def test_what_is_refused():
    @pypto.frontend.jit
    def shared_cells(x: T([4], FP32), k: T([1], INT32), out: T([4], FP32)):
        p = x + 1
        q = pypto.reshape(p, [2, 2], inplace=True)
        t = q if k[0] > 0 else pypto.reshape(x, [2, 2])
        p[0:1] = x[1:2]
        out[:] = pypto.reshape(t, [4])

    @pypto.frontend.jit
    def another_shape(x: T([4], FP32), k: T([1], INT32), out: T([2], FP32)):
        p, q = x + 1, x + 2
        t = p if k[0] > 0 else q
        t[:] = x[0:2] if k[0] > 1 else x[2:4]
        out[:] = t

    refuse(shared_cells, "p[0:1] = x[1:2]", "shares its cells (reshape in place) with one that may be another tensor")
    refuse(
        another_shape, "t[:] = x[0:2]", "a tensor keeps its shape when it is written inside a pypto.loop or a branch"
    )


@pytest.mark.parametrize("number", [0, 1, 2, 5, 10])
def test_two_tensors_that_change_places_often(number):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), k: T([1], INT32), out: T([2, 4], FP32)):
        p, q = x + 1, x * 2
        for position in range(10):
            if k[0] > position:
                p, q = q, p
        p[0:1] = x[1:2]
        q[1:2] = p[0:1] + q[1:2]
        out[0:1, :] = pypto.reshape(p, [1, 4])
        out[1:2, :] = pypto.reshape(q, [1, 4])

    x, out = torch.randn(4), torch.zeros(2, 4)
    p, q = (x * 2, x + 1) if number % 2 else (x + 1, x * 2)
    p[0] = x[1]
    q[1] += p[0]
    kernel(x, torch.tensor([number], dtype=torch.int32), out)
    torch.testing.assert_close(out, torch.stack([p, q]))


def test_too_many_others_are_refused():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), k: T([1], INT32), out: T([4], FP32)):
        p, q = x + 1, x + 2
        for number in range(150):
            if k[0] > number:
                p, q = q, p
        p[0:1] = x[1:2]
        out[:] = p + q

    refuse(kernel, "p[0:1] = x[1:2]", "the tensor may be one of more than 256 others, depending on conditions, and")


def test_many_conditions():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), k: T([1], INT32), out: T([4], FP32)):
        tensors = [x + number for number in range(8)]
        t = tensors[0]
        for number in range(1, 8):
            if k[0] > number:
                t = tensors[number]
        t[0:1] = x[3:4]
        total = tensors[0]
        for each in tensors[1:]:
            total = total + each
        out[:] = total + t

    for number in (0, 3, 9):
        x, out = torch.randn(4), torch.zeros(4)
        tensors = [x + each for each in range(8)]
        chosen = tensors[min(max(number - 1, 0), 7)]
        chosen[0] = x[3]
        kernel(x, torch.tensor([number], dtype=torch.int32), out)
        torch.testing.assert_close(out, sum(tensors) + chosen)


def test_updates_in_place_reach_the_right_one():
    @pypto.frontend.jit
    def kernel(
        a: T([4, 8], FP32), b: T([4, 8], FP32), k: T([1], INT32), i: T([2], INT32), v: T([2, 8], FP32),
        out: T([4, 8], FP32),
    ):  # fmt: skip
        t = a if k[0] > 0 else b
        pypto.index_add_(t, 0, i, v)
        pypto.index_put_(a, (i,), v, accumulate=True)
        t[3, k[0]] = 5.0
        pypto.axpy_(t, b, alpha=2.0)
        out[:] = t

    index = torch.tensor([2, 0])
    for number in (0, 1):
        a, b, v, out = torch.randn(4, 8), torch.randn(4, 8), torch.randn(2, 8), torch.zeros(4, 8)
        wanted = [a.clone(), b.clone()]
        t = wanted[0] if number > 0 else wanted[1]
        t.index_add_(0, index, v)
        wanted[0].index_put_((index,), v, accumulate=True)
        t[3, number] = 5.0
        t += wanted[1] * 2.0
        kernel(a, b, torch.tensor([number], dtype=torch.int32), index.int(), v, out)
        torch.testing.assert_close([a, b, out], [*wanted, t])
