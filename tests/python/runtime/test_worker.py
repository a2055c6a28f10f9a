"""ChipWorker: life, raw memory, current worker, counters."""

import asyncio
import contextvars
import os
import threading
from contextlib import ExitStack, closing

import pytest
import torch

from pypto import testing
from pypto.runtime import ChipWorker, RunConfig


def test_unknown_platform_lists_the_four():
    with pytest.raises(ValueError, match=r"a2a3.*a5.*a2a3sim.*a5sim"):
        RunConfig(platform="cuda")


@pytest.mark.parametrize("arguments", [{"device_id": True}, {"device_id": "0"}, {"platform": 3}, {"timeout_ms": 1.5}])
def test_config_types(arguments):
    with pytest.raises(TypeError):
        RunConfig(**arguments)


@pytest.mark.parametrize("arguments", [{"device_id": -1}, {"timeout_ms": 0}])
def test_config_ranges(arguments):
    with pytest.raises(ValueError, match=r"."):
        RunConfig(**arguments)


def test_config_is_immutable():
    config = RunConfig()
    with pytest.raises(AttributeError):
        config.platform = "a5sim"
    assert config == RunConfig("a2a3sim", 0)


def test_device_out_of_range_names_the_count():
    with pytest.raises(Exception, match="1") as raised:
        ChipWorker(RunConfig(device_id=7))
    assert "7" in str(raised.value)


def test_close_is_idempotent_and_init_opens_again(add_program):
    worker = ChipWorker()
    tensor = worker.alloc_tensor((4, 16), torch.float32)
    handle = worker.register(add_program)
    worker.close()
    worker.close()
    assert not worker.is_open
    assert not tensor.is_alive
    for call in (lambda: worker.malloc(64), lambda: worker.alloc_tensor((1,), torch.float32), worker.memory_info):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    worker.init()
    x = torch.ones(4, 16)
    with pytest.raises(RuntimeError, match="closed"):
        handle(x, x, torch.empty(4, 16))
    with pytest.raises(ValueError, match="x"):
        worker.run(add_program, tensor, x, torch.empty(4, 16))
    out = torch.empty(4, 16)
    worker.run(add_program, x, x, out)
    assert torch.equal(out, x + x)
    worker.close()


def test_current_worker_is_seen_by_nested_calls_and_tasks_but_not_by_threads(worker):
    assert ChipWorker.current("a2a3sim") is worker
    assert ChipWorker.current("a5sim") is None
    seen = []

    async def task():
        return ChipWorker.current("a2a3sim")

    assert asyncio.run(task()) is worker
    thread = threading.Thread(target=lambda: seen.append(ChipWorker.current("a2a3sim")))
    thread.start()
    thread.join()
    assert seen == [None]
    assert contextvars.copy_context().run(ChipWorker.current, "a2a3sim") is worker


def test_entering_the_same_binding_twice_is_refused(worker):
    other = ChipWorker()
    with pytest.raises(ValueError, match="already current"), other:
        pass
    assert ChipWorker.current("a2a3sim") is worker
    other.close()


def test_workers_of_different_binding_nest(worker):
    with ChipWorker(RunConfig("a5sim")) as inner:
        assert ChipWorker.current("a5sim") is inner
        assert ChipWorker.current("a2a3sim") is worker
    assert ChipWorker.current("a5sim") is None


@pytest.mark.parametrize("nbytes", [0, -1, True, 1.5, "64", None])
def test_malloc_refuses(worker, nbytes):
    with pytest.raises(ValueError, match="nbytes"):
        worker.malloc(nbytes)


def test_numbers_beyond_64_bits(worker):
    with pytest.raises(ValueError, match="nbytes"):
        worker.malloc(2**63)
    with pytest.raises(ValueError, match="64 bits"):
        worker.alloc_tensor((10**30,), torch.float32)
    with pytest.raises(ValueError, match="timeout_ms"):
        worker.synchronize(2**70)
    for arguments in ({"device_id": 2**40}, {"timeout_ms": 2**70}):
        with pytest.raises(ValueError, match="32 bits"):
            RunConfig(**arguments)


def test_raw_copies_with_offsets(worker):
    source = torch.arange(256, dtype=torch.uint8)
    target = torch.zeros(100, dtype=torch.uint8)
    pointer = worker.malloc(256)
    worker.copy_to(pointer, source.data_ptr(), 256)
    worker.copy_from(target.data_ptr(), pointer + 50, 100)
    assert torch.equal(target, source[50:150])
    worker.free(pointer)


def test_raw_memory_errors(worker):
    buffer = torch.zeros(512, dtype=torch.uint8)
    pointer = worker.malloc(256)
    for destination, count in ((pointer, 257), (pointer + 200, 57), (pointer - 1, 1), (pointer + 256, 1)):
        with pytest.raises(ValueError, match=r"."):
            worker.copy_to(destination, buffer.data_ptr(), count)
        with pytest.raises(ValueError, match=r"."):
            worker.copy_from(buffer.data_ptr(), destination, count)
    for count in (0, -5, True):
        with pytest.raises(ValueError, match="nbytes"):
            worker.copy_to(pointer, buffer.data_ptr(), count)
    for address in (pointer + 1, pointer + 64, 12345, buffer.data_ptr()):
        with pytest.raises(ValueError, match=r"."):
            worker.free(address)
    worker.free(pointer)
    with pytest.raises(ValueError, match=r"."):
        worker.free(pointer)


def test_a_copy_outside_says_the_bounds(worker):
    pointer = worker.malloc(256)
    with pytest.raises(ValueError, match="256"):
        worker.copy_to(pointer + 10, torch.zeros(300, dtype=torch.uint8).data_ptr(), 300)


def test_raw_memory_of_another_worker(worker):
    with ChipWorker(RunConfig("a5sim")) as other:
        pointer = other.malloc(64)
        with pytest.raises(ValueError, match=r"."):
            worker.free(pointer)


def test_memory_info_by_kind(worker, add_program):
    before = worker.memory_info()
    tensor = worker.alloc_tensor((1000, 16), torch.float32)
    held = worker.memory_info()
    assert held["resident"] - before["resident"] == tensor.nbytes == 64000
    assert held["total"] >= held["free"] > 0
    worker.free_tensor(tensor)
    assert worker.memory_info()["resident"] == before["resident"]


def test_twenty_dispatches(worker, add_program):
    handle = worker.register(add_program)
    resident = worker.alloc_tensor((8, 16), torch.float32, init=torch.ones(8, 16))
    x, out = torch.ones(8, 16), torch.empty(8, 16)
    handle(x, resident, out)
    before = worker.counters()
    for _ in range(20):
        handle(x, resident, out)
    after = worker.counters()
    grown = {name: after[name] - before[name] for name in after}
    assert grown["launches"] == 20
    assert grown["device_mallocs"] == grown["device_frees"] == grown["program_loads"] == 0
    assert grown["h2d_bytes"] + grown["inline_bytes"] == 20 * x.numel() * 4
    assert grown["d2h_bytes"] == 20 * out.numel() * 4


def test_a_forked_child_gets_an_error_not_a_hang(worker, add_program):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            worker.malloc(64)
            os.write(write, b"no error")
        except RuntimeError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert b"fork" in os.read(read, 1000)
    out = torch.empty(8, 16)
    worker.run(add_program, torch.ones(8, 16), torch.ones(8, 16), out)
    assert torch.equal(out, torch.full((8, 16), 2.0))


def test_several_workers_in_one_thread_switch_contexts_only_between_them(add_program):
    with ExitStack() as stack:
        workers = [stack.enter_context(closing(ChipWorker())) for _ in range(3)]
        handles = [worker.register(add_program) for worker in workers]
        x, out = torch.ones(8, 16), torch.empty(8, 16)

        def switches(order) -> int:
            before = testing.counters().get("aclrtSetCurrentContext", 0)
            for index in order:
                out.zero_()
                handles[index](x, x, out)
                assert torch.equal(out, x * 2)
            return testing.counters().get("aclrtSetCurrentContext", 0) - before

        for index in range(3):
            switches([index])
            assert switches([index] * 10) == 0
        assert switches([0, 1, 2] * 5) == 15
        workers[2].close()
        assert switches([0] * 5 + [1] * 5) <= 2
        assert switches([1] * 5) == 0
