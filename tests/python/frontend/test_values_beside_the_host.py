"""Functions of Python and numpy that work on values of the running kernel as operators do."""

import math

import numpy as np
import pytest
import torch

import pypto

FP32, INT32, T = pypto.DT_FP32, pypto.DT_INT32, pypto.Tensor
assert np and math  # named by the forms

OF_TENSORS = {
    "np.add(x, 1)": lambda x: x + 1,
    "np.float32(2) - x": lambda x: 2 - x,
    "np.maximum(x, 2.5)": lambda x: x.clamp(min=2.5),
    "np.exp(x)": torch.exp,
    "torch.tensor(2.0) * x": lambda x: 2 * x,
    "x * np.float64(0.5)": lambda x: x * 0.5,
    "round(x)": torch.round,
    "round(x * 1.26, 1)": lambda x: torch.round(x * 1.26, decimals=1),
    "divmod(x, 2)[0]": lambda x: x // 2,
    "divmod(x, 2)[1]": lambda x: x % 2,
}
OF_INTEGERS = {
    "divmod(n[0], 3)[0]": 2,
    "divmod(n[0], 3)[1]": 1,
    "divmod(15, n[0])[1]": 1,
    "round(n[0])": 7,
    "round(n[0], 2)": 7,
    "math.floor(n[0] / 2)": 3,
    "math.ceil(n[0])": 7,
    "math.trunc(n[0])": 7,
    "np.int64(2) * n[0]": 14,
    "np.add(n[0], 1)": 8,
}


def _run(form, tmp_path):
    path = tmp_path / "kernel_of_the_form.py"
    path.write_text(
        f"@pypto.jit\ndef kernel(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):\n    out[:] = {form}\n"
    )
    exec(compile(path.read_text(), str(path), "exec"), globals())
    x, out = torch.tensor([1.0, 2.5, 3.5, 4.0]), torch.zeros(4)
    globals().pop("kernel")(x, torch.tensor([7], dtype=torch.int32), out)
    return x, out


@pytest.mark.parametrize("form", OF_TENSORS)
def test_tensors(form, tmp_path):
    x, out = _run(form, tmp_path)
    torch.testing.assert_close(out, OF_TENSORS[form](x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", OF_INTEGERS)
def test_symbolic_integers(form, tmp_path):
    x, out = _run(f"x * ({form})", tmp_path)
    assert torch.equal(out, x * OF_INTEGERS[form])
