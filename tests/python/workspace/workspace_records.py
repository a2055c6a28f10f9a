"""Reads [Workspace Runtime …] records, and runs kernels under given depths with their records at hand."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch

import pypto
from pypto import ir
from pypto.runtime import WorkspaceReport, log

POOLS = ("root_inner", "assemble_outcast", "exclusive_outcast")
BYTE_NAMES = ("rootInner", "assembleOutcast", "exclusiveOutcast")
DEPTH_NAMES = ("rootInner", "assembleOutcast", "exclusive")
RECORD = re.compile(r"\[Workspace Runtime ([A-Za-z ]+)\] (.*)$")
FIELD = re.compile(r"(\w+)=(\{[^}]*\}|[^,{]+)(?:, |$)")


def value_of(text):
    """A number, a name, or the numbers of a group."""
    if text.startswith("{"):
        return {name: int(number) for name, number in (item.split("=") for item in text[1:-1].split(","))}
    return int(text) if text.isdigit() else text


def parse(text):
    """(kind, fields in order) of every record of the text."""
    found = []
    for line in text.splitlines():
        match = RECORD.search(line)
        if match:
            fields = {name: value_of(value) for name, value in FIELD.findall(match[2])}
            assert ", ".join(f"{name}=" for name in fields) == ", ".join(
                f"{name}=" for name in re.findall(r"(?:^|, )(\w+)=", match[2])
            )
            found.append((match[1], fields))
    return found


def by_launch(records):
    """The records of each launch; its last one is the recommendation."""
    launches = [[]]
    for record in records:
        launches[-1].append(record)
        if record[0] == "Recommendation":
            launches.append([])
    assert launches[-1] == []
    return launches[:-1]


def of_kind(records, kind):
    return [fields for name, fields in records if name == kind]


class RecordLog:
    """The plog files of this process under a folder of its own, at level INFO."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = 0
        log("info", path=folder)

    def take(self) -> str:
        """What was written since the last call."""
        text = "".join(path.read_text() for path in sorted(self._folder.glob("debug/plog/*.log")))
        new, self._seen = text[self._seen :], len(text)
        return new


@dataclass
class Run:
    """One launch: outputs, the report of its handle, its records, and the budget it was compiled to."""

    outputs: list[torch.Tensor]
    report: WorkspaceReport
    records: list
    total_bytes: int

    @property
    def recommended(self):
        return list(self.report.recommended_depths.values())

    def task_figures(self):
        """Records of the device tasks without what the chosen depths say of themselves."""
        figures = []
        for kind, fields in self.records:
            if kind == "Pool":
                held = {name: (fields[name]["current"], fields[name]["peak"]) for name in BYTE_NAMES}
                figures.append((kind, fields["parallelId"], held))
            elif kind == "Tuning":
                figures.append((kind, fields["taskId"], fields["stitchCount"], fields["recommendedDepths"]))
            elif kind == "Alloc Failure":
                figures.append((kind, fields["taskId"]))
        return figures


class Bench:
    """Runs one kernel on the same inputs under different runtime options."""

    def __init__(self, worker, record_log, kernel, inputs, outputs, dims=None):
        """`outputs`: shapes of the trailing output parameters; `dims`: values of dynamic dims by name."""
        self.worker, self.log, self.kernel = worker, record_log, kernel
        self.inputs, self.outputs, self.dims = inputs, outputs, dims or {}

    def run(self, **runtime_options) -> Run:
        with pypto.options(runtime_options=runtime_options):
            compiled = ir.compile(self.kernel)
        handle = self.worker.register(compiled)
        outputs = [torch.full(shape, float("nan")) for shape in self.outputs]
        self.log.take()
        handle(*self.inputs, *outputs)
        launches = by_launch(parse(self.log.take()))
        assert len(launches) == 1
        report = handle.workspace_report()
        handle.unregister()
        run = Run(outputs, report, launches[0], compiled.workspace_budget(**self.dims).total_bytes)
        check_records(run)
        return run

    def per_pool(self, depths, **more) -> Run:
        return self.run(stitch_function_num_per_pool=list(depths), **more)


def groups(depths, names):
    return dict(zip(names, depths.values(), strict=True))


def check_records(run: Run) -> None:
    """The records say what the report says, and agree with each other."""
    report, records = run.report, run.records
    copies, tasks = report.parallelism, report.device_tasks
    kinds = [kind for kind, _ in records]
    assert report.total_bytes == run.total_bytes
    assert kinds[-copies - 1 :] == ["Summary"] * copies + ["Recommendation"]
    assert [kind for kind in kinds[: -copies - 1] if kind != "Alloc Failure"] == (
        ["Pool"] * copies + ["Tuning"]
    ) * tasks
    assert {fields["kernel"] for _, fields in records} == {report.kernel}
    tuning, pools = of_kind(records, "Tuning"), of_kind(records, "Pool")
    assert [fields["taskId"] for fields in tuning] == list(range(tasks))
    assert sum(fields["stitchCount"] for fields in tuning) == report.root_instances
    assert all(fields["stitchCount"] > 0 for fields in tuning)
    failures = of_kind(records, "Alloc Failure")
    assert len(failures) == report.alloc_failures
    for fields in failures:
        assert fields["available"] < fields["requested"] <= fields["capacity"]
    units = groups(report.unit_bytes, BYTE_NAMES)
    capacity = groups(report.capacity_bytes, BYTE_NAMES)
    assert capacity == {
        name: unit * depth for (name, unit), depth in zip(units.items(), report.actual_depths.values(), strict=True)
    }
    for task, fields in enumerate(tuning):
        assert fields["configuredDepths"] == groups(report.actual_depths, DEPTH_NAMES)
        of_task = pools[task * copies : (task + 1) * copies]
        assert [row["parallelId"] for row in of_task] == list(range(copies))
        for name, short in zip(BYTE_NAMES, DEPTH_NAMES, strict=True):
            assert all(row[name]["current"] <= row[name]["peak"] <= row[name]["capacity"] for row in of_task)
            peak = max(row[name]["peak"] for row in of_task)
            depth = -(-peak // units[name]) if units[name] else 0
            least = 1 if report.recommended_depths[POOLS[BYTE_NAMES.index(name)]] else 0
            assert fields["recommendedDepths"][short] == max(depth, least)
    for copy, fields in enumerate(of_kind(records, "Summary")):
        assert fields["parallelId"] == copy
        for pool, name in zip(POOLS, BYTE_NAMES, strict=True):
            peak = max((row[name]["peak"] for row in pools if row["parallelId"] == copy), default=0)
            assert fields[name] == report.copies[copy][pool] == {"peak": peak, "capacity": capacity[name]}
    (said,) = of_kind(records, "Recommendation")
    assert said == {
        "kernel": report.kernel,
        "actualDepths": groups(report.actual_depths, DEPTH_NAMES),
        "recommendedDepths": groups(report.recommended_depths, DEPTH_NAMES),
        "rawPerParallelBytes": groups(report.unit_bytes, DEPTH_NAMES),
        "nextDepthTotalBytes": groups(report.next_depth_total_bytes, DEPTH_NAMES),
        "parallelism": copies,
    }
    assert [(task.task_id, task.stitch_count) for task in report.tasks] == [
        (fields["taskId"], fields["stitchCount"]) for fields in tuning
    ]
