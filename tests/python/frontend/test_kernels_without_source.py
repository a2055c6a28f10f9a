"""Kernels whose source cannot be read, or is another one now: the error says so and what kernels are."""

import importlib.util

import pytest
import torch

import pypto

FP32, INT32, T = pypto.DT_FP32, pypto.DT_INT32, pypto.Tensor
PLAIN = "kernels are plain `def` functions in a file, a notebook cell or anything else that inspect.getsource can read"
KERNEL = """import pypto

@pypto.frontend.jit
def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = x + 1.0
"""


def load(path):
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refusal_of(make):
    """The text of what making or compiling the kernel raises."""
    with pytest.raises(pypto.PyptoError) as caught:
        make().compile()
    return str(caught.value)


def test_made_by_exec():
    def make():
        scope = {"__name__": "made"}
        exec(KERNEL, scope)
        return scope["kernel"]

    told = refusal_of(make)
    assert "the source of kernel 'kernel' cannot be read (could not get source code)" in told
    assert PLAIN in told


@pytest.mark.parametrize(
    ("now", "text"),
    [
        ("def other(y:", "line 3 of {path} is another function: the file has changed"),
        ("def kernel(x::", PLAIN),  # no longer parses
    ],
)
def test_a_file_that_has_changed(tmp_path, now, text):
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL)

    def make():
        module = load(path)
        path.write_text(KERNEL.replace("def kernel(x:", now))
        return module.kernel

    told = refusal_of(make)
    assert text.format(path=path) in told
    assert PLAIN in told


def test_a_recording_in_a_kernel(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        KERNEL.replace("@pypto", 'DATA = pypto.tensor([4], pypto.DT_FP32, "data")\n\n@pypto').replace(
            "    x[:]", '    with pypto.function("inner", DATA):\n        pass\n    x[:]'
        )
    )
    told = refusal_of(lambda: load(path).kernel)
    assert "function(): a recording inside of a kernel; call a plain function" in told
    assert "line 7, column 5" in told


HELPERS = """
def plain(x, n):
    return x + 1

def asks(x, n):
    return x + 1 if n > 1 else x

def loops(x, n):
    for i in pypto.loop(n):
        x = x + 1
    return x

def asks_a_tensor(x, n):
    return x if x else n
"""


def helper_made_by_exec(name):
    scope = {"__name__": "made", "pypto": pypto}
    exec(HELPERS, scope)
    helper = scope[name]

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), n: T([1], INT32), out: T([4], FP32)):
        out[:] = helper(x, n[0])

    return kernel


def test_a_helper_made_by_exec_runs_as_plain_python():
    out = torch.zeros(4)
    helper_made_by_exec("plain")(torch.ones(4), torch.ones(1, dtype=torch.int32), out)
    assert out.tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("asks", "ValueError: Not concrete value."),
        ("loops", "TypeError: pypto.loop runs only as"),
        ("asks_a_tensor", "TypeError: a tensor has no value while the kernel is traced"),
    ],
)
def test_what_a_helper_made_by_exec_cannot_do(name, text):
    told = refusal_of(lambda: helper_made_by_exec(name))
    assert text in told
    assert f"'{name}' runs as plain Python, as its source cannot be read" in told
    assert "out[:] = helper(x, n[0])" in told


def test_other_errors_of_a_helper_made_by_exec_stay_as_they_are():
    scope = {"__name__": "made", "pypto": pypto}
    exec("def helper(x):\n    return x.move(3)\n", scope)
    helper = scope["helper"]

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        helper(x)

    told = refusal_of(lambda: kernel)
    assert "move(): expected a tensor, got int" in told and "plain Python" not in told
