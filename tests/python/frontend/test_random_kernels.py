"""Random kernels of assignments, aliases, writes, loops and branches give what Python gives, or are refused."""

import random

import pytest
import torch

import pypto

NAMES = "abcd"
SEEDS_PER_TEST = 40

HELPERS = """
import pypto


def bump(t, k):
    t[0:1] = t[0:1] + k


def pick(u, v, n):
    if n > 1:
        w = u * 0.5
    else:
        w = u + v
    return w


def kernel(x: pypto.Tensor([2, 2], pypto.DT_FP32), out: pypto.Tensor([8, 2], pypto.DT_FP32), n: int):
    a = x + 0
    b = x + 1
    c = x * 0.5
    d = pypto.clone(a)
"""
RESULTS = "".join(f"    out[{2 * k} : {2 * k + 2}] = {name}\n" for k, name in enumerate(NAMES))


class Reference:
    """A tensor object as Python sees it: writes are seen through every alias, slices are values."""

    def __init__(self, data):
        self.data = data

    def __add__(self, other):
        return Reference(self.data + getattr(other, "data", other))

    def __mul__(self, other):
        return Reference(self.data * getattr(other, "data", other))

    def __getitem__(self, key):
        return Reference(self.data[key].clone())

    def __setitem__(self, key, value):
        changed = self.data.clone()
        changed[key] = value.data
        self.data = changed


class ReferenceModule:
    """Stands for `pypto` when a kernel runs as plain Python."""

    Tensor, DT_FP32 = pypto.Tensor, pypto.DT_FP32
    loop = staticmethod(range)

    @staticmethod
    def clone(x):
        return Reference(x.data.clone())


class Writer:
    """Writes the body of a random kernel."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.indices: list[str] = []
        self.loops = 0

    def name(self) -> str:
        return self.random.choice(NAMES)

    def value(self) -> str:
        forms = [
            f"{self.name()} + {self.name()}",
            f"{self.name()} * 0.25",
            f"{self.name()} + {self.random.randrange(1, 4)}",
            f"pypto.clone({self.name()})",
            f"{self.name()} + {self.name()} * 0.5",
        ]
        if self.indices:
            forms.append(f"{self.name()} * 0.5 + {self.random.choice(self.indices)}")
        return self.random.choice(forms)

    def condition(self) -> str:
        k = self.random.randrange(3)
        forms = [f"n > {k}", f"n == {k}"]
        if self.indices:
            i = self.random.choice(self.indices)
            forms += [f"{i} == 0", f"{i} > 0 and n > {k}", f"not {i} == 1", f"{i} % 2 == 0 or n == 2"] * 2
        return self.random.choice(forms)

    def simple(self) -> str:
        row = self.random.choice(["0:1", "1:2"])
        return self.random.choice(
            [
                f"{self.name()} = {self.value()}",
                f"{self.name()} = {self.value()}",
                f"{self.name()} = {self.name()}",
                f"{self.name()}[:] = {self.value()}",
                f"{self.name()}[:] = {self.name()}",
                f"{self.name()}[{row}] = {self.name()}[1:2]",
                f"bump({self.name()}, {self.random.randrange(1, 3)})",
                f"{self.name()} = pick({self.name()}, {self.name()}, n)",
            ]
        )

    def block(self, indent: int) -> str:
        for _ in range(self.random.randrange(1, 5)):
            kind = self.random.random()
            if kind < 0.7 or indent > 3:
                self.lines.append("    " * indent + self.simple())
            elif kind < 0.86:
                index = f"i{self.loops}"
                self.loops += 1
                self.lines.append("    " * indent + f"for {index} in pypto.loop({self.random.choice('123n')}):")
                self.indices.append(index)
                self.block(indent + 1)
                self.indices.pop()
            else:
                self.lines.append("    " * indent + f"if {self.condition()}:")
                self.block(indent + 1)
                if self.random.random() < 0.5:
                    self.lines.append("    " * indent + "else:")
                    self.block(indent + 1)
        return "\n".join(self.lines)


PARAMETERS = """
import pypto


def bump(t, k):
    t[0:1] = t[0:1] + k


def pick(x, y, n):
    if n > 0:
        x = y + 1
    return x


def grow(x, y):
    for _ in pypto.loop(2):
        x = x * 0.5
        y = x + y
    return y


def kernel(
    x: pypto.Tensor([2, 2], pypto.DT_FP32),
    y: pypto.Tensor([2, 2], pypto.DT_FP32),
    out: pypto.Tensor([16, 2], pypto.DT_FP32),
    n: int,
):
    a = x + 0
    b = x + 1
    c = x * 0.5
    d = pypto.clone(a)
    s = [x * 2, b]
    e = {"k": c}
    p = (x * 0.25, d + 1)
"""
HELD = ("a", "b", "c", "d", "s[0]", "e['k']", "p[0]", "p[1]")


class ParameterWriter(Writer):
    """Kernels that bind parameters anew, call helpers whose parameters have their names, and hold tensors."""

    def name(self) -> str:
        return self.random.choice(NAMES + "xy")

    def simple(self) -> str:
        if self.random.random() > 0.4:
            return super().simple()
        return self.random.choice(
            [
                f"{self.name()} = grow({self.name()}, {self.name()})",
                f"{self.name()} = pick({self.name()}, {self.name()}, n)",
                f"s[{self.random.randrange(2)}] = {self.value()}",
                f"s[{self.random.randrange(2)}][0:1] = {self.name()}[0:1]",
                f"{self.name()} = s[{self.random.randrange(2)}]",
                f"e['k'] = {self.name()} + s[1]",
                f"{self.name()} = e['k'] * 0.5",
                f"{self.name()}, {self.name()} = {self.name()}, {self.name()}",
                f"y = {self.value()}",
                f"p = ({self.name()} + p[1], p[0])",
                f"p = (p[1], {self.name()} + 0)",
                f"{self.name()} = p[{self.random.randrange(2)}] * 0.5",
            ]
        )


def load(path, package):
    scope = {"__name__": "random_kernels"}
    source = path.read_text()
    exec(compile(source, str(path), "exec"), scope)
    scope["pypto"] = package
    return scope["kernel"]


@pytest.mark.parametrize("first", range(0, 4 * SEEDS_PER_TEST, SEEDS_PER_TEST))
def test_random_kernels(first, tmp_path):
    compared = 0
    for seed in range(first, first + SEEDS_PER_TEST):
        path = tmp_path / f"kernel_{seed}.py"
        path.write_text(HELPERS + Writer(seed).block(1) + "\n" + RESULTS)
        try:
            compiled = pypto.frontend.jit(load(path, pypto)).compile()
        except pypto.CompileError:
            continue
        compared += 1
        plain = load(path, ReferenceModule)
        for n in (0, 1, 3):
            x = torch.arange(4, dtype=torch.float32).reshape(2, 2) * 0.25 + 0.5
            out = torch.zeros(8, 2)
            compiled(x, out, n)
            expected = Reference(torch.zeros(8, 2))
            plain(Reference(x.clone()), expected, n)
            torch.testing.assert_close(out, expected.data, msg=lambda text, path=path: f"{text}\n{path.read_text()}")
    assert compared >= SEEDS_PER_TEST // 2


@pytest.mark.parametrize("first", range(0, 3 * SEEDS_PER_TEST, SEEDS_PER_TEST))
def test_random_kernels_that_bind_parameters(first, tmp_path):
    results = "".join(f"    out[{2 * k} : {2 * k + 2}] = {name}\n" for k, name in enumerate(HELD))
    compared = 0
    for seed in range(first, first + SEEDS_PER_TEST):
        path, plain_path = tmp_path / f"kernel_{seed}.py", tmp_path / f"plain_{seed}.py"
        path.write_text(PARAMETERS + ParameterWriter(seed).block(1) + "\n" + results)
        plain_path.write_text(path.read_text() + "    FINAL.append(y)\n")
        try:
            compiled = pypto.frontend.jit(load(path, pypto)).compile()
        except pypto.CompileError:
            continue
        compared += 1
        plain = load(plain_path, ReferenceModule)
        for n in (0, 1, 3):
            final: list = []
            plain.__globals__["FINAL"] = final
            x = torch.arange(4, dtype=torch.float32).reshape(2, 2) * 0.25 + 0.5
            y, out = x + 2, torch.zeros(16, 2)
            expected = [Reference(x.clone()), Reference(y.clone()), Reference(torch.zeros(16, 2))]
            compiled(x, y, out, n)
            plain(*expected, n)
            got = [(x, expected[0]), (out, expected[2])]
            # A parameter that is only bound anew is an output.
            got.append((y, expected[1] if torch.allclose(y, expected[1].data) else final[0]))
            for value, reference in got:
                torch.testing.assert_close(value, reference.data, msg=lambda text, path=path: f"{text}\n{path}")
    assert compared >= SEEDS_PER_TEST // 2
