"""A short submit that repeats the last call is left to its waiter: what is seen of it is what any submit shows."""

import ctypes
import gc
import sys
import threading
import weakref

import pytest
import torch

from pypto import testing
from pypto.runtime import ChipWorker, RunConfig
from scripts import run_python


@pytest.fixture
def left(worker, static_add_program):
    """Submits out = x + y as a launch that is left; the handle and the tensors."""
    handle = worker.register(static_add_program)
    x, y, out = (
        worker.alloc_tensor((16, 16), torch.float32, init=torch.full((16, 16), value)) for value in (1.0, 2.0, 0.0)
    )
    for _ in range(4):
        handle(x, y, out)
    out.copy_from_host(torch.zeros(16, 16))
    return handle, x, y, out


def value_of(tensor) -> float:
    host = tensor.to_host()
    assert bool((host == host[0, 0]).all())
    return float(host[0, 0])


def test_waiting_twice_and_what_it_gives(worker, left):
    handle, x, y, out = left
    launches = worker.counters()["launches"]
    completion = handle.submit(x, y, out)
    assert completion.wait() is None
    assert completion.wait(timeout_ms=5) is None
    assert completion.done()
    assert completion.result() is None
    assert value_of(out) == 3.0
    assert worker.counters()["launches"] == launches + 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda completion: completion.wait(timeout_ms=10_000),
        lambda completion: completion.wait(10_000),
        lambda completion: completion.result(),
        lambda completion: [None for _ in iter(completion.done, True)],
        lambda completion: completion.__class__,  # dropped without a question
    ],
)
def test_every_way_to_its_end(left, ask):
    handle, x, y, out = left
    for number in range(3):
        x.copy_from_host(torch.full((16, 16), float(number)))
        handle(x, y, out)
        out.copy_from_host(torch.zeros(16, 16))
        ask(handle.submit(x, y, out))
        gc.collect()
        assert value_of(out) == number + 2.0


def test_arguments_live_as_long_as_the_launch(worker, static_add_program):
    handle = worker.register(static_add_program)
    tensors = [worker.alloc_tensor((16, 16), torch.float32, init=torch.ones(16, 16)) for _ in range(2)]
    out = worker.alloc_tensor((16, 16), torch.float32)
    for _ in range(4):
        handle(*tensors, out)
    held = worker.memory_info()["resident"]
    completion = handle.submit(*tensors, out)
    tensors.clear()
    gc.collect()
    assert worker.memory_info()["resident"] == held
    completion.wait()
    assert value_of(out) == 2.0
    assert worker.memory_info()["resident"] == held - 2 * out.nbytes


def test_completions_that_are_used_again_hold_nothing_of_the_launch_before(left):
    """More at a time than are kept, dropped before and after their end, in turn with ordinary ones."""
    handle, x, y, out = left
    held = [sys.getrefcount(thing) for thing in (handle, x, y, out)]
    for rounds in range(3):
        completions = [handle.submit(x, y, out) for _ in range(20)]
        for completion in completions[rounds::2]:
            assert completion.wait() is None
        fresh = handle.submit(x, y)
        assert torch.equal(fresh.result(), torch.full((16, 16), 3.0))
        del completions, completion, fresh
        handle(x, y, out)
        last = handle.submit(x, y, out)
        assert last.result() is None
        assert last.done()
        del last
    gc.collect()
    assert [sys.getrefcount(thing) for thing in (handle, x, y, out)] == held


def test_other_calls_come_behind_it(worker, left):
    handle, x, y, out = left
    again = worker.alloc_tensor((16, 16), torch.float32)
    completions = [handle.submit(x, y, out) for _ in range(5)]
    handle(out, y, again)
    assert value_of(again) == 5.0
    for completion in completions:
        completion.wait()
        assert completion.done()


def test_the_handle_and_the_worker_may_close_before_the_wait(static_add_program):
    for close in ("handle.unregister()", "opened.close()"):
        with ChipWorker(config=RunConfig()) as opened:
            handle = opened.register(static_add_program)
            x, out = (opened.alloc_tensor((16, 16), torch.float32, init=torch.ones(16, 16)) for _ in range(2))
            for _ in range(3):
                handle(x, x, out)
            completion = handle.submit(x, x, out)
            (handle.unregister if close.startswith("handle") else opened.close)()
            completion.wait()
            assert completion.done()


def test_a_fault_is_told_each_time(static_add_program):
    opened = ChipWorker(config=RunConfig())
    handle = opened.register(static_add_program)
    x, out = (opened.alloc_tensor((16, 16), torch.float32, init=torch.ones(16, 16)) for _ in range(2))
    for _ in range(3):
        handle(x, x, out)
    testing.fail_kernel(0)
    completion = handle.submit(x, x, out)
    for _ in range(2):
        with pytest.raises(Exception, match="507015"):
            completion.wait()
    opened.close()


def test_wrong_arguments_of_wait(left):
    handle, x, y, out = left
    completion = handle.submit(x, y, out)
    with pytest.raises(TypeError, match="at most 1 argument"):
        completion.wait(1, 2)
    with pytest.raises(TypeError, match="'timeout' is an invalid keyword"):
        completion.wait(timeout=1)
    with pytest.raises(ValueError, match="timeout_ms is -1"):
        completion.wait(-1)
    completion.wait()


def test_threads_wait_for_each_others_launches(left):
    handle, x, y, out = left
    wrong = []

    def work() -> None:
        for _ in range(100):
            completion = handle.submit(x, y, out)
            other = threading.Thread(target=completion.wait)
            other.start()
            completion.wait()
            other.join()
            if not completion.done():
                wrong.append(completion)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert value_of(out) == 3.0


def test_asking_whether_it_has_ended_waits_for_nobody(left):
    handle, x, y, out = left
    completion = handle.submit(x, y, out)
    inside, go_on, answers = threading.Event(), threading.Event(), []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    def stay(_user, _function, _arguments) -> int:
        inside.set()
        go_on.wait(60)
        return 0

    mock = ctypes.CDLL(testing.mock_library_path())
    assert mock.mock_set_before(b"aclrtMemcpy", stay, None) == 0
    copying = threading.Thread(target=lambda: y.copy_from_host(torch.full((16, 16), 7.0)), daemon=True)
    asking = threading.Thread(target=lambda: answers.extend(completion.done() for _ in range(3)), daemon=True)
    copying.start()
    assert inside.wait(60)
    asking.start()
    asking.join(30)
    waited = asking.is_alive()
    go_on.set()
    copying.join(60)
    asking.join(60)
    mock.mock_clear_hooks()
    assert not waited
    assert answers == [False] * 3
    completion.wait()
    assert completion.done()
    assert value_of(out) == 3.0


def test_completions_that_the_collector_shows_are_not_used_again(left):
    handle, x, y, out = left
    handle.submit(x, y, out).wait()
    kind = type(handle.submit(x, y, out))
    shown = [thing for thing in gc.get_objects() if type(thing) is kind]
    assert shown
    fresh = [handle.submit(x, y, out) for _ in range(10)]
    assert not {id(thing) for thing in shown} & {id(completion) for completion in fresh}
    for completion in shown:
        assert completion.wait() is None
        assert completion.done()
    for completion in fresh:
        completion.wait()
    del shown, fresh
    handle.submit(x, y, out).wait()
    assert value_of(out) == 3.0


def test_the_collector_shows_no_completion_that_is_being_dropped(left):
    """Waiting runs other code; what it found there it could ask, and hold, while it goes."""
    handle, x, y, out = left
    completion, shown = handle.submit(x, y, out), []
    kind, number = type(completion), id(completion)

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    def look(_user, _function, _arguments) -> int:
        shown.append([id(thing) for thing in gc.get_objects() if type(thing) is kind])
        return 0

    mock = ctypes.CDLL(testing.mock_library_path())
    assert mock.mock_set_before(b"aclrtSynchronizeStream", look, None) == 0
    del completion
    mock.mock_clear_hooks()
    assert len(shown) == 1
    assert number not in shown[0]
    assert number in [id(thing) for thing in gc.get_objects() if type(thing) is kind]  # kept for the next submit
    handle.submit(x, y, out).wait()
    assert value_of(out) == 3.0


def test_a_cycle_through_a_completion_is_collected(static_add_program):
    class Holder:
        """May refer to anything."""

    with ChipWorker(config=RunConfig()) as opened:
        handle = opened.register(static_add_program)
        x, out = (opened.alloc_tensor((16, 16), torch.float32, init=torch.ones(16, 16)) for _ in range(2))
        for _ in range(3):
            handle(x, x, out)
        holder = Holder()
        holder.completion = handle.submit(x, x, out)
        holder.itself = holder
        ended = weakref.ref(holder)
        del holder
        for _ in range(3):
            gc.collect()
        assert ended() is None
        assert float(out.to_host()[0, 0]) == 2.0


def test_a_forked_child_and_a_process_that_ends():
    done = run_python(
        """
import os, sys
import torch, pypto
from pypto import ir
from pypto.runtime import ChipWorker

@pypto.frontend.jit
def add(x: pypto.Tensor([16, 16], pypto.DT_FP32), out: pypto.Tensor([16, 16], pypto.DT_FP32)):
    out[:] = x + 1.0

worker = ChipWorker()
handle = worker.register(ir.compile(add))
x, out = (worker.alloc_tensor((16, 16), torch.float32, init=torch.ones(16, 16)) for _ in range(2))
for _ in range(4):
    handle(x, out)
completion = handle.submit(x, out)
child = os.fork()
if child == 0:
    for call in (completion.wait, lambda: handle(x, out), lambda: handle.submit(x, out)):
        try:
            call()
        except RuntimeError as error:
            assert "forked" in str(error), error
        else:
            os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
completion.wait()
handle(x, out)
print(float(out.to_host()[0, 0]))
pending = handle.submit(x, out)
"""
    )
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr
