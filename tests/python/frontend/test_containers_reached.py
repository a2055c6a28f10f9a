"""What can still be read behind a call that changes a container: in lines of several statements, by any name."""

import pytest
from container_programs import follows, load, run

HELD = "L = [x * 2.0]\nM = [x * 3.0]\nif n[0] > 0:\n    L = M\n"
END = "\nout[0:4] = L[0]"


@pytest.mark.parametrize(
    "lines",
    [
        "if put(L, x * 7.0): y = 1\nelse: out[4:8] = M[0]",
        "if put(L, x * 7.0): M = [x]\nout[4:8] = M[0]",
        "if n[0] + len([put(L, x * 7.0)]) > 3: out[0:4] = x\nelse: out[4:8] = M[0]",
        "for K in [put(L, x * 7.0)]: y = 1\nout[4:8] = M[0]",
        "for K in [put(L, x * 7.0)]: out[4:8] = M[0]",
        "while put(L, x * 7.0): M = [x]\nout[4:8] = M[0]",
        "y = 1 if put(L, x * 7.0) else M[0]\nout[4:8] = y",
        "put(L, x * 7.0); M2 = M; M = [x]; out[4:8] = M2[0]",
        "put(L, x * 7.0); M = [x]\nout[4:8] = M[0]",
        "if n[0] < 9: put(L, x * 7.0); y = M[0]; out[4:8] = y",
        "for j in pypto.loop(1): put(L, x * 7.0); out[4:8] = M[0]",
    ],
)
def test_several_statements_in_a_line(tmp_path, lines):
    follows(tmp_path, HELD + lines + END)


@pytest.mark.parametrize(
    "lines",
    [
        "A = [1, 2]\nB = [3, 4]\n_value1 = 1\nA[0], B[_value1] = 8, 0\nout[0:4] = x * B[0]\nout[4:8] = x * B[1]",
        "_value0 = x * 5.0\nL[0], M[0] = x, x * 2.0\nout[0:4] = _value0\nout[4:8] = M[0]",
    ],
)
def test_names_of_the_user_are_the_users(tmp_path, lines):
    follows(tmp_path, HELD + lines)


def test_functions_that_look_at_their_caller_see_the_kernel(tmp_path):
    lines = "out[0:4] = x * float('M' in dir() and 'nothing' not in dir())\nout[4:8] = eval('x + 1.0')"
    assert run(load(tmp_path, HELD + lines), 1).tolist() == [1, 2, 3, 4, 2, 3, 4, 5]
