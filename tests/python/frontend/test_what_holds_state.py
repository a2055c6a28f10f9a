"""Objects that hold state beside their elements or attributes: what changes under a condition is seen there too."""

import pytest
from container_programs import follows, load, run

import pypto

LOOP = "for i in pypto.loop(n[0]):\n    "
BRANCH = "if n[0] > 1:\n    "

MORE = """
import array
import collections
import contextvars
import enum
import functools
import io
import operator
import types
import weakref

class Listed(list):
    def push(self, value):
        self.w = self.w + 1
        self[0] = self[0] + value * self.w

class Keyed(dict):
    pass

class Tuple(tuple):
    pass

class Whole(int):
    pass

class Text(str):
    pass

class Narrow(list):
    __slots__ = ("w",)

class Counted:
    def __init__(self):
        self.w = 0

    def more(self, by=1):
        self.w = self.w + by
        return self.w

class Looking(list):
    def __getitem__(self, key):
        self.looks = self.looks + 1
        return list.__getitem__(self, key)

    def __setitem__(self, key, value):
        self.looks = self.looks + 10
        list.__setitem__(self, key, value)

class Doubled:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, owner, kind):
        return owner.__dict__[self.name] * 2

    def __set__(self, owner, value):
        owner.__dict__[self.name] = value + 1

class Doubles:
    w = Doubled()

def new_global():
    global NEW
    NEW = 1
    return NEW

class Hundred(Counted):
    pass

GLOBAL = 0

class Hidden:
    __slots__ = ("__w",)

    def __init__(self):
        self.__w = 0

    def more(self):
        self.__w = self.__w + 1

    def w(self):
        return self.__w

class Kept:
    def __init__(self):
        self.w = 0

    def __get__(self, owner, kind):
        return self.w

    def __set__(self, owner, value):
        self.w = value

class Owner:
    kept = Kept()

    def method(self):
        Owner.method.w = Owner.method.w + 1

class Color(enum.Enum):
    RED = 1

class Failed(Exception):
    pass

def more(held):
    held[0] = held[0] + 1

context = contextvars.ContextVar("context", default=0)
"""


def with_attribute(make):
    return f"s = {make}\ns.w = 1\n", "s.w = s.w + 2", "x * s.w"


HOLDERS = {
    "list": with_attribute("Listed([x])"),
    "method of a list": ("s = Listed([x])\ns.w = 0\n", "s.push(x)", "s[0] + x * s.w"),
    "dict": with_attribute("Keyed(a=x)"),
    "tuple": with_attribute("Tuple((x,))"),
    "int": with_attribute("Whole(3)"),
    "str": with_attribute("Text('a')"),
    "member": with_attribute("Color.RED"),
    "set": ("s = {Counted()}\n", "for o in s:\n        o.more()", "x * list(s)[0].w"),
    "frozen set": ("s = frozenset([Counted()])\n", "for o in s:\n        o.more()", "x * list(s)[0].w"),
    "key": ("s = {Counted(): x}\n", "for o in s:\n        o.more()", "x * list(s)[0].w"),
    "weak key": ("o = Counted()\ns = weakref.WeakKeyDictionary({o: 1})\n", "s[o] = s[o] + 1", "x * s[o]"),
    "private slot": ("s = Hidden()\n", "s.more()", "x * s.w()"),
    "partial": ("s = functools.partial(more, [0])\n", "s()", "x * s.args[0][0]"),
    "named argument": ("s = functools.partial(more, held=[0])\n", "s()", "x * s.keywords['held'][0]"),
    "called by name": ("s = Counted()\nf = operator.methodcaller('more', 2)\n", "f(s)", "x * s.w"),
    "view": ("s = {'a': [0]}.values()\n", "more(list(s)[0])", "x * list(s)[0][0]"),
    "proxy": ("s = types.MappingProxyType({'a': [0]})\n", "more(s['a'])", "x * s['a'][0]"),
    "descriptor": ("s = Owner()\ns.kept = 0\n", "s.kept = s.kept + 1", "x * s.kept"),
    "method": ("s = Owner()\nOwner.method.w = 0\n", "s.method()", "x * Owner.method.w"),
    "own items": ("s = Looking([x])\ns.looks = 0\n", "s[0] = s[0] + x", "s[0] + x * s.looks"),
    "own attribute": ("s = Doubles()\ns.w = 1\n", "s.w = s.w + 3", "x * s.w"),
    "own method": ("s = [0].__setitem__\n", "s(0, s.__self__[0] + 1)", "x * s.__self__[0]"),
    "exception": ("s = Failed(1)\n", "s.args = (s.args[0] + 1,)", "x * s.args[0]"),
}  # fmt: skip


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("where", [LOOP, BRANCH])
def test_it_is_carried_and_merged(tmp_path, where, holder):
    start, change, result = HOLDERS[holder]
    follows(tmp_path, f"{start}{where}{change}\nout[0:4] = {result}", more=MORE)


@pytest.mark.parametrize(
    ("start", "change", "path"),
    [
        ("s = array.array('i', [0])", "s[0] = s[0] + 1", r"s\['contents'\]"),
        ("context.set(0)", "context.set(context.get() + 1)", r"context\['value'\]"),
        ("s = io.StringIO()", "s.write('a')", r"s\['contents'\]"),
        ("s = memoryview(bytearray(2))", "s[0] = s[0] + 1", r"s\['contents'\]"),
        ("s = Counted()", "s.__class__ = Hundred", r"s.__class__"),
        ("globals()['GLOBAL'] = 0", "globals()['GLOBAL'] = globals()['GLOBAL'] + 1", "GLOBAL, an outer variable of .*"),
        ("s = 1", "new_global()", r"NEW, a global that new_global\(\) names,"),
        ("s = Narrow([x])\ns.w = 0", "s.w = s.w + 1", r"s\['w'\]"),
    ],
)
@pytest.mark.parametrize(
    ("where", "block"), [(LOOP, "in a pypto.loop"), (BRANCH, "in a branch on a symbolic condition")]
)
def test_what_cannot_be_is_refused(tmp_path, where, block, start, change, path):
    with pytest.raises(ValueError, match=f"{path} changes {block}"):
        run(load(tmp_path, f"{start}\n{where}{change}\nout[0:4] = x", MORE), 1)


TUPLES = """
from collections import namedtuple

class Tens(tuple):
    def __getitem__(self, key):
        return tuple.__getitem__(self, key) * 10.0

    def __len__(self):
        return 7

    def __iter__(self):
        return iter([])

class Point(namedtuple("Point", "a b")):
    def __new__(cls, a, b=0):
        return super().__new__(cls, a * 2.0, b)

    def both(self):
        return self.a + self.b
"""


@pytest.mark.parametrize("where", [LOOP, BRANCH])
def test_a_merged_tuple_is_of_its_class(tmp_path, where):
    follows(tmp_path, f"T = Tens((x,))\n{where}T = Tens((x * 2.0,))\nout[0:4] = T[0] * len(T)", more=TUPLES)
    follows(tmp_path, f"T = Point(x, x)\n{where}T = Point(x * 3.0, x)\nout[0:4] = T.both()", more=TUPLES)
    follows(
        tmp_path,
        f"T = Tens((x,))\nT.w = 3\nU = Tens((x * 2.0,))\nU.w = 3\n{where}T = U\nout[0:4] = T[0] * T.w",
        more=TUPLES,
    )
    body = f"T = Tens((x,))\nT.w = 1\nU = Tens((x,))\nU.w = 2\n{where}T = U\nout[0:4] = T[0]"
    with pytest.raises((NameError, ValueError), match="'T'"):
        run(load(tmp_path, body, TUPLES), 1)


CHANGING = """
class Changing:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        self.v = self.v + 1
        return self.v == other.v
"""


def test_equality_that_changes_is_not_evaluated_early(tmp_path):
    start = "a, b, c = Changing(0), Changing(2), Changing(n[0])\n"
    follows(tmp_path, f"{start}if c in [a]:\n    out[0:4] = x\nout[4:8] = x * a.v", more=CHANGING)
    for test in ("c in [a, b]", "[a, b] == [c, c]"):
        with pytest.raises(pypto.CompileError, match="== of Changing changes what it compares"):
            run(load(tmp_path, f"{start}if {test}:\n    out[0:4] = x\nout[4:8] = x * b.v", CHANGING), 1)


LOOKED = """
class Looked:
    def __init__(self, looks):
        self.looks = looks

    @property
    def more(self):
        self.looks = self.looks + 1
        return self.looks

class LookedList(list):
    def __getitem__(self, key):
        self.looks = self.looks + 1
        return list.__getitem__(self, key)

HELD = [Looked(0)]
"""


@pytest.mark.parametrize(
    ("start", "operand", "result"),
    [
        ("held = [Looked(0)]", "held[0].more > 0", "held[0].looks"),
        ("held = {'a': (Looked(0),)}", "held['a'][0].more > 0", "held['a'][0].looks"),
        ("held = LookedList([1])\nheld.looks = 0", "held[0] > 0", "held.looks"),
        ("HELD[0].looks = 0", "HELD[0].more > 0", "HELD[0].looks"),
    ],
)
def test_an_operand_changes_what_a_container_holds(tmp_path, start, operand, result):
    for test in (f"n[0] > 1 and {operand}", f"1 < n[0] < 1 + (3 if n[0] > 2 and {operand} else 2)"):
        follows(tmp_path, f"{start}\nif {test}:\n    out[0:4] = x\nout[4:8] = x * {result}", more=LOOKED)
