"""Random programs of names that loops and branches bind to containers, first or anew, against eager Python."""

import random

import pytest
from eager_kernels import is_as_eager, module_of

import pypto

MAKES = {
    "list": ("[{}, {}]", ["[0]", "[1]"]),
    "dict": ("{{'a': {}, 'b': {}}}", ["['a']", "['b']"]),
    "Box": ("Box({}, {})", [".t", ".u"]),
    "nested": ("{{'l': [{}], 'u': {}}}", ["['l'][0]", "['u']"]),
    "tuple": ("({}, {})", ["[0]", "[1]"]),
    "mixed": ("[{}, 3, {}]", ["[0]", "[2]"]),
    "numbers": ("[{}, {}]", ["[0]", "[1]"]),
}
NAMES = ("K", "L", "M")
COUNTS = ["n[0]", "n[0]", "n[1]", "3", "1, n[0] + 1", "n[0], unroll_list=[2]"]
REFUSALS = ("of another name", "written into as well", "is bound only", "is read before", "more than 256 ways")


class Program:
    """The lines of one program."""

    def __init__(self, seed, make):
        self.random = random.Random(seed)
        self.kind, (self.make, self.steps) = make, MAKES[make]
        self.indices = []
        first, second = ("1", "2") if make == "numbers" else ("x * 2.0", "x")
        self.lines = ["T = x * 4.0"]
        bound = NAMES if self.random.random() < 0.4 else NAMES[1:]
        self.bound = list(bound)  # by a line above
        self.lines += [f"{name} = {self.make.format(first, second)}" for name in bound]
        for _ in range(self.random.randint(1, 2)):
            self.statement(0)
        self.loop(0)
        self.lines.append(self.output())

    def element(self):
        return self.random.choice(self.bound) + self.random.choice(self.steps)

    def binding(self, name):
        line = f"{name} = {self.container()}"
        self.bound = sorted({*self.bound, name})
        return line

    def value(self):
        if self.kind == "numbers":
            return self.random.choice(["1", "2", *self.indices, self.element(), self.element()])
        return self.random.choice(["x", "x * 2.0", "T", "T + 1.0", self.element(), self.element() + " + 1.0"])

    def container(self):
        if self.random.random() < 0.6:
            return self.make.format(self.value(), self.value())
        name, other = self.random.choices(self.bound, k=2)
        if self.kind == "list" and self.random.random() < 0.3:
            return self.random.choice([f"fresh({self.value()})", f"pick(n[0], {name}, {other})", f"kept({name}, n[0])"])
        return name

    def condition(self):
        if not self.indices or self.random.random() < 0.2:
            return self.random.choice(["n[0] > 1", "n[1] > 0", "n[0] == 2"])
        index = self.indices[-1]
        return self.random.choice(
            [f"{index} == 0", f"{index} > 0", f"{index} == 1", f"pypto.is_loop_begin({index})", f"{index} < n[1]"]
        )

    def output(self):
        first = self.random.randrange(4) * 4
        value = f"x + {self.element()}" if self.kind == "numbers" else f"{self.element()} + 0.0"
        return f"out[{first}:{first + 4}] = {value}"

    def change(self):
        """A statement that binds a name or changes what one holds."""
        kind = self.random.random()
        if kind < 0.45 or (self.kind == "tuple" and kind < 0.7):
            return self.binding(self.random.choice(NAMES))
        if kind < 0.7:
            return f"{self.element()} = {self.value()}"
        if self.kind == "numbers":
            return "T[:] = T + 1.0"
        return self.random.choice([f"{self.element()}[:] = x + 5.0", f"{self.element()}[0:2] = T[2:4]", "T = x * 3.0"])

    def statement(self, depth):
        pad, kind = "    " * depth, self.random.random()
        if kind < 0.45:
            self.lines.append(pad + self.change())
        elif kind < 0.6:
            self.lines.append(pad + self.output())
        elif kind < 0.88 and depth < 4:
            self.branch(depth, self.random.random() < 0.4)
        elif len(self.indices) < 2:
            self.loop(depth)

    def branch(self, depth, has_else):
        pad = "    " * depth
        self.lines.append(f"{pad}if {self.condition()}:")
        self.block(depth + 1, 2)
        if has_else:
            self.lines.append(f"{pad}else:")
            self.block(depth + 1, 2)

    def block(self, depth, most):
        for _ in range(self.random.randint(1, most)):
            self.statement(depth)
        self.lines.append("    " * depth + self.change())

    def loop(self, depth):
        pad, index = "    " * depth, "ijk"[len(self.indices)]
        self.indices.append(index)
        self.lines.append(f"{pad}for {index} in pypto.loop({self.random.choice(COUNTS)}):")
        if self.random.random() < 0.7:
            self.lines += [
                f"{pad}    if {index} == 0:",
                f"{pad}        {self.random.choice(NAMES)} = {self.container()}",
            ]
        self.block(depth + 1, 3)
        self.indices.pop()


@pytest.mark.parametrize("make", MAKES)
def test_as_in_eager_python(make, tmp_path):
    refused = 0
    for seed in range(25):
        body = "\n".join(Program(seed, make).lines)
        module = module_of(tmp_path, body)
        kernel = pypto.frontend.jit(module.kernel)
        for numbers in ((0, 1), (2, 0), (3, 2)):
            try:
                is_as_eager(module, kernel, numbers)
            except pypto.CompileError as error:
                assert any(text in str(error) for text in REFUSALS), f"{error}\n{body}"
                refused += 1
                break
            except AssertionError as error:
                raise AssertionError(f"{numbers}: {error}\n{body}") from None
    assert refused <= 15
