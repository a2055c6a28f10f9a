"""A call with the resident tensors of the last one reuses its launch block: whatever the block depends on ends that."""

import gc
import threading

import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig, log


def resident(worker, value: float, rows: int = 8, dtype=torch.float32):
    return worker.alloc_tensor((rows, 16), dtype, init=torch.full((rows, 16), value, dtype=dtype))


def repeated(handle, *tensors) -> None:
    for _ in range(4):
        handle(*tensors)


def equals(tensor, value: float) -> bool:
    return bool((tensor.to_host() == value).all())


def test_new_contents_of_the_same_tensors(worker, add_program):
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    repeated(handle, x, y, out)
    x.copy_from_host(torch.full((8, 16), 5.0))
    launches = worker.counters()["launches"]
    handle(x, y, out)
    assert equals(out, 7.0)
    assert worker.counters()["launches"] == launches + 1


def test_other_tensors_in_turn(worker, add_program):
    handle = worker.register(add_program)
    x, y, z, out, other = (resident(worker, value) for value in (1.0, 2.0, 4.0, 0.0, 0.0))
    for _ in range(3):
        repeated(handle, x, y, out)
        repeated(handle, x, z, other)
        handle(z, y, out)
        assert equals(out, 6.0)
        assert equals(other, 5.0)


def test_a_freed_tensor_and_its_address_used_again(worker, add_program):
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    repeated(handle, x, y, out)
    address = x.data_ptr
    worker.free_tensor(x)
    with pytest.raises(ValueError, match="freed"):
        handle(x, y, out)
    again = resident(worker, 8.0)
    assert again.data_ptr == address
    with pytest.raises(ValueError, match="freed"):
        handle(x, y, out)
    handle(again, y, out)
    assert equals(out, 10.0)


def test_a_record_at_the_place_of_a_dropped_one(worker, add_program):
    handle = worker.register(add_program)
    y, out = resident(worker, 2.0), resident(worker, 0.0)
    wide = resident(worker, 0.0, rows=16)
    for round_number in range(8):
        x = resident(worker, float(round_number))
        repeated(handle, x, y, out)
        assert equals(out, round_number + 2.0)
        del x
        gc.collect()
        longer = resident(worker, 0.0, rows=16)
        with pytest.raises(ValueError, match="rows"):
            handle(longer, y, out)
        handle(longer, longer, wide)
        del longer


def test_wrong_tensors_after_right_ones(worker, add_program):
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    half = resident(worker, 1.0, dtype=torch.float16)
    for wrong, error, text in (
        ((half, y, out), TypeError, "FP32.*FP16"),
        ((x, y, x), ValueError, "overlap"),
        ((x[0:4], y, out), ValueError, "rows"),
    ):
        repeated(handle, x, y, out)
        with pytest.raises(error, match=text):
            handle(*wrong)
        x.copy_from_host(torch.full((8, 16), 3.0))
        handle(x, y, out)
        assert equals(out, 5.0)


def test_host_tensors_between(worker, add_program):
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    host = torch.full((8, 16), 9.0)
    result = torch.empty(8, 16)
    for _ in range(3):
        repeated(handle, x, y, out)
        assert equals(out, 3.0)
        handle(host, y, result)
        assert bool((result == 11.0).all())
        handle(x, y, result)
        assert bool((result == 3.0).all())


def test_a_tensor_of_another_worker(worker, add_program):
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    repeated(handle, x, y, out)
    with ChipWorker(config=RunConfig(platform="a5sim")) as second:
        foreign = resident(second, 1.0)
        with pytest.raises(ValueError, match="another worker"):
            handle(foreign, y, out)
    handle(x, y, out)
    assert equals(out, 3.0)


def test_a_closed_handle_and_a_closed_worker(worker, add_program):
    first, second = worker.register(add_program), worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    repeated(first, x, y, out)
    repeated(second, x, y, out)
    first.unregister()
    with pytest.raises(RuntimeError, match="closed"):
        first(x, y, out)
    second(x, y, out)
    worker.close()
    with pytest.raises(RuntimeError, match="closed"):
        second(x, y, out)


def projection(rows: int):
    """The product lies in the workspace until it is added to."""

    @pypto.frontend.jit
    def project(
        x: pypto.Tensor([rows, 16], pypto.DT_FP32),
        w: pypto.Tensor([16, 16], pypto.DT_FP32),
        out: pypto.Tensor([rows, 16], pypto.DT_FP32),
    ):
        out[:] = pypto.matmul(x, w, pypto.DT_FP32) + 1.0

    return ir.compile(project)


def test_a_workspace_that_has_grown(worker):
    """A larger program makes the worker's workspace move; the block of the other handle must name the new one."""
    small = worker.register(projection(8))
    weight = worker.alloc_tensor((16, 16), torch.float32, init=torch.eye(16))
    x, out = resident(worker, 2.0), resident(worker, 0.0)
    repeated(small, x, weight, out)
    for rows in (512, 2048):
        workspace = worker.memory_info()["workspace"]
        wide, result = resident(worker, 5.0, rows), resident(worker, 0.0, rows)
        worker.register(projection(rows))(wide, weight, result)
        assert worker.memory_info()["workspace"] > workspace
        x.copy_from_host(torch.full((8, 16), float(rows)))
        repeated(small, x, weight, out)
        assert equals(out, rows + 1.0)
        assert equals(result, 6.0)


def test_records_that_are_turned_on_between_calls(worker, add_program, tmp_path):
    """A launch at level INFO writes its figures though the one before it did not."""
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    repeated(handle, x, y, out)

    def written() -> int:
        return sum(path.read_text().count("taskId=") for path in tmp_path.glob("debug/plog/*.log"))

    try:
        log("info", path=tmp_path)
        handle(x, y, out)
        once = written()
        assert once > 0
        handle(x, y, out)
        assert written() == 2 * once
    finally:
        log("environment")
    repeated(handle, x, y, out)
    assert written() == 2 * once
    assert equals(out, 3.0)


def test_submitted_and_waited_in_turn(worker, add_program):
    handle = worker.register(add_program)
    x, y, out = resident(worker, 1.0), resident(worker, 2.0), resident(worker, 0.0)
    for value in range(6):
        x.copy_from_host(torch.full((8, 16), float(value)))
        handle.submit(x, y, out).wait()
        assert equals(out, value + 2.0)
        repeated(handle, x, y, out)


def test_threads_share_a_handle(worker, add_program):
    handle = worker.register(add_program)
    failures = []

    def run(value: float) -> None:
        x, y, out = resident(worker, value), resident(worker, 2.0), resident(worker, 0.0)
        for _ in range(50):
            repeated(handle, x, y, out)
            if not equals(out, value + 2.0):
                failures.append(value)

    threads = [threading.Thread(target=run, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_host_tensors_of_other_places_shapes_and_numbers(worker, add_program):
    """A call with host tensors repeats the last one wherever they are; another shape or dtype takes the long way."""
    handle = worker.register(add_program)
    y = resident(worker, 2.0)
    wide = resident(worker, 2.0, rows=16)
    for number in range(6):
        x, out = torch.full((8, 16), float(number)), torch.empty(8, 16)
        handle(x, y, out)
        assert bool((out == number + 2.0).all())
        if number % 2:
            x, out = torch.full((16, 16), float(number)), torch.empty(16, 16)
            handle(x, wide, out)
            assert bool((out == number + 2.0).all())
        with pytest.raises(TypeError, match="FP32.*FP16"):
            handle(torch.ones(8, 16).half(), y, out)
        with pytest.raises(ValueError, match="rows"):
            handle(torch.ones(4, 16), y, torch.empty(8, 16))


def test_host_tensors_that_change_in_place_between_calls(worker, static_add_program):
    """The same objects as in the last call, of another layout, size, dtype or with a gradient by now."""
    handle = worker.register(static_add_program)
    y = worker.alloc_tensor((16, 16), torch.float32, init=torch.full((16, 16), 2.0))
    plain = torch.arange(256.0).reshape(16, 16)
    x, out = plain.clone(), torch.empty(16, 16)

    def check() -> None:
        for _ in range(3):
            out.zero_()
            handle(x, y, out)
            assert torch.equal(out, x + 2.0)

    check()
    x.data = plain.t()  # strided
    check()
    x.data = plain[3:, :].clone()
    with pytest.raises(ValueError, match="'x'"):
        handle(x, y, out)
    x.data = plain.clone()
    check()
    x.data = torch.empty(0, 16)
    with pytest.raises(ValueError, match="'x'"):
        handle(x, y, out)
    x.data = plain.clone()
    check()
    x.requires_grad_()
    handle(x, y, out)
    assert torch.equal(out, x.detach() + 2.0)
    x.requires_grad_(False)
    out.requires_grad_()
    launches = worker.counters()["launches"]
    with pytest.raises(ValueError, match="'out' is an output and a leaf tensor that requires grad"):
        handle(x, y, out)
    assert worker.counters()["launches"] == launches
    out.requires_grad_(False)
    check()
    out.data = torch.empty(16, 16).t()
    with pytest.raises(ValueError, match="'out'"):
        handle(x, y, out)
    out.data = torch.empty(16, 16)
    check()


def test_host_tensors_of_other_kinds_between_repeated_calls(worker, static_add_program):
    handle = worker.register(static_add_program)
    y = worker.alloc_tensor((16, 16), torch.float32, init=torch.full((16, 16), 2.0))
    x, out = torch.ones(16, 16), torch.empty(16, 16)

    class Named(torch.Tensor):
        pass

    for other, value in (
        (x.numpy() * 3, 5.0),
        (torch.full((16, 16), 4.0).as_subclass(Named), 6.0),
        (torch.nn.Parameter(torch.full((16, 16), 5.0)), 7.0),
        (worker.alloc_tensor((16, 16), torch.float32, init=torch.zeros(16, 16)), 2.0),
        (x[:1].expand(16, 16), 3.0),
    ):
        for _ in range(2):
            handle(x, y, out)
            assert bool((out == 3.0).all())
        for _ in range(2):
            handle(other, y, out)
            assert bool((out == value).all())
    with pytest.raises(TypeError, match="'x'"):
        handle(torch.ones(16, 16, dtype=torch.float64), y, out)
    with pytest.raises((TypeError, ValueError), match="'x'"):
        handle(torch.ones(16, 16, device="meta"), y, out)
    fresh = handle(x, y)
    assert bool((fresh == 3.0).all())


def test_options_that_change_between_calls(worker):
    """The program of the options in force runs, not the one of the last call."""

    @pypto.frontend.jit
    def twice(x: pypto.Tensor([32, 16], pypto.DT_FP32), out: pypto.Tensor([32, 16], pypto.DT_FP32)):
        for i in pypto.loop(0, 32, 8):
            out[i : i + 8, :] = x[i : i + 8, :] * 2.0

    x, out = resident(worker, 3.0, rows=32), resident(worker, 0.0, rows=32)
    loads = []
    for depth in (128, 2, 128, 2):
        with pypto.options(runtime_options={"stitch_function_max_num": depth}):
            for _ in range(3):
                twice(x, out)
        assert equals(out, 6.0)
        loads.append(worker.counters()["program_loads"])
    assert loads[1] == loads[0] + 1, "the second depth is another program"
    assert loads[3] == loads[1]
