"""Every operator and many functions on numbers of the running kernel: it works, or the error says what to write."""

import importlib.util
import itertools
import re

import pytest
import torch

import pypto
from pypto import ir

HEAD = """import math, operator, itertools, fractions
import numpy as np
import torch
import pypto
T = pypto.Tensor
"""
KERNEL = """
@pypto.frontend.jit
def kernel{at}(x: T([4], pypto.DT_FP32), n: T([2], pypto.DT_INT32), out: T([4], pypto.DT_FP32)):
    f = 0.5
    for _ in pypto.loop(2):
        f = f + 1.0
    a = {expression}
"""
SYMBOLS = "+ - * / // % ** << >> & | ^ @ < <= == != > >= in and or"
OPERANDS = ["2", "1.5", "True", "x", "'a'", "None", "[1]", "n[1]"]
CALLS = """
abs(S) -S +S ~S round(S) round(S,1) round(S,-2) int(S) float(S) complex(S) bool(S) hash(S) len(S) iter(S) next(S)
list(S) sorted(S) sorted([S,2]) reversed(S) sum(S) min(S,2) max(S,2.5) max(S,'a') min([S,2],key=lambda_v:v)
divmod(S,2) divmod(2,S) pow(S,2) pow(2,S) pow(S,2,3) pow(2,S,3) pow(2,3,S) range(S) range(0,4,S) [1,2][S]
(1,2)[S] 'ab'[S] [1,2][S:] {1:2}[S] {1:2}.get(S) {S:1} {S} [1].index(S) [1]*S 'a'*S '%d'%S '%s'%S '%.2f'%S
'{:d}'.format(S) f'{S}' f'{S:5}' format(S,'d') bin(S) chr(S) str(S) isinstance(S,int) callable(S) S.foo S() S[0]
math.sqrt(S) math.floor(S) math.trunc(S) math.gcd(S,2) math.log(S) math.ldexp(1.0,S) operator.index(S)
operator.lshift(1,S) fractions.Fraction(1,S) list(itertools.islice([1],S)) np.sqrt(S) np.add(S,1) np.zeros(S)
np.clip(S,0,1) np.ones(4)[S] np.float32(S) np.left_shift(1,S) torch.sqrt(S) torch.zeros(S) torch.full((4,),S)
torch.ones(4)[S] torch.clamp(S,0,1) torch.where(S,1,2) [*S] {**S} x[S] x@S x<<S bytes(S) open(S)
"""
ADVICE = (
    "Instead: ",
    "instead: ",
    "is made of ints",
    "; use ",
    "use a ",
    "write an if",
    "accepted: ",
    "pass it to the kernel",
    "element-wise choices",
)
OF_PYTHON_ALONE = {  # what Python refuses of any number, as it says itself
    "in": ("is not iterable", "requires string"),
    "%": ("not all arguments converted",),
}


def kernels(tmp_path, expressions):
    path = tmp_path / "kernels_of_numbers.py"
    texts = [KERNEL.format(at=at, expression=each) for at, each in enumerate(expressions)]
    path.write_text(HEAD + "".join(texts))
    spec = importlib.util.spec_from_file_location("kernels_of_numbers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"kernel{at}") for at in range(len(expressions))]


def missing(error, path):
    """What an error does not tell."""
    told, *rest = str(error).split("\n")
    text = told if rest and "  File" in rest[0] else str(error)
    if not any(each in text for each in ADVICE):
        return "no advice"
    if f'  File "{path}", line ' not in str(error) or rest[-1].strip() != "^":
        return "no place"
    source, mark = rest[-2:]
    return "" if source[mark.index("^") :].strip() and mark.index("^") >= source.index("=") else "no column"


def check(tmp_path, expressions, operators):
    found = []
    path = tmp_path / "kernels_of_numbers.py"
    for kernel, text, operator in zip(kernels(tmp_path, expressions), expressions, operators, strict=True):
        try:
            ir.compile(kernel)
        except pypto.PyptoError as error:
            lacks = missing(error, path)
            if lacks and not any(each in str(error) for each in OF_PYTHON_ALONE.get(operator, ())):
                found.append(f"{text}: {lacks}: {error}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("number", ["n[0]", "(n[0] > 1)", "f"])
def test_operators(tmp_path, number):
    cases = [
        (f"{a} {operator} {b}", operator)
        for operator, operand in itertools.product(re.split(" ", SYMBOLS), OPERANDS)
        for a, b in ((number, operand), (operand, number))
    ]
    check(tmp_path, *zip(*cases, strict=True))


@pytest.mark.parametrize("number", ["n[0]", "f"])
def test_functions(tmp_path, number):
    expressions = [
        each.replace("S", number).replace("lambda_", "lambda ")
        for each in re.split(r"\s+", CALLS.strip())
        if not (number == "f" and each == "x@S")
    ]
    check(tmp_path, expressions, [""] * len(expressions))


def test_the_place_is_in_the_kernel_when_a_library_computes(tmp_path):
    (kernel,) = kernels(tmp_path, ["__import__('random').randint(0, n[0])"])
    with pytest.raises(ValueError, match="Not concrete value") as caught:
        ir.compile(kernel)
    assert caught.value.filename == str(tmp_path / "kernels_of_numbers.py")


def test_what_integers_have():
    @pypto.frontend.jit
    def kernel(n: pypto.Tensor([1], pypto.DT_INT32), out: pypto.Tensor([4], pypto.DT_INT32)):
        k = n[0]
        out[0] = k.real + k.imag + k.numerator * k.denominator
        out[1] = k.conjugate()
        out[2] = k.item()
        out[3] = round(k, 2)

    out = torch.zeros(4, dtype=torch.int32)
    kernel(torch.tensor([7], dtype=torch.int32), out)
    assert out.tolist() == [14, 7, 7, 7]


def test_the_advice_for_halves_works():
    @pypto.frontend.jit
    def kernel(n: pypto.Tensor([1], pypto.DT_INT32), out: pypto.Tensor([2], pypto.DT_FP32)):
        out[0:1] = pypto.full([1], n[0], pypto.DT_FP32) * 1.5
        out[1] = n[0] * 3 // 2

    out = torch.zeros(2)
    kernel(torch.tensor([6], dtype=torch.int32), out)
    assert out.tolist() == [9.0, 9.0]


def test_tensors_on_the_other_side():
    @pypto.frontend.jit
    def kernel(n: pypto.Tensor([1], pypto.DT_INT32), x: pypto.Tensor([4], pypto.DT_FP32)):
        x[:] = n[0] ** x

    x = torch.tensor([0.0, 1.0, 2.0, 3.0])
    kernel(torch.tensor([3], dtype=torch.int32), x)
    assert x.tolist() == [1.0, 3.0, 9.0, 27.0]


@pytest.mark.parametrize(
    "text",
    [
        "(x > 0.0) & (y < 1.0)", "(x > 0.0) | (y < 1.0)", "(x > 0.0) ^ (y < 1.0)", "~(x > 0.0)", "(x > 0.0) & True",
        "False | (x > 0.0)", "True ^ (x > 0.0)", "(x > 0.0) & (n[0] > 1)", "(n[0] > 1) & (x > 0.0)",
        "(n[0] > 1) | (x > 0.0)", "(x > 0.0) ^ (n[0] > 1)", "(n[0] > 1) ^ (x > 0.0)",
        "~(x > 0.0) | (x > 1.0) & (n[0] < 2)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("number", [1, 2])
def test_conditions_combine_as_bools_do(tmp_path, text, number):
    path = tmp_path / "conditions.py"
    path.write_text(
        "import pypto\nT, FP32, BOOL = pypto.Tensor, pypto.DT_FP32, pypto.DT_BOOL\n@pypto.frontend.jit\n"
        "def kernel(x: T([4], FP32), y: T([4], FP32), n: T([1], pypto.DT_INT32), out: T([4], BOOL)):\n"
        f"    out[:] = {text}\n    c = x > 2.0\n    c &= y < 1.0\n    out[3:4] = c[3:4]\n"
    )
    spec = importlib.util.spec_from_file_location("conditions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = torch.tensor([1.0, -1.0, 2.0, 3.0]), torch.tensor([0.0, 5.0, 6.0, 0.0])
    n, out = torch.tensor([number], dtype=torch.int32), torch.zeros(4, dtype=torch.bool)
    module.kernel(x, y, n, out)
    expected = eval(text, {"x": x, "y": y, "n": n})
    expected[3] = True
    assert out.tolist() == expected.tolist()
