"""Calls without a handle: which worker takes them, and that seen calls run no Python."""

import asyncio
import gc
import sys
import threading
import weakref

import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig, current

FP32 = pypto.DT_FP32
T = pypto.Tensor
SCALE = 2.0
OFFSETS = [1.0, 2.0]


@pytest.fixture
def small():
    """x, out of four numbers."""
    return torch.arange(4.0), torch.zeros(4)


def python_calls(function) -> int:
    """How many Python functions a call runs."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count - 1  # the lambda itself


def shifted(x):
    return x + OFFSETS[0]


@pypto.frontend.jit
def scaled(x: T([4], FP32), out: T([4], FP32), factor=1.0):
    out[:] = shifted(x * SCALE * factor)


def test_seen_calls_run_no_python(worker, small):
    x, out = small
    program = ir.compile(scaled, platform="a2a3sim", factor=1.0)
    resident = worker.alloc_tensor((4,), torch.float32, init=x)
    for call in (
        lambda: program(x, out),
        lambda: scaled(x, out),
        lambda: scaled(resident, out),
        lambda: scaled(x, out, factor=3.0),
    ):
        call()  # compiles
        call()  # finds the handle
        assert python_calls(call) == 0
    assert torch.equal(out, x * 6 + 1)


def test_a_subclass_with_its_own_call_is_called(worker, small):
    class Counting(ir.CompiledProgram):
        calls = 0

        def __call__(self, *args):
            type(self).calls += 1
            return super().__call__(*args)

    x, out = small
    program = Counting(ir.compile(scaled, factor=1.0)._image)
    program(x, out)
    assert Counting.calls == 1
    with pytest.raises(TypeError, match="immutable type"):
        ir.CompiledProgram.__call__ = lambda self: None


def test_programs_are_made_of_images_only(small):
    with pytest.raises(TypeError, match="expected a CompiledImage, got str"):
        ir.CompiledProgram("image")
    with pytest.raises(TypeError, match="made by pypto.ir.compile"):
        ir.CompiledProgram.__new__(ir.CompiledProgram)(*small)
    with pytest.raises(TypeError, match="positional"):
        ir.compile(scaled, factor=1.0)(*small, factor=2.0)


def launches(worker: ChipWorker) -> int:
    return worker.counters()["launches"]


def test_the_innermost_worker_takes_the_call(worker, small, add_program):
    program = ir.compile(scaled, factor=1.0)
    x, out = small
    program(x, out)
    with ChipWorker(config=RunConfig(platform="a5sim")) as other:
        program(x, out)  # of another platform: still the outer one
        scaled(x, out)
        assert (launches(worker), launches(other)) == (3, 0)
        copy = ir.compile(scaled, platform="a5sim", factor=1.0)
        copy(x, out)
        assert (launches(worker), launches(other)) == (3, 1)
    with pytest.raises(ValueError, match="already current"), ChipWorker(config=RunConfig(platform="a2a3sim")):
        pass
    program(x, out)
    assert launches(worker) == 4


def test_a_worker_that_closes_gives_way(small):
    x, out = small
    program = ir.compile(scaled, factor=1.0)
    for _ in range(2):
        with ChipWorker() as first:
            program(x, out)
            scaled(x, out)
            assert launches(first) == 2
    program(x, out)  # the default worker
    default = current.default_worker("a2a3sim")
    before = launches(default)
    program(x, out)
    scaled(x, out)
    assert launches(default) == before + 2
    current.close_defaults()
    program(x, out)
    assert current.default_worker("a2a3sim") is not default
    current.close_defaults()


def test_other_threads_and_tasks_have_their_own_worker(worker, small):
    x, out = small
    program = ir.compile(scaled, factor=1.0)
    program(x, out)
    thread = threading.Thread(target=program, args=(x, out.clone()))
    thread.start()
    thread.join()
    assert launches(worker) == 1  # the thread went to the default one

    async def task():
        program(x, out)

    async def both():
        await asyncio.gather(task(), task())

    asyncio.run(both())
    assert launches(worker) == 3
    current.close_defaults()


def test_a_worker_that_was_used_can_go(small):
    program = ir.compile(scaled, factor=1.0)
    worker = ChipWorker()
    with worker:
        program(*small)
    core = weakref.ref(worker)
    del worker
    program(*small)  # on the default worker: nothing of the old one is held any more
    gc.collect()
    assert core() is None
    current.close_defaults()
