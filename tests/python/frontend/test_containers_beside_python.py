"""Containers that names share, where Python itself holds or looks at them: loops over them, `is`, more attributes."""

import pytest
from container_programs import HEAD, follows, load, run

import pypto


@pytest.mark.parametrize(
    "body",
    [
        "A = [x]\nB = [x * 2.0]\nfor q in (A, A if n[0] > 0 else B):\n    q[0] = q[0] + 1.0\n"
        "out[0:4] = A[0]\nout[4:8] = B[0]",
        "A = [x]\nB = [x * 2.0]\nS = B\nif n[0] > 0:\n    S = A\nlayers = [A, B, S]\no = x\n"
        "for c in layers:\n    c[0] = c[0] + o\n    o = o + c[0]\nout[0:4] = o",
        "A = [x]\nB = [x * 2.0]\nS = B\nif n[0] > 0:\n    S = A\no = x\n"
        "for k, (c, d) in enumerate(zip([A, B, S], [S, A, B])):\n    c[0] = c[0] + d[0]\n    o = o + c[0]\n"
        "out[0:4] = o",
        "S = {'a': {'k': x}, 'b': {'k': x * 2.0}}\nT = S['b']\nif n[0] > 0:\n    T = S['a']\no = x\n"
        "for name, c in {**S, 'c': T}.items():\n    c['k'] = c['k'] + o\n    o = o + c['k']\nout[0:4] = o",
    ],
)
def test_a_python_loop_over_containers(tmp_path, body):
    follows(tmp_path, body)


def test_zeros_of_both_signs_are_two_values(tmp_path):
    body = "s = 0.0\nif n[0] > 0:\n    s = -0.0\nout[0:4] = x / s"
    kernel = load(tmp_path, body)
    assert run(kernel, 0)[:4].tolist() == [float("inf")] * 4
    assert run(kernel, 1)[:4].tolist() == [-float("inf")] * 4


@pytest.mark.parametrize("use", ["out[0:4] = x * m", "name = f'{m}'"])
def test_a_name_without_one_value_is_not_looked_at(tmp_path, use):
    kernel = load(tmp_path, f"m = None\nif n[0] > 0:\n    m = x * 2.0\n{use}")
    with pytest.raises(pypto.CompileError, match="'m'") as caught:
        run(kernel, 0)
    assert caught.value.lineno == HEAD.count("\n") + 4


def test_other_attributes_of_a_dataclass_are_not_taken_from_one_side(tmp_path):
    start = "A = Box(x)\nA.z = 2.0\nB = Box(x * 3.0)\nB.z = {}\nif n[0] > 0:\n    A = B\nout[0:4] = A.t * A.z"
    follows(tmp_path, start.format("2.0"))
    with pytest.raises(pypto.CompileError, match="'A'"):
        run(load(tmp_path, start.format("5.0")), 0)


def test_a_dataclass_that_is_bound_anew_is_compiled_once(tmp_path):
    kernel = load(tmp_path, "r = Box(x)\nfor i in pypto.loop(n[0]):\n    r = Box(x * 2.0)\nout[0:4] = r.t")
    for _ in range(3):
        assert run(kernel, 2)[:4].tolist() == [2, 4, 6, 8]
    assert kernel.cache_info().misses == 1
