"""Elements of containers as targets of statements and comprehensions: others that may be the container see them."""

import pytest
from container_programs import follows

START = "A = [x * 2.0, 1]\nB = [x * 3.0, 2]\nC = A\nif n[0] > 1:\n    C = B\nP = Box(x)\nQ = Box(x * 5.0)\n"
START += "R = P if n[0] > 0 else Q\no = x\n"
END = "\nout[0:4] = o + C[0]\nout[4:8] = R.t * C[1]"
MANAGER = """
class Gives:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *_):
        return False
"""


@pytest.mark.parametrize(
    "lines",
    [
        "for A[0] in [x * 3.0, x * 4.0]:\n    o = o * 2.0 + C[0]",
        "for P.t in [x * 3.0, x * 4.0]:\n    o = o * 2.0 + R.t",
        "for i, (A[0], b) in enumerate([(x, x * 4.0), (x * 5.0, x)]):\n    o = o * 2.0 + C[0] * b + i",
        "for A[0], B[0] in [(x, x * 4.0), (x * 5.0, x)]:\n    o = o * 2.0 + C[0]",
        "i = 1\nfor [B[i], *D] in [(3, x * 4.0)]:\n    o = o + D[0] * C[1]",
        "for A[1] in pypto.loop(n[0]):\n    o = o + C[1]",
        "i = 0\nfor A[i + 1] in pypto.loop(n[0]):\n    o = o + C[1]",
        "for A[1], k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):\n    o = o + C[1] * k",
        "for i in pypto.loop(n[0]):\n    A, B = B, A\n    for A[0] in [A[0] + 1.0, B[0] * 2.0]:\n        B[1] += 1",
        "with Gives(x * 3.0) as A[0]:\n    o = o + C[0]",
        "with Gives(x * 3.0) as A[0], Gives(C[0] * 2.0) as P.t, Gives(R.t) as q:\n    o = o + C[0] + R.t + q",
        "with Gives((x * 3.0, x * 4.0)) as (A[0], B[0]):\n    o = o + C[0]",
        "A[0], *q = x * 3.0, C[0], 2\no = o + q[0]",
        "*q, A[0], P.t = x, C[0], x * 7.0, x * 4.0\no = o + q[1]",
        "A[0] = P.t = B[0] = x * 3.0",
        "A[0] = q = C[1] = 5\no = o * q\nA[0] = C[0] = x",
        "choose(n[0], A, B)[0], C[0] = C[0], A[0]",
        "A[0], C[0], B[0] = B[0], A[0], C[0]",
        "A[0] += 1.0\nC[0] *= C[1]\nC[1] -= 3",
        "A[1] += C[1]\nC[1] *= B[1]\nB[1] -= A[1]",
        "D = {'a': A, 'b': B}\nD['a'][0] += C[0]\nD['a' if C is None else 'b'][1] += C[1]",
        "A[0] += put(C, x * 7.0) or C[0]",
        "f = [0]\nA[len(f.__iadd__([1])) - 2] += 1.0\no = o * len(f)",
        "y = [C[0] for A[0] in [x * 3.0, x * 4.0]]\no = y[0] * 2.0 + y[1]",
        "y = [C[1] + i for i, A[1] in enumerate([5, 6])]\no = o * y[0] + y[1]",
        "y = {i: R.t for i, P.t in enumerate([x * 3.0, x * 4.0]) if i > 0}\no = o + y[1]",
        "y = [(o * C[1]) for A[0:2] in [(x, 7), (x * 2.0, 8)]]\no = y[0] + y[1]",
        "o = (C := B)[0] + C[0]\nC[0] = x * 9.0",
        "D = {'a': 1, 'b': 2}\nE = D\ndel D['a'], P\no = o * len(E)",
    ],
)
def test_an_element_as_a_target(tmp_path, lines):
    follows(tmp_path, START + lines + END, more=MANAGER)
