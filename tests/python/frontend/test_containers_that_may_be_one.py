"""Containers that a name may have in common with another one, depending on the running kernel, and that change."""

import textwrap

import pytest
from container_programs import AGAIN, BINDINGS, KINDS, LENGTH, follows, load, program, refused, run


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["L", "M"])
def test_an_element_is_set_in_the_container_of_another_name(tmp_path, kind, binding, name):
    follows(tmp_path, program(kind, binding, f"{name}{KINDS[kind][1]} = x * 7.0"))


CHANGES = {
    "again": "L@ = x * 7.0\nM@ = M@ + L@\nL@ = L@ * 2.0",
    "in place": "L@[0:1] = x[2:3]\nM@[1:2] = x[0:1]",
    "whole": "L@[:] = x * 6.0",
    "in a loop": "for k in pypto.loop(3):\n    L@ = L@ + M@",
    "in a branch": "if n[0] < 2:\n    L@ = x * 7.0\nelse:\n    M@ = x * 8.0",
    "in both": "for k in pypto.loop(2):\n    if k == n[0] - 1:\n        L@ = x * 7.0\n        M@[0:1] = L@[1:2]",
    "bound again": "L = M\nL@ = x * 7.0",
    "swapped": "L, M = M, L\nL@ = x * 7.0",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_followed(tmp_path, kind, binding, change):
    follows(tmp_path, program(kind, binding, CHANGES[change]))


@pytest.mark.parametrize(
    "change",
    [
        "L[0] += x",
        "L[0:1] = [x]",
        "L[0], y = x, x",
        "L[0], M[0] = M[0] + 1.0, L[0]",
        "L[0] = M[0] = x * 9.0",
        "(L[0], [y, (M[0], z)]) = (x * 5.0, (1, [x * 6.0, 2]))",
        "put(L, x * 7.0)",
        "put(choose(n[0] - 1, L, M), x * 7.0)",
        "choose(n[0] - 1, L, M)[0] = x * 7.0",
        "L.__setitem__(0, x * 7.0)",
        "y = (L.__setitem__(0, x * 7.0), M[0])[1]",
        "y = list(map(lambda v: L.__setitem__(0, v), [x * 7.0]))",
        "L[0], *y, M[0] = x * 5.0, 1, x * 6.0",
        "L.reverse()",
        "y = (lambda v: put(M, v))(x * 7.0)",
        "y = [put(K, x * 7.0) for K in (M, L)]",
        "for K in (L, M):\n    K[0] = K[0] + x",
        "def inner(v):\n    L[0] = v\ninner(x * 7.0)",
        "keep = [L]\nL = [x]\nkeep[0][0] = x * 7.0",
    ],
)
def test_every_change_of_a_list_counts(tmp_path, change):
    end = "out[0:4] = L[0]\nout[4:8] = M[0]"
    follows(tmp_path, f"L = [x * 2.0]\nM = [x * 3.0]\nif n[0] > 0:\n    L = M\n{change}\n{end}")


@pytest.mark.parametrize(
    "change",
    [
        "L += [x]",
        "L.append(x)",
        "L.extend([x, x])",
        "L.insert(0, x)",
        "L.pop()",
        "L.clear()",
        "del L[0]",
        "list.append(L, x)",
        "y = [L.append(x), 1]",
    ],
)
def test_a_length_does_not_change(tmp_path, change):
    body = f"L = [x * 2.0]\nM = [x * 3.0]\nif n[0] > 0:\n    L = M\n{change}\nout[0:4] = M[0]"
    refused(tmp_path, body, "list", change, LENGTH, "L.append(x)" if "y = " in change else "")


def test_what_a_function_that_is_not_traced_may_read_after_its_change(tmp_path):
    body = "L = [x * 2.0]\nM = [x * 3.0]\nif n[0] > 0:\n    L = M\ny = natively(L, M, x)\nout[0:4] = M[0]"
    refused(tmp_path, body, "list", "y = natively(L, M, x)", AGAIN, "natively(")


@pytest.mark.parametrize("change", ["L.update(k=x * 7.0)", "L['k'] = x * 7.0", "L |= {'k': x}", "L.setdefault('k', x)"])
def test_every_change_of_a_dict_counts(tmp_path, change):
    end = "out[0:4] = L['k']\nout[4:8] = M['k']"
    follows(tmp_path, f"L = {{'k': x * 2.0}}\nM = {{'k': x * 3.0}}\nif n[0] > 0:\n    L = M\n{change}\n{end}")


@pytest.mark.parametrize("change", ["L.update(j=x)", "L['j'] = x", "L.pop('k')", "del L['k']", "L.setdefault('j', x)"])
def test_the_keys_of_a_dict_do_not_change(tmp_path, change):
    body = f"L = {{'k': x * 2.0}}\nM = {{'k': x * 3.0}}\nif n[0] > 0:\n    L = M\n{change}\nout[0:4] = M['k']"
    refused(tmp_path, body, "dict", change, LENGTH)


def test_one_statement_that_sets_both(tmp_path):
    more = "class Ends:\n    def __init__(self, *lists):\n        self.lists = lists\n\n    def __del__(self):\n"
    more += "        for number, each in enumerate(self.lists):\n            each[0] = number"
    body = "L = [1]\nM = [2]\nif n[0] > 0:\n    L = M\nE = Ends(L, M)\ndel E\nout[0:4] = x * L[0]\nout[4:8] = x * M[0]"
    refused(tmp_path, body, "list", "del E", "one statement changes that element in both", more=more)


@pytest.mark.parametrize("held", ["keep = {'m': M}", "keep = Box(M)", "keep = (x, M)", "keep = lambda: M"])
def test_another_name_is_what_leads_to_the_container(tmp_path, held):
    read = {"keep = {'m': M}": "keep['m']", "keep = Box(M)": "keep.t", "keep = (x, M)": "keep[1]"}.get(held, "keep()")
    body = f"""
    L = [x * 2.0]
    M = [x * 3.0]
    {held}
    if n[0] > 0:
        L = M
    L[0] = x * 7.0
    out[0:4] = {read}[0]
    """
    follows(tmp_path, body)


@pytest.mark.parametrize("held", ["keep = iter(M)", "keep = {'m': M}"])
def test_a_length_does_not_change_where_something_leads_to_it(tmp_path, held):
    body = f"""
    L = [x * 2.0]
    M = [x * 3.0]
    {held}
    if n[0] > 0:
        L = M
    L.append(x)
    M = keep
    N = M
    """
    refused(tmp_path, body, "list", "L.append(x)", LENGTH)


def test_a_name_that_nobody_reads_any_more_does_not_count(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    if n[0] > 0:
        L = M
    L.append(L[0] * 7.0)
    out[0:4] = L[1]
    M = [x]
    out[4:8] = M[0]
    """
    follows(tmp_path, body)


@pytest.mark.parametrize("made", ["list(M)", "[*M]", "M[:]", "copy.copy(M)"])
def test_a_container_bound_anew_is_another_one(tmp_path, made):
    body = f"""
    L = [x * 2.0]
    M = [x * 3.0]
    if n[0] > 0:
        L = {made}
    L[0] = L[0] * 7.0
    out[0:4] = L[0]
    out[4:8] = M[0]
    """
    follows(tmp_path, body)


def test_a_body_that_changes_what_a_later_iteration_finds_in_another_name(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        L[0] = x * 5.0
        L = M
    out[0:4] = L[0]
    out[4:8] = M[0]
    """
    follows(tmp_path, body)


def test_a_body_that_changes_the_container_of_another_name_first(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        M[0] = M[0] + 1.0
        out[0:4] = L[0]
        L = M
    """
    follows(tmp_path, body)


def test_two_names_that_end_a_body_with_one_container(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        L[0] = L[0] + 1.0
        L = [x]
        M = L
    out[0:4] = L[0]
    out[4:8] = M[0]
    """
    follows(tmp_path, body)


def test_containers_that_are_swapped_and_changed(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        L[0] = L[0] + 1.0
        L, M = M, L
    L[0] = L[0] * 10.0
    out[0:4] = L[0]
    out[4:8] = M[0]
    """
    follows(tmp_path, body)


def test_a_container_made_anew_in_every_iteration_is_changed(tmp_path):
    body = """
    state = [x * 2.0, x * 3.0]
    for i in pypto.loop(n[0]):
        state[0] = state[0] + 1.0
        state = [state[1], state[0]]
        state[1] = state[1] * 2.0
    state[0] = state[0] * 10.0
    state.append(x)
    out[0:4] = state[0] + state[2]
    out[4:8] = state[1]
    """
    follows(tmp_path, body)


def test_many_containers_bound_in_an_unrolled_loop(tmp_path):
    body = """
    state = [x * 0.0]
    for k in range(100):
        if n[0] > k:
            state = [state[0] + 1.0]
        state[0] = state[0] + 1.0
    out[0:4] = state[0]
    """
    follows(tmp_path, body, (0, 30, 101))


@pytest.mark.parametrize("first", ["i == 0", "pypto.is_loop_begin(i)"])
@pytest.mark.parametrize("made", ["M", "[x * 3.0]"])
@pytest.mark.parametrize("otherwise", [False, True])
def test_a_container_that_only_the_first_iteration_binds(tmp_path, first, made, otherwise):
    branches = (
        [f"if {first}:", f"    K = {made}"] if not otherwise else ["if i > 0:", "    y = x", "else:", f"    K = {made}"]
    )
    lines = ["M = [x * 3.0]", "for i in pypto.loop(n[0]):", *(f"    {line}" for line in branches)]
    body = "\n".join([*lines, "    out[0:4] = K[0] + 3.0"])
    assert run(load(tmp_path, body), 3)[0:4].tolist() == [6.0, 9.0, 12.0, 15.0]


def test_a_container_that_every_iteration_binds(tmp_path):
    body = """
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        if i == 0:
            K = M
        else:
            K = M
        out[0:4] = K[0] + 3.0
    """
    follows(tmp_path, body)


@pytest.mark.parametrize("again", ["for i in pypto.loop(3):", "for j in pypto.loop(1):\n    for i in pypto.loop(3):"])
@pytest.mark.parametrize("made", ["f = lambda a: q if i == 1 else a", "def f(a):\n    return q if i == 1 else a"])
def test_a_function_reads_the_index_of_the_loop_that_it_is_called_in(tmp_path, again, made):
    inner = textwrap.indent(f"{made}\np = f(p) + 1.0", "    " * (again.count("\n") + 1))
    body = f"p = x * 2.0\nq = x * 3.0\nfor i in pypto.loop(2):\n    p = p + 1.0\n{again}\n{inner}\nout[0:4] = p"
    follows(tmp_path, body, (1,))


def test_a_function_that_is_called_behind_the_loop_reads_no_index(tmp_path):
    body = """
    p = x * 2.0
    f = lambda a: a + p
    g = lambda a: f(a)
    for i in pypto.loop(n[0]):
        p = p + 1.0
    out[0:4] = g(x)
    h = [lambda: p]
    for i in pypto.loop(n[0]):
        p = p + 1.0
    out[4:8] = h[0]()
    """
    follows(tmp_path, body)


def test_what_a_name_finds_in_another_one_goes_on_to_a_third(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    O = [x * 4.0]
    for i in pypto.loop(n[0]):
        L = M
        M = O
    L[0] = x * 7.0
    out[0:4] = M[0]
    """
    follows(tmp_path, body)


def test_a_body_that_changes_what_goes_on_to_a_third_name(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    O = [x * 4.0]
    for i in pypto.loop(n[0]):
        L[0] = L[0] + 1.0
        L = M
        M = O
    out[0:4] = L[0]
    out[4:8] = O[0]
    """
    follows(tmp_path, body)


def test_the_container_of_before_is_kept_beside_a_new_one(tmp_path):
    body = """
    before = [x]
    now = [x * 2.0]
    for i in pypto.loop(n[0]):
        now[0] = now[0] + 1.0
        before, now = now, [before[0] + now[0]]
    now[0] = now[0] + 1.0
    out[0:4] = now[0]
    out[4:8] = before[0]
    """
    follows(tmp_path, body)
