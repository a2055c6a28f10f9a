"""Kernels of some lines on containers, what Python does with the same lines, and errors at one of them."""

import copy
import importlib.util
import itertools
import textwrap
import types
from dataclasses import dataclass

import pytest
import torch

import pypto

_numbers = itertools.count()

HEAD = """
import copy
from dataclasses import dataclass
import pypto

@dataclass
class Box:
    t: object

@dataclass(slots=True)
class Slot:
    t: object

@dataclass
class Held:
    _t: object

    @property
    def t(self):
        return self._t

    @t.setter
    def t(self, value):
        self._t = value

    def add(self, value):
        self._t = self._t + value

SHARED = [3, 4]

def choose(condition, a, b):
    if condition > 0:
        return a
    return b

def put(container, value):
    container[0] = value

def natively(one, other, value, **more):
    one[0] = value
    return other[0]

@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
def kernel(
    x: pypto.Tensor([4], pypto.DT_FP32),
    n: pypto.Tensor([1], pypto.DT_INT32),
    out: pypto.Tensor([8], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(4)
"""


def with_more(more):
    return HEAD.replace("SHARED = ", textwrap.dedent(more) + "\nSHARED = ", 1) if more else HEAD


def load(directory, body, more=""):
    path = directory / f"containers_{next(_numbers)}.py"
    path.write_text(with_more(more) + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def run(kernel, n):
    out = torch.zeros(8)
    kernel(torch.arange(1.0, 5.0), torch.tensor([n], dtype=torch.int32), out)
    return out


def eager(body, n, more=""):
    """What Python does with the same lines, on tensors of torch."""
    out = torch.zeros(8)
    head = with_more(more)
    head = head[head.index("@dataclass") : head.index("@pypto")]
    shim = types.SimpleNamespace(loop=range, loop_unroll=batches, is_loop_begin=lambda i: i == 0)
    names = {
        "pypto": shim, "copy": copy, "dataclass": dataclass,
        "x": torch.arange(1.0, 5.0), "n": [n], "out": out,
    }  # fmt: skip
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    exec(f"{head}\ndef program():\n{lines}\nprogram()", names)
    return out


def batches(start, stop, step, unroll_list):
    for factor in (*unroll_list, 1):
        while start + factor * step <= stop:
            yield start, factor * step
            start += factor * step


def follows(directory, body, numbers=(0, 1, 2, 3), more=""):
    """The kernel computes what Python does; `more` stands before it in its module."""
    kernel = load(directory, body, more)
    for n in numbers:
        assert run(kernel, n).tolist() == eager(body, n, more).tolist(), n


def refused(directory, body, kind, at, why, mark="", more=""):
    """The line `at` of the body is refused, at `mark`, with what to write instead."""
    lines = [each.strip() for each in textwrap.dedent(body).strip("\n").split("\n")]
    with pytest.raises(pypto.CompileError, match=f"a {kind} changes that may be the one of another name") as caught:
        run(load(directory, body, more), 1)
    assert isinstance(caught.value, ValueError)
    assert caught.value.lineno == with_more(more).count("\n") + 1 + lines.index(at)
    indent = len(textwrap.dedent(body).strip("\n").split("\n")[lines.index(at)]) - len(at)
    assert caught.value.column == 4 + indent + at.index(mark)
    assert f"and {why}. Instead: bind a new" in str(caught.value)
    assert "write into the tensor that it holds (x[:] = value)" in str(caught.value)


LENGTH = "the number or the keys of its elements change, which are fixed then"
AGAIN = "the statement can read it again before the other name sees the change"


BINDINGS = {
    "if": "if n[0] > 0:\n    L = M",
    "if and else": "if n[0] > 0:\n    L = M\nelse:\n    L = O",
    "loop": "for i in pypto.loop(n[0]):\n    L = M",
    "unrolled loop": "for i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):\n    L = M",
    "nested": "for i in pypto.loop(n[0]):\n    for j in pypto.loop(2):\n        if j == i:\n            L = M",
    "helper": "L = choose(n[0], M, L)",
    "tuple": "pair = (L, M)\nif n[0] > 0:\n    pair = (M, L)\nL = pair[0]",
    "dict": "held = {'k': L}\nif n[0] > 0:\n    held = {'k': M}\nL = held['k']",
}
KINDS = {"list": ("[{}]", "[0]"), "dict": ("{{0: {}}}", "[0]"), "Box": ("Box({})", ".t")}


def program(kind, binding, change):
    make, item = KINDS[kind]
    start = [f"{name} = {make.format(f'x * {factor}')}" for name, factor in (("L", 2.0), ("M", 3.0), ("O", 4.0))]
    lines = [*start, BINDINGS[binding], change.replace("@", item), f"out[0:4] = L{item}", f"out[4:8] = M{item}"]
    return "\n".join(lines)
