"""`==`, `in`, `is`, `any` and `all` on what is known only when the kernel runs are conditions, as in Python."""

import pytest
from eager_kernels import is_as_eager, module_of

import pypto

START = """
a, b = n[0], n[1]
T, U = (1, a), (2, b)
L, M = [a, 'k'], [b, 'k']
D, E = {'k': a, 'm': 2}, {'k': b, 'm': 2}
X, Y = Box(a, (1, 2)), Box(b, (1, 2))
V, W = x * 1.0, x * 2.0
P, Q, R, S, Z = T, L, D, X, V
if n[0] > 0:
    P, Q, R, S, Z = U, M, E, Y, W
def counted(value):
    C[0] = C[0] + 1
    return value
C = [0]
"""
END = """
out[0:4] = x * (3 if q else 5)
out[4:8] = x * C[0]
"""
FORMS = [
    "P == U",
    "P != (1, 2)",
    "T == (1, 2, 3)",
    "T == [1, 2]",
    "Q == L",
    "Q == M",
    "Q != [2, 'k']",
    "[Q, T] == [M, (1, 2)]",
    "R == {'k': 2, 'm': 2}",
    "R != {'m': 2, 'k': 0}",
    "R == {'k': 2}",
    "S == Y",
    "S != Box(2, (1, 2))",
    "S == Box(2, (1, 3))",
    "S == 3",
    "a in (1, 2)",
    "a not in [0, 2]",
    "a in {1, 2, 5}",
    "a in {1: 5, 7: 5}",
    "a in {1: 5, 7: 5}.keys()",
    "(a, b) in {(1, 0), (2, 2)}",
    "a in range(1, 3)",
    "a in range(2, -1, -2)",
    "a in range(0)",
    "a in ('k', None, 2)",
    "Q in [L]",
    "Q in (M, 3)",
    "S in [Y, 4]",
    "P not in [U]",
    "0 <= a in (1, 2)",
    "3 in L",
    "2 in T",
    "Q is M",
    "Q is not L",
    "S is Y",
    "Z is W",
    "Z is not V",
    "Z is x",
    "any([a > 0, b > 1])",
    "all([a > 0, b > 0, 3])",
    "any([])",
    "all([a, b])",
    "any(counted(n[k]) > 0 for k in range(2))",
    "all(counted(n[k]) > 0 for k in range(2))",
    "any(counted(k) > 0 for k in range(3))",
    "all(n[k] > k for k in range(2) if k > 0)",
    "any(k > 5 for k in range(2))",
    "not any(n[k] == 2 for k in range(2))",
]


@pytest.mark.parametrize("form", FORMS)
def test_as_in_python(form, tmp_path):
    module = module_of(tmp_path, f"{START}q = {form}{END}")
    kernel = pypto.frontend.jit(module.kernel)
    for numbers in [(0, 0), (1, 0), (0, 1), (2, 2), (1, 2)]:
        assert is_as_eager(module, kernel, numbers)


LOOPS = {
    "stays": "U = T\nfor i in pypto.loop(n[0]):\n    q = q + (1 if U is T else 0)\n    if n[1] > 1:\n        U = T",
    "another": "U = T\nfor i in pypto.loop(n[0] + 1):\n    q = q + (1 if U is T else 0)\n    U = S if n[1] > i else U",
    "swapped": """
U, V = T, S
for i in pypto.loop(n[0] + 1):
    if U is V:
        q = q + 1
    if U is S:
        q = q + 10
    U, V = V, U
    if n[1] > i:
        U = V
""",
    "parameter": "U = x\nfor i in pypto.loop(n[0] + 1):\n    q = q + (1 if U is x else 0)\n    U = x * 2.0",
    "made in the loop": """
U = x * 1.0
for i in pypto.loop(n[0] + 1):
    V = U
    U = U * 2.0
    if V is U:
        q = q + 1
    U = V if n[1] > i else U
    if U is V:
        q = q + 100
""",
    "two loops": """
U = T
for i in pypto.loop(n[0] + 1):
    for j in pypto.loop(n[1]):
        q = q + (1 if U is T else 0)
        if j > 0:
            U = T + 1.0
    q = q + (10 if U is T else 0)
""",
    "other shape": "U = x * 1.0\nfor i in pypto.loop(n[0] + 1):\n    q = q + (1 if U is P else 2)\n    U = U + 1.0",
    "list": """
U = [1]
P = U
for i in pypto.loop(n[0] + 1):
    q = q + (1 if P is U else 0)
    P = [3] if n[1] > i else P
""",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_identity_in_loops(loop, tmp_path):
    start = "T, S = x * 1.0, x * 2.0\nP = x[0:2]\nq = 0\n"
    module = module_of(tmp_path, f"{start}{LOOPS[loop]}\nout[0:4] = x * q")
    kernel = pypto.frontend.jit(module.kernel)
    for numbers in [(0, 0), (1, 0), (0, 1), (2, 2), (3, 1), (3, 2)]:
        assert is_as_eager(module, kernel, numbers)
