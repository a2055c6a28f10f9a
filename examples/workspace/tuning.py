"""How much workspace a kernel needs, how to give it less, and how to live with a limit.

The worked example first: by count, with the recommended depths, with the smallest ones. Then scenario 1 (speed is
right, save memory) and scenario 2 (a memory limit) on a kernel of 48 independent blocks. Every step prints the bytes of
the workspace and the device time.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig, WorkspaceReport

B, L, H, D = 1, 64, 1, 16
BLOCKS, ROWS, WIDTH = 48, 32, 192
COUNT = pypto.frontend.dynamic("blocks")


@pypto.frontend.jit
def three_loops(
    dy: pypto.Tensor([B, L, H, D], pypto.DT_FP32),
    weight: pypto.Tensor([H, D, D], pypto.DT_FP32),
    output1: pypto.Tensor([B, L, D], pypto.DT_FP32),
    output2: pypto.Tensor([B, L, D], pypto.DT_FP32),
):
    """A tensor of each class: dx stays inside an instance, tmp_assemble is written in parts, tmp_exclusive whole."""
    tmp_assemble = pypto.tensor([B, L, H, D], output1.dtype, "tmp_assemble")
    tmp_exclusive = pypto.tensor([B, L, H, D], output2.dtype, "tmp_exclusive")
    for _i, _t in pypto.loop_unroll(0, 1, 1, name="l_loop_0"):
        pypto.set_vec_tile_shapes(1, 64, 1, 256)
        tmp_exclusive[:] = pypto.add(dy, dy)
    for j, t in pypto.loop_unroll(0, L, 1, name="l_loop_1"):
        dy_v = dy[0, j : j + t, 0]
        pypto.set_cube_tile_shapes([128, 128], [128, 128], [128, 128])
        dx = pypto.matmul(dy_v, weight[0], pypto.DT_FP32, b_trans=True)
        pypto.set_vec_tile_shapes(1, 64, 1, 512)
        tmp_assemble[0, j : j + t, 0] = dx + 0.0
    for k, t in pypto.loop_unroll(0, L, 1, name="l_loop_2"):
        pypto.set_vec_tile_shapes(1, 64, 1, 512)
        output1[0, k : k + t] = tmp_assemble[0, k : k + t, 0]
        output2[0, k : k + t] = tmp_exclusive[0, k : k + t, 0]


@pypto.frontend.jit
def blocks(
    x: pypto.Tensor([COUNT, ROWS, WIDTH], pypto.DT_FP32),
    weight: pypto.Tensor([WIDTH, WIDTH], pypto.DT_FP32),
    out: pypto.Tensor([COUNT, ROWS, WIDTH], pypto.DT_FP32),
):
    """Blocks of rows through one scaled weight; each block takes 24 KiB of root-inner memory."""
    scaled = weight * 0.125
    for i in pypto.loop(x.shape[0]):
        hidden = pypto.matmul(x[i, 0:ROWS, 0:WIDTH], scaled, pypto.DT_FP32)
        out[i, 0:ROWS, 0:WIDTH] = pypto.relu(hidden)


@dataclass
class Step:
    """What one setting gave."""

    report: WorkspaceReport
    microseconds: float
    outputs: list[torch.Tensor]

    @property
    def depths(self) -> list[int]:
        return list(self.report.recommended_depths.values())


class Tuner:
    """Runs one kernel on the same arguments under one setting after the other."""

    def __init__(self, worker: ChipWorker, kernel: object, inputs: list[torch.Tensor], shapes: list[tuple[int, ...]]):
        self.worker, self.kernel, self.inputs, self.shapes = worker, kernel, inputs, shapes

    def step(self, title: str, rounds: int = 15, **runtime_options: object) -> Step:
        """Compiles under the options, runs, prints bytes and device time."""
        with pypto.options(runtime_options=runtime_options):
            handle = self.worker.register(ir.compile(self.kernel))
        outputs = [torch.empty(shape) for shape in self.shapes]
        times = []
        for _ in range(rounds):
            handle(*self.inputs, *outputs)
            times.append(handle.device_wall_us())
        report = handle.workspace_report()
        handle.unregister()
        print(
            f"  {title:32} depths {list(report.actual_depths.values())!s:16} {report.total_bytes:>10,} B"
            f" {report.device_tasks:>3} tasks {statistics.median(times):>9.1f} us"
        )
        return Step(report, statistics.median(times), outputs)


def same(first: Step, second: Step) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first.outputs, second.outputs, strict=True))


def worked_example(worker: ChipWorker) -> None:
    print("The worked example")
    dy, weight = torch.randn(B, L, H, D), torch.randn(H, D, D)
    tuner = Tuner(worker, three_loops, [dy, weight], [(B, L, D), (B, L, D)])
    first = tuner.step("by count, the default")
    expected = dy[:, :, 0].double() @ weight[0].double().T
    assert torch.allclose(first.outputs[0].double(), expected, atol=1e-5)
    assert torch.equal(first.outputs[1], (dy + dy)[:, :, 0])
    assert first.depths == [64, 1, 1]
    assert first.report.total_bytes == 1_146_880
    tuned = tuner.step("the recommended depths", stitch_function_num_per_pool=first.depths)
    assert same(first, tuned)
    assert tuned.report.total_bytes == 65_536
    least = tuner.step("the smallest depths", stitch_function_num_per_pool=[1, 1, 1])
    assert same(first, least)
    assert least.report.alloc_failures == 63
    try:
        tuner.step("none for a pool that is needed", stitch_function_num_per_pool=[64, 0, 1])
    except pypto.WorkspaceError as error:
        print(f"  [64, 0, 1]: {error}")


def save_memory(worker: ChipWorker, weight: torch.Tensor) -> None:
    print("\nScenario 1: the speed is right, save memory")
    depths = [0, 0, 0]
    for count in (8, BLOCKS):  # all sizes that the service will see
        x = torch.randn(count, ROWS, WIDTH)
        tuner = Tuner(worker, blocks, [x, weight], [tuple(x.shape)])
        first = tuner.step(f"{count} blocks, by count")
        depths = [max(pair) for pair in zip(depths, first.depths, strict=True)]
    print(f"  element-wise maximum of what was recommended: {depths}")
    tuned = tuner.step(f"{count} blocks, these depths", stitch_function_num_per_pool=depths)
    assert same(first, tuned)
    assert tuned.report.total_bytes < first.report.total_bytes
    assert tuned.report.device_tasks <= first.report.device_tasks


def closest_to_capacity(report: WorkspaceReport) -> str:
    """The pool that is used most of what it has."""
    used = {
        pool: report.peak_bytes[pool] / capacity for pool, capacity in report.capacity_bytes.items() if capacity > 0
    }
    # Of two full ones the one that grows by less.
    return max(used, key=lambda pool: (used[pool], -report.unit_bytes[pool]))


def within_a_limit(worker: ChipWorker, weight: torch.Tensor, limit_kb: int) -> None:
    print(f"\nScenario 2: at most {limit_kb} KB")
    x = torch.randn(BLOCKS, ROWS, WIDTH)
    tuner = Tuner(worker, blocks, [x, weight], [tuple(x.shape)])
    first = tuner.step(f"max_workspace_kb={limit_kb}", max_workspace_kb=limit_kb)
    best = tuner.step("the recommended depths", stitch_function_num_per_pool=first.depths)
    grows = True
    while grows:
        report = best.report
        pool = closest_to_capacity(report)
        if report.total_bytes + report.next_depth_total_bytes[pool] > limit_kb * 1024:
            print(f"  one depth more of {pool} would pass the limit")
            break
        depths = {name: depth + (name == pool) for name, depth in report.actual_depths.items()}
        step = tuner.step(f"one more of {pool}", stitch_function_num_per_pool=list(depths.values()))
        assert same(first, step)
        assert step.report.total_bytes == report.total_bytes + report.next_depth_total_bytes[pool]
        grows = step.microseconds < best.microseconds
        best = step if grows else best
    print(f"  stays at {list(best.report.actual_depths.values())}: {best.microseconds:.1f} us")
    assert best.report.total_bytes <= limit_kb * 1024


def main() -> None:
    torch.manual_seed(0)
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        worked_example(worker)
        weight = torch.randn(WIDTH, WIDTH)
        save_memory(worker, weight)
        within_a_limit(worker, weight, 512)
    print("\nResults are the same bits at every step.")


if __name__ == "__main__":
    main()
