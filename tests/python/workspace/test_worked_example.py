"""The worked example of the workspace contract, figure by figure."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import worked_example
import workspace_records
from workspace_records import Bench, by_launch, of_kind, parse

import pypto
from pypto import ir

SCRIPT = Path(worked_example.__file__)


@pytest.fixture
def bench(worker, record_log):
    shape = (worked_example.B, worked_example.L, worked_example.D)
    return Bench(worker, record_log, worked_example.three_loops, list(worked_example.inputs()), [shape, shape])


def check_outputs(run):
    output1, output2 = worked_example.golden(*worked_example.inputs())
    assert torch.allclose(run.outputs[0], output1, rtol=1e-5, atol=1e-5)
    assert torch.equal(run.outputs[1], output2)


def test_classes_and_units():
    program = worked_example.compiled()
    text = program.to_text()
    classes = dict(re.findall(r"storage s\d+:(\S+): (\w+) ", text))
    assert classes["tmp_assemble"] == "assemble_outcast"
    assert classes["tmp_exclusive"] == "exclusive_outcast"
    assert {name for name, of in classes.items() if of == "parameter"} == {"dy", "weight", "output1", "output2"}
    assert list(classes.values()).count("root_inner") == 1
    budget = program.workspace_budget()
    assert [pool.unit for pool in budget.pools] == [512, 4096, 4096]
    assert budget.boundary_bytes == 8192


@pytest.mark.parametrize(
    ("depths", "total"), [(None, 1146880), ([128, 128, 128], 1146880), ([64, 1, 1], 65536), ([1, 1, 1], 32768)]
)
def test_totals(depths, total):
    options = {} if depths is None else {"stitch_function_num_per_pool": depths}
    budget = worked_example.compiled(**options).workspace_budget()
    assert budget.total_bytes == total
    assert sum(item.bytes for item in budget.items) == total
    assert "root_inner: " in str(budget)


def test_by_count(bench):
    run = bench.run()
    check_outputs(run)
    assert run.report.mode == "by count"
    assert [task.stitch_count for task in run.report.tasks] == [128, 1]
    assert run.recommended == [64, 1, 1]
    assert of_kind(run.records, "Alloc Failure") == []


def test_recommended_depths(bench):
    first, run = bench.run(), bench.per_pool([64, 1, 1])
    check_outputs(run)
    assert all(torch.equal(a, b) for a, b in zip(first.outputs, run.outputs, strict=True))
    assert run.report.mode == "per pool"
    assert [task.stitch_count for task in run.report.tasks] == [129]
    assert run.report.alloc_failures == 0
    assert run.recommended == [64, 1, 1]
    assert run.total_bytes == 65536


def test_smallest_depths(bench):
    run = bench.per_pool([1, 1, 1])
    check_outputs(run)
    assert [task.stitch_count for task in run.report.tasks] == [2, *[1] * 62, 65]
    failures = of_kind(run.records, "Alloc Failure")
    assert len(failures) == 63
    assert [fields["taskId"] for fields in failures] == list(range(63))
    assert all(fields["pool"] == "rootInner" for fields in failures)
    assert {(f["requested"], f["available"], f["capacity"]) for f in failures} == {(512, 0, 512)}


def test_depth_zero_of_a_needed_pool_is_a_compile_error():
    with pytest.raises(pypto.WorkspaceError, match="assemble_outcast") as caught:
        worked_example.compiled(stitch_function_num_per_pool=[64, 0, 1])
    assert "4096 bytes" in str(caught.value)
    assert "must be at least 1" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_a_limit_must_be_above_the_smallest_workspace():
    text = r"\[workspaceSize\] max_workspace_kb=32KB must be greater than the minimum runnable workspace=32KB\."
    with pytest.raises(pypto.WorkspaceError, match=text):
        worked_example.compiled(max_workspace_kb=32)
    program = worked_example.compiled(max_workspace_kb=64)
    assert [pool.depth for pool in program.workspace_budget().pools] == [6, 6, 6]
    assert program.workspace_budget().total_bytes == 65536


def run_for_its_log(folder, *depths, **environment):
    """The plog text of a process that runs the example."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *depths],
        env={**os.environ, "ASCEND_PROCESS_LOG_PATH": str(folder), "ASCEND_GLOBAL_LOG_LEVEL": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == done.stderr == ""


def test_records_are_found_by_grep_and_do_not_depend_on_the_cores(tmp_path):
    found = []
    for cores in ("1", "3"):
        folder = tmp_path / cores
        run_for_its_log(folder, "64,1,1", "1,1,1", PYPTO_MOCK_CORES=cores)
        grep = subprocess.run(
            ["grep", "-rE", r"\[Workspace Runtime (Pool|Tuning|Summary|Recommendation)\]", str(folder)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines = grep.stdout.splitlines()
        assert all(re.match(r"[^:]*/debug/plog/plog-\d+_\d{17}\.log:\[INFO\] PYPTO\(", line) for line in lines)
        found.append([line[line.index("[Workspace") :] for line in lines])
    assert found[0] == found[1]
    launches = by_launch(parse("\n".join(found[0])))
    assert [len(of_kind(launch, "Tuning")) for launch in launches] == [2, 1, 64]
    assert found[0][:2] == [
        "[Workspace Runtime Pool] kernel=three_loops, parallelId=0, "
        "rootInner={current=32768,peak=32768,capacity=65536}, "
        "assembleOutcast={current=4096,peak=4096,capacity=524288}, "
        "exclusiveOutcast={current=4096,peak=4096,capacity=524288}",
        "[Workspace Runtime Tuning] kernel=three_loops, taskId=0, stitchCount=128, "
        "configuredDepths={rootInner=128,assembleOutcast=128,exclusive=128}, "
        "recommendedDepths={rootInner=64,assembleOutcast=1,exclusive=1}",
    ]
    assert found[0][4:6] == [
        "[Workspace Runtime Summary] kernel=three_loops, parallelId=0, rootInner={peak=32768,capacity=65536}, "
        "assembleOutcast={peak=4096,capacity=524288}, exclusiveOutcast={peak=4096,capacity=524288}",
        "[Workspace Runtime Recommendation] kernel=three_loops, "
        "actualDepths={rootInner=128,assembleOutcast=128,exclusive=128}, "
        "recommendedDepths={rootInner=64,assembleOutcast=1,exclusive=1}, "
        "rawPerParallelBytes={rootInner=512,assembleOutcast=4096,exclusive=4096}, "
        "nextDepthTotalBytes={rootInner=0,assembleOutcast=0,exclusive=0}, parallelism=1",
    ]


@pytest.mark.parametrize("level", ["2", None])
def test_no_record_above_info(tmp_path, level):
    run_for_its_log(
        tmp_path, **({"ASCEND_GLOBAL_LOG_LEVEL": level} if level else {"ASCEND_MODULE_LOG_LEVEL": "PYPTO=3"})
    )
    assert list(tmp_path.rglob("*.log")) == []


def test_the_module_level_wins(tmp_path):
    run_for_its_log(tmp_path, ASCEND_GLOBAL_LOG_LEVEL="3", ASCEND_MODULE_LOG_LEVEL="PYPTO=1")
    (path,) = tmp_path.glob("debug/plog/*.log")
    assert len(of_kind(parse(path.read_text()), "Recommendation")) == 1


def test_a_log_that_cannot_be_written_breaks_nothing(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "1,1,1"],
        env={**os.environ, "ASCEND_PROCESS_LOG_PATH": str(blocked), "ASCEND_GLOBAL_LOG_LEVEL": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_compiled_for_a_platform_keeps_its_figures():
    assert ir.compile(worked_example.three_loops, platform="a5sim").workspace_budget().total_bytes == 1146880


def test_the_parser_reads_what_is_written():
    line = (
        "[INFO] PYPTO(1,x):t [f:1][Workspace Runtime Alloc Failure] kernel=k, taskId=3, pool=rootInner, requested=512"
    )
    expected = {"kernel": "k", "taskId": 3, "pool": "rootInner", "requested": 512}
    assert workspace_records.parse(line) == [("Alloc Failure", expected)]
