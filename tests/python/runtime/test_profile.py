"""profile(): lines, leaves and runs of one launch."""

import json

import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, LaunchProfile, profile
from scripts import line_with, run_python

MATMUL = line_with(__file__, "    product = pypto.matmul")


@pypto.frontend.jit
def chain(
    x: pypto.Tensor([256, 64], pypto.DT_FP32),
    weight: pypto.Tensor([64, 128], pypto.DT_FP32),
    out: pypto.Tensor([256, 128], pypto.DT_FP32),
):
    product = pypto.matmul(x, weight, pypto.DT_FP32)
    scaled = product * 2.0
    out[:] = pypto.exp(scaled) + 1.0


def twice(value):
    # A line of a helper counts in its own file.
    return value * 2.0


@pypto.frontend.jit
def with_helper(x: pypto.Tensor([64, 16], pypto.DT_FP32), out: pypto.Tensor([64, 16], pypto.DT_FP32)):
    out[:] = twice(x)


@pypto.frontend.jit
def rows(x: pypto.Tensor([64, 16], pypto.DT_FP32), out: pypto.Tensor([64, 16], pypto.DT_FP32)):
    for row in pypto.loop(0, 64, 8):
        out[row : row + 8, :] = x[row : row + 8, :] + 1.0


def chain_arguments():
    return torch.randn(256, 64) / 8, torch.randn(64, 128) / 8, torch.empty(256, 128)


def test_lines_leaves_and_bytes(worker):
    x, weight, out = chain_arguments()
    handle = worker.register(ir.compile(chain))
    figures = profile(handle, (x, weight, out))
    assert isinstance(figures, LaunchProfile)
    assert torch.allclose(out, torch.exp(2 * (x @ weight)) + 1, rtol=1e-5)
    by_line = {line.line: line for line in figures.lines}
    first = MATMUL
    assert sorted(by_line) == [first, first + 1, first + 2]
    assert by_line[first].operations == ["matmul"]
    assert by_line[first + 1].operations == ["mul"]
    assert by_line[first + 2].operations == ["exp", "add"]
    assert all(line.file == "test_profile.py" for line in figures.lines)
    assert by_line[first + 1].text == "scaled = product * 2.0"
    cube, vector = figures.leaves
    assert (cube.kind, cube.line, cube.instances) == ("cube", first, 1)
    assert vector.kind == "vector"
    assert [operation.name for operation in vector.operations] == ["mul", "exp", "add"]
    across = -(-128 // 128)
    assert cube.bytes == 256 * 64 * 4 * across + cube.tiles * 64 * 128 * 4 + 256 * 128 * 4
    assert vector.bytes == 2 * 256 * 128 * 4
    assert by_line[first].bytes == cube.bytes
    assert by_line[first + 1].bytes + by_line[first + 2].bytes == vector.bytes


def test_lines_of_helpers_and_of_programs_from_files(worker, tmp_path):
    compiled = ir.compile(with_helper)
    x, out = torch.randn(64, 16), torch.empty(64, 16)
    [line] = profile(worker.register(compiled), (x, out)).lines
    assert (line.file, line.line) == ("test_profile.py", line_with(__file__, "    return value * 2.0"))
    assert line.text == "return value * 2.0"
    compiled.save(tmp_path / "program.pto")
    [line] = profile(worker.register(ir.load(tmp_path / "program.pto")), (x, out)).lines
    assert (line.file, line.line, line.text) == ("test_profile.py:twice", 3, "return value * 2.0")


def test_lines_of_files_of_one_name_stay_apart(tmp_path):
    for folder, text in (("a", "pypto.exp(x * 2.0)"), ("b", "x + 1.0")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ops.py").write_text(f"import pypto\n\ndef apply(x):\n    return {text}\n")
    script = tmp_path / "script.py"
    script.write_text(TWO_FILES)
    done = run_python(f"import runpy; runpy.run_path({str(script)!r})", PYTHONPATH=str(tmp_path))
    assert done.stdout.split("\n")[:2] == [
        f"{tmp_path}/a/ops.py 4 ['mul', 'exp'] return pypto.exp(x * 2.0)",
        f"{tmp_path}/b/ops.py 4 ['add'] return x + 1.0",
    ], done.stdout + done.stderr


TWO_FILES = """
import torch, pypto
from a import ops as first
from b import ops as second
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig, profile

@pypto.frontend.jit
def kernel(x: pypto.Tensor([64, 64], pypto.DT_FP32), out: pypto.Tensor([64, 64], pypto.DT_FP32)):
    out[:] = second.apply(first.apply(x))

with ChipWorker(config=RunConfig("a2a3sim")) as worker:
    figures = profile(worker.register(ir.compile(kernel)), (torch.ones(64, 64), torch.ones(64, 64)))
for line in sorted(figures.lines, key=lambda line: line.path):
    print(line.path, line.line, line.operations, line.text)
"""


def test_sums_fit_the_launch(worker):
    arguments = chain_arguments()
    handle = worker.register(ir.compile(chain))
    handle(*arguments)
    figures = profile(handle, arguments)
    report = handle.workspace_report()
    assert figures.device_ns == pytest.approx(report.device_wall_us * 1e3)
    assert (figures.root_instances, figures.device_tasks, figures.leaf_tiles) == (
        report.root_instances,
        report.device_tasks,
        report.leaf_tiles,
    )
    assert sum(leaf.tiles for leaf in figures.leaves) == report.leaf_tiles
    assert sum(line.ns for line in figures.lines) == pytest.approx(figures.busy_ns)
    assert sum(leaf.ns for leaf in figures.leaves) == pytest.approx(figures.busy_ns)
    assert sum(run.ns for run in figures.runs) == pytest.approx(figures.busy_ns)
    assert sum(run.tiles for run in figures.runs) == report.leaf_tiles
    assert sum(run.bytes for run in figures.runs) == sum(leaf.bytes for leaf in figures.leaves)
    assert figures.busy_ns <= figures.device_ns * figures.cores
    assert report.tasks == []  # those belong to launches at level INFO


def test_every_instance_is_a_run(worker):
    handle = worker.register(ir.compile(rows))
    x, out = torch.randn(64, 16), torch.empty(64, 16)
    for _ in range(2):
        figures = profile(handle, (x, out))
        assert torch.equal(out, x + 1)
        (leaf,) = figures.leaves
        assert (leaf.instances, leaf.tiles, leaf.bytes) == (8, 8, 2 * 64 * 16 * 4)
        assert [run.number for run in figures.runs] == list(range(8))
        assert all(run.begin_ns >= 0 and run.core == 0 and run.tiles == 1 for run in figures.runs)


def test_nothing_is_kept_behind_it(worker):
    handle = worker.register(ir.compile(rows))
    x, out = torch.randn(64, 16), torch.empty(64, 16)
    handle(x, out)
    before = worker.memory_info()
    profile(handle, (x, out))
    after = worker.memory_info()
    assert after["programs"] == before["programs"]
    launches = worker.counters()["launches"]
    for _ in range(3):
        handle(x, out)
    assert worker.counters()["launches"] == launches + 3


TWO_CORES = """
import torch
import pypto
from pypto.runtime import ChipWorker, RunConfig, profile

@pypto.frontend.jit
def wide(x: pypto.Tensor([4096, 512], pypto.DT_FP32), out: pypto.Tensor([4096, 512], pypto.DT_FP32)):
    out[:] = pypto.exp(pypto.sin(x))

x, out = torch.randn(4096, 512), torch.empty(4096, 512)
with ChipWorker(config=RunConfig()) as worker:
    figures = profile(worker.register(pypto.ir.compile(wide)), (x, out))
assert torch.allclose(out, torch.exp(torch.sin(x)), rtol=1e-5)
assert figures.cores == 2
assert {run.core for run in figures.runs} <= {0, 1}
assert sum(run.tiles for run in figures.runs) == figures.leaf_tiles
begins = [run.begin_ns for run in figures.runs]
assert begins == sorted(begins)
assert figures.chrome_trace().count("thread_name") == 2
"""


def test_two_cores_share_the_runs():
    ended = run_python(TWO_CORES, PYPTO_MOCK_CORES="2")
    assert ended.returncode == 0, ended.stderr


def test_as_text_dict_and_trace(worker, tmp_path):
    arguments = chain_arguments()
    figures = profile(worker.register(ir.compile(chain)), arguments)
    text = str(figures)
    assert text.startswith("chain: ")
    for word in ("share", "GB/s", f"test_profile.py:{MATMUL}", "matmul", "| scaled = product * 2.0"):
        assert word in text
    assert repr(figures).startswith("<LaunchProfile of 'chain': ")
    record = figures.to_dict()
    assert json.loads(figures.to_json()) == record
    assert record["leaves"][1]["operations"][0]["name"] == "mul"
    assert len(record["runs"]) == len(figures.runs)
    trace = json.loads(figures.chrome_trace(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text()) == trace
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == len(figures.runs)
    assert spans[0]["name"] == "matmul"
    assert spans[0]["args"]["line"] == f"test_profile.py:{MATMUL}"
    assert spans[0]["dur"] == pytest.approx(figures.runs[0].ns / 1e3, abs=1e-3)
    with pytest.raises(OSError, match="nowhere"):
        figures.chrome_trace(tmp_path / "nowhere" / "trace.json")


def test_compiled_programs_need_no_handle(worker, add_program):
    x, out = torch.randn(8, 16), torch.empty(8, 16)
    figures = profile(add_program, (x, x, out))
    assert figures.kernel == "add_kernel"
    assert torch.equal(out, x + x)


def test_compiled_programs_need_no_worker(add_program):
    assert ChipWorker.current() is None
    x, out = torch.randn(8, 16), torch.empty(8, 16)
    assert profile(add_program, (x, x, out)).leaf_tiles == 1


def test_what_it_refuses(worker, add_program):
    with pytest.raises(TypeError, match="registered or a compiled program, got int"):
        profile(5, ())
    handle = worker.register(add_program)
    with pytest.raises(TypeError):
        profile(handle, (torch.ones(8, 16),))
    with pytest.raises(ValueError, match="y"):
        profile(handle, (torch.ones(8, 16), torch.ones(9, 16), torch.ones(8, 16)))
    handle.unregister()
    with pytest.raises(RuntimeError, match="closed"):
        profile(handle, (torch.ones(8, 16),) * 3)
