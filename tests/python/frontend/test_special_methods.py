"""Special methods of classes of the user: called as Python calls them, and what they change is seen at once."""

import pytest
from eager_kernels import is_as_eager, module_of, run

import pypto

NUMBERS = [(0, 0), (1, 0), (0, 1), (2, 3)]
HEAD = """
import functools, collections
class LS(list):
    def __radd__(self, o): return LS([100 + o[0]])
    def __rmul__(self, o): return 77
class LN(list):
    def __radd__(self, o): return NotImplemented
class St(str):
    def __rmod__(self, o): return 55
class O:
    u = 1
    def __init__(self, L=None): self.L = L
    def __radd__(self, o): return 9
    def __rmul__(self, o): return 8
    def __rmod__(self, o): return 7
    def __str__(self): return 'abc'
    def __index__(self): return 2
o = O()
class Bo:
    def __init__(self, L, v=True): self.L, self.v = L, v
    def __bool__(self):
        self.L[0] = self.L[0] + 1
        return self.v
class Sb:
    def __init__(self, c): self.c = c
    def __bool__(self): return self.c
class Sl:
    def __init__(self, c): self.c = c
    def __len__(self): return self.c
class Eq:
    def __init__(self, L, v=False): self.L, self.v = L, v
    def __eq__(self, other):
        self.L[0] = self.L[0] + 1
        return self.v
    __hash__ = None
class Fm:
    def __init__(self, L): self.L = L
    def __format__(self, f):
        self.L[0] = self.L[0] + 1
        return 'ab' + f
    def __str__(self):
        self.L[0] = self.L[0] + 10
        return 'abc'
    def __repr__(self):
        self.L[0] = self.L[0] + 100
        return 'abcd'
class Sg:
    __slots__ = ('a', 'L')
    def __init__(self, L): self.L = L
    def __getattr__(self, name):
        self.L[0] = self.L[0] + 1
        return 5
class Pg:
    def __init__(self, L, c=1): self.L, self.cc = L, c
    @property
    def a(self): raise AttributeError('a')
    @property
    def b(self):
        if self.L[0] < 100: return self.nothing1
        return 3
    def __getattr__(self, name):
        if self.cc > 1:
            self.L[0] = self.L[0] + 2
        else:
            self.L[0] = self.L[0] + 1
        return len(name)
class Sm:
    @staticmethod
    def __add__(other): return other * 2
    @classmethod
    def __sub__(cls, other): return cls.k * other
    k = 3
    @staticmethod
    def __getitem__(i): return i + 1
    @staticmethod
    def __call__(i): return i + 5
    @classmethod
    def __len__(cls): return 4
    @staticmethod
    def __bool__(): return False
    @classmethod
    def __enter__(cls): return 3
    @classmethod
    def __exit__(cls, *a): return None
    @staticmethod
    def __iter__(): return iter([1, 2])
    @staticmethod
    def __contains__(i): return i == 3
    @staticmethod
    def __eq__(o): return True
    @staticmethod
    def __neg__(): return 12
    @staticmethod
    def __getattr__(n): return 21
sm = Sm()
class Ad:
    def __init__(self, L, v): self.L, self.v = L, v
    def __add__(self, o):
        self.L[0] = self.L[0] + 1
        return self.v + o
    __radd__ = __add__
    def __lt__(self, o):
        self.L[0] = self.L[0] + 1
        return self.v < getattr(o, 'v', o)
    def __gt__(self, o):
        self.L[0] = self.L[0] + 1
        return self.v > getattr(o, 'v', o)
class IA(list):
    def __iadd__(self, o):
        self.append(o[0] * 2)
        return self
class NI:
    def __radd__(self, o):
        o.append(4)
        return NotImplemented
    def __iter__(self): return iter([5])
class Ne:
    def __init__(self, L): self.L = L
    def __eq__(self, o):
        self.L[0] = self.L[0] + 1
        return self.L[0] > 5
"""
START = """
A, B = [1, 2], [1, 2]
C = A if n[0] > 0 else B
v = n[0] > 0
q = 0
"""
END = """
out[0:4] = x * q
out[4:8] = x * (A[0] + 10 * B[0] + 100 * C[0])
out[8:12] = x * len(A)
"""
STATEMENTS = [
    "q = ([2] + LS([1]))[0]",
    "q = len([2] + LN([1]))",
    "q = ('%s' % o == 'abc') + 0",
    "q = ([1] + o)",
    "q = ([1] * o)",
    "q = ((1, 2) * o)",
    "q = 3 * o",
    "q = 3 % o",
    "q = '%s' % St('a')",
    "q = ([1] * LS([1]))",
    "q = [1]; q += o",
    "q = [1]; q *= o",
    "q = [1]; q += LS([5]); q = q[0]",
    "q = 1; q += o",
    "q = 1; q *= o",
    "q = 'a'; q += o",
    "q = IA([1]); q += [3]; q = q[1]",
    "q = [1]; q += NI(); q = len(q)",
    "q = (1,); q += o",
    "q = 1 if (Bo(C) and Bo(C, False)) else 2",
    "q = 1 if (Bo(C, False) and Bo(C)) else 2",
    "if Bo(C, False) and Bo(C): q = 3",
    "if Bo(C, False) or Bo(C, False): q = 3",
    "if not (Bo(C, False) or Bo(C, False)): q = 3",
    "q = 5 if Bo(C) else 6; q = q * A[0]",
    "q = (not Bo(C)) * A[0] + B[0]",
    "z = Bo(C) and 3; q = z * A[0] + B[0]",
    "z = Bo(C, False) and 3; q = A[0] + B[0]",
    "z = Bo(C, False) or 3; q = z * A[0] + B[0]",
    "while Bo(C, A[0] < 4): q = q + 1; break",
    "q = any([Bo(C, False), Bo(C), Bo(C)]) * A[0] + B[0]",
    "q = all([Bo(C), Bo(C, False), Bo(C)]) * A[0] + B[0]",
    "q = any(Bo(C, k > 1) for k in range(4)) * A[0] + B[0]",
    "q = all(Bo(C, k < 1) for k in range(4)) * A[0] + B[0]",
    "q = len([k for k in range(3) if Bo(C, k > 0)]) * A[0] + B[0]",
    "q = any(map(lambda k: Bo(C, k > 0), range(3))) * A[0] + B[0]",
    "q = bool(Bo(C)) * A[0] + B[0]",
    "assert Bo(C); q = A[0] + B[0] * 2",
    "q = n[0] + Ad(C, 1) + A[0] + B[0] * 2",
    "q = ((n[0] + 1) < Ad(C, 3)) * 3 + A[0] + B[0] * 2",
    "q = n[1] * o",
    "out[12:16] = x + Ad(C, 2); q = A[0] + B[0] * 2",
    "q = n[0]; q += Ad(C, 1); q = q + A[0] + B[0] * 2",
    "z = ((Bo(C) or Bo(C)) and 3); q = z * A[0] + B[0]",
    "z = ((Bo(C, False) and Bo(C)) or 3); q = z * A[0] + B[0]",
    "((Bo(C) or True) or A[0] > 3) and 3; q = A[0] + B[0]",
    "if Sb(v): q = 3",
    "q = 3 if Sb(v) else 4",
    "q = (not Sb(v)) + 3",
    "q = 1 if Sb(v) and n[1] > 0 else 2",
    "q = 1 if n[1] > 0 and Sb(v) else 2",
    "q = 1 if n[1] > 0 or Sb(v) else 2",
    "if Sb(v) or Sb(n[1] > 0): q = 9",
    "q = any([Sb(v), Sb(n[1] > 0)]) * 3",
    "q = all([Sb(v), Sb(n[1] > 0)]) * 3",
    "q = any(Sb(n[k] > 0) for k in range(2)) * 3",
    "q = all(Sb(n[k] > 0) for k in range(2)) * 3",
    "q = 1 if Sl(n[0]) else 2",
    "q = 1 if Sl(n[0]) and Sl(n[1]) else 2",
    "if not Sl(n[0]): q = 4",
    "q = (3 in [Eq(C), Eq(C, True), Eq(C)]) * A[0] + B[0]",
    "q = (Eq(C), Eq(C, True)).index(3) * A[0] + B[0]",
    "q = (Eq(C), Eq(C, True)).count(3) * A[0] + B[0]",
    "q = ([1, 2] == [Eq(C, True), Eq(C, True)]) * A[0] + B[0]",
    "q = any([1 == Eq(C, True)]) * A[0] + B[0]",
    "q = (Ne(C) != 3) * A[0] + B[0]",
    'q = len(f"{Fm(C)}") * A[0] + B[0]',
    'q = len(f"{Fm(C):>10}") * A[0] + B[0]',
    'q = len(f"{Fm(C)!s}{Fm(C)!r:>9}") * A[0] + B[0]',
    "q = len(str(Fm(C)) + repr(Fm(C)) + format(Fm(C), 'e')) * A[0] + B[0]",
    "q = Sg(C).a * A[0] + B[0]",
    "q = Sg(C).zz * A[0] + B[0]",
    "q = getattr(Sg(C), 'a') * A[0] + B[0]",
    "q = hasattr(Sg(C), 'a') * A[0] + B[0]",
    "q = Pg(C).a * A[0] + B[0]",
    "q = Pg(C, n[0]).a * A[0] + B[0]",
    "q = Pg(C, n[0]).b * A[0] + B[0]",
    "q = Pg(C, n[0]).zz * A[0] + B[0]",
    "q = hasattr(Pg(C), 'a') * A[0] + B[0]",
    "q = getattr(Pg(C), 'a', 7) * A[0] + B[0]",
    "q = sm + 3",
    "q = sm - 3",
    "q = sm[4]",
    "q = sm(4)",
    "q = len(sm)",
    "q = 1 if sm else 2",
    "with sm as z: q = z",
    "q = sum(k for k in sm)",
    "q = (3 in sm) + (4 in sm)",
    "q = (sm == 4) + 0",
    "q = -sm",
    "q = sm.other",
    "q = sum([Ad(C, 1), 2, Ad(C, 3)]) * A[0] + B[0]",
    "q = sum((Ad(C, k) for k in range(3)), 1) * A[0] + B[0]",
    "q = min([3, 1], key=lambda k: C.__setitem__(0, k) or k) * A[0] + B[0]",
    "q = sorted([Ad(C, 3), Ad(C, 2)])[0].v * A[0] + B[0]",
    "q = (Ad(C, 1) < Ad(C, 2) < Ad(C, 3)) * A[0] + B[0]",
    "q = Ad(C, 1) + 2 + A[0] + B[0]",
    "q = functools.reduce(lambda a, b: a + b, [Ad(C, 1), 2, Ad(C, 3)]) * A[0] + B[0]",
]
NATIVE = [
    "q = [Eq(C), Eq(C, True)].index(3) * A[0] + B[0]",
    "q = [Eq(C), Eq(C, True)].count(3) * A[0] + B[0]",
    "Z = [Eq(C), Eq(C, True)]; Z.remove(3); q = len(Z) * A[0] + B[0]",
    "q = [1, 2].count(Eq(C, True)) * A[0] + B[0]",
    "q = [1, 2].index(Eq(C, True)) * A[0] + B[0]",
    "q = len('%s %r' % (Fm(C), Fm(C))) * A[0] + B[0]",
    "q = len('{} {!r}'.format(Fm(C), Fm(C))) * A[0] + B[0]",
    "q = max(Ad(C, 1), Ad(C, 2)).v * A[0] + B[0]",
    "q = max([Ad(C, 1), Ad(C, 2)]).v * A[0] + B[0]",
]


def text_of(statement):
    is_compound = statement.startswith(("if", "while"))
    return START + (statement if is_compound else statement.replace("; ", "\n")) + END


@pytest.mark.parametrize("statement", STATEMENTS)
def test_special_methods(statement, tmp_path):
    module = module_of(tmp_path, text_of(statement), HEAD)
    kernel = pypto.frontend.jit(module.kernel)
    for numbers in NUMBERS:
        assert is_as_eager(module, kernel, numbers)


@pytest.mark.parametrize("statement", NATIVE)
def test_what_runs_in_ordinary_python_may_not_change_one_of_two_containers(statement, tmp_path):
    module = module_of(tmp_path, text_of(statement), HEAD)
    with pytest.raises(pypto.PyptoError, match="a list changes that may be the one of another name"):
        run(pypto.frontend.jit(module.kernel), (0, 0))
    known = text_of(statement).replace("A if n[0] > 0 else B", "A")
    module = module_of(tmp_path, known, HEAD)
    assert is_as_eager(module, pypto.frontend.jit(module.kernel), (0, 0))


def test_an_object_whose_truth_the_running_kernel_knows_is_no_value_of_and(tmp_path):
    module = module_of(tmp_path, START + "z = Sb(v) and 3" + END, HEAD)
    with pytest.raises(TypeError, match="whether a Sb counts as true is known only when the kernel runs.*if statement"):
        run(pypto.frontend.jit(module.kernel), (0, 0))
