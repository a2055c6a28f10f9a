"""Importing pypto is light: no torch, no front end, nothing started."""

import subprocess
import sys

import pytest

import pypto


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_import_loads_neither_torch_nor_the_front_end():
    out = run_python(
        "import sys, pypto; print([m for m in ('torch', 'numpy', 'inspect', 'ast', 'pypto.frontend', 'pypto.runtime')"
        " if m in sys.modules])"
    )
    assert out.strip() == "[]"


def test_import_starts_no_thread():
    out = run_python("import pypto, os; print(len(os.listdir('/proc/self/task')))")
    assert out.strip() == "1"


def test_names_are_loaded_when_first_used():
    assert pypto.jit is pypto.frontend.jit
    assert pypto.add is pypto.frontend.catalogue.operations.add
    assert pypto.DT_FP32 is pypto.DataType.DT_FP32
    assert "loop_unroll" in dir(pypto)
    for name in pypto.frontend.__all__:
        assert getattr(pypto, name) is not None


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'pypto' has no attribute 'no_such_name'"):
        _ = pypto.no_such_name
    with pytest.raises(AttributeError, match="has no attribute 'annotations_of_nothing'"):
        _ = pypto.frontend.annotations_of_nothing
