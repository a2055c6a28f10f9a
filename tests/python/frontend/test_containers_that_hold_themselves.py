"""Lists, dicts and dataclass objects that lead back to themselves: used and set as others are, not bound anew."""

import pytest
from container_programs import HEAD, follows, load, run

import pypto

PAIR = "A = [x, 1]\nA.append(A)\nB = [x * 2.0, 2]\nB.append(B)\n"


@pytest.mark.parametrize(
    "body",
    [
        PAIR
        + "for i in pypto.loop(n[0]):\n    A[0] = A[2][0] + 1.0\n    A[1] = A[2][1] + 1\nout[0:4] = A[2][0] * A[1]",
        PAIR + "C = A\nif n[0] > 0:\n    C = B\nout[0:4] = A[0]",
        "d = {'a': x, 'n': 1}\nd['self'] = d\nif n[0] > 0:\n    d['self']['a'] = x\n    d['n'] = d['self']['n'] + 4\n"
        "out[0:4] = d['self']['self']['a'] * d['n']",
        "P = Box(x)\nP.u = P\nfor i in pypto.loop(n[0]):\n    P.u.t = P.t + 1.0\nout[0:4] = P.u.u.t",
        "P = Box([x])\nQ = Box([x * 2.0, P])\nP.t.append(Q)\nfor i in pypto.loop(n[0]):\n    P.t[1].t[0] = P.t[0] + 1\n"
        "    P.t[0] = Q.t[0] * 2.0\nout[0:4] = P.t[0]\nout[4:8] = Q.t[0]",
        "L = [x, [1]]\nM = [x * 2.0, [1]]\nK = L\nif n[0] > 0:\n    K = M\nL[1][0] = K\nK[0] = x * 5.0\n"
        "out[0:4] = M[0]\nout[4:8] = L[0]",
        "for i in pypto.loop(n[0] + 1):\n    A = [x, 1]\n    A.append(A)\nout[0:4] = A[0]",
        "def second(L):\n    if n[0] > 0:\n        return L[2]\n    return L\n" + PAIR + "out[0:4] = second(A)[0]",
        PAIR + "out[0:4] = natively(A, A, x * 3.0)",
    ],
)
def test_it_is_used_as_others_are(tmp_path, body):
    follows(tmp_path, body)


@pytest.mark.parametrize(
    ("lines", "at", "column", "text"),
    [
        (
            "C = A\nif n[0] > 0:\n    C = B\nout[0:4] = C[0]",
            7,
            15,
            "'C' is a list of 3 that holds itself in one branch of the if at line {} and another list of 3 that holds "
            "itself in the other (Conflicted var C)",
        ),
        (
            "for i in pypto.loop(n[0]):\n    A, B = B, A",
            5,
            8,
            "'A' changes in a pypto.loop from a list of 3 that holds",
        ),
        ("C = A if n[0] > 0 else B", 4, 8, "a list of 3 that holds itself and another list of 3 that"),
        ("if n[0] > 0:\n    A[1] = B", 5, 8, "A[1] changes in a branch on a symbolic condition"),
        ("if n[0] >= 0:\n    C = [x + 1.0]\n    C.append(C)\nout[0:4] = C[0]", 7, 4, "made inside the branch at line"),
    ],
)
def test_it_is_not_bound_anew(tmp_path, lines, at, column, text):
    with pytest.raises(pypto.CompileError) as caught:
        run(load(tmp_path, PAIR + lines), 1)
    first = HEAD.count("\n") + 1
    assert text.format(first + 5) in str(caught.value)
    assert (caught.value.lineno, caught.value.column) == (first + at, column)
