"""What helpers change outside of kernels: globals, default values, attributes of classes; and copies of tensors."""

import copy
import dataclasses
import itertools

import pytest
import torch
from frontend_samples import refuse

import pypto

T = pypto.Tensor
FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
NUMBERS = T([1], INT32)
OUT = T([4], FP32)
REGISTER = {"a": 0}


class Counter:
    count = 0
    items = [0]  # noqa: RUF012  shared on purpose

    def hit(self):
        Counter.count = 5
        return 1

    def put(self, value):
        type(self).items[0] = value


@dataclasses.dataclass
class Pair:
    t: object
    u: object


def tick(value):
    REGISTER["a"] = value
    return value


def tick_twice(value):
    return tick(value + 1)


def read():
    return REGISTER["a"]


def keep(value, held=[0]):  # noqa: B006  shared on purpose
    held[0] = held[0] + value
    return held[0]


def check(kernel, expected):
    for number, value in expected.items():
        out = torch.zeros(4)
        kernel(torch.tensor([number], dtype=torch.int32), out)
        assert out.tolist() == [value] * 4


def full(value):
    return pypto.full([4], value, FP32)


def test_globals_that_only_helpers_name():
    @pypto.frontend.jit
    def branch(n: NUMBERS, out: OUT):
        tick(1)
        if n[0] > 0:
            tick_twice(4)
        out[:] = full(read())

    @pypto.frontend.jit
    def loop(n: NUMBERS, out: OUT):
        tick(1)
        for i in pypto.loop(n[0]):
            tick(read() * 2 + i)
        out[:] = full(read())

    @pypto.frontend.jit
    def operand(n: NUMBERS, out: OUT):
        tick(1)
        found = n[0] > 0 and tick_twice(4) > 0
        out[:] = full(read() * 10 + found)

    check(branch, {0: 1, 1: 5})
    check(loop, {0: 1, 1: 2, 3: 12})
    check(operand, {0: 10, 2: 51})
    assert REGISTER == {"a": 1}  # what no condition of the kernel decides happens once


def test_default_values_of_parameters():
    @pypto.frontend.jit
    def inner(n: NUMBERS, out: OUT):
        def add(value, held=[0]):  # noqa: B006
            held[0] = held[0] + value
            return held[0]

        if n[0] > 0:
            add(5)
        out[:] = full(add(2))

    @pypto.frontend.jit
    def outer(n: NUMBERS, out: OUT):
        found = n[0] > 0 and keep(5) > 0
        out[:] = full(keep(2) * 10 + found)

    check(inner, {0: 2, 1: 7})
    check(outer, {0: 20, 1: 71})
    assert keep.__defaults__ == ([0],)


def test_attributes_of_classes():
    @pypto.frontend.jit
    def attribute(n: NUMBERS, out: OUT):
        counter = Counter()
        out[:] = full(counter.hit() if n[0] > 0 else Counter.count)

    @pypto.frontend.jit
    def element(n: NUMBERS, out: OUT):
        if n[0] > 0:
            Counter().put(4)
        out[:] = full(Counter.items[0])

    check(attribute, {0: 0, 1: 1})
    check(element, {0: 0, 1: 4})
    assert Counter.count == 0
    assert Counter.items == [0]


def test_iterators_are_no_state_of_the_running_kernel():
    @pypto.frontend.jit
    def generator(n: NUMBERS, out: OUT):
        values = (value for value in range(9))
        if n[0] > 0:
            next(values)
        out[:] = full(next(values))

    @pypto.frontend.jit
    def counter(n: NUMBERS, out: OUT):
        values = itertools.count()
        found = n[0] > 0 and next(values) > 0
        out[:] = full(next(values) + found)

    refuse(generator, "next(values)", "values['position'] changes in a branch on a symbolic condition")
    refuse(counter, "found = n[0] > 0 and «next(values) > 0", "values['next element'] changes in a branch")


@pytest.mark.parametrize("copied", [copy.deepcopy, dataclasses.asdict, dataclasses.astuple])
def test_deep_copies_have_tensors_of_their_own(copied):
    @pypto.frontend.jit
    def kernel(n: NUMBERS, out: OUT):
        pair = Pair(full(n[0]), n[0])
        if n[0] > 1:
            pair = Pair(full(7), 3)
        other = copied(pair)
        pair.t[:] = full(100)
        if copied is copy.deepcopy:
            out[:] = other.t * other.u
        elif copied is dataclasses.asdict:
            out[:] = other["t"] * other["u"]
        else:
            out[:] = other[0] * other[1]

    check(kernel, {0: 0, 1: 1, 2: 21})


def test_shallow_copies_of_tensors():
    @pypto.frontend.jit
    def kernel(x: OUT, out: OUT):
        y = copy.copy(x)
        out[:] = y

    with pytest.raises(pypto.CompileError, match=r"Instead: y = pypto\.clone\(x\)"):
        kernel(torch.zeros(4), torch.zeros(4))
