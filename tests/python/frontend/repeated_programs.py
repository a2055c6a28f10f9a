"""Programs of one statement or helper call, k times over: families whose cost is to grow with k and no faster.

Names of containers and tensors are bound anew under conditions and in loops, so that most of them may be one another.
"""

import importlib.util
import itertools
import textwrap

import pypto

_numbers = itertools.count()

HEAD = """
import pypto
from dataclasses import dataclass

@dataclass
class Box:
    t: object
    u: object

def pick(c, a, b):
    if c > 1:
        return b
    if c > 0:
        a[0] = a[0] + 1.0
        return a
    return [b[0], 7]

def early(c, a, b, v):
    if c == 0:
        return b
    elif c < 3:
        if c == 2:
            a[0] = v
            return a
        b[1] = b[1] + 1
    else:
        a[0] = a[0] + v
    return a if c > 1 else b

def boxed(c, p, v):
    if c > 1:
        p.t = v
    p.u += 1
    return p

@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
def kernel(
    x: pypto.Tensor([4], pypto.DT_FP32),
    n: pypto.Tensor([3], pypto.DT_INT32),
    out: pypto.Tensor([8], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(4)
"""

LISTS = "A = [x * 2.0, 1]\nB = [x * 3.0, 2]\nC = [x, 3]\n"
OF_LISTS = "out[0:4] = A[0] * A[1]\nout[4:8] = B[0] * B[1]"
TENSORS = "A = x * 2.0\nB = x * 3.0\n"
OF_TENSORS = "out[0:4] = A\nout[4:8] = B"


def _times(count, lines, first, last, inside=""):
    repeated = "".join(lines.format(i=i, n=f"n[{i % 3}]", at=i % 2) for i in range(count))
    return first + (inside + textwrap.indent(repeated, "    ") if inside else repeated) + last


def _nested(depth, lines, first, last):
    body = ""
    for level in range(depth):
        inner = f"for i{level} in pypto.loop(n[{level % 3}]):\n" + textwrap.indent(lines, "    ")
        body += textwrap.indent(inner, "    " * level)
    return first + body + last


def _lists(lines, inside=""):
    return lambda count: _times(count, lines, LISTS, OF_LISTS, inside)


def _tensors(lines, inside=""):
    return lambda count: _times(count, lines, TENSORS, OF_TENSORS, inside)


LOOP, UNROLLED = "for q in pypto.loop(n[2]):\n", "for q, k in pypto.loop_unroll(0, n[2], 1, unroll_list=[4, 2]):\n"
CALL = "A = early({n}, A, C, x)\nearly(n[1], C, B, x)[1] = C[1]\n"
SWAP = "if {n} > {at}:\n    A, B = B, A\n"

FAMILIES = {
    "numbers": _tensors("if {n} > {at}:\n    A = A + {i}.0\n"),
    "a list bound anew": _lists("if {n} > {at}:\n    A = B\nA[0] = A[0] + {i}.0\n"),
    "lists swapped": _lists(SWAP + "A[0] = A[0] + {i}.0\n"),
    "lists swapped in a loop": _lists(SWAP + "A[0] = A[0] + {i}.0\n", LOOP),
    "tensors swapped": _tensors(SWAP + "A[0:2] = B[1:3]\n"),
    "tensors swapped in an unrolled loop": _tensors(SWAP + "A[0:2] = B[1:3]\n", UNROLLED),
    "identity": _lists("if {n} > {at}:\n    C = A if C is B else B\nC[0] = C[0] + {i}.0\n"),
    "identity in a loop": _lists("if {n} > {at}:\n    C = A if C is B else B\nC[0] = C[0] + {i}.0\n", LOOP),
    "a helper of three returns": _lists("A = pick({n}, A, B)\nA[0] = A[0] + {i}.0\n"),
    "a helper of many returns": _lists(CALL),
    "that helper in a loop": _lists(CALL, LOOP),
    "that helper in an unrolled loop": _lists(CALL, UNROLLED),
    "dataclasses in a loop": lambda count: _times(
        count, "    P, Q = Q, boxed({n}, P, Q.t)\n", "P = Box(x, 1)\nQ = Box(x * 2.0, 2)\n" + LOOP,
        "out[0:4] = P.t * P.u\nout[4:8] = Q.t * Q.u",
    ),
    "loops behind each other": _lists("for i{i} in pypto.loop({n}):\n    A, B = B, A\n    A[0] = A[0] + 1.0\n"),
    "written behind loops that bind it": _lists(
        "for i{i} in pypto.loop({n}):\n    if i{i} > 0:\n        A = [A[0] + 1.0, A[1]]\n    B = [A[0] * 2.0, 3]\n"
        "A[0][0:2] = B[0][1:3]\nB[0][2:4] = A[0][1:3]\n"
    ),
}  # fmt: skip

NESTED = {
    "lists in loops in loops": lambda depth: _nested(depth, "A, B = B, A\nA[0] = A[0] + 1.0\n", LISTS, OF_LISTS),
    "tensors in loops in loops": lambda depth: _nested(depth, "A, B = B, A\nA[0:2] = B[2:4]\n", TENSORS, OF_TENSORS),
    "a helper in loops in loops": lambda depth: _nested(
        depth, "A, B, C = B, early(n[0], C, A, x), A\n", LISTS, OF_LISTS
    ),
}


def kernel_of(directory, body):
    """The kernel whose body is the text."""
    path = directory / f"repeated_{next(_numbers)}.py"
    path.write_text(HEAD + textwrap.indent(body, "    ") + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    vars(module)["pypto"] = pypto
    spec.loader.exec_module(module)
    return module.kernel
