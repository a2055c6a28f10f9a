"""Symbolic integers: C division, text forms, what they refuse, and scalar parameters."""

import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto
from pypto import ir
from pypto.frontend.symbolic import SatStatus

FP32 = pypto.DT_FP32
T = pypto.Tensor


def traced(body, **scalars):
    """Runs `body(x, n)` in a kernel with a dynamic dim and a run-time integer; gives what it returns."""
    results = []

    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), n: int):
        results.append(body(x, n))
        x[0:1] = x[0:1]

    kernel.to_text(**scalars)
    return results[0]


def c_div(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


OPERATORS = {
    operator.add: lambda a, b: a + b,
    operator.sub: lambda a, b: a - b,
    operator.mul: lambda a, b: a * b,
    operator.floordiv: c_div,
    operator.truediv: c_div,
    operator.mod: lambda a, b: a - c_div(a, b) * b,
    operator.eq: lambda a, b: int(a == b),
    operator.ne: lambda a, b: int(a != b),
    operator.lt: lambda a, b: int(a < b),
    operator.le: lambda a, b: int(a <= b),
    operator.gt: lambda a, b: int(a > b),
    operator.ge: lambda a, b: int(a >= b),
    operator.and_: lambda a, b: int(bool(a) and bool(b)),
    operator.or_: lambda a, b: int(bool(a) or bool(b)),
    pypto.min: min,
    pypto.max: max,
}


@given(st.integers(-40, 40), st.integers(-40, 40).filter(bool), st.sampled_from(list(OPERATORS)))
def test_arithmetic_of_known_values(a, b, operation):
    def body(x, n):
        left, right = pypto.symbolic_scalar(a), pypto.symbolic_scalar(b)
        return [int(operation(left, right)), int(operation(left, b)), int(operation(a, right))]

    assert traced(body) == [OPERATORS[operation](a, b)] * 3


def test_unary_and_named_forms():
    def body(x, n):
        seven = pypto.symbolic_scalar(7)
        assert [int(value) for value in (-seven, +seven, ~seven, ~pypto.symbolic_scalar(0))] == [-7, 7, 0, 1]
        assert int(seven.min(3)) == 3
        assert int(seven.max(9)) == 9
        assert int(seven.tenary(1, 2)) == 1
        assert int(pypto.ceildiv(seven, 2)) == 4
        assert pypto.ceildiv(7, 2) == 4
        assert seven.is_concrete()
        assert seven.is_immediate()
        assert seven.concrete() == 7
        assert not n.is_concrete()
        assert n.is_symbol()
        assert not (n + 1).is_symbol()
        assert (n + 1).is_expression()
        assert n.simplify() is n
        assert n.as_variable() is n
        assert int(n + 1 - n) == 1
        assert float(2) == 2.0

    traced(body)


def test_text_forms():
    def body(x, n):
        rows = x.shape[0]
        return [str(rows + 8), str(pypto.min(n, 5)), str(n & 20), str(min(rows, n)), str(max(3, n)), repr(n)]

    assert traced(body) == [
        "(RUNTIME_GetInputShapeDim(ARG_x,0)+8)", "RUNTIME_Min(n, 5)", "(n&&20)",
        "RUNTIME_Min(RUNTIME_GetInputShapeDim(ARG_x,0), n)", "RUNTIME_Max(n, 3)", "SymbolicScalar(n)",
    ]  # fmt: skip


def test_shapes_are_ints_where_they_are_static():
    def body(x, n):
        rows, columns = x.shape
        return type(rows).__name__, columns, x.dim, x.dtype, x.valid_shape[1]

    assert traced(body) == ("SymbolicScalar", 4, 2, FP32, 4)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (lambda x, n: n + 0.5, TypeError, "Invalid type."),
        (lambda x, n: n < "a", TypeError, "Invalid type."),
        (lambda x, n: n == None, TypeError, "Invalid type."),  # noqa: E711
        (lambda x, n: n // 0, ValueError, "zero"),
        (lambda x, n: n % 0, ValueError, "zero"),
        (lambda x, n: int(n), ValueError, "Not concrete value."),
        (lambda x, n: bool(n), ValueError, "Not concrete value."),
        (lambda x, n: list(range(n)), ValueError, "Not concrete value."),
        (lambda x, n: float(n), TypeError, "Invalid type."),
        (lambda x, n: n.concrete(), ValueError, "Not concrete value."),
        (lambda x, n: {n: 1}, TypeError, "unhashable"),
        (lambda x, n: pypto.symbolic_scalar("name"), NameError, "the kernel has no dim or int parameter 'name'"),
        (lambda x, n: n + (1 << 70), ValueError, "does not fit a 64-bit integer"),
        (lambda x, n: pypto.reshape(x[0:1], [n, 4]), ValueError, "requires integer shape"),
        (lambda x, n: pypto.full([n], 0, FP32), ValueError, "requires integer extents"),
    ],
)
def test_refusals(body, kind, text):
    with pytest.raises(kind, match=re.escape(text)) as caught:
        traced(body)
    assert isinstance(caught.value, pypto.PyptoError)


def test_check():
    def body(x, n):
        rows = x.shape[0]
        check = pypto.SymbolicScalar.check
        assert check([pypto.symbolic_scalar(1) > 0]) is SatStatus.SAT
        assert check([rows >= 0, True]) is SatStatus.SAT
        assert check([rows < 0]) is SatStatus.UNSAT
        assert check([rows > 3]) is SatStatus.UNKNOWN
        assert check([rows > 3, False]) is SatStatus.UNSAT

    traced(body)


def test_values_of_another_trace():
    kept = []

    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), n: int):
        if not kept:
            kept.extend([x, n])
        x[0:1] = kept[0][0:1] * kept[1]

    kernel.to_text()
    with pytest.raises(RuntimeError, match="of another trace is used"):
        kernel.to_text()


class TestScalarParameters:
    """docs/decisions/0003-scalar-parameters.md."""

    @staticmethod
    def kernel():
        @pypto.frontend.jit
        def scaled(x: T([16, 4], FP32), a: float, n: int, flag: bool = True, name: str = "plain"):
            for i in pypto.loop(n):
                x[i : i + 1] = x[i : i + 1] * a + n
            if flag:
                x[:] = x + len(name)

        return scaled

    def test_numbers_of_each_launch(self):
        compiled = ir.compile(self.kernel())
        assert [(p.name, p.kind) for p in compiled.parameters] == [("x", "tensor"), ("a", "float"), ("n", "int")]
        assert "mul(%1, a)" in self.kernel().to_text()

    def test_given_values_are_compiled_in(self):
        kernel = self.kernel()
        compiled = ir.compile(kernel, None, 2.5, n=3, flag=False)
        assert [p.name for p in compiled.parameters] == ["x"]
        text = kernel.to_text(None, 2.5, n=3, flag=False)
        assert "mul(%1, 2.5)" in text
        assert "add(%2, 3)" in text
        assert "add(%0:x, 5)" not in text

    def test_a_default_does_not_count_as_given(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), a: float = 2.0):
            x[:] = x * a

        assert [p.name for p in ir.compile(kernel).parameters] == ["x", "a"]

    def test_other_kinds_need_a_value(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), mode):
            x[:] = x + 1

        with pytest.raises(TypeError, match="Missing required non-tensor argument 'mode'"):
            ir.compile(kernel)
        assert ir.compile(kernel, mode="any").parameters[0].name == "x"

    def test_floats_are_only_for_tensor_operations(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), a: float):
            x[:] = x * (2 if a > 1 else 3)

        @pypto.frontend.jit
        def good(x: T([4], FP32), a: float):
            x[:] = (a + x * a) / a - a

        with pytest.raises(TypeError, match="'a' is a floating number of each launch"):
            ir.compile(kernel)
        assert good.to_text().count(", a)") == 4

    def test_float_parameters_and_integer_tensors(self):
        @pypto.frontend.jit
        def kernel(x: T([4], pypto.DT_INT32), a: float):
            x[:] = x * a

        with pytest.raises(TypeError, match="float scalar incompatible with integer tensor dtype DT_INT32"):
            ir.compile(kernel)
