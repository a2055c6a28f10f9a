"""Names that torch has and kernels have not: the error says what to write, and that works."""

import importlib

import pytest
import torch

import pypto
from pypto.frontend.catalogue.instead import instead_of

OF_ONE_TENSOR = {
    "flatten": torch.flatten,
    "float": torch.Tensor.float,
    "gelu": torch.nn.functional.gelu,
    "half": torch.Tensor.half,
    "int": torch.Tensor.int,
    "mT": lambda x: x.mT,
    "T": lambda x: x.T,
    "t": torch.t,
    "mean": lambda x: x.mean(-1, keepdim=True),
    "norm": lambda x: x.norm(dim=-1),
    "ones_like": torch.ones_like,
    "silu": torch.nn.functional.silu,
    "softplus": torch.nn.functional.softplus,
    "square": torch.square,
    "std": lambda x: x.std(-1),
    "zeros_like": torch.zeros_like,
    "empty_like": torch.zeros_like,
    "contiguous": lambda x: x,
}


@pytest.mark.parametrize(("name", "function"), OF_ONE_TENSOR.items(), ids=OF_ONE_TENSOR.keys())
def test_what_is_said_works(name, function, tmp_path, monkeypatch):
    expression = instead_of(name).removeprefix(". Instead: ").replace("x itself", "x")
    (tmp_path / "said_instead.py").write_text(
        "import pypto\n\n@pypto.frontend.jit\n"
        f"def kernel(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor()):\n    out[:] = {expression}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(importlib.sys.modules, "said_instead", raising=False)
    importlib.invalidate_caches()
    x = torch.randn(4, 8) * 3
    expected = function(x)
    out = torch.empty(expected.shape, dtype=expected.dtype)
    importlib.import_module("said_instead").kernel(x, out)
    torch.testing.assert_close(out, expected)


def refused(body):
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 8], pypto.DT_FP32)):
        body(x)

    with pytest.raises(pypto.PyptoError) as caught:
        kernel.compile() if body.__name__ != "called" else kernel(torch.zeros(4, 8))
    return str(caught.value)


def test_attributes_functions_and_operations():
    def called(x):
        x.masked_fill(x, 0.0)

    assert "no attribute 'masked_fill'. Instead: pypto.where(mask, value, x)" in refused(called)
    assert "relu() of torch is given a value of the kernel" in refused(torch.relu)
    assert "when the kernel runs. Instead: pypto.relu()" in refused(torch.relu)
    assert "when the kernel runs. Instead: pypto.sum(" in refused(torch.mean)
    assert "erfinv() of torch is given a value of the kernel" in refused(torch.erfinv)
    with pytest.raises(AttributeError, match="module 'pypto' has no attribute 'cat'. Instead: pypto.concat"):
        pypto.cat  # noqa: B018
    assert not hasattr(pypto, "einsum")


def test_masks_new_dims_and_steps():
    assert "pypto.where chooses elements by a mask" in refused(lambda x: x[x > 0.0])
    assert "got NoneType; pypto.unsqueeze makes a new dim" in refused(lambda x: x[:, None])
    assert "got 2; pypto.reshape(x, [..., n, step])" in refused(lambda x: x[:, ::2])
    assert "pypto.where and pypto.logical_and" in refused(lambda x: bool(x > 0.0))
