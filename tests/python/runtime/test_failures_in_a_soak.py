"""A dispatch that fails leaves the next one right and as cheap: same ACL calls, same memory, nothing loaded again."""

import random

import pytest
import torch

import pypto
from pypto import ir, testing
from pypto.runtime import ChipWorker, RunConfig

PROGRAMS = 20
ROWS = (1, 2, 3, 5, 8, 13, 16, 32)
ROUNDS = 2000
# ACL calls that are made to fail, with rows that reach them. Short launches are waited for without a time limit, and a
# question for the context that fails is asked again.
FAILING_CALLS = {
    "aclrtLaunchKernelWithHostArgs": 8,
    "aclrtMemcpy": 8,
    "aclrtSynchronizeStream": 1,
}
WAITS = ("aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout")


def make_program(factor: float):
    @pypto.frontend.jit
    def scale(
        x: pypto.Tensor([pypto.DYNAMIC, 256], pypto.DT_FP32), out: pypto.Tensor([pypto.DYNAMIC, 256], pypto.DT_FP32)
    ):
        for row in pypto.loop(0, x.shape[0], 8):
            out[row : row + 8, :] = x[row : row + 8, :] * factor

    return ir.compile(scale)


class Soak:
    """Twenty programs, tensors of every shape, and the ways in which a call is made to fail."""

    def __init__(self, worker):
        self.worker = worker
        self.factors = [1.0 + 0.125 * number for number in range(PROGRAMS)]
        self.handles = [worker.register(make_program(factor)) for factor in self.factors]
        self.host = {rows: (torch.randn(rows, 256), torch.empty(rows, 256)) for rows in ROWS}
        self.resident = {rows: worker.alloc_tensor(x.shape, x.dtype, init=x) for rows, (x, _) in self.host.items()}
        self.freed = {rows: worker.alloc_tensor((rows, 256), torch.float32) for rows in ROWS}
        for tensor in self.freed.values():
            worker.free_tensor(tensor)

    def right(self, number: int, rows: int, resident: bool) -> dict[str, int]:
        """A call whose result is checked; the ACL calls that it made, both ways of waiting as one."""
        x, out = self.host[rows]
        out.zero_()
        before = testing.counters()
        self.handles[number](self.resident[rows] if resident else x, out)
        made = {name: count - before.get(name, 0) for name, count in testing.counters().items()}
        assert torch.equal(out, x * self.factors[number])
        made["wait"] = sum(made.pop(name, 0) for name in WAITS)
        return {name: count for name, count in made.items() if count}

    def fail(self, way: str, number: int, rows: int) -> None:
        """One call that fails."""
        handle, (x, out) = self.handles[number], self.host[rows]
        if way == "shape":
            with pytest.raises(ValueError, match="argument 'x'"):
                handle(torch.empty(rows, 255), out)
        elif way == "freed":
            with pytest.raises(ValueError, match="freed"):
                handle(self.freed[rows], out)
        elif way == "type":
            with pytest.raises(TypeError):
                handle(x, "out")
        elif way == "submit":
            testing.fail_call("aclrtLaunchKernelWithHostArgs", 0, 107017)
            with pytest.raises(pypto.AclError, match="107017"):
                handle.submit(x, out)
        else:
            testing.fail_call(way, 0, 107017)
            with pytest.raises(pypto.AclError, match="107017"):
                handle(x, out)
        assert testing.pending_faults() == 0


def test_failures_between_right_calls_change_nothing(worker):
    soak = Soak(worker)
    for number in range(PROGRAMS):
        for rows in ROWS:
            for resident in (False, True):
                soak.right(number, rows, resident)
    ways = ("shape", "freed", "type", "submit", *FAILING_CALLS)
    for number in range(PROGRAMS):
        for way in ways:
            soak.fail(way, number, FAILING_CALLS.get(way, 32))
            soak.right(number, 32, False)
    memory, counters, handles = worker.memory_info(), worker.counters(), testing.live_handles()
    blocks = testing.live_blocks()
    order = random.Random(1)
    for step in range(ROUNDS):
        way = ways[step % len(ways)]
        number, rows = order.randrange(PROGRAMS), FAILING_CALLS.get(way) or order.choice(ROWS)
        for resident in (False, True):
            soak.right(number, rows, resident)
            cost = soak.right(number, rows, resident)
            soak.fail(way, number, rows)
            if way in WAITS:  # the next call also settles what the failed wait left in flight
                soak.right(number, rows, resident)
            assert soak.right(number, rows, resident) == cost, way
    after = worker.counters()
    assert worker.memory_info() == memory
    assert testing.live_handles() == handles
    assert testing.live_blocks() == blocks
    for name in ("program_loads", "program_unloads", "device_mallocs", "device_frees"):
        assert after[name] == counters[name], name
    # A launch whose wait fails has been launched; every other failure comes before.
    waits = sum(ways[step % len(ways)] in WAITS for step in range(ROUNDS))
    assert after["launches"] - counters["launches"] == 2 * (3 * ROUNDS + 2 * waits)


def test_a_kernel_fault_in_between_needs_a_new_opening_and_then_all_is_as_before(worker):
    program = make_program(2.0)
    x, out = torch.randn(8, 256), torch.empty(8, 256)
    for _ in range(20):
        handle = worker.register(program)
        handle(x, out)
        assert torch.equal(out, x * 2)
        memory = worker.memory_info()
        testing.fail_kernel(0, 507015)
        with pytest.raises(pypto.AclError, match="507015"):
            handle(x, out)
        assert not worker.is_usable
        worker.close()
        worker.init()
        worker.register(program)(x, out)
        assert torch.equal(out, x * 2)
        assert worker.memory_info()["total"] == memory["total"]
        assert worker.memory_info()["staging"] <= memory["staging"]


def test_a_failing_question_for_the_context_ends_the_call_or_is_asked_again(worker):
    """An ordinary call ends with the error; a short repeated one falls back to the ordinary way, which asks again."""
    handle = worker.register(make_program(2.0))
    refused = 0
    for rows in ROWS:
        x, out = torch.randn(rows, 256), torch.zeros(rows, 256)
        testing.fail_call("aclrtGetCurrentContext", 0, 107017)
        with pytest.raises(pypto.AclError, match="107017"):
            handle(x, out)
        for _ in range(3):
            handle(x, out)
        out.zero_()
        testing.fail_call("aclrtGetCurrentContext", 0, 107017)
        try:
            handle(x, out)
            assert torch.equal(out, x * 2)
        except pypto.AclError as error:
            refused += 1
            assert "107017" in str(error)
            assert not out.any()
        assert testing.pending_faults() == 0
        handle(x, out)
        assert torch.equal(out, x * 2)
    assert refused < len(ROWS)


def test_failing_waits_with_a_time_limit():
    program = make_program(2.0)
    with ChipWorker(config=RunConfig(platform="a2a3sim", timeout_ms=60_000)) as worker:
        handle = worker.register(program)
        for rows in ROWS:
            x, out = torch.randn(rows, 256), torch.zeros(rows, 256)
            handle(x, out)
            testing.fail_call("aclrtSynchronizeStreamWithTimeout", 0, 107017)
            with pytest.raises(pypto.AclError, match="107017"):
                handle(x, out)
            assert testing.pending_faults() == 0
            out.zero_()
            handle(x, out)
            assert torch.equal(out, x * 2)


# A wait for a submitted launch that fails by itself is made again in another way: it is no failure of the launch.
@pytest.mark.parametrize(
    ("way", "submitted"),
    [(way, submitted) for way in ("shape", "freed", "aclrtLaunchKernelWithHostArgs") for submitted in (False, True)]
    + [("aclrtSynchronizeStream", False)],
)
def test_failures_between_repeated_calls_of_resident_tensors(worker, way, submitted):
    """The call after a failure may be an ordinary one; the one behind it asks the library for as little as before."""
    handle = worker.register(make_program(2.0))
    x, out, freed = (worker.alloc_tensor((8, 256), torch.float32, init=torch.ones(8, 256)) for _ in range(3))
    wide = worker.alloc_tensor((8, 255), torch.float32)
    worker.free_tensor(freed)

    def call(source) -> dict[str, int]:
        before = testing.counters()
        if submitted:
            handle.submit(source, out).wait()
        else:
            handle(source, out)
        made = {name: count - before.get(name, 0) for name, count in testing.counters().items()}
        return {name: count for name, count in made.items() if count}

    for _ in range(4):
        cost = call(x)
    assert cost == {"aclrtLaunchKernelWithHostArgs": 1, "aclrtSynchronizeStream": 1}
    for number in range(20):
        if way in FAILING_CALLS:
            testing.fail_call(way, 0, 107017)
        with pytest.raises((ValueError, pypto.AclError), match="107017|argument 'x'|freed"):
            call({"shape": wide, "freed": freed}.get(way, x))
        assert testing.pending_faults() == 0
        x.copy_from_host(torch.full((8, 256), float(number)))
        call(x)
        assert torch.equal(out.to_host(), torch.full((8, 256), 2.0 * number))
        call(x)
        assert call(x) == cost
        assert worker.is_usable
