"""Containers that a name may have in common with another one, depending on the running kernel, and that change."""

import importlib.util
import itertools
import textwrap

import pytest
import torch

import pypto

_numbers = itertools.count()

HEAD = """
import copy
from dataclasses import dataclass
import pypto

@dataclass
class Box:
    t: object

def choose(condition, a, b):
    if condition > 0:
        return a
    return b

def put(container, value):
    container[0] = value

@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
def kernel(
    x: pypto.Tensor([4], pypto.DT_FP32),
    n: pypto.Tensor([1], pypto.DT_INT32),
    out: pypto.Tensor([8], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(4)
"""


def load(directory, body):
    path = directory / f"containers_{next(_numbers)}.py"
    path.write_text(HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def run(kernel, n):
    out = torch.zeros(8)
    kernel(torch.ones(4), torch.tensor([n], dtype=torch.int32), out)
    return out[0].item(), out[4].item()


def refused(directory, body, kind, at):
    """The line `at` of the body is refused, with what to write instead."""
    line = HEAD.count("\n") + 1 + [each.strip() for each in textwrap.dedent(body).strip("\n").split("\n")].index(at)
    with pytest.raises(pypto.CompileError, match=f"a {kind} changes that may be the one of another name") as caught:
        run(load(directory, body), 1)
    assert isinstance(caught.value, ValueError)
    assert caught.value.lineno == line
    assert "Instead: bind a new" in str(caught.value)
    assert "write into the tensor that it holds (x[:] = value)" in str(caught.value)


BINDINGS = {
    "if": "if n[0] > 0:\n    L = M",
    "if and else": "if n[0] > 0:\n    L = M\nelse:\n    L = O",
    "loop": "for i in pypto.loop(n[0]):\n    L = M",
    "unrolled loop": "for i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):\n    L = M",
    "nested": "for i in pypto.loop(n[0]):\n    for j in pypto.loop(2):\n        if j == i:\n            L = M",
    "helper": "L = choose(n[0], M, L)",
    "tuple": "pair = (L, M)\nif n[0] > 0:\n    pair = (M, L)\nL = pair[0]",
    "dict": "held = {'k': L}\nif n[0] > 0:\n    held = {'k': M}\nL = held['k']",
}
KINDS = {"list": ("[{}]", "[0]"), "dict": ("{{0: {}}}", "[0]"), "Box": ("Box({})", ".t")}


def program(kind, binding, change):
    make, item = KINDS[kind]
    start = [f"{name} = {make.format(f'x * {factor}')}" for name, factor in (("L", 2.0), ("M", 3.0), ("O", 4.0))]
    lines = [*start, BINDINGS[binding], change.replace("@", item), f"out[0:4] = L{item}", f"out[4:8] = M{item}"]
    return "\n".join(lines)


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["L", "M"])
def test_an_element_is_not_set_where_another_name_may_have_the_container(tmp_path, kind, binding, name):
    change = f"{name}{KINDS[kind][1]} = x * 7.0"
    refused(tmp_path, program(kind, binding, change), kind, change)


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_such_containers_are_read(tmp_path, kind, binding):
    kernel = load(tmp_path, program(kind, binding, "pass"))
    assert run(kernel, 1) == (3.0, 3.0)
    assert run(kernel, 0) == (4.0 if binding == "if and else" else 2.0, 3.0)


@pytest.mark.parametrize(
    "change",
    [
        "L[0] += x",
        "L += [x]",
        "L.append(x)",
        "L.extend([x, x])",
        "L.insert(0, x)",
        "L.pop()",
        "L.clear()",
        "del L[0]",
        "L[0:1] = [x]",
        "L[0], y = x, x",
        "put(L, x * 7.0)",
        "list.append(L, x)",
        "y = [L.append(x), 1]",
    ],
)
def test_every_change_of_a_list_counts(tmp_path, change):
    body = f"L = [x * 2.0]\nM = [x * 3.0]\nif n[0] > 0:\n    L = M\n{change}\nout[0:4] = M[0]"
    if change == "put(L, x * 7.0)":
        with pytest.raises(pypto.CompileError, match="a list changes that may be the one") as caught:
            run(load(tmp_path, body), 1)
        assert "container[0] = value" in str(caught.value)
    else:
        refused(tmp_path, body, "list", change)


@pytest.mark.parametrize("change", ["L.update(k=x)", "L['j'] = x", "L.pop('k')", "del L['k']", "L.setdefault('j', x)"])
def test_every_change_of_a_dict_counts(tmp_path, change):
    body = f"L = {{'k': x * 2.0}}\nM = {{'k': x * 3.0}}\nif n[0] > 0:\n    L = M\n{change}\nout[0:4] = M['k']"
    refused(tmp_path, body, "dict", change)


@pytest.mark.parametrize("held", ["keep = {'m': M}", "keep = lambda: M", "keep = iter(M)", "keep = Box(M)"])
def test_another_name_is_what_leads_to_the_container(tmp_path, held):
    body = f"""
    L = [x * 2.0]
    M = [x * 3.0]
    {held}
    if n[0] > 0:
        L = M
    L[0] = x * 7.0
    out[0:4] = L[0]
    M = keep
    """
    refused(tmp_path, body + "\n    N = M", "list", "L[0] = x * 7.0")


def test_a_name_that_nobody_reads_any_more_does_not_count(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    if n[0] > 0:
        L = M
    L[0] = L[0] * 7.0
    out[0:4] = L[0]
    M = [x]
    out[4:8] = M[0]
    """
    kernel = load(tmp_path, body)
    assert [run(kernel, n) for n in (0, 1)] == [(14.0, 1.0), (21.0, 1.0)]


@pytest.mark.parametrize("copy", ["list(M)", "[*M]", "M[:]", "copy.copy(M)"])
def test_a_container_bound_anew_is_another_one(tmp_path, copy):
    body = f"""
    L = [x * 2.0]
    M = [x * 3.0]
    if n[0] > 0:
        L = {copy}
    L[0] = L[0] * 7.0
    out[0:4] = L[0]
    out[4:8] = M[0]
    """
    kernel = load(tmp_path, body)
    assert [run(kernel, n) for n in (0, 1)] == [(14.0, 3.0), (21.0, 3.0)]


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
    refused(tmp_path, body, "list", "L = M")


def test_a_body_that_changes_the_container_of_another_name_first(tmp_path):
    body = """
    L = [x * 2.0]
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        M[0] = M[0] + 1.0
        out[0:4] = L[0]
        L = M
    """
    refused(tmp_path, body, "list", "L = M")


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
    refused(tmp_path, body, "list", "L = [x]")


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_containers_that_are_swapped_and_changed(tmp_path, n):
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
    one, other = [2.0], [3.0]
    for _ in range(n):
        one[0] += 1.0
        one, other = other, one
    assert run(load(tmp_path, body), n) == (one[0] * 10.0, other[0])


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_container_made_anew_in_every_iteration_is_changed(tmp_path, n):
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
    state = [2.0, 3.0]
    for _ in range(n):
        state = [state[1], (state[0] + 1.0) * 2.0]
    assert run(load(tmp_path, body), n) == (state[0] * 10.0 + 1.0, state[1])


def test_many_containers_bound_in_an_unrolled_loop(tmp_path):
    body = """
    state = [x * 0.0]
    for k in range(100):
        if n[0] > k:
            state = [state[0] + 1.0]
        state[0] = state[0] + 1.0
    out[0:4] = state[0]
    """
    assert run(load(tmp_path, body), 30) == (130.0, 0.0)


@pytest.mark.parametrize("first", ["i == 0", "pypto.is_loop_begin(i)"])
@pytest.mark.parametrize("made", ["M", "[x * 3.0]"])
@pytest.mark.parametrize("otherwise", [False, True])
def test_a_container_that_only_the_first_iteration_binds(tmp_path, first, made, otherwise):
    branches = (
        [f"if {first}:", f"    K = {made}"] if not otherwise else ["if i > 0:", "    y = x", "else:", f"    K = {made}"]
    )
    lines = ["M = [x * 3.0]", "for i in pypto.loop(n[0]):", *(f"    {line}" for line in branches)]
    body = "\n".join([*lines, "    out[0:4] = K[0] + 3.0"])
    with pytest.raises(pypto.CompileError) as caught:
        run(load(tmp_path, body), 3)
    assert isinstance(caught.value, NameError)
    assert "to a container that later iterations of the pypto.loop do not find in it" in str(caught.value)
    assert "Instead: bind it before the loop" in str(caught.value)
    assert caught.value.lineno == HEAD.count("\n") + len(body.split("\n"))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_container_that_every_iteration_binds(tmp_path, n):
    body = """
    M = [x * 3.0]
    for i in pypto.loop(n[0]):
        if i == 0:
            K = M
        else:
            K = M
        out[0:4] = K[0] + 3.0
    """
    assert run(load(tmp_path, body), n) == (6.0 if n else 0.0, 0.0)


@pytest.mark.parametrize("again", ["for i in pypto.loop(3):", "for j in pypto.loop(1):\n    for i in pypto.loop(3):"])
@pytest.mark.parametrize("made", ["f = lambda a: q if i == 1 else a", "def f(a):\n    return q if i == 1 else a"])
def test_a_function_reads_the_index_of_the_loop_that_it_is_called_in(tmp_path, again, made):
    inner = textwrap.indent(f"{made}\np = f(p) + 1.0", "    " * (again.count("\n") + 1))
    body = f"p = x * 2.0\nq = x * 3.0\nfor i in pypto.loop(2):\n    p = p + 1.0\n{again}\n{inner}\nout[0:4] = p"
    assert run(load(tmp_path, body), 1) == (5.0, 0.0)


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
    assert run(load(tmp_path, body), 2) == (5.0, 6.0)


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
    refused(tmp_path, body, "list", "L[0] = x * 7.0")


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
    refused(tmp_path, body, "list", "L = M")


@pytest.mark.parametrize("n", [0, 1, 3])
def test_the_container_of_before_is_kept_beside_a_new_one(tmp_path, n):
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
    before, now = 1.0, 2.0
    for _ in range(n):
        before, now = now + 1.0, before + now + 1.0
    assert run(load(tmp_path, body), n) == (now + 1.0, before)
