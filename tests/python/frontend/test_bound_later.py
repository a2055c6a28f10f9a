"""Names that a loop body reads above the place that binds them, where the first iteration does not."""

import pytest
from eager_kernels import is_as_eager, module_of

import pypto

PROGRAMS = {
    "a container": """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = K[0] + i
    K = [x * 3.0]
""",
    "a tensor": """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = before + i
    before = x * 3.0 + i
""",
    "a number": """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = x + before
    before = i * 2
""",
    "a string": """
for i in pypto.loop(n[0]):
    if i > 0:
        if mode == 'a':
            out[0:4] = x + i
    mode = 'a'
""",
    "several": """
for i in pypto.loop(n[0]):
    if i > 0:
        c = K[0] + t
        out[0:4] = c
    if i > 1:
        out[4:8] = K[1] + c
    t = x + i
    K = [x * 3.0, t]
""",
    "in a nested loop": """
for i in pypto.loop(n[0]):
    for j in pypto.loop(i):
        out[0:4] = K[0] + j
    K = [x * 3.0 + i]
""",
    "in a nested branch": """
for i in pypto.loop(n[0]):
    if n[1] > 0:
        if i > 0:
            out[0:4] = K['a'] + t
        else:
            t = x * 2.0
    K = {'a': x * 3.0 + i}
""",
    "in a helper": """
def show():
    if n[0] > 0:
        out[0:4] = K[0]

for i in pypto.loop(n[0]):
    if i > 0:
        show()
    K = [x * 3.0 + i]
""",
    "passed on": """
for i in pypto.loop(n[0]):
    if i > 1:
        out[0:4] = older[0]
    if i > 0:
        older = old
        out[4:8] = older[0] + old[0]
    old = [x * 3.0 + i]
""",
    "in an expression": """
for i in pypto.loop(n[0]):
    y = t if i > 0 else x
    out[0:4] = y + (c if i > 0 else 7)
    if i > 0 and c > 0:
        out[4:8] = x * c
    if 0 < i < n[1] < c + 3:
        out[8:12] = x * i
    t = x * 2.0 + i
    c = i * 2
""",
    "deleted": """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = K[0] + i
        del K
    K = [x * 3.0]
""",
    "a number in nested loops": """
for i in pypto.loop(n[0]):
    for j in pypto.loop(n[1]):
        if i + j > 0:
            if s > 1:
                out[0:4] = x + s
        s = j * 2 + i
""",
    "a number that a branch binds, in nested loops": """
for i in pypto.loop(n[0]):
    for j in pypto.loop(2):
        if n[0] > 0:
            s = i + 1
        elif j > 0:
            s = 5
        if s == 1:
            out[0:4] = x * 3.0
        s = min(s, 4)
    out[4:8] = x + s
""",
    "a number of one branch, changed in a loop": """
if n[0] > 0:
    s = n[1]
for i in pypto.loop(n[0]):
    s += i
out[0:4] = x + s
""",
    "a number of a branch whose condition carries it": """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = x + min(e, 4)
    t = x
    if i == 0:
        t = x * 2.0
    for j in pypto.loop(n[1]):
        e = max(n[0], i)
        out[4:8] = t + e
    e = i
""",
    "in both operands of an inner branch": """
for i in pypto.loop(n[0]):
    if i > 0:
        t = K if n[1] > 1 else K * 2.0
        out[0:4] = t + 0.0
    K = x * 3.0 + i
""",
    "a ring of two": """
for i in pypto.loop(n[0]):
    now = [x * 2.0 + i, i]
    if i >= 2:
        out[0:4] = ring['b'][0] + now[0]
        out[4:8] = x + ring['b'][1]
    if i >= 1:
        ring = {'a': now, 'b': last}
    last = now
""",
    "written into": """
for i in pypto.loop(n[0], unroll_list=[2]):
    if i > 0:
        K[0][:] = K[0] + 1.0
        out[0:4] = K[0]
    K = [x * 3.0 + i]
""",
    "two loops": """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = t + 1.0
    t = x * 2.0
for i in pypto.loop(n[1]):
    if i > 0:
        out[4:8] = s + t
    s = x * 3.0
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(tmp_path, name):
    module = module_of(tmp_path, PROGRAMS[name])
    kernel = pypto.frontend.jit(module.kernel)
    found = {numbers: is_as_eager(module, kernel, numbers) for numbers in ((0, 0), (1, 2), (2, 1), (4, 3))}
    assert found[4, 3] and found[2, 1]
