"""Names that branches and loops bind anew to objects of classes derived from list and dict, as in Python."""

import collections

import pytest
import torch

import pypto

FP32, INT32, T = pypto.DT_FP32, pypto.DT_INT32, pypto.Tensor


class Pair(list):
    def total(self):
        return self[0] + self[1]


class Table(dict):
    def twice(self):
        return self["a"] * 2


class Odd(list):
    """Shows other elements than it has."""

    def __init__(self, elements):
        list.__init__(self, elements)

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


def in_a_branch(x, n, loop):
    v = Pair([x, x * 2])
    if n > 0:
        v = Pair([x * 3, x * 4])
    return v.total()


def in_both_branches(x, n, loop):
    if n > 0:
        v = Table(a=x * 3)
    else:
        v = Table(a=x * 5)
    return v.twice()


def in_a_loop(x, n, loop):
    v = Pair([x, x * 2])
    for _ in loop(n):
        v = Pair([v[1], v[0] + v[1]])
    return v.total()


def of_numbers(x, n, loop):
    v = Pair([1, 2])
    for _ in loop(n):
        v = Pair([v[1], v[0] + v[1]])
    return x * v.total()


def a_dict_in_a_loop(x, n, loop):
    v = Table(a=x)
    for _ in loop(n):
        v = Table(a=v["a"] + 1)
    return v.twice()


def with_attributes(x, n, loop):
    v = Pair([x, x * 2])
    v.scale = x + 1.0
    for i in loop(n):
        w = Pair([v[1], v[0]])
        w.scale = v.scale * 2.0
        if i > 0:
            v = w
    return v.total() * v.scale + v[0]


def another_name_keeps_the_old_one(x, n, loop):
    v = w = Pair([x, x * 2])
    for _ in loop(n):
        v = Pair([v[1], v[0] + 1.0])
    return v.total() + w.total()


def elements_set_behind(x, n, loop):
    v = Table(a=x, b=x)
    if n > 1:
        v = Table(a=x * 2, b=x * 3)
    v["b"] = v["b"] + v["a"]
    return v["b"]


def an_ordered_dict(x, n, loop):
    v = collections.OrderedDict(a=x, b=x * 2)
    if n > 0:
        v = collections.OrderedDict(a=x * 4, b=x * 3)
    return list(v.values())[0] - v["b"]


def by_no_code_of_the_class(x, n, loop):
    v = Odd([x, x * 2])
    if n > 0:
        v = Odd([x * 3, x * 4])
    return v[0] + v[1]


BODIES = [
    in_a_branch, in_both_branches, in_a_loop, of_numbers, a_dict_in_a_loop, with_attributes,
    another_name_keeps_the_old_one, elements_set_behind, an_ordered_dict, by_no_code_of_the_class,
]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("body", BODIES)
def test_as_python(body, n):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), count: T([1], INT32), out: T([4], FP32)):
        out[:] = body(x, count[0], pypto.loop)

    x, out = torch.randn(4), torch.zeros(4)
    kernel(x, torch.tensor([n], dtype=torch.int32), out)
    torch.testing.assert_close(out, body(x, n, range))
