"""Kernels whose source cannot be read, or is another one now: the error says so and what kernels are."""

import importlib.util

import pytest

import pypto

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
