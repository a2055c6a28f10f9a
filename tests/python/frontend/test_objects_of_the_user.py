"""Operators, items, attributes, iteration and `with` of classes of the user: traced as helpers, and seen in the
containers that they change."""

import pytest
from container_programs import AGAIN, HEAD, LENGTH, follows, load, refused, run, with_more

import pypto

CLASSES = """
import contextlib
import functools
import operator

class Both:
    # Each way to use it sets the first element of one list, and gives that of the other one.
    def __init__(self, one, other):
        self.one, self.other = one, other

    def both(self, *_):
        self.one[0] = self.one[0] * 3.0
        return self.other[0]

    __call__ = __add__ = __radd__ = __iadd__ = __getitem__ = __neg__ = __enter__ = __lt__ = __contains__ = both
    top = property(both)
    kept = functools.cached_property(both)
    kept.__set_name__(None, "kept")

    @property
    def bottom(self):
        return 0

    @bottom.setter
    def bottom(self, value):
        self.one[0] = value
        self.one[1] = self.other[0]

    def __exit__(self, *_):
        self.one[0] = self.other[0] + 1.0

    def __setitem__(self, key, value):
        self.one[0] = value
        self.one[1] = self.other[0] * key

    def __delitem__(self, key):
        self[key] = self.both()

    def __iter__(self):
        return iter([self.both(), self.both()])

    def __getattr__(self, name):
        return self.both()

class Made(Both):
    def __init__(self, one, other):
        super().__init__(one, other)
        self.first = self.both()

@dataclass
class Later:
    one: list
    other: list
    first: object = None

    def __post_init__(self):
        self.first = Both(self.one, self.other)()

class Steps:
    def __init__(self, both):
        self.both, self.left = both, 2

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.both()

def first_of(one, other, value):
    one[0] = one[0] + value
    return other[0]

def numbers(container):
    for index in range(2):
        container[1] = container[1] + 1
        yield index
"""

START = "L = [x * 2.0, x]\nM = [x * 3.0, x * 5.0]\nK = L\nif n[0] > 1:\n    K = M\nB = Both(L, K)\n"
END = "\nout[0:4] = y\nout[4:8] = K[0] + K[1]"


@pytest.mark.parametrize(
    "use",
    [
        "y = B(0) + K[0]",
        "y = B + 1 + K[0]",
        "y = 2.0 * (1 + B) + K[0]",
        "y = B[0] + K[0]",
        "y = -B + K[0]",
        "y = (B < 1) + K[0]",
        "y = B.top + K[0]",
        "y = B.kept + K[0] + B.kept",
        "y = B.other_name + K[0]",
        "C = B\nC += 1\ny = C + K[0]",
        "B.bottom = x * 7.0\ny = K[1]",
        "B[2] = x * 7.0\ny = K[1]",
        "B[2] = B[2] + 1.0\ny = K[1]",
        "del B[2]\ny = K[1]",
        "y = x\nfor q in B:\n    y = y * 2.0 + q + K[0]",
        "y, z = B\ny = y + K[0] * z",
        "y = sum([q * K[0] for q in B], x)",
        "y = (lambda a, b: a * b + K[0])(*B)",
        "with B as t:\n    y = t + K[0]",
        "with B as t, B as u:\n    y = t * u + K[0]",
        "y = Made(L, K).first + K[0]",
        "y = Later(L, K).first + K[0]",
        "y = Later(one=L, other=K).first + K[0]",
        "y = x\nfor q in Steps(B):\n    y = y * 2.0 + q + K[0]",
        "f = functools.partial(first_of, L, K)\ny = f(x) + K[0]",
        "f = functools.partial(functools.partial(first_of, L), value=x)\ny = f(K) + K[0]",
        "y = sum(map(first_of, [L, M], [K, L], [x, x * 2.0]), x) + K[0]",
        "y = x\nfor q in map(first_of, [L, M], [K, L], [x, x * 2.0]):\n    y = y * 2.0 + q + K[0]",
        "y = list(filter(lambda k: first_of(L, K, x * k) is not None, [1, 2]))[1] * K[0]",
        "y = sorted([3, 1], key=lambda k: (first_of(L, K, x * k), k)[1])[0] * K[0]",
        "P = [3, 1]\nP.sort(key=lambda k: (first_of(L, K, x * k), k)[1])\ny = P[0] * K[0]",
        "y = functools.reduce(lambda a, b: a + first_of(L, K, b), [x, x, x * 2.0]) + K[0]",
        "operator.setitem(L, 0, x * 7.0)\ny = K[0]",
        "y = (operator.setitem(L, 0, x * 7.0), K[0])[1]",
        "f = L.__setitem__\ny = (f(0, x * 7.0), K[0])[1]",
    ],
)
def test_what_it_changes_is_seen_at_once(tmp_path, use):
    follows(tmp_path, START + use + END, more=CLASSES)


@pytest.mark.parametrize(
    ("change", "why", "mark"),
    [
        ("f(x * 3.0)", LENGTH, "f("),
        ("y = (f(x * 3.0), K[0])", LENGTH, "f("),
        ("y = list(numbers(C))", AGAIN, "list("),
        ("for q in numbers(C):", AGAIN, "for"),
        ("y = [q for q in numbers(C)]", AGAIN, "[q"),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path, change, why, mark):
    start = "L = [x]\nM = [x * 3.0]\nC = [1, 2]\nD = [3, 4]\nf = L.append\nK, E = L, C\nif n[0] > 1:\n    K, E = M, D\n"
    then = "\n    out[0:4] = x" if change.endswith(":") else ""
    body = f"{start}{change}{then}\nout[0:4] = K[0] * E[1]"
    refused(tmp_path, body, "list", change, why, mark, more=CLASSES)


CONDITIONS = """
import functools

class Value:
    def __init__(self, t, k):
        self.k = k
        if k > 1:
            t = t * 2.0
        self.t = t

    def __add__(self, other):
        if self.k > 0:
            t = self.t + other.t
        else:
            t = self.t - other.t
        return Value(t, self.k)

    def __mul__(self, number):
        return Value(self.t * number, self.k)

    def __rmul__(self, number):
        return Value(self.t * (number + 1.0), self.k)

    def __eq__(self, other):
        return self.k == other.k

    def __lt__(self, other):
        return self.k < other.k

    def __contains__(self, number):
        return self.k == number

    def __bool__(self):
        return self.k > 1

    def __call__(self, number):
        if self.k > number:
            return self.t
        return self.t + 1.0

    def __getitem__(self, index):
        return self.t if self.k > index else self.t * 3.0

    @property
    def doubled(self):
        return self.t * 2.0 if self.k > 1 else self.t

    @doubled.setter
    def doubled(self, value):
        if self.k > 1:
            self.t = value
        else:
            self.t = value * 2.0

class Derived(Value):
    def __rmul__(self, number):
        return super().__rmul__(number)

    def __radd__(self, other):
        return Derived(self.t * 5.0 + other.t, self.k)

@dataclass
class Later:
    t: object
    k: object = 0

    def __post_init__(self):
        if self.k > 1:
            self.t = self.t * 2.0

class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other

    def __call__(self, t):
        return self.other(self.one(t))

class Plus:
    def __init__(self, number):
        self.number = number

    def __call__(self, t):
        return t + self.number

def by_sign(k, a, b):
    if k > 1:
        return a
    return b
"""


@pytest.mark.parametrize(
    "use",
    [
        "y = (A + B).t",
        "y = (A * 2.0 + 3.0 * B).t",
        "y = (A + D).t",
        "y = (2.0 * D).t",
        "y = x\nif A == B:\n    y = x * 2.0",
        "y = x\nif A != B:\n    y = x * 2.0",
        "y = x\nif A < B:\n    y = x * 2.0",
        "y = x\nif B > A:\n    y = x * 2.0",
        "y = x\nif 2 in A:\n    y = x * 2.0",
        "y = x\nif A:\n    y = x * 2.0",
        "y = x\nif not A:\n    y = x * 2.0",
        "y = A(2)",
        "y = A[2] + B[1]",
        "y = A.doubled",
        "A.doubled = x * 7.0\ny = A.t",
        "A.k += 1\ny = A.doubled",
        "y = Later(x, n[0]).t",
        "f = functools.partial(by_sign, n[0])\ny = f(x, x * 2.0)",
        "y = list(map(by_sign, [n[0], 3 - n[0]], [x, x], [x * 2.0, x * 3.0]))\ny = y[0] * y[1]",
        "y = Pair(Pair(Plus(1.0), Plus(2.0)), Pair(Plus(3.0), Pair(Plus(4.0), Plus(5.0))))(x)",
    ],
)
def test_conditions_in_special_methods(tmp_path, use):
    start = "A = Value(x, n[0])\nB = Value(x * 3.0, 2)\nD = Derived(x * 5.0, 1)\n"
    follows(tmp_path, f"{start}{use}\nout[0:4] = y", more=CONDITIONS)


ITERATORS = """
class Once:
    # An iterator that is not iterable itself.
    def __init__(self):
        self.left = 2

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return 1.0 + self.left

class Other(Once):
    def __iter__(self):
        return iter([100.0])

class Over:
    def __init__(self, made):
        self.made = made

    def __iter__(self):
        return self.made

class Holds:
    def __init__(self, found):
        self.found = found

    def __contains__(self, item):
        return self.found
"""


@pytest.mark.parametrize(
    "use",
    [
        "for k in Over(Once()):\n    y = y * k + 1.0",
        "for k in Over(Other()):\n    y = y * k + 1.0",
        "for k in Other():\n    y = y * k + 1.0",
        "y = x * float(sum(k for k in Over(Other())))",
        "y = x * (1 in Holds(5))",
        "y = x * (1 not in Holds([]))",
        "if (1 in Holds([1])) == True:\n    y = x * 7.0",
    ],
)
def test_iterators_and_membership_as_python_has_them(tmp_path, use):
    follows(tmp_path, f"y = x * 1.0\n{use}\nout[0:4] = y", more=ITERATORS)


def test_an_iterable_that_gives_no_iterator(tmp_path):
    with pytest.raises(TypeError, match=r"iter\(\) returned non-iterator of type 'list'"):
        run(load(tmp_path, "for k in Over([1.0]):\n    out[0:4] = x * k", ITERATORS), 0)


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        ("y = Both(L, L) * 2", TypeError, "unsupported operand type(s) for *: 'Both' and 'int'"),
        ("y = Both(L, L) >= 2", TypeError, "'>=' not supported between instances of 'Both' and 'int'"),
        ("y = Box(x) + 1", TypeError, "unsupported operand type(s) for +: 'Box' and 'int'"),
        ("y = Box(x).name", AttributeError, "'Box' object has no attribute 'name'"),
        ("y, z = Box(x)", TypeError, "cannot unpack non-iterable Box object"),
    ],
)
def test_what_a_class_has_not(tmp_path, use, kind, text):
    with pytest.raises(kind) as caught:
        run(load(tmp_path, f"L = [x, x]\n{use}", CLASSES), 0)
    assert text in str(caught.value)
    assert f"line {with_more(CLASSES).count(chr(10)) + 2}, column" in str(caught.value)


def test_a_method_of_one_object_does_not_call_itself(tmp_path):
    more = "class Loop:\n    def __call__(self, t):\n        return self(t + 1.0)"
    with pytest.raises(RecursionError, match="'__call__' calls itself") as caught:
        run(load(tmp_path, "out[0:4] = Loop()(x)", more), 0)
    assert isinstance(caught.value, pypto.CompileError)
    assert caught.value.lineno == HEAD.count("\n", 0, HEAD.index("SHARED")) + 3
    assert caught.value.column == 15
