"""What every report must hold: running again with its depths, one depth more, and depth 1 (by count and per pool)."""

import pytest
import torch
from workspace_records import POOLS, Bench

import pypto

FP32 = pypto.DT_FP32
ROWS = pypto.frontend.dynamic("rows")
COLUMNS = pypto.frontend.dynamic("columns")


@pypto.frontend.jit
def assembled(x: pypto.Tensor([64, 16], FP32), out: pypto.Tensor([64, 16], FP32)):
    """Each outer iteration makes a tensor that inner iterations assemble; several are alive in one task."""
    for b in pypto.loop(4):
        part = pypto.tensor([16, 16], FP32, "part")
        for i in pypto.loop(0, 16, 4):
            part[i : i + 4, :] = pypto.matmul(x[b * 16 + i : b * 16 + i + 4, :], x[0:16, :], FP32) + 1.0
        for i in pypto.loop(0, 16, 8):
            out[b * 16 + i : b * 16 + i + 8, :] = part[i : i + 8, :] * 2.0


@pypto.frontend.jit
def exclusive(x: pypto.Tensor([64, 16], FP32), out: pypto.Tensor([64, 16], FP32)):
    """Every iteration writes an outcast whole that the inner loop reads."""
    for b in pypto.loop(8):
        rows = x[b * 8 : b * 8 + 8, :] * 2.0
        for i in pypto.loop(2):
            out[b * 8 + i * 4 : b * 8 + i * 4 + 4, :] = pypto.matmul(rows[i * 4 : i * 4 + 4, :], x[0:16, :], FP32) + 1.0


@pypto.frontend.jit
def parallel(x: pypto.Tensor([64, 16], FP32), out: pypto.Tensor([64, 16], FP32)):
    """Independent iterations, on the copies of the workspace in turn."""
    total = x[0:16, :] + 1.0
    for b in pypto.loop(0, 64, 8, parallel=True):
        product = pypto.matmul(x[b : b + 8, :], total, FP32)
        for i in pypto.loop(2):
            out[b + i * 4 : b + i * 4 + 4, :] = product[i * 4 : i * 4 + 4, :] * 0.5


@pypto.frontend.jit
def generations(x: pypto.Tensor([16, 16], FP32), out: pypto.Tensor([48, 16], FP32)):
    """Carries three generations of an outcast."""
    a = x + 1.0
    b = x + 2.0
    c = x + 3.0
    for _ in pypto.loop(10):
        a, b, c = b, c, pypto.matmul(a, x, FP32) * 0.01 + c
    out[0:16, :] = a
    out[16:32, :] = b
    out[32:48, :] = c


@pypto.frontend.jit
def dynamic(x: pypto.Tensor([ROWS, COLUMNS], FP32), out: pypto.Tensor([ROWS, COLUMNS], FP32)):
    """The units follow from the dims of the launch."""
    twice = pypto.tensor([x.shape[0], x.shape[1]], FP32, "twice")
    for i in pypto.loop(0, x.shape[0], 8):
        part = x[i : i + 8, 0:128]
        twice[i : i + 8, 0:128] = part - pypto.amax(part, -1, keepdim=True)
    for i in pypto.loop(0, x.shape[0], 8):
        out[i : i + 8, 0:128] = twice[i : i + 8, 0:128] * 2.0


@pypto.frontend.jit
def data_dependent(
    x: pypto.Tensor([64, 16], FP32), counts: pypto.Tensor([4], pypto.DT_INT32), out: pypto.Tensor([64, 16], FP32)
):
    """Trip counts are read from a parameter and from a tensor that earlier instances write."""
    blocks = counts + 1
    for b in pypto.loop(4):
        rows = x[b * 16 : b * 16 + 16, :] * 2.0
        kept = pypto.tensor([16, 16], FP32, "kept")
        for i in pypto.loop(blocks[b]):
            part = rows[i * 4 : i * 4 + 4, :]
            kept[i * 4 : i * 4 + 4, :] = pypto.matmul(part, x[0:16, :], FP32) + 1.0
        for i in pypto.loop(counts[b] + 1):
            out[b * 16 + i * 4 : b * 16 + i * 4 + 4, :] = kept[i * 4 : i * 4 + 4, :] * 0.5
        for i in pypto.loop(blocks[b], 4):
            out[b * 16 + i * 4 : b * 16 + i * 4 + 4, :] = rows[i * 4 : i * 4 + 4, :]


def assembled_golden(x):
    return ((x @ x[:16] + 1) * 2,)


def exclusive_golden(x):
    return ((x * 2) @ x[:16] + 1,)


def parallel_golden(x):
    return (x @ (x[:16] + 1) * 0.5,)


def generations_golden(x):
    a, b, c = x + 1, x + 2, x + 3
    for _ in range(10):
        a, b, c = b, c, (a @ x) * 0.01 + c
    return (torch.cat([a, b, c]),)


def dynamic_golden(x):
    return ((x - x.amax(-1, keepdim=True)) * 2,)


def data_dependent_golden(x, counts):
    product, computed = (x * 2) @ x[:16] * 0.5 + 0.5, torch.zeros(64, 1, dtype=torch.bool)
    for b, count in enumerate(counts):
        computed[b * 16 : b * 16 + 4 * (int(count) + 1)] = True
    return (torch.where(computed, product, x * 2),)


CASES = {
    "assembled": (assembled, assembled_golden, (64, 16), (64, 16), {}),
    "exclusive": (exclusive, exclusive_golden, (64, 16), (64, 16), {}),
    "parallel": (parallel, parallel_golden, (64, 16), (64, 16), {"device_sched_parallelism": 4}),
    "generations": (generations, generations_golden, (16, 16), (48, 16), {}),
    "dynamic": (dynamic, dynamic_golden, (40, 100), (40, 100), {}),
    "dynamic_small": (dynamic, dynamic_golden, (3, 7), (3, 7), {}),
    "data_dependent": (data_dependent, data_dependent_golden, (64, 16), (64, 16), {}),
}
COUNTS = torch.tensor([2, 0, 3, 1], dtype=torch.int32)


@pytest.fixture(params=CASES)
def case(request, worker, record_log):
    """A bench with its golden outputs and the options that all its runs share."""
    kernel, golden, shape, out_shape, options = CASES[request.param]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    dims = {"rows": shape[0], "columns": shape[1]} if kernel is dynamic else {}
    more = [COUNTS] if kernel is data_dependent else []
    expected = [each.float() for each in golden(x.double(), *more)]
    return Bench(worker, record_log, kernel, [x, *more], [out_shape], dims), expected, options


def check_outputs(run, expected):
    for got, want in zip(run.outputs, expected, strict=True):
        assert torch.allclose(got, want, rtol=1e-5, atol=1e-5)


def same_bits(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.outputs, second.outputs, strict=True))


def check_next_depths(bench, run, options):
    """Each depth raised by one grows the total by exactly what was said."""
    depths = run.report.actual_depths
    for index, pool in enumerate(POOLS):
        more = [*depths.values()]
        if more[index] == 0:
            assert run.report.next_depth_total_bytes[pool] == 0
            continue
        more[index] += 1
        grown = bench.per_pool(more, **options)
        assert grown.total_bytes - run.total_bytes == run.report.next_depth_total_bytes[pool]
        assert same_bits(run, grown)


@pytest.mark.parametrize("count", [1, 2, 5, 128, 1023])
def test_after_a_run_by_count(case, count):
    bench, expected, options = case
    first = bench.run(stitch_function_max_num=count, **options)
    check_outputs(first, expected)
    again = bench.per_pool(first.recommended, **options)
    assert same_bits(first, again)
    assert again.total_bytes <= first.total_bytes
    assert again.report.device_tasks <= first.report.device_tasks
    assert again.report.alloc_failures <= first.report.alloc_failures + first.report.device_tasks
    assert again.report.root_instances == first.report.root_instances
    if count in (5, 1023):
        check_next_depths(bench, first, options)


@pytest.mark.parametrize("depth", [1, 2, 3, 1024])
def test_after_a_run_per_pool(case, depth):
    bench, expected, options = case
    needed = bench.run(**options).recommended
    first = bench.per_pool([depth if number else 0 for number in needed], **options)
    check_outputs(first, expected)
    again = bench.per_pool(first.recommended, **options)
    assert same_bits(first, again)
    assert again.total_bytes <= first.total_bytes
    assert again.task_figures() == first.task_figures()
    once_more = bench.per_pool(again.recommended, **options)
    assert once_more.records == again.records
    if depth in (1, 3):
        check_next_depths(bench, first, options)


def test_after_a_run_by_memory(case):
    bench, expected, options = case
    minimum = bench.per_pool([1 if number else 0 for number in bench.run(**options).recommended], **options)
    first = bench.run(max_workspace_kb=minimum.total_bytes // 1024 + 64, **options)
    check_outputs(first, expected)
    assert first.total_bytes <= minimum.total_bytes + 64 * 1024
    again = bench.per_pool(first.recommended, **options)
    assert same_bits(first, again)
    assert again.report.device_tasks <= first.report.device_tasks
    check_next_depths(bench, first, options)


def test_several_generations_are_alive_in_one_task(worker, record_log):
    run = Bench(worker, record_log, generations, [torch.randn(16, 16)], [(48, 16)]).run()
    assert run.report.peak_bytes["exclusive_outcast"] > 3 * 1024
    run = Bench(worker, record_log, assembled, [torch.randn(64, 16)], [(64, 16)]).run()
    assert run.recommended == [16, 4, 0]
    run = Bench(worker, record_log, exclusive, [torch.randn(64, 16)], [(64, 16)]).run()
    assert run.recommended == [16, 0, 8]


@pytest.mark.parametrize("counts", [[2, 0, 3, 1], [0, 0, 0, 0], [3, 3, 3, 3]])
def test_a_value_that_a_pending_instance_writes_closes_the_task(worker, record_log, counts):
    inputs = [torch.randn(64, 16), torch.tensor(counts, dtype=torch.int32)]
    run = Bench(worker, record_log, data_dependent, inputs, [(64, 16)]).run()
    check_outputs(run, [data_dependent_golden(*inputs)[0]])
    instances = 1 + sum(1 + 2 * (count + 1) + (3 - count) for count in counts)
    # Only the sum is waited for; reads of the parameter and later reads of the sum close nothing.
    assert [task.stitch_count for task in run.report.tasks] == [1, instances - 1]


def test_parallel_iterations_spread_over_the_copies(worker, record_log):
    bench = Bench(worker, record_log, parallel, [torch.randn(64, 16)], [(64, 16)])
    run = bench.run(device_sched_parallelism=4)
    alone = bench.run()
    assert run.report.parallelism == 4
    assert [copy["root_inner"]["peak"] for copy in run.report.copies] == [
        alone.report.peak_bytes["root_inner"] // 4
    ] * 4
    assert same_bits(run, alone)
