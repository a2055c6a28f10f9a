"""Ranks and dtypes that operations refuse, and what type checkers see of the catalogue."""

import enum
import inspect
import subprocess
import sys
from pathlib import Path

import catalogue_stub
import pytest
import torch
from frontend_samples import Sample, refuse

import pypto
from pypto import _core, ir
from pypto.frontend.catalogue.operations import CATALOGUE
from pypto.frontend.catalogue.ranks import RANKS
from pypto.frontend.catalogue.signatures import PARAMETERS

FP32 = pypto.DT_FP32
T = pypto.Tensor
ROOT = Path(__file__).resolve().parents[3]


def test_the_table_of_the_core_has_the_ranks_of_every_operation():
    assert set(CATALOGUE) <= set(RANKS)
    assert {row[0] for row in _core.COMPOSED} <= set(CATALOGUE)
    assert all(1 <= RANKS[name][0] <= RANKS[name][1] <= 5 for name in CATALOGUE)


def _shown(default):
    return default.name if isinstance(default, enum.Enum) else repr(default)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_parameters_are_those_of_the_table(name):
    texts, only_keywords = [], False
    for each in inspect.signature(CATALOGUE[name]).parameters.values():
        rest = each.kind is each.VAR_POSITIONAL
        if each.kind is each.KEYWORD_ONLY and not only_keywords and not any(text.startswith("*") for text in texts):
            texts.append("*")
            only_keywords = True
        default = "" if each.default is each.empty else f"={_shown(each.default)}"
        texts.append(("*" if rest else "") + each.name + default)
    assert ", ".join(texts) == PARAMETERS[name]


def test_arguments_that_do_not_fit():
    @pypto.frontend.jit
    def few(x: T([4], FP32)):
        pypto.add(x)

    @pypto.frontend.jit
    def many(x: T([4], FP32)):
        pypto.abs(x, x)

    @pypto.frontend.jit
    def keyword(x: T([4], FP32)):
        pypto.sum(x, 0, keepdims=True)

    @pypto.frontend.jit
    def method(x: T([4], FP32)):
        x.amax()

    @pypto.frontend.jit
    def precision(x: T([4], FP32)):
        pypto.div(x, x, x)

    @pypto.frontend.jit
    def mode(x: T([4], FP32)):
        pypto.cast(x, pypto.DT_INT32, 99)

    refuse(few, "pypto.add", "add(): missing a required argument: 'o'; it is add(x, o)", kind=TypeError)
    refuse(many, "pypto.abs", "abs(): too many positional arguments; it is abs(x)", kind=TypeError)
    refuse(
        keyword, "pypto.sum", "got an unexpected keyword argument 'keepdims'; it is sum(x, dim, keepdim=False)",
        kind=TypeError,
    )  # fmt: skip
    refuse(method, "x.amax", "amax(): missing a required argument: 'dim'", kind=TypeError)
    refuse(precision, "pypto.div", "div(): precision_type is INTRINSIC or HIGH_PRECISION, got Tensor", kind=TypeError)
    refuse(mode, "pypto.cast", "cast(): mode is one of CastMode.CAST_NONE, CastMode.CAST_RINT", "got 99")


def test_arguments_by_name():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), y: T([4], FP32), out: T([6, 4], FP32)):
        out[0] = pypto.atan2(x=x, y=y)
        out[1] = pypto.sub(b=x, a=y)
        out[2] = pypto.where(b=x, a=y, cond=x > y)
        out[3] = pypto.exp(x, precision_type=pypto.PrecisionType.HIGH_PRECISION)
        out[4] = pypto.div(b=x, a=y, precision_type="INTRINSIC")
        out[5:6, :2] = pypto.reshape(pypto.topk(k=2, x=x, algo=pypto.TopKAlgo.MERGE_SORT)[0], [1, 2])

    x, y, out = torch.randn(4), torch.randn(4), torch.zeros(6, 4)
    kernel(x, y, out)
    expected = torch.stack([torch.atan2(y, x), y - x, torch.where(x > y, y, x), x.exp(), y / x, torch.zeros(4)])
    expected[5, :2] = x.topk(2)[0]
    torch.testing.assert_close(out, expected)


def test_a_number_divided_by_integers_gives_floats():
    @pypto.frontend.jit
    def kernel(x: T([4], pypto.DT_INT32), out: T([2, 4], FP32)):
        out[0] = 7 / x
        out[1] = pypto.div(7, x)

    @pypto.frontend.jit
    def fraction(x: T([4], pypto.DT_INT32)):
        7.5 / x

    x, out = torch.tensor([3, -2, 7, 1], dtype=torch.int32), torch.zeros(2, 4)
    kernel(x, out)
    torch.testing.assert_close(out, (7 / x).expand(2, 4))
    refuse(fraction, "7.5 / x", "div(): float scalar incompatible with integer tensor dtype DT_INT32", kind=TypeError)


LACKING = [
    ("concat", "DT_FP8E4M3", lambda x: pypto.concat([x, x])), ("concat", "DT_BOOL", lambda x: pypto.concat([x, x])),
    ("pad", "DT_INT64", lambda x: pypto.pad(x, [0, 2])), ("fillpad", "DT_BOOL", pypto.fillpad),
    ("pack", "DT_BOOL", pypto.pack), ("var", "DT_HF8", lambda x: pypto.var(x, 0)),
    ("clip", "DT_INT8", lambda x: pypto.clip(x, 0, 1)), ("softmax", "DT_FP16", lambda x: pypto.softmax(x, 0)),
    ("index_add__ub", "DT_INT8", lambda x: pypto.index_add__ub(x, 0, pypto.arange(4), x)),
    ("scatter_update", "DT_UINT8", lambda x: x.scatter_update(-2, pypto.reshape(pypto.arange(4), [2, 2]), x)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype", "body"), LACKING, ids=[f"{case[0]}-{case[1]}" for case in LACKING])
def test_dtypes_that_composed_operations_lack(name, dtype, body):
    @pypto.frontend.jit
    def kernel(x: T([4, 4], getattr(pypto, dtype))):
        body(x)

    with pytest.raises(pypto.CompileError, match=rf"{name}\(\): .*{dtype}") as caught:
        ir.compile(kernel, platform="a5sim")
    assert isinstance(caught.value, TypeError)


def test_errors_of_parts_name_the_operation():
    @pypto.frontend.jit
    def most(x: T([4], FP32)):
        pypto.topk(x, 9)

    @pypto.frontend.jit
    def kind(x: T([4, 4], pypto.DT_BOOL)):
        pypto.tril(x)

    @pypto.frontend.jit
    def slope(x: T([4], pypto.DT_INT32)):
        pypto.lrelu(x)

    refuse(most, "pypto.topk", "topk(): k must be an int from 1 to 4")
    refuse(kind, "pypto.tril", "tril(): dtype DT_BOOL is not supported", kind=TypeError)
    refuse(slope, "pypto.lrelu", "lrelu(): ", kind=TypeError)


UNARY = [name for name in CATALOGUE if name in {"exp", "abs", "relu", "neg", "isnan", "round", "tanh", "lrelu", "sign"}]


@pytest.mark.parametrize("name", UNARY)
def test_element_wise_operations_take_up_to_four_dims(name):
    operation = getattr(pypto, name)

    @pypto.frontend.jit
    def kernel(x: T([...], FP32)):
        operation(x)

    kernel.compile(Sample((2, 1, 2, 1)))
    with pytest.raises(
        pypto.CompileError, match=rf"{name}\(\): expected a tensor of 1 to 4 dims, got 5: \[1, 1, 1, 1, 2\]"
    ):
        kernel.compile(Sample((1, 1, 1, 1, 2)))


def test_ranks_are_refused_at_their_line():
    @pypto.frontend.jit
    def second(x: T([4], FP32), y: T([1, 1, 1, 1, 4], FP32)):
        x + y

    @pypto.frontend.jit
    def method(x: T([1, 1, 1, 1, 4], FP32)):
        x.sum(-1)

    @pypto.frontend.jit
    def flat(x: T([4], FP32)):
        pypto.tril(x)

    @pypto.frontend.jit
    def vector(x: T([4], FP32)):
        pypto.matmul(x, x, FP32)

    @pypto.frontend.jit
    def filled(x: T([4], FP32)):
        pypto.full([1, 1, 1, 1, 4], 0, FP32)

    @pypto.frontend.jit
    def hot(x: T([1, 1, 1, 4], pypto.DT_INT32)):
        pypto.one_hot(x=x, num_classes=3)

    refuse(second, "x + y", "add(): expected a tensor of 1 to 4 dims, got 5: [1, 1, 1, 1, 4] DT_FP32")
    refuse(method, "x.sum", "sum(): expected a tensor of 1 to 4 dims, got 5")
    refuse(flat, "pypto.tril", "tril(): expected a tensor of 2 to 5 dims, got 1: [4] DT_FP32")
    refuse(vector, "pypto.matmul", "matmul(): expected a tensor of 2 to 4 dims, got 1")
    refuse(filled, "pypto.full", "full(): expected a tensor of 1 to 4 dims, got 5: [1, 1, 1, 1, 4]")
    refuse(hot, "pypto.one_hot", "one_hot(): expected a tensor of 1 to 3 dims, got 4")


def test_movement_takes_five_dims():
    @pypto.frontend.jit
    def kernel(x: T([1, 2, 1, 3, 4], FP32), out: T([1, 4, 1, 3, 2], FP32)):
        out[:] = pypto.permute(pypto.transpose(x, 1, 4), [0, 1, 2, 3, 4])

    x, out = torch.randn(1, 2, 1, 3, 4), torch.zeros(1, 4, 1, 3, 2)
    kernel(x, out)
    assert torch.equal(out, x.transpose(1, 4))


@pytest.mark.parametrize("dtype", [pypto.DT_INT64, pypto.DT_UINT64, pypto.DT_BOOL])
def test_dtypes_that_transpose_lacks(dtype):
    @pypto.frontend.jit
    def swapped(x: T([2, 3], dtype)):
        pypto.transpose(x, 0, 1)

    @pypto.frontend.jit
    def permuted(x: T([2, 3], dtype), out: T([3, 2], dtype)):
        out[:] = pypto.permute(x, [1, 0])

    name = dtype.name.removeprefix("DT_")
    text = f"transpose(): dtype DT_{name} is not supported; accepted: DT_FP32,"
    refuse(swapped, "pypto.transpose", text, kind=TypeError)
    ir.compile(permuted)


def test_the_stub_is_that_of_the_table():
    assert (ROOT / "python/pypto/frontend/_catalogue.pyi").read_text() == catalogue_stub.make_stub()


USE = """
import pypto
from pypto.frontend import Tensor


def helper(x: Tensor) -> Tensor:
    reveal_type(pypto.exp(x))
    reveal_type(x.topk(3))
    pypto.nonsense(x)
    x.nonsense()
    return pypto.matmul(x, x, pypto.DT_FP32).softmax(-1)
"""


def test_type_checkers_see_the_operations(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(USE)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
        "use.py",
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    lines = [line.partition(": ")[2] for line in run.stdout.splitlines() if line.startswith("use.py")]
    assert lines == [
        'note: Revealed type is "pypto.frontend.tensor.Tensor"',
        'note: Revealed type is "tuple[pypto.frontend.tensor.Tensor, pypto.frontend.tensor.Tensor]"',
        'error: Module has no attribute "nonsense"  [attr-defined]',
        'error: "Tensor" has no attribute "nonsense"  [attr-defined]',
    ]
