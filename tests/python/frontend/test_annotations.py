"""The spellings of tensor declarations, and how arguments are checked against them."""

import pytest
from frontend_samples import Sample

import pypto
from pypto.frontend.annotations import TensorSpec
from pypto.frontend.kernels.signature import Signature, ordinal

FP32 = pypto.DT_FP32


@pytest.mark.parametrize(
    ("spec", "dims", "any_rank", "dtype"),
    [
        (pypto.Tensor([4, 8], FP32), (4, 8), False, FP32),
        (pypto.Tensor((4, 8), FP32), (4, 8), False, FP32),
        (pypto.Tensor([4, 8], FP32, name="x"), (4, 8), False, FP32),
        (pypto.Tensor([4, 8], dtype=FP32, format=pypto.TileOpFormat.TILEOP_ND), (4, 8), False, FP32),
        (pypto.Tensor[[4, 8], FP32], (4, 8), False, FP32),
        (pypto.Tensor[[...], FP32], (), True, FP32),
        (pypto.Tensor[...], (), True, None),
        (pypto.Tensor[{"shape": [4, ...], "dtype": FP32}], (4,), True, FP32),
        (pypto.Tensor(), (), True, None),
        (pypto.Tensor([], FP32), (), True, FP32),
        (pypto.tensor([4, 8], FP32), (4, 8), False, FP32),
        (pypto.Tensor([4, pypto.DYN], FP32), (4, pypto.DYNAMIC), False, FP32),
        (pypto.Tensor([4, pypto.STATIC], FP32), (4, pypto.STATIC), False, FP32),
        (pypto.Tensor([4, -1], FP32), (4, pypto.DYNAMIC), False, FP32),
    ],
)
def test_spellings(spec, dims, any_rank, dtype):
    assert isinstance(spec, TensorSpec)
    assert (spec.dims, spec.any_rank, spec.dtype) == (dims, any_rank, dtype)
    assert hasattr(spec, "to_tensor")


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: pypto.Tensor([4, 0], FP32), ValueError, "a static dim must be positive, got 0"),
        (lambda: pypto.Tensor([4, 2.5], FP32), TypeError, "a dim is an int"),
        (lambda: pypto.Tensor([4, True], FP32), TypeError, "a dim is an int"),
        (lambda: pypto.Tensor(4, FP32), TypeError, "expected a list of dims"),
        (lambda: pypto.Tensor([..., 4], FP32), ValueError, "at the end of the dims only"),
        (lambda: pypto.Tensor([4], "no dtype"), TypeError, "expected a data type"),
        (lambda: pypto.Tensor[{"shapes": [4]}], ValueError, "unknown entries"),
        (lambda: pypto.frontend.dynamic(""), TypeError, "expected a name"),
    ],
)
def test_wrong_declarations(make, kind, text):
    with pytest.raises(pypto.FeError, match=text) as caught:
        make()
    assert isinstance(caught.value, kind)


def kernel_with(*specs):
    names = [f"p{i}" for i in range(len(specs))]
    source = f"def kernel({', '.join(names)}): pass"
    scope: dict = {}
    exec(source, scope)
    scope["kernel"].__annotations__ = dict(zip(names, specs, strict=True))
    return Signature(scope["kernel"])


def test_dims_of_samples():
    batch = pypto.frontend.dynamic("batch")
    signature = kernel_with(pypto.Tensor([batch, pypto.STATIC, 8, ...], FP32), pypto.Tensor([pypto.DYN], None))
    assert signature.bind_tensor(0, Sample((3, 5, 8, 2))).dims == ("batch", 5, 8, 2)
    assert signature.bind_tensor(1, Sample((9,), "float16")).dims == (None,)
    assert signature.bind_tensor(1, Sample((9,), "float16")).dtype is pypto.DT_FP16
    assert signature.bind_tensor(1, Sample((), "bfloat16")).dims == (None,)


@pytest.mark.parametrize(
    ("sample", "kind", "text"),
    [
        (
            Sample((4,)),
            ValueError,
            r"The number of dimensions of 3rd input tensor 'p2' \(1\) does not match the number of",
        ),
        (Sample((4, 8, 1)), ValueError, r"The number of dimensions of 3rd input tensor 'p2' \(3\) does not match"),
        (Sample((4, 9)), ValueError, r"The shape of 3rd input tensor 'p2' \[4, 9\] does not match the shape of input"),
        (Sample((4, 8), "float16"), TypeError, r"The dtype of 3rd input tensor 'p2' \(DT_FP16\) does not match"),
        (Sample((4, 8), "complex64"), TypeError, r"The dtype of 3rd input tensor 'p2' \(complex64\) does not match"),
    ],
)
def test_mismatches(sample, kind, text):
    anything = pypto.Tensor()
    signature = kernel_with(anything, anything, pypto.Tensor([4, 8], FP32))
    with pytest.raises(pypto.FeError, match=text) as caught:
        signature.bind_tensor(2, sample)
    assert isinstance(caught.value, kind)


def test_ordinals():
    assert [ordinal(index) for index in (0, 1, 2, 3, 10, 11, 12, 20, 21, 110)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "111th",
    ]  # fmt: skip


def test_open_shapes_need_a_sample():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([pypto.STATIC], FP32), y: pypto.Tensor([4])):
        y[:] = x

    with pytest.raises(pypto.FeError, match="parameter 'x' leaves its shape open"):
        kernel.compile()
    with pytest.raises(pypto.FeError, match="parameter 'y' declares no dtype"):
        kernel.compile(Sample((4,)))
    assert [p.dims for p in kernel.compile(Sample((4,)), Sample((4,))).parameters] == [(4,), (4,)]


def test_equal_names_are_one_symbol():
    batch = pypto.frontend.dynamic("batch")

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([batch, 4], FP32), y: pypto.Tensor([batch, 4], FP32), z: pypto.Tensor([pypto.DYN, 4], FP32)
    ):
        for i in pypto.loop(x.shape[0]):
            y[i : i + 1] = x[i : i + 1]
            z[i : i + 1] = x[i : i + 1]

    assert [p.dims[0] for p in kernel.compile().parameters] == ["batch", "batch", "z_0"]


def test_a_declared_dim_is_no_number():
    rows = pypto.frontend.dynamic("rows")
    spec = pypto.Tensor([rows, 8], pypto.DT_FP32)

    @pypto.frontend.jit
    def bound(x: spec, y: spec):
        for i in pypto.loop(0, rows, 8):
            y[i : i + 8, :] = x[i : i + 8, :]

    @pypto.frontend.jit
    def difference(x: spec, y: spec):
        y[0:4, :] = x[rows - 4 : rows, :]

    @pypto.frontend.jit
    def condition(x: spec, y: spec):
        if rows == 4:
            y[0:4, :] = x[0:4, :]

    @pypto.frontend.jit
    def offset(x: spec, y: spec):
        y[0:4, :] = pypto.view(x, [4, 8], [rows, 0])

    @pypto.frontend.jit
    def comparison(x: spec, y: spec):
        if x.shape[0] >= rows:
            y[0:4, :] = x[0:4, :]

    text = r"dynamic\('rows'\) declares a dim and is no number.*x.shape\[0\] or pypto.symbolic_scalar\('rows'\)"
    for kernel in (bound, difference, condition, offset, comparison):
        with pytest.raises(TypeError, match=text):
            kernel.compile()
    assert rows != 4
    assert pypto.DYNAMIC != -1
    assert rows == rows
    assert {rows: 1}[rows] == 1


def test_unnamed_dims_are_not_known_to_be_equal():
    @pypto.frontend.jit
    def copied(x: pypto.Tensor([pypto.DYNAMIC, 8], pypto.DT_FP32), y: pypto.Tensor([pypto.DYNAMIC, 8], pypto.DT_FP32)):
        y[:] = x

    with pytest.raises(ValueError, match=r"move\(\): expected .*; dims that are equal in every call have one name: "):
        copied.compile()
