"""Binding of direct calls: texts of reference/frontend.md §1.2."""

import inspect

import pytest
from frontend_samples import Sample

import pypto

FP32 = pypto.DT_FP32
X = Sample((4,))


@pypto.frontend.jit
def kernel(x: pypto.Tensor([4], FP32), y: pypto.Tensor([4], FP32), scale=2.0, *, offset: int):
    y[:] = x * scale + offset


@pytest.mark.parametrize(
    ("arguments", "keywords", "text"),
    [
        ((X,), {}, r"Expected at least 2 tensor argument\(s\), got 1\."),
        ((), {"y": X, "x": X}, r"Expected at least 2 .*, got 0\. Tensors are positional: pass x, y without a name\."),
        ((X, X), {}, "Missing required non-tensor argument 'offset'."),
        ((X, X, 1.0, 2), {"offset": 1}, "Too many positional arguments: expected at most 3, got 4."),
        ((X, X), {"offset": 1, "of": 2}, r"Unknown keyword argument\(s\): \['of'\]. Valid non-tensor parameters: \['s"),
        ((X, X), {"x": X, "offset": 1}, r"Unknown keyword argument\(s\): \['x'\]"),
        ((X, X, X), {"offset": 1}, "Non-tensor parameter 'scale' must not be a torch.Tensor"),
        ((X, 3), {"offset": 1}, r"Input y \(index 1\) must be a torch.Tensor, got int"),
        ((X, X, 1.0), {"scale": 1.0, "offset": 1}, "Non-tensor parameter 'scale' is given twice"),
    ],
)  # fmt: skip
def test_call_errors(arguments, keywords, text):
    with pytest.raises(pypto.FeError, match=text) as caught:
        kernel(*arguments, **keywords)
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith("ErrCode: F00001, TypeError: ")


def test_sharded_tensors_are_refused():
    class DTensor(Sample):
        pass

    with pytest.raises(pypto.FeError, match="is a DTensor"):
        kernel(DTensor((4,)), X, offset=1)


def test_values_of_scalars():
    tensors, values = kernel.signature.split((X, X), {"offset": 3})
    assert tensors == (X, X)
    assert values == {"scale": 2.0, "offset": 3}


def test_tensors_come_first():
    @pypto.frontend.jit
    def wrong(scale, x: pypto.Tensor([4], FP32)):
        x[:] = x * scale

    with pytest.raises(pypto.FeError, match=r"Found tensor parameter 'x' after non-tensor parameter\(s\)\."):
        wrong(1.0, X)


@pytest.mark.parametrize("target", [3, int, object()])
def test_jit_takes_functions_only(target):
    with pytest.raises(pypto.FeError) as caught:
        pypto.frontend.jit(target)
    assert isinstance(caught.value, TypeError)


def test_the_signature_of_jit_names_its_keywords():
    parameters = inspect.signature(pypto.jit).parameters
    keywords = {name: item.default for name, item in parameters.items() if item.kind is item.KEYWORD_ONLY}
    groups = ("host", "codegen", "pass", "runtime", "verify", "debug")
    defaults = {f"{group}_options": None for group in groups} | {"new_ir": True, "create_new_logical_tensor": False}
    assert keywords == defaults


def test_jit_keywords():
    with pytest.raises(pypto.FeError, match="unknown keyword"):
        pypto.frontend.jit(runtime_option={})
    with pytest.raises(pypto.FeError, match="pass_options is a dict"):
        pypto.frontend.jit(pass_options=3)(lambda: None)
    made = pypto.frontend.jit(new_ir=True, create_new_logical_tensor=True)(kernel.function)
    assert made.__name__ == "kernel"


def test_run_mode_chooses_the_platform():
    group = {"run_mode": pypto.RunMode.SIM}
    made = pypto.frontend.jit(runtime_options=group)(kernel.function)
    assert made.platform == "a2a3sim"
    group["run_mode"] = 0  # the dict is kept by reference
    assert made.platform == "a2a3"
    group["run_mode"] = 2
    with pytest.raises(pypto.FeError, match="Invalid run mode 2"):
        _ = made.platform


def test_unknown_platform():
    with pytest.raises(ValueError, match="a2a3, a5, a2a3sim, a5sim"):
        kernel.compile(platform="a4")
    with pytest.raises(TypeError, match="expected a kernel under pypto.frontend.jit"):
        pypto.ir.compile(kernel.function)


def test_string_annotations(tmp_path, monkeypatch):
    module = tmp_path / "string_annotations.py"
    module.write_text(
        "from __future__ import annotations\n"
        "import pypto\n"
        "N = 4\n"
        "@pypto.frontend.jit\n"
        "def good(x: pypto.Tensor([N], pypto.DT_FP32), y: pypto.Tensor([N], pypto.DT_FP32)):\n"
        "    y[:] = x\n"
        "def make(m):\n"
        "    @pypto.frontend.jit\n"
        "    def bad(x: pypto.Tensor([m], pypto.DT_FP32)):\n"
        "        x[:] = x\n"
        "    m = None\n"
        "    return bad\n"
        "def of_a_layer(width):\n"
        "    class Layer:\n"
        "        kind = pypto.DT_FP16\n"
        "        def build(self, rows):\n"
        "            @pypto.frontend.jit(runtime_options={'run_mode': 1})\n"
        "            def kernel(x: pypto.Tensor([rows, width], Layer.kind), y: pypto.Tensor([rows, 2], later)):\n"
        "                y[:] = x[:, :2]\n"
        "            later = pypto.DT_FP16\n"
        "            return kernel\n"
        "    return Layer().build(3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import string_annotations

    assert [p.dims for p in string_annotations.good.compile().parameters] == [(4,), (4,)]
    assert [p.dims for p in string_annotations.make(3).compile().parameters] == [(3,)]
    assert [p.dims for p in string_annotations.make(5).compile().parameters] == [(5,)]
    with pytest.raises(pypto.FeError, match="names later, which is neither global nor a variable of the functions"):
        string_annotations.of_a_layer(4).compile()
