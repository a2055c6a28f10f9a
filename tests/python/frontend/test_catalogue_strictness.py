"""Ranks and dtypes that operations refuse, and what type checkers see of the catalogue."""

import subprocess
import sys
from pathlib import Path

import catalogue_stub
import pytest
import torch
from frontend_samples import Sample, refuse

import pypto
from pypto import _core, ir
from pypto.frontend.operations import CATALOGUE
from pypto.frontend.ranks import RANKS

FP32 = pypto.DT_FP32
T = pypto.Tensor
ROOT = Path(__file__).resolve().parents[3]


def test_the_table_of_the_core_has_the_ranks_of_every_operation():
    assert set(CATALOGUE) <= set(RANKS)
    assert set(_core.COMPOSED) <= set(CATALOGUE)
    assert all(1 <= RANKS[name][0] <= RANKS[name][1] <= 5 for name in CATALOGUE)


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
