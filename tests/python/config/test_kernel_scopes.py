"""Scopes around and inside kernels: tile shapes of blocks, who set a value, threads and tasks that compile and run."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from test_kernels import options_of, plain

import pypto
from pypto import ir
from pypto.runtime import ChipWorker

FP32 = pypto.DT_FP32
T = pypto.Tensor


def tiles_of(kernel):
    """The scalar that each operation adds, and the first extent of its vector tile."""
    pattern = r"add\(%\d+\S*, (\d+)\).*?(?:vec_tile \[(\d+)|$)"
    return [(int(number), int(tile or 0)) for number, tile in re.findall(pattern, kernel.to_text(), re.MULTILINE)]


def set_eight():
    pypto.set_vec_tile_shapes(8, 8)


def test_which_blocks_of_a_kernel_open_a_scope_for_tile_shapes():
    wide = True

    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        pypto.set_vec_tile_shapes(2, 2)
        for i in pypto.loop(4):
            x[:] = x + 1  # what was set before the loop
            pypto.set_vec_tile_shapes(4, 4)
            x[:] = x + 2
            for _ in pypto.loop(2):
                pypto.set_vec_tile_shapes(16, 16)
                x[:] = x + 3
            x[:] = x + 4  # not the inner loop's
            if i > 1:
                pypto.set_vec_tile_shapes(32, 32)
                x[:] = x + 5
            else:
                x[:] = x + 6  # not the other branch's
            x[:] = x + 7
        x[:] = x + 8
        if wide:
            pypto.set_vec_tile_shapes(64, 64)
        x[:] = x + 9  # a concrete branch opens none
        for extent in (5, 6):
            pypto.set_vec_tile_shapes(extent, extent)
        x[:] = x + 10  # nor does a loop of Python
        set_eight()
        x[:] = x + 11  # nor a helper

    assert tiles_of(kernel) == [
        (1, 2), (2, 4), (3, 16), (4, 4), (5, 32), (6, 4), (7, 4), (8, 2), (9, 64), (10, 6), (11, 8),
    ]  # fmt: skip


def test_describe_says_who_set_each_value():
    texts = []

    @pypto.frontend.jit(pass_options={"pg_lower_bound": 1})
    def kernel(x: T([64, 64], FP32)):
        texts.append(pypto.config.describe())
        x[:] = x + 1

    with pypto.options(host_options={"compile_timeout": 5}, pass_options={"pg_lower_bound": 512}):
        ir.compile(kernel)
        outside = pypto.config.describe()
    assert "pass.pg_lower_bound = 1 (jit, no effect in this version)\n" in texts[-1]
    assert "pass.pg_lower_bound = 512 (file, no effect in this version)\n" in outside  # it was in force
    for text in (outside, texts[-1]):
        assert "host.compile_timeout = 5 (scope, no effect in this version)\n" in text
        assert "runtime.max_workspace_kb = 0 (file)\n" in text
        assert "pass.vec_nbuffer_setting_by_func = {} (default, no effect in this version)\n" in text


def test_stages_of_compilation_have_names():
    with pypto.options(host_options={"compile_stage": pypto.CompStage.EXECUTE_GRAPH}):
        assert pypto.get_host_options()["compile_stage"] == 3
    assert [stage.value for stage in pypto.CompStage] == list(range(6))


@pypto.frontend.jit
def rows_in_tasks(x: T([64, 16], FP32), out: T([64, 16], FP32)):
    for i in pypto.loop(0, 64, 4):
        product = pypto.matmul(x[i : i + 4, :], x[0:16, :], FP32)
        out[i : i + 4, :] = product + 1.0


def run_alone(number, together, x):
    """What a thread with options of its own sees: of its scope, its programs, its launches."""
    depth = number + 1
    with pypto.options(f"thread {number}", runtime_options={"stitch_function_max_num": depth}), ChipWorker() as worker:
        together.wait()
        found = []
        for extra in (0, 1, 2):
            with pypto.options(vec_tile_shapes=[depth + extra, 16]):
                compiled = ir.compile(rows_in_tasks)
                tile = pypto.get_vec_tile_shapes()[0]
            handle, out = worker.register(compiled), torch.empty(64, 16)
            for _ in range(5):
                handle(x, out)
            report = handle.workspace_report()
            found.append((tile - extra, options_of(compiled)["stitch_function_max_num"], report.device_tasks, out))
        name = pypto.get_current_scope().name
    return name, found


def test_eight_threads_compile_and_run_at_once_under_their_own_options():
    x = torch.randn(64, 16)
    expected = None
    together = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: run_alone(number, together, x), range(8)))
    for number, (name, found) in enumerate(results):
        assert name == f"thread {number}"
        for tile, count, tasks, out in found:
            expected = out if expected is None else expected
            assert (tile, count, tasks) == (number + 1, number + 1, -(-16 // (number + 1)))
            assert torch.equal(out, expected)
    assert torch.allclose(expected, x @ x[:16] + 1, atol=1e-5)
    assert pypto.get_runtime_options()["stitch_function_max_num"] == 128


def test_asyncio_tasks_compile_under_their_own_options():
    async def compile_it(count, ready, go):
        pypto.set_options(runtime_options={"stitch_function_max_num": count})
        ready.set()
        await go.wait()
        return options_of(ir.compile(plain))["stitch_function_max_num"]

    async def main():
        go, ready = asyncio.Event(), [asyncio.Event() for _ in range(4)]
        tasks = [asyncio.create_task(compile_it(number + 1, each, go)) for number, each in enumerate(ready)]
        for each in ready:
            await each.wait()
        go.set()
        return await asyncio.gather(*tasks), options_of(ir.compile(plain))["stitch_function_max_num"]

    assert asyncio.run(main()) == ([1, 2, 3, 4], 128)
