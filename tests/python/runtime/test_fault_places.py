"""A fault of the running kernel points at file, line and column, and shows the line."""

import importlib

import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig
from scripts import line_with, run_python

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32


def window(x, start):
    # The view that starts too early.
    return x[start : start + 4, :] * 2.0


@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
def in_kernel(x: pypto.Tensor([16, 8], FP32), start: pypto.Tensor([1], INT32), out: pypto.Tensor([4, 8], FP32)):
    first = start[0]
    out[:] = x[first : first + 4, :] + 1.0


@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
def in_helper(x: pypto.Tensor([16, 8], FP32), start: pypto.Tensor([1], INT32), out: pypto.Tensor([4, 8], FP32)):
    out[:] = window(x, start[0])


@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
def cell_outside(x: pypto.Tensor([16, 8], FP32), start: pypto.Tensor([1], INT32), out: pypto.Tensor([4, 8], FP32)):
    first = start[start[0]]
    out[:] = x[first : first + 4, :] + 1.0


CASES = [
    ("in_kernel", "    out[:] = x[first : first + 4, :] + 1.0", "x[first", ""),
    ("in_helper", "    return x[start : start + 4, :] * 2.0", "x[start", ", in window"),
    ("cell_outside", "    first = start[start[0]]", "start[start", ""),
]


def arguments():
    return torch.ones(16, 8), torch.tensor([-3], dtype=torch.int32), torch.zeros(4, 8)


def pointer(line: str, what: str, function: str) -> str:
    """The end of the message."""
    number, column = line_with(__file__, line), line.index(what)
    mark = " " * (column - 4) + "^"
    return f'\n  File "{__file__}", line {number}, column {column + 1}{function}\n{line}\n    {mark}'


@pytest.mark.parametrize(("kernel", "line", "what", "function"), CASES)
def test_fault_points_at_the_line(kernel, line, what, function):
    with pytest.raises(pypto.AclError) as caught:
        globals()[kernel](*arguments())
    assert str(caught.value).endswith(pointer(line, what, function))
    assert (caught.value.filename, caught.value.lineno) == (__file__, line_with(__file__, line))


@pytest.mark.parametrize("way", ["handle", "submit"])
def test_fault_of_a_handle_points_at_the_line(way):
    _, line, what, function = CASES[1]
    with ChipWorker(config=RunConfig("a2a3sim")) as worker:
        handle = worker.register(ir.compile(in_helper))
        with pytest.raises(pypto.AclError) as caught:
            handle(*arguments()) if way == "handle" else handle.submit(*arguments()).wait()
    assert str(caught.value).endswith(pointer(line, what, function))


def test_fault_of_a_program_from_a_file_counts_from_the_def(tmp_path):
    compiled = ir.compile(in_helper)
    compiled.save(tmp_path / "program.pto")
    with pytest.raises(pypto.AclError) as caught:
        ir.load(tmp_path / "program.pto")(*arguments())
    text = str(caught.value)
    assert '\n  File "test_fault_places.py:window", line 3, column 12, counted from its def\n    return x[start' in text
    assert caught.value.lineno == 3


FACTORY = """
import pypto

def make():
    @pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
    def kernel(
        x: pypto.Tensor([16, 8], pypto.DT_FP32),
        start: pypto.Tensor([1], pypto.DT_INT32),
        out: pypto.Tensor([4, 8], pypto.DT_FP32),
    ):
        first = start[0]
        out[:] = x[first : first + 4, :] + 1.0

    return kernel
"""


@pytest.mark.parametrize("way", ["handles", "compiled", "jitted"])
def test_one_program_in_two_files_points_into_the_one_that_was_called(tmp_path, monkeypatch, way):
    names = [f"first_of_{way}", f"second_of_{way}"]
    for name, above in zip(names, ("", "# comment\n" * 5), strict=True):
        (tmp_path / f"{name}.py").write_text(above + FACTORY)
    monkeypatch.syspath_prepend(tmp_path)
    kernels = [importlib.import_module(name).make() for name in names]
    with ChipWorker(config=RunConfig("a2a3sim")) as worker:
        programs = [ir.compile(kernel) for kernel in kernels]
        calls = {"handles": map(worker.register, programs), "compiled": programs, "jitted": kernels}[way]
        calls = list(calls)
        x, start, out = arguments()
        for call in calls:
            call(x, start * 0, out)
        assert worker.counters()["program_loads"] == 1
        with pytest.raises(pypto.AclError) as caught:
            calls[1](x, start, out)
    path = tmp_path / f"{names[1]}.py"
    assert (caught.value.filename, caught.value.lineno) == (str(path), line_with(path, "        out[:] = x[first"))


def test_columns_count_characters():
    @pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.SIM})
    def kernel(x: pypto.Tensor([16, 8], FP32), start: pypto.Tensor([1], INT32), out: pypto.Tensor([4, 8], FP32)):
        b = start[0]
        _, out[:] = "äöü", x[b : b + 4, :] + 1.0

    line = '        _, out[:] = "äöü", x[b : b + 4, :] + 1.0'
    with pytest.raises(pypto.AclError) as caught:
        kernel(*arguments())
    shown = str(caught.value).split("\n")
    assert shown[-3].endswith(f"column {line.index('x[b') + 1}")
    assert shown[-2].index("x[b") == shown[-1].index("^")


PROGRAM = """
import torch, pypto
{blank}
@pypto.frontend.jit(runtime_options={{"run_mode": pypto.RunMode.SIM}})
def kernel(
    x: pypto.Tensor([16, 8], pypto.DT_FP32),
    start: pypto.Tensor([1], pypto.DT_INT32),
    out: pypto.Tensor([4, 8], pypto.DT_FP32),
):
    first = start[0]
    out[:] = x[first : first + 4, :] + 1.0

try:
    kernel(torch.ones(16, 8), torch.tensor([-3], dtype=torch.int32), torch.zeros(4, 8))
except pypto.AclError as error:
    print(error.lineno, error.filename, error)
"""


def test_an_image_from_the_folder_points_into_the_file(tmp_path):
    """The second process reads the image; a third one, after the kernel has moved down, points at the new place."""
    script = tmp_path / "script.py"
    for blank, images in (("", 1), ("", 1), ("\n\n\n", 2)):
        script.write_text(PROGRAM.format(blank=blank))
        done = run_python(f"import runpy; runpy.run_path({str(script)!r})", PYPTO_CACHE_DIR=str(tmp_path / "images"))
        line = line_with(script, "    out[:] = x[first")
        assert f"{line} {script} kernel" in done.stdout, done.stdout + done.stderr
        assert f'File "{script}", line {line}, column 14' in done.stdout
        assert len(list((tmp_path / "images").rglob("*.pypto"))) == images


def test_a_fault_tells_nothing_of_an_earlier_one():
    @pypto.frontend.jit
    def doubled(x: pypto.Tensor([4], FP32), out: pypto.Tensor([4], FP32)):
        out[:] = x * 2.0

    ir.compile(doubled, platform="a5sim")(torch.ones(4), torch.zeros(4))  # its binary goes after the first fault
    for _ in range(3):
        with pytest.raises(pypto.AclError) as caught:
            in_kernel(*arguments())
        assert str(caught.value).count("EZ2001") == 1
