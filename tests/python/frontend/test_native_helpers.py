"""Helpers with what kernels cannot hold, the places of errors in expressions, and kernels with `*args`."""

import functools

import pytest
import torch
from frontend_samples import line_of

import pypto
from pypto import ir

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def tile_of(text):
    try:
        return int(text)
    except ValueError:
        return 4


def tiles(count):
    for index in range(count):
        yield index * 2


def tried(x):
    try:
        return x + 1
    finally:
        pass


def tried_by_itself():
    try:
        return pypto.zeros(8)
    finally:
        pass


def through(x):
    return x + tried_by_itself()


def parts(x):
    for index in range(2):
        yield x * index


def with_keywords(x, **keywords):
    return x + keywords["amount"]


class Adder:
    def add(self, x):
        try:
            return x + 1
        finally:
            pass


class Scaled:
    def __init__(self, factor):
        self.__factor = factor

    def __times(self, x):
        return x * self.__factor

    def of(self, x):
        for _ in pypto.loop(2):
            x = self.__times(x)
        return x


class Shifted(Scaled):
    def of(self, x):
        return super().of(x) + self._Scaled__factor


def test_methods_with_private_names_and_super():
    first, second = Scaled(2.0), Shifted(3.0)

    @pypto.frontend.jit
    def kernel(x: T([8], FP32), out: T([8], FP32)):
        out[:] = first.of(x) + second.of(x)

    x, out = torch.randn(8), torch.zeros(8)
    kernel(x, out)
    torch.testing.assert_close(out, x * 4 + x * 9 + 3)


def test_helpers_that_see_plain_values_only_are_ordinary_python():
    @pypto.frontend.jit
    def kernel(x: T([8], FP32), out: T([8], FP32)):
        tile = tile_of("2") + tile_of("?")
        total = with_keywords(x, amount=1.0)
        for offset in tiles(3):
            total = total + offset
        out[:] = total * tile

    x, out = torch.randn(8), torch.zeros(8)
    kernel(x, out)
    torch.testing.assert_close(out, (x + 7) * 6)


@pytest.mark.parametrize(
    ("helper", "word"),
    [(tried, "try"), (through, "try"), (parts, "yield"), (Adder().add, "try")],
)
def test_helpers_with_refused_syntax_that_see_the_running_kernel(helper, word):
    @pypto.frontend.jit
    def kernel(x: T([8], FP32), out: T([8], FP32)):
        for y in [helper(x)]:
            out[:] = y

    with pytest.raises(SyntaxError, match=f"Unsupported syntax: {word}. Instead: ") as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, pypto.CompileError)
    assert isinstance(caught.value, pypto.RenderedParserError)
    with open(__file__, encoding="utf-8") as file:
        line = file.read().splitlines()[caught.value.lineno - 1]
    assert line[caught.value.column :].startswith(word)


def test_symbolic_numbers_and_containers_count_as_well():
    def number(n):
        try:
            return n + 1
        finally:
            pass

    def listed(pair):
        try:
            return pair["x"][0]
        finally:
            pass

    @pypto.frontend.jit
    def of_number(x: T([8], FP32), n: T([1], INT32)):
        x[0] = number(n[0])

    @pypto.frontend.jit
    def of_list(x: T([8], FP32), out: T([8], FP32)):
        out[:] = listed({"x": [x]})

    for kernel in (of_number, of_list):
        with pytest.raises(SyntaxError, match="Unsupported syntax: try"):
            ir.compile(kernel)


def test_errors_inside_expressions_name_the_kernel():
    @pypto.frontend.jit
    def conditional(x: T([8], FP32), out: T([8], FP32)):
        out[:] = x if x.shape[0] > 100 else pypto.add(x, "a")

    @pypto.frontend.jit
    def listed(x: T([8], FP32), out: T([8], FP32)):
        out[:] = [pypto.add(y, "a") for y in (x,)][0]

    @pypto.frontend.jit
    def chained(x: T([8], FP32), out: T([8], FP32)):
        if x.shape[0] > 1 and pypto.add(x, "a"):
            out[:] = x

    for kernel in (conditional, listed, chained):
        with pytest.raises(pypto.CompileError, match="add\\(\\): expected a tensor or a number, got str") as caught:
            ir.compile(kernel)
        assert caught.value.lineno == line_of(kernel, "pypto.add")
        assert f", in {kernel.__name__}\n" in str(caught.value)


def test_kernels_take_no_variable_arguments():
    @pypto.frontend.jit
    def positional(x: T([8], FP32), *others):
        x[:] = x + 1

    @pypto.frontend.jit
    def keywords(x: T([8], FP32), **others):
        x[:] = x + 1

    for kernel, word in ((positional, "\\*others"), (keywords, "\\*\\*others")):
        with pytest.raises(SyntaxError, match=f"Unsupported syntax: {word} in the kernel. Instead: name") as caught:
            kernel(torch.zeros(8), torch.zeros(8))
        assert caught.value.lineno == line_of(kernel, "others")


class Stack:
    """Layers that can be gone through and called."""

    def __init__(self, *layers):
        self.layers = layers

    def __iter__(self):
        return iter(self.layers)

    def __call__(self, x):
        return functools.reduce(lambda value, layer: layer(value), self, x)


def test_objects_that_are_called_and_gone_through():
    stack = Stack(lambda x: x * 2.0, lambda x: x + 1.0)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        y = stack(x)
        for each in map(lambda layer: layer(x), stack):  # noqa: C417
            y = y + each
        out[:] = y

    x, out = torch.randn(4), torch.empty(4)
    kernel(x, out)
    torch.testing.assert_close(out, (x * 2 + 1) + x * 2 + (x + 1))


def test_a_raise_ends_a_path():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        y = x
        for _ in pypto.loop(3):
            kind = "double"
            if kind == "double":
                change = lambda value: value * 2.0  # noqa: E731
            else:
                raise ValueError(kind)
            y = change(y)
        out[:] = y

    x, out = torch.randn(4), torch.empty(4)
    kernel(x, out)
    assert torch.equal(out, x * 8)
