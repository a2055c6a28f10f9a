"""workspace_report(), budgets of dynamic sizes launch by launch, the settings of the log."""

import json

import pytest
import torch
from worked_example import compiled, inputs
from workspace_records import POOLS, Bench, by_launch, of_kind, parse

import pypto
from pypto import ir, testing
from pypto.runtime import WorkspaceReport, WorkspaceTask, log

FP32 = pypto.DT_FP32
ROWS = pypto.frontend.dynamic("rows")


@pypto.frontend.jit
def whole(x: pypto.Tensor([ROWS, 16], FP32), out: pypto.Tensor([ROWS, 16], FP32)):
    """An outcast of all rows: the unit of its pool grows with the launch."""
    twice = pypto.tensor([x.shape[0], 16], FP32, "twice")
    for i in pypto.loop(0, x.shape[0], 64):
        twice[i : i + 64, :] = x[i : i + 64, :] * 2.0
    for i in pypto.loop(0, x.shape[0], 64):
        out[i : i + 64, :] = twice[i : i + 64, :] + 1.0


def register(worker, kernel=whole, **runtime_options):
    with pypto.options(runtime_options=runtime_options):
        return worker.register(ir.compile(kernel))


def call(handle, rows):
    x, out = torch.randn(rows, 16), torch.full((rows, 16), float("nan"))
    handle(x, out)
    assert torch.equal(out, x * 2 + 1)


def outputs():
    return [torch.empty(1, 64, 16) for _ in range(2)]


def test_a_report_before_the_first_launch(worker):
    report = worker.register(compiled()).workspace_report()
    assert (report.launches, report.device_tasks, report.copies, report.tasks) == (0, 0, [], [])
    assert json.loads(json.dumps(report.to_dict()))["kernel"] == "three_loops"


def test_everything_of_a_report(worker):
    handle = worker.register(compiled(stitch_function_num_per_pool=[64, 2, 1]))
    handle(*inputs(), *outputs())
    handle(*inputs(), *outputs())
    report = handle.workspace_report()
    assert isinstance(report, WorkspaceReport)
    figures = report.to_dict()
    assert figures.pop("device_wall_us") > 0
    assert figures.pop("leaf_tiles") > 0
    assert figures == {
        "kernel": "three_loops",
        "launches": 2,
        "mode": "per pool",
        "parallelism": 1,
        "root_instances": 129,
        "device_tasks": 1,
        "alloc_failures": 0,
        "total_bytes": 65536,
        "boundary_bytes": 8192,
        "unit_bytes": dict(zip(POOLS, (512, 4096, 4096), strict=True)),
        "peak_bytes": dict(zip(POOLS, (32768, 4096, 4096), strict=True)),
        "capacity_bytes": dict(zip(POOLS, (32768, 8192, 4096), strict=True)),
        "actual_depths": dict(zip(POOLS, (64, 2, 1), strict=True)),
        "recommended_depths": dict(zip(POOLS, (64, 1, 1), strict=True)),
        "max_recommended_depths": dict(zip(POOLS, (64, 1, 1), strict=True)),
        "next_depth_total_bytes": dict.fromkeys(POOLS, 0),
        "copies": [
            {
                "root_inner": {"peak": 32768, "capacity": 32768},
                "assemble_outcast": {"peak": 4096, "capacity": 8192},
                "exclusive_outcast": {"peak": 4096, "capacity": 4096},
            }
        ],
        "tasks": [],
    }
    assert repr(report).startswith("<WorkspaceReport of 'three_loops': 2 launches, last ")
    lines = str(report).splitlines()
    assert "129 root instances in 1 tasks, 0 allocation failures" in lines[0]
    assert lines[1] == "workspace 65536 B (per pool), 1 copy, boundary 8192 B"
    assert [line.split() for line in lines[3:]] == [
        ["root_inner", "512", "64", "64", "64", "32768", "32768", "0"],
        ["assemble_outcast", "4096", "2", "1", "1", "4096", "8192", "0"],
        ["exclusive_outcast", "4096", "1", "1", "1", "4096", "4096", "0"],
    ]


def test_tasks_of_a_report(worker, record_log):
    handle = worker.register(compiled(stitch_function_num_per_pool=[1, 1, 1]))
    handle(*inputs(), *outputs())
    first, *_, last = handle.workspace_report().tasks
    assert isinstance(first, WorkspaceTask)
    usage = {
        name: {"current": held, "peak": held, "capacity": held}
        for name, held in zip(POOLS, (512, 4096, 4096), strict=True)
    }
    assert first.to_dict() == {
        "task_id": 0,
        "tasks": 1,
        "stitch_count": 2,
        "alloc_failures": 1,
        "failed_pool": "root_inner",
        "requested": 512,
        "available": 0,
        "capacity": 512,
        "recommended_depths": dict.fromkeys(POOLS, 1),
        "copies": [usage],
    }
    assert (last.task_id, last.stitch_count, last.failed_pool) == (63, 65, None)
    assert repr(first) == "<WorkspaceTask 0: 2 root instances, recommended depths [1, 1, 1], closed by a full pool>"
    log("error")
    handle(*inputs(), *outputs())
    assert handle.workspace_report().tasks == []


@pypto.frontend.jit
def submitting(x: pypto.Tensor([64, 16], FP32), out: pypto.Tensor([64, 16], FP32)):
    twice = pypto.tensor([64, 16], FP32, "twice")
    for i in pypto.loop(0, 64, 8, submit_before_loop=True):
        twice[i : i + 8, :] = x[i : i + 8, :] * 2.0
    for i in pypto.loop(0, 64, 8, submit_before_loop=True):
        out[i : i + 8, :] = twice[i : i + 8, :] + 1.0
    for b in pypto.loop(2):
        for i in pypto.loop(0, 32, 8, submit_before_loop=True):
            out[b * 32 + i : b * 32 + i + 8, :] = twice[b * 32 + i : b * 32 + i + 8, :] + 1.0


@pytest.mark.parametrize(("most", "tasks"), [(128, [8, 8, 4, 4]), (8, [8, 8, 4, 4]), (5, [5, 3, 5, 3, 4, 4])])
def test_loops_that_submit_what_is_pending(worker, record_log, most, tasks):
    """Nothing is submitted where nothing is pending: before the first loop, and after a task that was full."""
    x = torch.randn(64, 16)
    run = Bench(worker, record_log, submitting, [x], [(64, 16)]).run(stitch_function_max_num=most)
    assert torch.equal(run.outputs[0], x * 2 + 1)
    assert [task.stitch_count for task in run.report.tasks] == tasks


def test_units_follow_the_sizes_of_each_launch(worker, record_log):
    handle = register(worker, stitch_function_max_num=4)
    units, peaks = [], []
    for rows in (64, 640, 1, 200, 0, 640):
        call(handle, rows)
        report = handle.workspace_report()
        units.append(report.unit_bytes["assemble_outcast"])
        peaks.append(report.recommended_depths["assemble_outcast"])
        assert report.total_bytes == -(-(5 * units[-1]) // 32768) * 32768  # four buffers and the boundary
    assert units == [64 * 64, 640 * 64, 512, 200 * 64, 0, 640 * 64]
    assert peaks == [1] * 6
    assert handle.workspace_report().launches == 6
    assert handle.workspace_report().max_recommended_depths == dict(zip(POOLS, (0, 1, 0), strict=True))
    said = [
        of_kind(launch, "Recommendation")[0]["rawPerParallelBytes"] for launch in by_launch(parse(record_log.take()))
    ]
    assert [fields["assembleOutcast"] for fields in said] == units


def test_a_limit_is_checked_for_each_launch_before_anything_runs(worker):
    handle = register(worker, max_workspace_kb=128)
    call(handle, 128)
    report = handle.workspace_report()
    assert report.mode == "by memory"
    assert report.actual_depths == dict.fromkeys(POOLS, 15)  # (131072 - 8192) / 8192
    assert report.total_bytes == 131072
    call(handle, 64)
    assert handle.workspace_report().actual_depths["assemble_outcast"] == 31
    before, run = worker.counters(), testing.counters()
    text = r"\[workspaceSize\] max_workspace_kb=128KB must be greater than the minimum runnable workspace=160KB\."
    x, out = torch.randn(1280, 16), torch.full((1280, 16), 7.0)
    with pytest.raises(pypto.WorkspaceError, match=text):
        handle(x, out)
    with pytest.raises(pypto.WorkspaceError, match=text):
        handle.submit(x, out)
    assert worker.counters() == before
    assert testing.counters() == run
    assert torch.equal(out, torch.full((1280, 16), 7.0))
    call(handle, 64)  # the handle works on


def test_depth_zero_with_dynamic_sizes_is_a_compile_error(worker):
    with pytest.raises(pypto.WorkspaceError, match=r"element 1 is 0, .* pool assemble_outcast") as caught:
        register(worker, stitch_function_num_per_pool=[1, 0, 0])
    assert "must be at least 1" in str(caught.value)
    assert register(worker, stitch_function_num_per_pool=[0, 1, 0]).is_open


def test_submitted_launches_leave_their_records(worker, record_log):
    handle = register(worker)
    arguments = [(torch.randn(rows, 16), torch.empty(rows, 16)) for rows in (64, 192)]
    completions = [handle.submit(*pair) for pair in arguments]
    for completion in completions:
        completion.wait()
    launches = by_launch(parse(record_log.take()))
    assert [of_kind(launch, "Tuning")[0]["stitchCount"] for launch in launches] == [2, 6]
    assert [of_kind(launch, "Pool")[0]["assembleOutcast"]["peak"] for launch in launches] == [64 * 64, 192 * 64]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stitch_function_max_num": 8, "max_workspace_kb": 100}, "stitch_function_max_num=8, max_workspace_kb=100"),
        ({"max_workspace_kb": 100}, "max_workspace_kb=100"),
        ({}, None),
    ],
)
def test_ignored_options_are_named_in_one_record(worker, record_log, options, expected):
    handle = register(worker, stitch_function_num_per_pool=[0, 1, 0], **options)
    call(handle, 64)
    call(handle, 64)
    lines = [line for line in record_log.take().splitlines() if "ignored" in line]
    assert len(lines) == (expected is not None)
    if expected:
        assert lines[0].endswith(f"kernel=whole: stitch_function_num_per_pool=[0, 1, 0] rules; ignored: {expected}")


def test_back_to_zero_the_other_options_rule_again(worker):
    with pypto.options(runtime_options={"stitch_function_max_num": 3}):
        pypto.experimental.set_runtime_options(stitch_function_num_per_pool=[0, 2, 0])
        assert ir.compile(whole).workspace_budget(rows=8).pools[1].depth == 2
        pypto.experimental.set_runtime_options(stitch_function_num_per_pool=[0, 0, 0])
        assert [pool.depth for pool in ir.compile(whole).workspace_budget(rows=8).pools] == [3, 3, 3]


def test_settings_of_the_log(tmp_path):
    for level in (-1, 5, "loud", True, 1.0):
        with pytest.raises(ValueError, match="log level"):
            log(level)
    log("info", path=tmp_path)
    try:
        assert pypto._core.log_level() == 1
        log(path=tmp_path / "other")
        assert pypto._core.log_level() == 1
        log(2)
        assert pypto._core.log_level() == 2
    finally:
        log("environment")


def test_records_on_stdout(worker, tmp_path, capfd):
    log("info", path=tmp_path, stdout=True)
    try:
        call(register(worker), 64)
    finally:
        log("environment", stdout=False)
    assert len(of_kind(parse(capfd.readouterr().out), "Summary")) == 1
    assert list(tmp_path.rglob("*.log")) == []
