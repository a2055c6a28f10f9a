"""Random programs of five names for tensors, bound to each other and written into, against eager torch."""

import importlib.util
import itertools
import random

import pytest
import torch

import pypto
from pypto import ir

NAMES = ("a", "b", "p", "q", "t")
HEAD = """import pypto


def body(a, b, n, m, loop):
    z = a + b
    p = a * 0.5 + 1
    q = b * 0.5 + 2
    t = p
"""
TAIL = """    return z + a * 3 + b * 5 + p * 7 + q * 11 + t * 13


LOOP = {loop}
ROW = pypto.Tensor([4], pypto.DT_FP32)


@pypto.frontend.jit
def kernel(a: ROW, b: ROW, k: pypto.Tensor([2], pypto.DT_INT32), out: ROW):
    out[:] = body(a, b, k[0], k[1], LOOP)
"""


class Program:
    """The lines of one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0
        for _ in range(self.random.randint(3, 7)):
            self.statement(1, ())

    def name(self):
        return self.random.choice(NAMES)

    def condition(self, indices):
        known = ["n > 0", "m > 0", "n == 1", "n > m"]
        return self.random.choice(known + [text for i in indices for text in (f"{i} > n", f"{i} == 1")])

    def value(self):
        return f"{self.name()} * 0.5 + {self.random.randint(1, 9)}"

    def part(self):
        first = self.random.randint(0, 3)
        return f"{self.name()}[{first}:{first + 1}]"

    def statement(self, depth, indices):
        pad, kind = "    " * depth, self.random.random()
        if kind < 0.28:
            self.lines.append(f"{pad}{self.part()} = {self.part()} * 0.5 + {self.random.randint(1, 9)}")
        elif kind < 0.36:
            self.lines.append(f"{pad}{self.name()}[:] = {self.value()}")
        elif kind < 0.5:
            self.lines.append(f"{pad}{self.name()} = {self.value()}")
        elif kind < 0.64:
            self.lines.append(f"{pad}{self.name()} = {self.name()}")
        elif kind < 0.7:
            one, other = self.random.sample(NAMES, 2)
            self.lines.append(f"{pad}{one}, {other} = {other}, {one}")
        elif kind < 0.76:
            choice = f"{self.name()} if {self.condition(indices)} else {self.name()}"
            self.lines.append(f"{pad}{self.name()} = {choice}")
        elif kind < 0.9 and depth < 4:
            self.lines.append(f"{pad}if {self.condition(indices)}:")
            self.block(depth + 1, indices)
            if self.random.random() < 0.5:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, indices)
        elif depth < 3:
            index = f"i{self.loops}"
            self.loops += 1
            self.lines.append(f"{pad}for {index} in loop({self.random.randint(1, 4)}):")
            self.block(depth + 1, (*indices, index))
        else:
            self.lines.append(f"{pad}{self.name()}[0:2] = {self.name()}[2:4] + 1")

    def block(self, depth, indices):
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, indices)


def module_of(text, path):
    path.write_text(text)
    found = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


LOOPS = ["pypto.loop", "lambda *bounds: pypto.loop(*bounds, unroll_list=[2])"]


@pytest.mark.parametrize("loop", LOOPS, ids=["plain", "unrolled"])
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_as_in_eager_torch(first, loop, tmp_path):
    refused = 0
    for seed in range(first, first + 20):
        text = HEAD + "\n".join(Program(seed).lines) + "\n" + TAIL.format(loop=loop)
        module = module_of(text, tmp_path / f"program_{seed}.py")
        try:
            program = ir.compile(module.kernel)
        except pypto.CompileError as error:
            assert isinstance(error, ValueError), text
            refused += 1
            continue
        for n, m in itertools.product((0, 1, 2), (0, 1)):
            a, b, out = torch.randn(4), torch.randn(4), torch.zeros(4)
            eager = [a.clone(), b.clone()]
            expected = module.body(*eager, n, m, range)
            program(a, b, torch.tensor([n, m], dtype=torch.int32), out)
            torch.testing.assert_close([a, b, out], [*eager, expected], msg=lambda told, text=text: f"{told}\n{text}")
    assert refused <= 5
