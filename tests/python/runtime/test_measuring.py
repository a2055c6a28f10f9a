"""benchmark, run, reports and timing marks."""

import json
import re
import sys

import pytest
import torch

import pypto
from conftest import static_add_kernel
from pypto.runtime import BenchmarkStats, ChipWorker, RunConfig, benchmark, run, trace
from scripts import run_python


def arguments():
    x = torch.randn(8, 16)
    return x, torch.randn(8, 16), torch.empty(8, 16)


def test_benchmark(worker, add_program):
    resident = worker.alloc_tensor((8, 16), torch.float32, init=torch.ones(8, 16))
    x, _, out = arguments()
    before = worker.counters()
    stats = benchmark(add_program, (x, resident, out), rounds=20, warmup=2)
    after = worker.counters()
    assert isinstance(stats, BenchmarkStats)
    assert stats.rounds == 20
    assert torch.equal(out, x + 1)
    assert after["program_loads"] - before["program_loads"] == 1
    assert all(host > 0 and device > 0 for host, device in zip(stats.host_wall_us, stats.device_wall_us, strict=True))
    assert (
        stats.device_wall_us_min <= stats.device_wall_us_median <= stats.device_wall_us_p99 <= stats.device_wall_us_max
    )
    assert stats.host_wall_us_median >= stats.device_wall_us_min
    assert json.loads(stats.to_json())["rounds"] == 20
    for word in ("host", "device", "copies", "overhead", "median"):
        assert word in str(stats)
    with pytest.raises(AttributeError):
        stats.host_wall_us_mode  # noqa: B018


@pytest.mark.parametrize("keywords", [{"rounds": 0}, {"rounds": True}, {"warmup": -1}, {"rounds": 2.5}])
def test_benchmark_refuses(add_program, keywords):
    with pytest.raises(ValueError, match="rounds|warmup"):
        benchmark(add_program, arguments(), **keywords)


def test_benchmark_refuses_two_bindings(add_program):
    with pytest.raises(ValueError, match="config"):
        benchmark(add_program, arguments(), config=RunConfig(), platform="a2a3sim")


def test_benchmark_opens_and_closes_a_worker_of_its_own(add_program):
    assert ChipWorker.current() is None
    assert benchmark(add_program, arguments(), rounds=3).rounds == 3


def test_run_compares(worker, add_program):
    x, y, out = arguments()
    result = run(add_program, x, y, out, golden=lambda x, y, out: x + y)
    assert result.passed
    assert result.execution_time > 0
    wrong = run(add_program, x, y, out, golden=[x + y + torch.eye(8, 16)])
    assert not wrong.passed
    assert wrong.outputs[0].mismatches == 8
    assert wrong.outputs[0].max_abs_error == pytest.approx(1.0, abs=1e-6)
    assert wrong.outputs[0].first[0][0] == (0, 0)
    assert "(0, 0)" in str(wrong)
    with pytest.raises(ValueError, match="golden"):
        run(add_program, x, y, out, golden=[x, y])
    with pytest.raises(ValueError, match="shape"):
        run(add_program, x, y, out, golden=[x[:4]])


@pypto.frontend.jit
def add_into(x: pypto.Tensor([8], pypto.DT_FP32), y: pypto.Tensor([8], pypto.DT_FP32)):
    y[0:4] = y[0:4] + x[0:4]


@pytest.mark.parametrize("golden", [lambda x, y: x + y, lambda *args: args[0] + args[1], torch.add])
def test_golden_is_a_function_of_the_inputs(worker, add_program, golden):
    x, y, out = arguments()
    assert run(add_program, x, y, out, golden=golden).passed
    assert run(add_program, x, y, golden=golden).passed


def test_golden_sees_the_old_value_of_what_is_written_in_part(worker):
    x, y = torch.randn(8), torch.randn(8)
    assert run(add_into, x, y, golden=lambda x, y: torch.cat([x[:4] + y[:4], y[4:]])).passed


def test_plot_names_the_extra_that_it_needs(worker, add_program, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'pypto\[plot\]'"):
        benchmark(add_program, arguments(), rounds=1).plot(tmp_path / "rounds.png")


def test_run_takes_a_jitted_kernel(worker):
    x, y, out = torch.randn(16, 16), torch.randn(16, 16), torch.empty(16, 16)
    result = run(static_add_kernel, x, y, out, golden=lambda x, y, out: x + y)
    assert result.passed
    assert torch.equal(out, x + y)


@pypto.frontend.jit
def scaled(
    x: pypto.Tensor([8, 16], pypto.DT_FP32),
    out: pypto.Tensor([8, 16], pypto.DT_FP32),
    scale: float = 3.0,
    plus: int = 1,
    negate=False,
):
    out[:] = -(x * scale + plus) if negate else x * scale + plus


@pytest.mark.parametrize("scalars", [(), (2.0,), (2.0, 5), (0.5, 0, True)])
def test_run_compiles_scalars_and_defaults_in(worker, scalars):
    x = torch.randn(8, 16)
    scale, plus, negate = (*scalars, *(3.0, 1, False)[len(scalars) :])
    expected = x * scale + plus
    assert run(scaled, x, torch.empty(8, 16), *scalars, golden=-expected if negate else expected).passed


def test_run_names_a_missing_scalar(worker):
    @pypto.frontend.jit
    def needs(x: pypto.Tensor([8, 16], pypto.DT_FP32), out: pypto.Tensor([8, 16], pypto.DT_FP32), scale: float):
        out[:] = x * scale

    with pytest.raises(TypeError, match="Missing required non-tensor argument 'scale'"):
        run(needs, torch.ones(8, 16), torch.empty(8, 16))


def test_benchmark_refuses_wrong_workers(worker, add_program):
    with pytest.raises(TypeError, match="worker"):
        benchmark(add_program, arguments(), worker=5)
    with pytest.raises(ValueError, match="config"):
        benchmark(add_program, arguments(), worker=worker, config=RunConfig(device_id=3))


def test_report(worker, add_program):
    handle = worker.register(add_program)
    handle(*arguments())
    handle(*arguments())
    report = handle.workspace_report()
    assert report.launches == 2
    assert report.root_instances == 1
    assert report.device_tasks == 1
    assert report.device_wall_us > 0
    assert report.recommended_depths == {"root_inner": 0, "assemble_outcast": 0, "exclusive_outcast": 0}


MARK = re.compile(
    r"\[STRACE\] v=1 pid=\d+ tid=\d+ inv=(\d+) hid=([0-9a-f]+) depth=(\d) name=([a-z0-9_.]+) ts=(\d+) dur=(\d+)(.*)"
)


def test_timing_marks(worker, add_program):
    handle = worker.register(add_program)
    records: list[str] = []
    with trace(records.append):
        handle(*arguments())
        handle(*arguments())
    handle(*arguments())
    marks = [MARK.fullmatch(record.strip()) for record in records]
    assert marks
    assert all(marks)
    names = [mark[4] for mark in marks]
    assert names.count("chip.run") == 2
    for name in ("chip.run.bind", "chip.run.h2d", "chip.run.launch", "chip.run.device_wall", "chip.run.d2h"):
        assert names.count(name) == 2, names
    assert len({mark[1] for mark in marks}) == 2, "inv counts dispatches"
    assert {mark[2] for mark in marks} <= {add_program.fingerprint, add_program.fingerprint[: len(marks[0][2])]}
    whole = [mark for mark in marks if mark[4] == "chip.run"][0]
    inside = [mark for mark in marks if mark[1] == whole[1] and mark[3] == "1" and "clk=dev" not in mark[7]]
    assert sum(int(mark[6]) for mark in inside) <= int(whole[6])
    assert any("clk=dev" in mark[7] for mark in marks if mark[4].endswith("device_wall"))


def test_timing_marks_in_a_file(worker, add_program, tmp_path):
    path = tmp_path / "marks.txt"
    with trace(path):
        worker.run(add_program, *arguments())
    assert MARK.match(path.read_text().splitlines()[0])
    with pytest.raises(OSError, match="nowhere"), trace(tmp_path / "nowhere" / "marks.txt"):
        pass


def test_a_listener_may_dispatch(worker, add_program):
    seen = []

    def listener(record):
        if not seen:
            seen.append(record)
            worker.run(add_program, *arguments())

    with trace(listener):
        worker.run(add_program, *arguments())
    assert seen


DISPATCH = """
import torch, pypto
from pypto import ir
from pypto.runtime import ChipWorker

@pypto.frontend.jit
def add(x: pypto.Tensor([32, 32], pypto.DT_FP32), out: pypto.Tensor([32, 32], pypto.DT_FP32)):
    out[:] = x + 1.0

with ChipWorker():
    ir.compile(add)(torch.randn(32, 32), torch.zeros(32, 32))
"""


@pytest.mark.parametrize("target", ["stderr", "plog", "file", "off", "no folder"])
def test_marks_go_where_the_variable_says(tmp_path, target):
    """A switch of its own: the level of the log stays at ERROR."""
    value = {"file": f"{tmp_path}/marks", "no folder": f"{tmp_path}/none/marks"}.get(target, target)
    done = run_python(DISPATCH, PYPTO_STRACE=value, ASCEND_PROCESS_LOG_PATH=str(tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    found = {
        "stderr": done.stderr,
        "plog": "".join(path.read_text() for path in tmp_path.glob("log/debug/plog/*.log")),
        "file": (tmp_path / "marks").read_text() if (tmp_path / "marks").exists() else "",
    }
    marks = {place: len(re.findall(r"\[STRACE\] v=1 .* name=chip\.run[ .]", text)) for place, text in found.items()}
    assert marks == {place: 7 if place == target else 0 for place in found}
    assert all(text == "" for place, text in found.items() if place != target)
