"""Names that a loop body or a branch binds first, to containers and other values, and that are read later."""

import itertools

import pytest
from eager_kernels import is_as_eager, module_of

import pypto

COUNTS = [(0, 0), (1, 2), (2, 1), (4, 3)]
MAKES = {
    "list": ("[x * 3.0, x]", "[0]", "[1]"),
    "dict": ("{'a': x * 3.0, 'b': x}", "['a']", "['b']"),
    "Box": ("Box(x * 3.0, x)", ".t", ".u"),
    "nested": ("{'l': [x * 3.0], 'b': Box(x, 3)}", "['l'][0]", "['b'].t"),
    "numbers beside": ("[x * 3.0, 2, x, 'text', None, 0.5]", "[0]", "[2]"),
    "of helper": ("fresh(x)", "[0]", "[1]"),
}
BINDINGS = {
    "first iteration": "if i == 0:\n    K = MAKE",
    "is_loop_begin": "if pypto.is_loop_begin(i):\n    K = MAKE",
    "else": "if i > 0:\n    y = x\nelse:\n    K = MAKE",
    "nested branches": "if n[0] > 0:\n    if i == 0:\n        K = MAKE",
    "both sides": "if i == 0:\n    K = MAKE\nelse:\n    K = K",
    "second iteration": "if i == 1:\n    K = MAKE",
    "two iterations": "if i == 0:\n    K = MAKE\nif i == 2:\n    K = MAKE",
    "the one outer": "if i == 0:\n    K = M",
    "by another name": "if i == 0:\n    P = MAKE\n    K = P",
}
USES = {
    "read": "",
    "set": "K@ = K@ + 1.0",
    "written": "K@[:] = K@ + 1.0",
    "region": "K@[0:2] = x[1:3] + 1.0",
    "bound anew": "K = MAKE",
    "set in a branch": "if i > 1:\n    K@ = K& * 2.0",
    "written in a loop": "for j in pypto.loop(2):\n    K@[:] = K@ + 1.0",
}


def program(make, binding, use):
    made, one, other = MAKES[make]
    body = "\n".join([BINDINGS[binding], *([USES[use]] if USES[use] else [])])
    lines = ["M = MAKE", "for i in pypto.loop(n[0]):", *(f"    {line}" for line in body.split("\n"))]
    lines += ["    if i > 0:", "        out[0:4] = K@ + 0.0", "        out[4:8] = K& + 0.0"]
    lines += ["out[8:12] = M@", "out[12:16] = M&"]
    return "\n".join(lines).replace("MAKE", made).replace("@", one).replace("&", other)


def check(directory, body, counts=COUNTS):
    """As in eager Python for each pair of numbers; gives those with which no unbound name is read."""
    module = module_of(directory, body)
    kernel = pypto.frontend.jit(module.kernel)
    return [numbers for numbers in counts if is_as_eager(module, kernel, numbers)]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("make", MAKES)
def test_containers(tmp_path, make, binding, use):
    check(tmp_path, program(make, binding, use))


def test_tuples(tmp_path):
    for binding, number in itertools.product(BINDINGS, ("x", "2", "(x, 1)")):
        body = program("list", binding, "read").replace("[x * 3.0, x]", f"(x * 3.0, x, {number})")
        check(tmp_path, body)


PROGRAMS = {
    "after the loop": """
for i in pypto.loop(n[0]):
    K = [x * 3.0 + i, i, 0.5]
out[0:4] = K[0] + K[1] + K[2]
""",
    "after a conditional binding": """
for i in pypto.loop(n[0]):
    if i == 1:
        K = [x * 3.0]
out[0:4] = K[0]
""",
    "changed after the loop": """
M = [x * 2.0]
for i in pypto.loop(n[0]):
    K = M
K[0] = K[0] + 1.0
out[0:4] = M[0]
""",
    "one branch": """
if n[0] > 0:
    K = [x * 3.0, {'a': x}]
out[0:4] = K[0] + K[1]['a']
""",
    "one branch, changed": """
if n[0] > 1:
    K = Box(x * 3.0, x)
if n[0] > 1:
    K.t = K.t + K.u
    K.u[:] = K.t
    out[0:4] = K.t
""",
    "one branch, bound again in a loop": """
if n[0] > 1:
    K = [x * 3.0]
for i in pypto.loop(n[1]):
    if i == 1:
        K = [x * 5.0]
    if i > 0:
        out[0:4] = K[0]
out[4:8] = K[0]
""",
    "one branch, changed in a loop": """
if n[0] > 0:
    K = [x * 3.0]
for i in pypto.loop(n[0]):
    K[0] = K[0] + 1.0
out[4:8] = K[0]
""",
    "either branch": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x * 3.0, 1]
    elif i == 1:
        K = [x * 4.0, 2]
    out[0:4] = K[0] + K[1]
""",
    "an empty one": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = []
    out[0:4] = x + len(K)
""",
    "empty ones inside": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [[], {}, ()]
    out[0:4] = x + len(K)
""",
    "integers": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [1, n[1], i]
    else:
        K[2] = K[2] + K[1]
    out[0:4] = x + K[0] + K[2]
""",
    "integers that stay are static": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = {'width': 2, 'first': 1}
    out[0 : K['width']] = x[K['first'] : K['first'] + 2]
""",
    "floats": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [0.5, 1]
    else:
        K[0] = K[0] * 2.0
    out[0:4] = x * K[0] + K[1]
""",
    "tile configurations": """
for i in pypto.loop(n[0]):
    if i == 0:
        tiles = TILES
    out[0 : tiles.rows] = x[0 : tiles.width] + i
""",
    "a configuration that is made": """
for i in pypto.loop(n[0]):
    if i == 0:
        tiles = Tiles(2, 2)
    out[0 : tiles.rows] = x[0 : tiles.width] + i
""",
    "strings": """
for i in pypto.loop(n[0]):
    if i == 0:
        mode = 'double'
    if mode == 'double':
        out[0:4] = x * 2.0 + i
""",
    "functions": """
for i in pypto.loop(n[0]):
    if pypto.is_loop_begin(i):
        make = fresh
    out[0:4] = make(x)[1]
""",
    "None": """
for i in pypto.loop(n[0]):
    if pypto.is_loop_begin(i):
        bias = None
    if bias is None:
        out[0:4] = x + i
""",
    "a string of before a branch": """
if n[0] > 1:
    mode = 'a'
for i in pypto.loop(n[0]):
    if i == 0:
        mode = 'a'
    if mode == 'a':
        out[0:4] = x + i
""",
    "elements of an outer container": """
M = [x * 2.0, x]
for i in pypto.loop(n[0]):
    if i == 0:
        K = [M[0], M[1]]
    K[0][:] = K[0] + 1.0
out[0:4] = M[0]
out[4:8] = M[1]
""",
    "an outer container inside": """
M = [x * 2.0]
for i in pypto.loop(n[0]):
    if i == 0:
        K = {'m': M, 'x': x * 3.0}
    out[4:8] = K['m'][0] + K['x']
""",
    "an outer tensor twice": """
T = x * 2.0
for i in pypto.loop(n[0]):
    if i == 0:
        K = [T, T]
    K[0][0:2] = x[2:4]
    out[4:8] = K[1]
out[0:4] = T
""",
    "the parameter": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x]
    K[0][:] = K[0] + 1.0
""",
    "the outer container and then a new one": """
M = [x * 2.0]
for i in pypto.loop(n[0]):
    if i == 0:
        K = M
    if i == 2:
        K = [x * 7.0]
    out[0:4] = K[0]
out[4:8] = M[0]
""",
    "the outer container in another one's place": """
M = [x * 2.0]
N = [x * 4.0]
for i in pypto.loop(n[0]):
    if i == 0:
        K = M
    else:
        K = N
    out[0:4] = K[0]
    N = [K[0] + 1.0]
""",
    "in a nested loop": """
for i in pypto.loop(n[0]):
    for j in pypto.loop(n[1]):
        if j == 0:
            K = [x * 3.0 + i]
        else:
            K[0] = K[0] + 1.0
    out[0:4] = K[0]
""",
    "in a nested loop, once": """
for i in pypto.loop(n[0]):
    for j in pypto.loop(n[1]):
        if i == 0:
            K = {'k': x * 3.0}
    K['k'] = K['k'] + 1.0
    out[0:4] = K['k']
""",
    "of the outer loop in the nested one": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x * 3.0]
    for j in pypto.loop(n[1]):
        K[0] = K[0] + j
        if j == 1:
            K = [K[0] * 0.5]
    out[0:4] = K[0]
""",
    "three deep": """
for i in pypto.loop(n[0]):
    for j in pypto.loop(2):
        for k in pypto.loop(n[1]):
            if i == 0:
                if j == 0:
                    if k == 0:
                        K = [x * 3.0, 1]
            K[0][:] = K[0] + 1.0
            K[1] = K[1] + 1
    out[0:4] = K[0] + K[1]
""",
    "unroll_list": """
for i in pypto.loop(n[0], unroll_list=[4, 2]):
    if i == 0:
        K = [x * 3.0, 0]
    K[0] = K[0] + 1.0
    K[1] = K[1] + i
    out[0:4] = K[0] + K[1]
""",
    "loop_unroll": """
for i, k in pypto.loop_unroll(0, n[0], 1, unroll_list=[2]):
    if i == 0:
        K = Box(x * 3.0, 0)
    K.t = K.t + 1.0
    K.u = K.u + k
    out[0:4] = K.t + K.u
""",
    "negative step": """
for i in pypto.loop(n[0], 0, -1):
    if pypto.is_loop_begin(i):
        K = [x * 3.0]
    K[0] = K[0] + i
    out[0:4] = K[0]
""",
    "in a helper": """
for i in pypto.loop(n[0]):
    if i == 0:
        K = kept([x * 3.0, x], 3)
    out[0:4] = K[0] + K[1]
""",
    "in a function of the kernel": """
def inner(count):
    for j in pypto.loop(count):
        if j == 0:
            L = [x * 2.0]
        else:
            L[0] = L[0] + 1.0
        out[4:8] = L[0]

for i in pypto.loop(n[0]):
    if i == 0:
        K = [x * 3.0]
    inner(n[1])
    out[0:4] = K[0]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(tmp_path, name):
    assert (4, 3) in check(tmp_path, PROGRAMS[name])
