"""Containers that may be one object: in expressions, by identity, as elements of others, and what stays an error."""

import textwrap

import pytest
from container_programs import HEAD, follows, load, run

import pypto

START = "L = [x * 2.0, 1]\nM = [x * 3.0, 2]\n"
END = "\nout[0:4] = L[0] * L[1]\nout[4:8] = M[0] * M[1]"


@pytest.mark.parametrize(
    "lines",
    [
        """
        if n[0] > 0:
            L = M
        if L is M:
            L[0] = x
        """,
        """
        if n[0] > 0:
            L = M
        if L is not M:
            M[0] = x
        """,
        """
        K = L
        for i in pypto.loop(n[0]):
            L, M = M, L
            if K is L and L is not M:
                M[1] = 7
        """,
        """
        K = L if n[0] > 1 else M
        K[1] = 5
        if K is L or n[0] == 0:
            M[0] = x
        """,
        """
        K = x * 4.0
        p = x * 5.0
        if n[0] > 1:
            p = K
        if p is K:
            L[0] = x
        L[1] = 3 if p is not K else 4
        """,
        """
        K = x * 4.0
        for i in pypto.loop(n[0]):
            p = K
            K = K + 1.0 if i > 0 else K
            if p is K:
                L[0] = p
        """,
        """
        a, b = x * 4.0, x * 5.0
        for i in pypto.loop(n[0]):
            a, b = b, a
            b = a if i == 1 else b
            if a is b:
                M[1] = 9
        """,
    ],
)
def test_identity_is_known_when_the_kernel_runs(tmp_path, lines):
    follows(tmp_path, START + textwrap.dedent(lines).strip() + END)


@pytest.mark.parametrize(
    "lines",
    [
        """
        pair = (choose(n[0], L, M), put(L, x * 7.0), put(M, x * 8.0))
        L, M = pair[0], L
        """,
        """
        def first(a, b):
            return a[0]
        L[0] = first(choose(n[0], L, M), put(L, x * 7.0))
        """,
        """
        def first(a, b):
            return a[0]
        L[0] = first(L if n[0] > 0 else M, put(M, x * 7.0))
        """,
        """
        def late(c):
            if c > 1:
                L[0] = x * 7.0
            return 1
        L[0] = [choose(n[0], L, M), late(n[0])][0][0]
        """,
        """
        def late(c):
            for i in pypto.loop(c):
                L[0] = L[0] + x
            return 1
        M = (choose(n[0], L, M), late(n[0]))[0]
        """,
    ],
)
def test_a_value_that_no_name_holds_yet(tmp_path, lines):
    follows(tmp_path, START + textwrap.dedent(lines).strip() + END)


@pytest.mark.parametrize(
    "lines",
    [
        """
        N = [L, M]
        for i in pypto.loop(n[0]):
            N[0] = M
            N[0][0] = N[0][0] + 1.0
        L = N[0]
        """,
        """
        N = {'a': L, 'b': M}
        if n[0] > 0:
            N['a'], N['b'] = N['b'], N['a']
        N['a'][1] = 5
        N['b'][0] = x
        """,
        """
        N = {'a': L, 'b': M}
        for i in pypto.loop(n[0]):
            N['a'], N['b'] = N['b'], N['a']
            N['a'][1] = N['a'][1] + i
            L[0] = L[0] + 1.0
        """,
        """
        B = Box(L)
        K = Box(M)
        for i in pypto.loop(n[0]):
            B, K = K, B
            B.t = K.t
            B.t[0] = x * 5.0
        B.t[1] = 8
        """,
        """
        B = Box(L)
        for i in pypto.loop(n[0]):
            if i == 1:
                B.t = M
            B.t[0][1:2] = x[2:3]
            B.t[1] = B.t[1] + 1
        """,
        """
        N = [[L], [M]]
        K = N[0]
        for i in pypto.loop(n[0]):
            N[0], N[1] = N[1], N[0]
            K[0] = N[1][0]
        K[0][0] = x * 9.0
        """,
        """
        N = ([L, M], {'k': L})
        if n[0] > 1:
            N = ([M, L], {'k': M})
        N[0][0][0] = x * 5.0
        N[1]['k'][1] = 6
        """,
        """
        N = [L, 0.5]
        K = [M, 2]
        for i in pypto.loop(n[0]):
            N, K = K, N
            N[1] = N[1] + 1.5
        N[0][0] = x * N[1]
        """,
    ],
)
def test_elements_that_are_containers(tmp_path, lines):
    follows(tmp_path, START + textwrap.dedent(lines).strip() + END)


@pytest.mark.parametrize(
    "lines",
    [
        """
        def walk(c, a, b):
            for i in pypto.loop(c):
                a[0] = a[0] + x
                a, b = b, a
            return a
        K = walk(n[0], L, M)
        K[1] = 4
        """,
        """
        def set_both(c, v):
            if c > 1:
                L[0] = v
            else:
                M[0] = v
        if n[0] > 0:
            L = M
        set_both(n[0], x * 7.0)
        """,
        """
        def run_in_loop(c, f):
            for i in pypto.loop(c):
                f(x * 7.0)
        K = L
        if n[0] > 1:
            K = M
        run_in_loop(n[0], lambda v: put(K, v))
        """,
        """
        def change(v):
            K[0] = K[0] + v
        def run_in_loop(c, f):
            for i in pypto.loop(c):
                f(x)
        K = L
        if n[0] > 1:
            K = M
        run_in_loop(n[0], change)
        """,
        """
        def inner(a):
            D = {'k': a}
            if n[0] > 1:
                D = {'k': M}
            D['k'][0] = x * 5.0
            return D
        K = inner(L)
        K['k'][1] = 3
        """,
    ],
)
def test_helpers_change_containers_of_their_callers(tmp_path, lines):
    follows(tmp_path, START + textwrap.dedent(lines).strip() + END)


@pytest.mark.parametrize("change", ["L[0] = 9", "put(L, 9)", "for i in pypto.loop(2):\n    put(L, L[0] + i)"])
@pytest.mark.parametrize("binding", ["if n[0] > 0:\n    L = SHARED", "for i in pypto.loop(n[0]):\n    L = SHARED"])
def test_a_global_container(tmp_path, binding, change):
    follows(tmp_path, f"L = [1, 2]\n{binding}\n{change}\nout[0:4] = x * L[0]\nout[4:8] = x * SHARED[0] + SHARED[1]")


OBJECT_BINDINGS = [
    "if n[0] > 0:\n    L = M",
    "for i in pypto.loop(n[0]):\n    L, M = M, L\n    L.t = L.t + 1.0",
]
OBJECT_CHANGES = [
    "L.t = x * 7.0",
    'setattr(L, "t", x * 7.0)',
    "for j in pypto.loop(2):\n    M.t = L.t + 1.0",
    "if n[0] > 1:\n    M.t = x",
    "K = {'a': L}\nK['a'].t = x * 8.0",
    "N = [L, M]\nN[0], N[1] = N[1], N[0]\nN[0].t = x * 9.0",
]


@pytest.mark.parametrize("change", OBJECT_CHANGES)
@pytest.mark.parametrize("binding", OBJECT_BINDINGS)
@pytest.mark.parametrize("kind", ["Slot", "Held"])
def test_attributes_of_dataclasses(tmp_path, kind, binding, change):
    start = f"L = {kind}(x * 2.0)\nM = {kind}(x * 3.0)\n{binding}\n"
    follows(tmp_path, f"{start}{change}\nout[0:4] = L.t\nout[4:8] = M.t")


def test_a_method_changes_the_object_of_another_name(tmp_path):
    body = """
    L = Held(x * 2.0)
    M = Held(x * 3.0)
    for i in pypto.loop(n[0]):
        L, M = M, L
        L.add(x)
    M.add(x * 2.0)
    out[0:4] = L.t
    out[4:8] = M.t
    """
    follows(tmp_path, body)


@pytest.mark.parametrize(
    "lines",
    [
        "for k in range(5):\n    L[0] = L[0] + M[0]\n    if k == 3:\n        break\n    M[1] = L[1] + k",
        "k = 0\nwhile k < 3:\n    L[0] = L[0] + M[0]\n    L[1] = L[1] + k\n    k += 1",
        "for k, v in enumerate(L):\n    M[k] = v + M[k]",
        "for a, b in zip(L, M):\n    L[0] = x * a + x * b\n    M[1] = 6",
        "K = [a for a in (L, M)]\nK[0][0] = x * 5.0\nK[1][1] = 7",
        "(K := L)[0] = x * 5.0",
        "assert put(L, x * 5.0) is None",
        "def f(v, c=M):\n    c[0] = c[0] + v\nf(x)\nL[0] = L[0] * 2.0\nf(x)",
    ],
)
def test_statements_of_python(tmp_path, lines):
    follows(tmp_path, START + "if n[0] > 0:\n    L = M\n" + lines + END)


def test_elements_that_do_not_go_together(tmp_path):
    start = "L = [x * 2.0, None]\nM = [x * 3.0, 's']\nif n[0] > 0:\n    L = M\nL[1] = 4\n"
    follows(tmp_path, start + "out[0:4] = L[0] * L[1]\nout[4:8] = M[0]")
    kernel = load(tmp_path, start + "out[0:4] = M[0] * M[1]")
    with pytest.raises(pypto.CompileError) as caught:
        run(kernel, 1)
    assert isinstance(caught.value, NameError)
    assert "'[1]' is 4 or 's', depending on which container it was that line " in str(caught.value)
    assert "(Conflicted var [1])" in str(caught.value)
    assert (caught.value.lineno, caught.value.column) == (HEAD.count("\n") + 6, 4 + len("out[0:4] = "))


@pytest.mark.parametrize(
    "lines",
    [
        "if n[0] > 0:\n    K[0] = x * 7.0",
        "L[0] = x * 7.0",
        "if n[0] > 0:\n    if K is L:\n        L[0] = x",
        "if n[0] > 0:\n    if K is M:\n        L[0] = x",
    ],
)
def test_a_name_that_the_body_binds_first(tmp_path, lines):
    loop = "for i in pypto.loop(n[0]):\n    K = L\n    L, M = M, L\n"
    follows(tmp_path, START + loop + lines + END)
