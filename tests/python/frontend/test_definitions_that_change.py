"""Attributes of classes, modules and functions that a loop or branch of the running kernel changes."""

import pytest
from container_programs import follows, load, run
from eager_kernels import check_afresh, module_of
from eager_kernels import run as run_eager

import pypto

MORE = """
import sys
import types

class Counts:
    number, held, tensor = 0, [0], None
    __private = 0

    def bump(self):
        type(self).number += 1

    def own(self):
        self.number += 1

state = types.ModuleType("state_of_the_user")
state.number, state.held = 0, [0]

def counted(value):
    counted.number += 1
    return value

class Adds:
    def __add__(self, other):
        Counts.number += other
        return other
"""
START = "Counts.number, Counts.held, state.number, state.held, counted.number = 0, [0], 0, [0], 0\n"


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("Counts.number += 1", "Counts.number"),
        ("Counts.held[0] += 1", "Counts.held[0]"),
        ("Counts().bump()", "Counts.number"),
        ("Counts.number = n[0]", "Counts.number"),
        ("state.number += 1", "state.number"),
        ("state.held[0] += 1", "state.held[0]"),
        ("y = counted(x)", "counted.number"),
        ("y = Adds() + 2", "Counts.number"),
        ("setattr(Counts, 'number', 7)", "Counts.number"),
    ],
)
@pytest.mark.parametrize("where", ["for i in pypto.loop(n[0]):\n    ", "if n[0] > 1:\n    "])
def test_it_changes_when_the_kernel_runs(tmp_path, where, change, value):
    follows(tmp_path, f"{START}{where}{change}\nout[0:4] = x * {value}", more=MORE)


@pytest.mark.parametrize("held", ["Counts.held", "state.held"])
def test_a_list_that_one_holds_may_be_another_name_s(tmp_path, held):
    start = f"{START}{held} = [x]\nM = [x * 2.0]\nL = {held}\nif n[0] > 1:\n    L = M\n"
    body = f"{start}L[0] = x * 5.0\nout[0:4] = {held}[0]"
    follows(tmp_path, f"{body}\nout[4:8] = M[0]", more=MORE)


def test_a_tensor_of_a_class_is_carried(tmp_path):
    body = "Counts.tensor = x\nfor i in pypto.loop(n[0]):\n    Counts.tensor = Counts.tensor + 1.0"
    follows(tmp_path, f"{body}\nout[0:4] = Counts.tensor", more=MORE)


@pytest.mark.parametrize(("where", "what"), [("for i in pypto.loop(n[0]):", "loop"), ("if n[0] > 0:", "branch")])
def test_an_attribute_of_the_class_becomes_one_of_the_object(tmp_path, where, what):
    with pytest.raises(pypto.CompileError, match=rf"C \(its length went from 0 to 1\) changes in a .*{what}"):
        run(load(tmp_path, f"C = Counts()\n{where}\n    C.number = 5\nout[0:4] = x * C.number", MORE), 1)


CODE = """
def f(a=1, *, k=2):
    return a + k

def g(a=5, *, k=7):
    return a * 10 + k

def other(self, *more):
    return 30

class C:
    def m(self):
        return 3

    @staticmethod
    def s():
        return 4

    @property
    def p(self):
        return 5

    def __add__(self, o):
        return 6

class D(C):
    pass

c, d = C(), D()

def sets_code():
    f.__code__ = g.__code__
"""
USE = "q = f() + c.m() * 100 + c.s() * 1000 + c.p * 10000 + (c + 1) * 7 + d.m() * 3"
CHANGES = [
    "f.__code__ = g.__code__", "f.__defaults__ = (9,)", "f.__kwdefaults__ = {'k': 11}", "f.__kwdefaults__['k'] = 13",
    "sets_code()", "C.m = other", "C.s = staticmethod(g)", "C.p = property(other)", "C.__add__ = other",
    "D.m = other", "setattr(C, 'm', other)", "type.__setattr__(C, 'm', other)", "C.m.__code__ = other.__code__",
    "C.__call__ = other",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_code_that_the_kernel_changes(tmp_path, change):
    start = f"{change}\n{USE}\nif n[0] > 1:\n    x = x + 1.0\nout[0:4] = x * q"
    check_afresh(tmp_path, start, (2, 0), CODE)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("where", ["if n[0] > 1:", "for i in pypto.loop(n[0]):"])
def test_code_changes_under_no_condition(tmp_path, change, where):
    module = module_of(tmp_path, f"{where}\n    {change}\n{USE}\nout[0:4] = x * q", CODE)
    with pytest.raises(pypto.PyptoError, match=r"\((a method|its code or a default value)\) changes in a|length went"):
        run_eager(pypto.frontend.jit(module.kernel), (0, 0))
