"""Operations as functions, methods and operators; what numbers on either side become."""

import re

import pytest

import pypto
from pypto import _core, ir
from pypto.frontend.catalogue import operations

FP32, FP16, INT32, INT8 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT32, pypto.DT_INT8
T = pypto.Tensor


def listing(body, dtype=FP32) -> list[str]:
    """Operations of a kernel whose body is `body(x, y)`."""

    @pypto.frontend.jit
    def kernel(x: T([8, 16], dtype), y: T([8, 16], dtype)):
        body(x, y)

    lines = kernel.to_text().splitlines()[1:]
    return [re.sub(r"\s+# line \d+", "", line).strip() for line in lines if line.strip()]


def test_every_elementwise_operation_of_the_table_is_a_function():
    rows = {row[1]: row for row in _core.OPERATIONS if row[2] in ("unary", "binary")}
    assert set(operations.ELEMENTWISE) == {name for name in rows if not name.startswith("_")}
    for name in ("add", "exp", "sigmoid", "isnan", "atan2", "eq"):
        row = rows[name]
        function = getattr(pypto, name)
        assert function.__name__ == name
        assert function.__doc__ == row[5]

        def body(x, y, function=function, row=row):
            function(*[x, y][: row[4]])

        assert f"{name}(" in listing(body)[0]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda x, y: x + y, ["add(%0:x, %1:y)"]),
        (lambda x, y: x + 2, ["add(%0:x, 2)"]),
        (lambda x, y: 2 + x, ["add(%0:x, 2)"]),
        (lambda x, y: x - 2.5, ["sub(%0:x, 2.5)"]),
        (lambda x, y: 2 - x, ["sub(%0:x, 2)", "neg(%2)"]),
        (lambda x, y: 3 * x, ["mul(%0:x, 3)"]),
        (lambda x, y: x / y, ["div(%0:x, %1:y)"]),
        (lambda x, y: x / 4, ["div(%0:x, 4)"]),
        (lambda x, y: 4 / x, ["reciprocal(%0:x)", "mul(%2, 4)"]),
        (lambda x, y: -x, ["neg(%0:x)"]),
        (lambda x, y: +x, []),
        (lambda x, y: abs(x), ["abs(%0:x)"]),
        (lambda x, y: x + True, ["add(%0:x, 1)"]),
        (lambda x, y: pypto.sub(3, x), ["sub(%0:x, 3)", "neg(%2)"]),
        (lambda x, y: pypto.div(3, x), ["reciprocal(%0:x)", "mul(%2, 3)"]),
        (lambda x, y: pypto.maximum(3, x), ["maximum(%0:x, 3)"]),
        (lambda x, y: x.minimum(y), ["minimum(%0:x, %1:y)"]),
        (lambda x, y: x.exp().sqrt(), ["exp(%0:x)", "sqrt(%2)"]),
        (lambda x, y: pypto.relu(x), ["relu(%0:x)"]),
        (lambda x, y: pypto.sigmoid(x), ["sigmoid(%0:x)"]),
        (lambda x, y: x // y, ["floor_div(%0:x, %1:y)"]),
        (lambda x, y: x % 2, ["remainder(%0:x, 2)"]),
        (lambda x, y: 2 % x, ["remainder(2, %0:x)"]),
        (lambda x, y: x**2, ["pow(%0:x, 2)"]),
        (lambda x, y: x.sin().lrelu(), ["sin(%0:x)", "_leaky(%2, 0.01)"]),
        (lambda x, y: x.clone(), ["clone(%0:x)"]),
        (lambda x, y: pypto.add(x, pypto.Element(FP32, 0.5)), ["add(%0:x, 0.5)"]),
        (lambda x, y: sum([x, y]), ["add(%0:x, 0)", "add(%2, %1:y)"]),
    ],
)
def test_operators(body, expected):
    got = [re.match(r"%\d+ = (.*?) : FP32\[8, 16\]", line).group(1) for line in listing(body)]
    assert got == expected


def test_matrix_products():
    def body(x, y):
        assert pypto.matmul(x, y, FP32, b_trans=True).shape == [8, 8]
        assert pypto.matmul(x, y, FP32, a_trans=True).shape == [16, 16]
        assert (x @ pypto.transpose(y, 0, 1)).shape == [8, 8]
        assert x.matmul(y, FP32, b_trans=True).dtype == FP32

    lines = listing(body)
    assert "b_trans" in lines[0]
    assert "a_trans" in lines[1]

    def dtypes(x, y):
        assert (x @ y.transpose(0, 1)).dtype == FP16
        assert pypto.matmul(x, y, FP32, b_trans=True).dtype == FP32

    listing(dtypes, FP16)

    def integers(x, y):
        assert (x @ y.transpose(-1, -2)).dtype == INT32

    listing(integers, INT8)


def test_reductions():
    def body(x, y):
        assert pypto.sum(x, -1).shape == [8]
        assert pypto.sum(x, 0, True).shape == [1, 16]
        assert x.amax(1, keepdim=True).shape == [8, 1]
        assert pypto.amin(x, dim=0).shape == [16]
        assert pypto.softmax(x, -1).shape == [8, 16]

    assert [line.split(" = ")[1].split("(")[0] for line in listing(body)] == [
        "sum", "sum", "amax", "amin", "amax", "sub", "exp", "sum", "div",
    ]  # fmt: skip


def test_shapes():
    def body(x, y):
        assert pypto.reshape(x, [4, -1]).shape == [4, 32]
        assert x.reshape([128]).shape == [128]
        assert pypto.unsqueeze(x, 0).shape == [1, 8, 16]
        assert x.unsqueeze(-1).shape == [8, 16, 1]
        assert pypto.transpose(x, 0, -1).shape == [16, 8]

    listing(body)


def test_fills_and_casts():
    def body(x, y):
        assert pypto.zeros(4, 8).dtype == FP32
        assert pypto.ones([4, 8], dtype=FP16).dtype == FP16
        assert pypto.full([4], 7, INT32, valid_shape=[3]).valid_shape == [3]
        assert pypto.zeros(4).shape == [4]
        assert pypto.cast(x, FP16).dtype == FP16
        assert x.cast(INT32, pypto.CastMode.CAST_FLOOR, pypto.SaturationMode.ON).dtype == INT32

    assert "full(7) : INT32[4]" in "\n".join(listing(body))


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (lambda x, y: pypto.add(1, 2), TypeError, "add(): expected a tensor, got int"),
        (lambda x, y: pypto.add("a", x), TypeError, "add(): expected a tensor or a number, got str"),
        (lambda x, y: x + [1], TypeError, "add(): expected a tensor or a number, got list"),
        (lambda x, y: pypto.exp(2.0), TypeError, "exp(): expected a tensor, got float"),
        (lambda x, y: x + y[0:3], ValueError, "do not broadcast"),
        (lambda x, y: x + pypto.cast(y, FP16), TypeError, "operand dtypes must match"),
        (lambda x, y: pypto.cast(x, INT32) + 1.5, TypeError, "float scalar incompatible with integer tensor dtype"),
        (lambda x, y: pypto.exp(pypto.cast(x, INT32)), TypeError, "exp(): dtype DT_INT32 is not supported"),
        (lambda x, y: x @ y, ValueError, "K differs"),
        (lambda x, y: x @ 3, TypeError, "matmul(): expected a tensor, got int"),
        (lambda x, y: pypto.matmul(x, y, "int", b_trans=True), TypeError, "matmul(): expected a data type"),
        (lambda x, y: pypto.matmul(x, y, FP32, c_matrix_nz=True), NotImplementedError, "c_matrix_nz"),
        (lambda x, y: pypto.matmul(x, y, FP32, extend_params={"alpha": 1}), ValueError, "unknown extend_params"),
        (lambda x, y: pypto.matmul(x, y, FP32, extend_params={"scale": 2.0}), ValueError, "a scale is for INT8"),
        (lambda x, y: pypto.sum(x, 2), IndexError, "dim 2 is out of range, expected -2 to 1"),
        (lambda x, y: pypto.sum(x, "0"), TypeError, "expected an int as dim"),
        (lambda x, y: pypto.reshape(x, [5, -1]), ValueError, "element counts differ"),
        (lambda x, y: pypto.view(x, [1], dtype=FP16), TypeError, "view(): dtype= stands alone"),
        (lambda x, y: pypto.cast(x, 3.5), TypeError, "cast(): expected a data type"),
        (lambda x, y: pypto.full([4], 1.5, INT32), TypeError, "float scalar incompatible"),
        (lambda x, y: pypto.full([4], "1", INT32), TypeError, "full(): expected a number as value"),
        (lambda x, y: pypto.full([0], 1, INT32), ValueError, "every extent must be at least 1"),
        (lambda x, y: pypto.full([True], 1, INT32), TypeError, "extents are ints"),
        (lambda x, y: pypto.full("ab", 1, INT32), TypeError, "expected a list of extents"),
        (lambda x, y: pypto.full([4], pypto.Element(FP16, 1.0), FP32), TypeError, "does not fit DT_FP32"),
        (lambda x, y: pypto.softmax(pypto.cast(x, FP16), 0), TypeError, "softmax(): expected DT_FP32, got DT_FP16"),
        (lambda x, y: pypto.add(x, 1 << 70), ValueError, "does not fit a 64-bit integer"),
        (lambda x, y: x & 2, TypeError, "bitwise_and(): dtype DT_FP32 is not supported"),
        (lambda x, y: pypto.cast(x, FP16) > 0.5, TypeError, "use pypto.Element(pypto.DT_FP16, value)"),
        (lambda x, y: pypto.where(x, x, y), TypeError, "where(): operand 0 must be DT_BOOL, got DT_FP32"),
        (lambda x, y: pypto.where(x > 0, x, y[0]), ValueError, "where(): operands have equal ranks"),
        (lambda x, y: pypto.gather(x, 0, y), TypeError, "gather(): operand 1 must be DT_INT32, DT_INT64, got DT_FP32"),
        (lambda x, y: pypto.topk(x, 17), ValueError, "k must be an int from 1 to 16"),
        (lambda x, y: pypto.topk(x, 3, 0), ValueError, "dim 0 is not the last one"),
        (lambda x, y: pypto.permute(x, [0, 0]), ValueError, "name each of the 2 dims once"),
        (lambda x, y: pypto.expand_clone(x, [16, 16]), ValueError, "does not expand"),
        (lambda x, y: pypto.arange(3, 3), ValueError, "nothing lies between 3 and 3"),
        (lambda x, y: pypto.pad(x, [1, 2]), ValueError, "[0, right]"),
        (lambda x, y: pypto.pad(pypto.cast(x, INT32), [0, 2], value=1.5), ValueError, "float value 1.5"),
        (lambda x, y: pypto.concat([x, y[:, 0:3]], 0), ValueError, "differ in more than dim 0"),
        (lambda x, y: pypto.clip(x, 0.0, y), TypeError, "both numbers or both tensors"),
        (lambda x, y: pypto.unpack(x, FP32), ValueError, "expected DT_UINT8 of one dim"),
        (lambda x, y: pypto.sum(pypto.cast(x, FP16), 0), TypeError, "sum(): dtype DT_FP16 is not supported"),
        (lambda x, y: x.move(3), TypeError, "move(): expected a tensor, got int"),
        (lambda x, y: x.move(pypto.cast(y, FP16)), TypeError, "use pypto.cast"),
        (lambda x, y: pypto.assemble(x, [0], y), ValueError, "1 offsets for a tensor of 2 dims"),
        (lambda x, y: pypto.assemble(x, [0, 0]), TypeError, "assemble(): expected a tensor, got NoneType"),
    ],
)
def test_errors(body, kind, text):
    @pypto.frontend.jit
    def kernel(x: T([8, 16], FP32), y: T([8, 16], FP32)):
        body(x, y)

    with pytest.raises(kind, match=re.escape(text)) as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, pypto.CompileError)
    assert caught.value.filename == __file__


def test_dynamic_operands_are_refused():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32)):
        x[0:4] = (x + 1)[0:4]

    with pytest.raises(TypeError, match="Dynamic shape tensors are not allowed as operation operands"):
        ir.compile(kernel)
