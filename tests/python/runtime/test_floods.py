"""Thousands of submitted launches: in order, right, in bounded memory, whoever waits for them and when."""

import threading

import numpy
import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker

COUNT = 3000


@pypto.frontend.jit
def fold(value: pypto.Tensor([16, 16], pypto.DT_FP32), sum_: pypto.Tensor([16, 16], pypto.DT_FP32)):
    """Depends on the order of calls: each halves what came before."""
    sum_[:] = sum_ * 0.5 + value


@pypto.frontend.jit
def grow(
    x: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32), out: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32)
):
    for row in pypto.loop(0, x.shape[0], 8):
        out[row : row + 8, :] = x[row : row + 8, :] + 1.0


def folded(count: int) -> torch.Tensor:
    """What `count` calls of `fold` with 0, 1, 2 … leave, in the same arithmetic."""
    total = numpy.float32(0)
    for number in range(count):
        total = total * numpy.float32(0.5) + numpy.float32(number)
    return torch.full((16, 16), float(total))


def test_launches_take_effect_in_the_order_of_their_submission(worker):
    handle = worker.register(ir.compile(fold))
    total = worker.alloc_tensor((16, 16), torch.float32, init=torch.zeros(16, 16))
    value = torch.empty(16, 16)
    pending = []
    for number in range(COUNT):
        value.fill_(number)  # captured before submit returns
        pending.append(handle.submit(value, total))
    assert torch.equal(total.to_host(), folded(COUNT))
    assert all(completion.done() for completion in pending)


@pytest.mark.parametrize("waiting", ["newest first", "oldest first", "never"])
def test_thousands_outstanding_in_bounded_memory(worker, waiting):
    handle = worker.register(ir.compile(grow))
    source = torch.zeros(8, 1024)
    outputs = torch.zeros(COUNT, 8, 1024)
    pending, staging = [], []
    for number in range(COUNT):
        source.fill_(number)
        pending.append(handle.submit(source, outputs[number]))
        if number in (500, COUNT - 1):
            staging.append(worker.memory_info()["staging"])
    assert staging[1] == staging[0], "the staging of the first launches serves all"
    order = {"newest first": reversed(pending), "oldest first": pending, "never": ()}[waiting]
    for completion in order:
        completion.wait()
    pending.clear()
    worker.synchronize()
    expected = torch.arange(1.0, COUNT + 1.0).reshape(-1, 1, 1).expand(COUNT, 8, 1024)
    assert torch.equal(outputs, expected)
    assert worker.memory_info()["staging"] == staging[0]


def test_threads_flood_one_worker_and_wait_for_each_others_launches(add_program):
    threads_count, each = 4, 400
    with ChipWorker() as worker:
        handle = worker.register(add_program)
        lists = [[] for _ in range(threads_count)]
        together = threading.Barrier(threads_count)
        failed = []

        def work(number: int) -> None:
            try:
                x, y = torch.full((8, 16), float(number)), torch.empty(8, 16)
                for step in range(each):
                    y.fill_(float(step))
                    out = torch.empty(8, 16)
                    lists[number].append((handle.submit(x, y, out), out, number + step))
                together.wait(60)
                for completion, out, expected in lists[(number + 1) % threads_count]:
                    completion.wait()
                    assert (out == expected).all()
            except Exception as error:  # what a thread raises would be lost
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads_count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failed == []
        assert not any(thread.is_alive() for thread in threads)
        worker.synchronize()
        assert worker.counters()["launches"] == threads_count * each
