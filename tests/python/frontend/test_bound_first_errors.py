"""Names that are bound first in a loop body or branch: faults where nothing has bound them, and what is refused."""

import re

import pytest
from eager_kernels import HEAD, line_of, module_of, run

import pypto

LOOP = "for i in pypto.loop(n[0]):"


def faulted(directory, body, numbers):
    """The text of the fault."""
    with pytest.raises(pypto.PyptoError) as caught:
        run(pypto.frontend.jit(module_of(directory, body).kernel), numbers)
    return str(caught.value)


def in_kernel(body, statement):
    """The line of a statement, counted from the `def` of the kernel."""
    return line_of(body, statement) - HEAD.count("\n") + 2


def test_a_name_that_was_never_bound_is_a_fault(tmp_path):
    body = """
for i in pypto.loop(n[0]):
    if i == n[1]:
        K = [x * 3.0]
    out[0:4] = K[0]
"""
    told = faulted(tmp_path, body, (3, 1))
    used, bound = in_kernel(body, "out[0:4] = K[0]"), in_kernel(body, "if i == n[1]:")
    assert (
        f"'K' is used at line {used} and was never bound: it is bound only in one branch of the if at line {bound}"
        in told
    )


def test_a_name_that_no_iteration_has_reached_is_a_fault(tmp_path):
    body = """
for i in pypto.loop(n[0]):
    if i >= n[1]:
        out[0:4] = K[0]
    K = [x * 3.0]
"""
    told = faulted(tmp_path, body, (3, 0))
    used, bound, loop = (
        in_kernel(body, each) for each in ("out[0:4] = K[0]", "K = [x * 3.0]", "for i in pypto.loop(n[0]):")
    )
    assert (
        f"'K' is used at line {used} and was never bound: it is bound only at line {bound}, which no iteration of the "
        f"loop at line {loop} has reached" in told
    )


def test_a_loop_that_does_not_run_binds_nothing(tmp_path):
    body = """
for i in pypto.loop(n[0]):
    K = {'a': x * 3.0}
out[0:4] = K['a']
"""
    told = faulted(tmp_path, body, (0, 0))
    used, bound = in_kernel(body, "out[0:4] = K['a']"), in_kernel(body, LOOP)
    assert f"'K' is used at line {used} and was never bound" in told
    assert f"it is bound only in the loop at line {bound}, which may not run at all" in told


REFUSED = {
    "other length": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x]
    else:
        K = [x, x]
    out[0:4] = K[0]
""",
        "K[0]",
        NameError,
        "'K' is a list of 1 in one branch of the if at line {if i == 0:} and a list of 2 in the other "
        "(Conflicted var K). Instead: bind it before",
    ),
    "other length later": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x]
    out[0:4] = K[0]
    if i == 2:
        K = [x, x]
""",
        "K[0]",
        NameError,
        "'K' is a list of 2 in one branch of the if at line {if i == 2:} and a list of 1 in the other "
        "(Conflicted var K). Instead: bind it before",
    ),
    "other kind": (
        """
if n[0] > 0:
    K = [x]
else:
    K = {'a': x}
out[0:4] = K[0]
""",
        "K[0]",
        NameError,
        "'K' is a list of 1 in one branch of the if at line {if n[0] > 0:} and a dict of 1 in the other "
        "(Conflicted var K). Instead: bind it before",
    ),
    "other shape": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x]
    out[0:4] = K[0]
    if i == 2:
        K = [x[0:2]]
""",
        "out[0:4] = K[0]",
        NameError,
        "'[0] of K' is a tensor [2] DT_FP32 in one branch of the if at line {if i == 2:} and "
        "a tensor [4] DT_FP32 in the other (Conflicted var [0] of K). "
        "Instead: give values of one kind in either branch",
    ),
    "a changing string": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        mode = 'a'
    if mode == 'a':
        out[0:4] = x
    mode = 'b'
""",
        "mode == 'a'",
        NameError,
        "'mode' is 'a' in one branch of the if at line {if i == 0:} and 'b' in the other (Conflicted var mode)",
    ),
    "a string of before the loop": (
        """
mode = 'a'
for i in pypto.loop(n[0]):
    if mode == 'a':
        out[0:4] = x
    if i == 0:
        mode = 'b'
""",
        "mode = 'b'",
        ValueError,
        "'mode' changes in a pypto.loop from 'a' to what is 'b' in one branch of the if at line {if i == 0:} and "
        "'a' in the other (Conflicted var mode) and is read in a later iteration",
    ),
    "another string in each iteration": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        mode = 'a'
    else:
        if mode == 'a':
            out[0:4] = x
        mode = 'b'
""",
        "mode == 'a'",
        NameError,
        "'mode' is 'a' in one branch of the if at line {if i == 0:} and 'b' in the other (Conflicted var mode)",
    ),
    "a changing string in a container": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        K = [x, 'a']
    if K[1] == 'a':
        out[0:4] = K[0]
    K = [x, 'b']
""",
        "K[1] == 'a'",
        NameError,
        "'[1] of K' is 'a' in one branch of the if at line {if i == 0:} and 'b' in the other (Conflicted var [1] of K)",
    ),
    "an object of a user": (
        """
for i in pypto.loop(n[0]):
    if i == 0:
        K = object()
    if K is None:
        out[0:4] = x
""",
        "K = object()",
        ValueError,
        "'K' changes in a pypto.loop from unbound to a object",
    ),
    "never bound": (
        """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = K[0]
        K = [x]
""",
        "K[0]",
        NameError,
        "'K' is read before it is bound, in the loop at line {for i in pypto.loop(n[0]):}. Instead: bind it before",
    ),
    "read by the body itself": (
        """
for i in pypto.loop(n[0]):
    out[0:4] = K[0]
    K = [x]
""",
        "K[0]",
        NameError,
        "'K' is read before it is bound, in the loop at line {for i in pypto.loop(n[0]):}. Instead: bind it before",
    ),
    "another mistake in the body": (
        """
for i in pypto.loop(n[0]):
    if i > 0:
        out[0:4] = K[0]
    K = [x[0:4:2]]
""",
        "x[0:4:2]",
        ValueError,
        "step must be 1 or None",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(tmp_path, name):
    body, at, kind, text = REFUSED[name]
    text = re.sub(r"\{(.*?)\}", lambda found: str(line_of(body, found[1])), text)
    with pytest.raises(pypto.CompileError) as caught:
        run(pypto.frontend.jit(module_of(tmp_path, body).kernel), (3, 1))
    assert isinstance(caught.value, kind)
    assert text in str(caught.value)
    line = next(each for each in body.split("\n") if at in each)
    assert caught.value.lineno == line_of(body, line.strip())
    assert caught.value.column == line.index(at) + 4
