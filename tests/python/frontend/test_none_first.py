"""Names that hold None until a loop binds them: `None` is the value of no iteration yet."""

import pytest
from container_programs import HEAD, follows, load, run

import pypto

LOOP = "acc = None\nfor i in pypto.loop(n[0]):\n    t = x * (i + 1)\n"
END = "\nif acc is not None:\n    out[0:4] = acc\nout[4:8] = x if acc is None else acc * 2.0"


@pytest.mark.parametrize(
    "lines",
    [
        LOOP + "    acc = t if acc is None else acc + t" + END,
        LOOP + "    if acc is None:\n        acc = t\n    else:\n        acc = acc + t" + END,
        LOOP + "    if acc is not None:\n        acc = acc + t\n    else:\n        acc = t" + END,
        LOOP + "    if not (acc is None):\n        acc = acc + t\n    else:\n        acc = t" + END,
        LOOP + "    if i > 0:\n        acc = t if acc is None else acc + t" + END,
        LOOP + "    if acc is None and i > 0:\n        acc = t\n    elif acc is not None:\n        acc = acc + t" + END,
        LOOP + "    if acc is not None:\n        out[0:4] = acc + t\n    acc = t" + END,
        LOOP + "    if acc is None:\n        acc = t\n    acc[0:2] = x[2:4]\n    acc = acc + 1.0" + END,
        LOOP + "    acc = t if acc is None else acc + t\n    if i == 1:\n        acc = None" + END,
        LOOP + "    if i == 1:\n        acc = None\n    acc = t if acc is None else acc + t" + END,
        LOOP + "    for j in pypto.loop(i):\n        acc = t if acc is None else acc + t * j" + END,
        LOOP + "    acc = t if acc is None else t\nfor i in pypto.loop(2):\n    acc = x if acc is None else -acc" + END,
        LOOP + "    b = acc\n    out[0:4] = t if acc is None else t * 2.0\nacc = x",
        LOOP.replace("i in pypto.loop(n[0])", "i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2])")
        + "    acc = t * k if acc is None else acc + t"
        + END,
        "acc = None\nfor i in pypto.loop(n[0]):\n    acc = i + 3 if acc is None else acc * 2 + i\n"
        "k = 7 if acc is None else acc\n"
        "out[0:4] = x * k",
        "acc = None\nfor i in pypto.loop(n[0]):\n    acc = 0.5 if acc is None else acc * 2.0\n"
        "k = 7.0 if acc is None else acc\nout[0:4] = x * k",
        "acc = None\nfor i in pypto.loop(n[0]):\n    if acc is None:\n        acc = [x, 1]\n    else:\n"
        "        acc = [acc[0] * 2.0, acc[1] + 1]\nif acc is not None:\n    out[0:4] = acc[0] * acc[1]",
        "a = b = None\nfor i in pypto.loop(n[0]):\n    a, b = (x if b is None else b), (x * 2.0 if a is None else a)\n"
        "if a is not None and b is not None:\n    out[0:4] = a\n    out[4:8] = b",
    ],
)  # fmt: skip
def test_none_is_known_when_the_kernel_runs(tmp_path, lines):
    follows(tmp_path, lines)


BRANCH = "k = None\nif n[0] > 0:\n    k = {}\n"


@pytest.mark.parametrize(
    "lines",
    [
        BRANCH.format("[x]") + "if not k:\n    out[0:4] = x\nelse:\n    out[0:4] = k[0] * 2.0",
        BRANCH.format("[x]") + "out[0:4] = x * 3.0 if k else x\nif k:\n    out[4:8] = k[0]",
        BRANCH.format("x") + "w = k is None\nif w:\n    out[0:4] = x\nelse:\n    out[0:4] = k * 2.0",
        BRANCH.format("x * 2.0") + "if n[0] > 1:\n    k = x * 3.0\nif k is not None:\n    out[0:4] = k",
        BRANCH.format("3") + "if k:\n    out[0:4] = x + k\nif k is None:\n    k = 5\nout[4:8] = x + k",
        BRANCH.format("0.5") + "out[0:4] = x if k is None else x * k",
        BRANCH.format("x") + "z = k\nL = [k]",
        BRANCH.format("x * 2.0") + "for i in pypto.loop(3):\n    if k is not None:\n        out[0:4] = out[0:4] + k\n"
        "        k = k + 1.0\n    else:\n        k = x",
        BRANCH.format("Box(x)") + "if k is not None:\n    k.t[:] = x * 7.0\nif k:\n    out[0:4] = k.t\nout[4:8] = x",
        BRANCH.format("[x * 2.0, [x]]") + "if k:\n    k[1][0] = x * 5.0\nif k is not None and n[0] > 1:\n"
        "    out[0:4] = k[0] + k[1][0]",
        "y = x * 2.0\n" + BRANCH.format("y") + "if k is not None:\n    k[:] = x * 5.0\nout[0:4] = y",
        "k = x\nif n[0] > 1:\n    k = None\nelif n[0] > 0:\n    k = x * 2.0\nif k is not None:\n    out[0:4] = k",
        BRANCH.format("x") + "z = k\nif z is not None:\n    out[0:4] = z",
        "acc = prev = None\nfor i in pypto.loop(n[0]):\n    prev = acc\n    acc = x * (i + 1)\n"
        "    if prev is not None:\n        out[4:8] = prev\nlast = prev\nif last is not None:\n    out[0:4] = last",
        "for i in pypto.loop(3):\n    k = None\n    if n[0] > i:\n        k = x * 2.0\n    if k is not None:\n"
        "        out[0:4] = out[0:4] + k",
    ],
)
def test_none_behind_one_branch(tmp_path, lines):
    follows(tmp_path, lines)


def test_none_that_nothing_asks_for_is_a_conflict(tmp_path):
    kernel = load(tmp_path, BRANCH.format("x") + "out[0:4] = k")
    with pytest.raises(NameError, match="a tensor .* and None in the other .Conflicted var k.*`if k is not None:`"):
        run(kernel, 1)


def test_none_where_it_is_used_after_all_is_a_fault(tmp_path):
    kernel = load(tmp_path, BRANCH.format("x * 2.0") + "if n[0] < 2:\n    out[0:4] = k")
    assert run(kernel, 1)[:4].tolist() == [2, 4, 6, 8]
    with pytest.raises(pypto.PyptoError, match="'k' is used at line .* and is None: it is bound only in one branch"):
        run(kernel, 0)


HELPERS = """
def add(acc, t):
    if acc is None:
        return t
    return acc + t

def add_named(t, *, acc=None):
    return t if acc is None else acc + t

def add_twice(acc, t):
    t = add(acc, t)
    return add(t, t)

def add_all(acc, t, k):
    for j in pypto.loop(k):
        acc = t if acc is None else acc + t * j
    return acc

def keep(state, t):
    if state is None:
        return [t, 1]
    state[0] = state[0] + t
    state[1] = state[1] + 1
    return state

def either(acc, t):
    return acc + t

class Adder:
    def __init__(self, k):
        self.k = k

    def add(self, acc, t):
        return t * self.k if acc is None else acc + t
"""


@pytest.mark.parametrize(
    "lines",
    [
        LOOP + "    acc = add(acc, t)" + END,
        LOOP + "    acc = add_named(t, acc=acc)" + END,
        LOOP + "    acc = add_twice(acc, t)" + END,
        LOOP + "    acc = add_all(acc, t, 2)" + END,
        LOOP + "    acc = Adder(3).add(acc, t)" + END,
        LOOP + "    if i > 0:\n        acc = add(acc, t)" + END,
        LOOP + "    acc = add(acc, t)\n    if i == 1:\n        acc = None" + END,
        LOOP + "    acc = t if i == 0 else either(acc, t)" + END,
        "f = lambda acc, t: t if acc is None else acc + t\n" + LOOP + "    acc = f(acc, t)" + END,
        "def f(acc, t):\n    if acc is not None:\n        t = t + acc\n    return t\n"
        + LOOP + "    acc = f(acc, t)" + END,
        "acc = None\nfor i in pypto.loop(n[0]):\n    acc = keep(acc, x)\n"
        "if acc is not None:\n    out[0:4] = acc[0] * acc[1]",
    ],
)  # fmt: skip
def test_a_helper_asks_for_none(tmp_path, lines):
    follows(tmp_path, lines, more=HELPERS)


LEFT = "\nif acc is not None:\n    out[0:4] = x * acc\nelse:\n    out[4:8] = x"
MAY_BE = "def some(t, k):\n    if k > 1:\n        return t * 2.0\n    return None\n"


@pytest.mark.parametrize(
    "lines",
    [
        "for i in pypto.loop(3):\n    acc = some(x, n[0])",
        "acc = x * 3.0\nfor i in pypto.loop(3):\n    acc = some(x, n[0])",
        "acc = None\nfor i in pypto.loop(n[0]):\n    acc = some(x, i)",
        "acc = x * 3.0\nfor i in pypto.loop(3):\n    if i == n[0]:\n        acc = None",
        "acc = x * 3.0\nfor i in pypto.loop(3):\n    if acc is None:\n        acc = x * 4.0\n    elif i == n[0]:\n"
        "        acc = None",
        "for i in pypto.loop(3):\n    if n[0] > 1:\n        acc = x * 4.0\n    else:\n        acc = None",
        "acc = x\nfor i in pypto.loop(2):\n    for j in pypto.loop(2):\n        acc = some(x, n[0] + i + j)",
        "acc = x\nfor i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):\n    acc = None if k == 1 else x * 2.0",
        "acc = x\nfor i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):\n    acc = x * 2.0 if k == 1 else None",
        "acc = None\nfor i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):\n    acc = x if k == 1 else None",
        "acc = 7\nfor i in pypto.loop(2):\n    if acc is not None and n[0] > 1:\n        out[0:4] = x * acc\n"
        "        acc = None\n    else:\n        acc = i + 3",
        "acc = 0.5\nfor i in pypto.loop(3):\n    acc = 1.5\n    if i == n[0]:\n        acc = None",
    ],
)
def test_what_a_loop_leaves_may_be_none(tmp_path, lines):
    follows(tmp_path, lines + LEFT, more=MAY_BE)


def test_it_is_no_value(tmp_path):
    kernel = load(tmp_path, LOOP + "    acc = acc * 2.0 if i > 1 else t\nout[0:4] = acc")
    assert run(kernel, 2)[:4].tolist() == [2.0, 4.0, 6.0, 8.0]
    with pytest.raises(pypto.PyptoError, match="'acc' is used at line 11 and is None: it is bound only in the loop"):
        run(kernel, 0)
    first = HEAD.count("\n") + 1
    kernel = load(tmp_path, LOOP + "    acc = t + acc if i > 1 else t\nout[0:4] = acc")
    assert run(kernel, 2)[:4].tolist() == [2.0, 4.0, 6.0, 8.0]
    with pytest.raises(TypeError, match="NoneType") as caught:
        run(load(tmp_path, LOOP + "    acc = acc + t\nout[0:4] = acc"), 1)
    assert f"line {first + 3}, column 15" in str(caught.value)
    with pytest.raises(TypeError, match=r"'acc' is a tensor before the pypto.loop and what is a tensor .* and a list"):
        run(
            load(tmp_path, LOOP + "    if acc is None:\n        acc = t\n    else:\n        acc = [t]\nout[0:4] = x"), 1
        )


@pytest.mark.parametrize("value", ["i", "i + 1", "[i]", "[]"])
@pytest.mark.parametrize(
    "use",
    [
        "if not acc:\n    q = 2",
        "if acc:\n    q = 5",
        "q = 3 if acc else 4",
        "q = (not acc) + 3",
        "q = 1 if acc and n[0] > 1 else 2",
        "q = 1 if n[0] > 3 or acc else 2",
        "if not acc and n[0] > 0:\n    q = 6",
    ],
)
def test_none_counts_as_false(tmp_path, value, use):
    start = f"acc = None\nq = 0\nfor i in pypto.loop(n[0]):\n    acc = {value}\n"
    follows(tmp_path, f"{start}{use}\nout[0:4] = x * q")


GIVING = """
def last(a, m):
    acc = None
    for k in pypto.loop(m):
        acc = a + k
    return acc

def passed_on(a, m):
    b = last(a, m)
    return b

def again(a, m):
    return passed_on(a, m)

def found(a, m):
    if m == 1:
        return a
    if m == 2:
        return a * 2.0

def pair(a, m):
    if m == 1:
        return [a, 3]

def product(y, a):
    return a if y is None else y[0] * y[1]

def or_five(a, m):
    y = found(a, m)
    if y is None:
        return a * 5.0
    return y
"""


@pytest.mark.parametrize(
    "lines",
    [
        "y = last(x, n[0])\nif y is None:\n    out[0:4] = x * 2.0\nelse:\n    out[0:4] = y * 3.0",
        "y = again(x, n[0])\nif y is not None:\n    out[0:4] = y\nif last(x, n[0] - 1) is None:\n    out[4:8] = x",
        "if (w := again(x, n[0])) is not None:\n    out[0:4] = w\nout[4:8] = x",
        "y = found(x, n[0])\nif y is not None:\n    out[0:4] = y\nz = found(x, n[0])\n"
        "out[4:8] = x if z is None else z + 1.0",
        "y = pair(x, n[0])\nfor i in pypto.loop(2):\n    if y is None:\n        y = [x * 2.0, 1]\n    else:\n"
        "        y = [y[0] + 1.0, y[1] + 1]\nout[0:4] = y[0] * y[1]",
        "z = pair(x, n[0])\nout[0:4] = product(z, x)",
        "out[0:4] = or_five(x, n[0])",
        "y = found(x, n[0])\nz = found(x, n[0] - 1)\nif y is None and z is None:\n    out[0:4] = x\n"
        "elif y is None or z is None:\n    out[0:4] = x * 2.0",
    ],
)
def test_none_that_a_helper_gives(tmp_path, lines):
    follows(tmp_path, lines, more=GIVING)


def test_none_that_a_helper_gives_and_nothing_asks_for(tmp_path):
    kernel = load(tmp_path, "out[0:4] = pair(x, n[0])[0]", GIVING)
    with pytest.raises(NameError, match="Conflicted var .*Instead: name it and ask whether the name `is not None`"):
        run(kernel, 1)
