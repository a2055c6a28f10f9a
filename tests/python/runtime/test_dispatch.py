"""Dispatch: argument checks, directions, fresh outputs, placement of arguments, submit."""

import threading

import numpy as np
import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape)


BAD_ARGUMENTS = {
    "rank": ((ones(8), ones(8, 16), ones(8, 16)), ValueError, r"'x'.*2 dims are needed, it has 1"),
    "static dim": ((ones(8, 15), ones(8, 16), ones(8, 16)), ValueError, r"'x'.*16.*15"),
    "equal dims": ((ones(8, 16), ones(9, 16), ones(8, 16)), ValueError, r"'y'.*dim 0 is 9, but rows is 8"),
    "dtype": ((ones(8, 16), ones(8, 16).half(), ones(8, 16)), TypeError, r"'y'.*FP32.*FP16"),
    "output rows": ((ones(8, 16), ones(8, 16), ones(7, 16)), ValueError, r"'out'"),
    "output stride": ((ones(8, 16), ones(8, 16), ones(8, 32)[:, ::2]), ValueError, r"'out'.*contiguous"),
    "too many": ((ones(8, 16),) * 4, TypeError, r"3.*4"),
    "none": ((None, ones(8, 16), ones(8, 16)), TypeError, r"'x'"),
    "list": (([[1.0] * 16] * 8, ones(8, 16), ones(8, 16)), TypeError, r"'x'"),
    "number": ((1.0, ones(8, 16), ones(8, 16)), TypeError, r"'x'"),
    "meta": ((torch.ones(8, 16, device="meta"), ones(8, 16), ones(8, 16)), ValueError, r"'x'.*meta"),
    "sparse": ((ones(8, 16).to_sparse(), ones(8, 16), ones(8, 16)), ValueError, r"'x'"),
    "read-only output": (
        (ones(8, 16), ones(8, 16), np.frombuffer(bytes(512), dtype=np.float32).reshape(8, 16)),
        ValueError,
        r"'out'.*read-only",
    ),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(worker, add_program, name):
    arguments, error, text = BAD_ARGUMENTS[name]
    handle = worker.register(add_program)
    before = worker.counters()
    for call in (handle, add_program, handle.submit):
        with pytest.raises(error, match=text):
            call(*arguments)
    after = worker.counters()
    assert after["launches"] == before["launches"]
    assert after["h2d_bytes"] == before["h2d_bytes"], "nothing is copied before everything is checked"
    out = torch.empty(8, 16)
    handle(ones(8, 16), ones(8, 16), out)
    assert torch.equal(out, torch.full((8, 16), 2.0))


def test_keywords_are_refused(worker, add_program):
    with pytest.raises(TypeError, match="positional"):
        worker.register(add_program)(ones(8, 16), ones(8, 16), out=ones(8, 16))


def test_every_kind_of_tensor(worker, add_program):
    handle = worker.register(add_program)
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    parameter = torch.nn.Parameter(x.clone())
    subclass = torch.Tensor._make_subclass(type("Mine", (torch.Tensor,), {}), x.clone())
    strided = torch.randn(16, 8).T
    expanded = torch.randn(1, 16).expand(8, 16)
    negated = torch.complex(torch.zeros(8, 16), x).conj().imag
    readonly = x.numpy().copy()
    readonly.flags.writeable = False
    odd_stride = torch.randn(64).as_strided((1, 16), (3, 1))
    for first in (x, parameter, subclass, strided, expanded, negated, x.numpy(), readonly, x.clone().requires_grad_()):
        out = torch.empty(8, 16)
        handle(first, y, out)
        value = torch.as_tensor(first).detach().as_subclass(torch.Tensor)
        assert torch.equal(out, value + y)
    out = torch.empty(1, 16)
    handle(odd_stride, odd_stride, out)
    assert torch.equal(out, odd_stride * 2)
    target = np.empty((8, 16), dtype=np.float32)
    handle(x, y, target)
    assert np.array_equal(target, (x + y).numpy())


def test_odd_arrays_are_copied_as_inputs_and_refused_as_outputs(worker, add_program):
    values = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    for odd in (values[::-1], values[:, ::-1], values.astype(">f4")):
        out = torch.empty(8, 16)
        worker.run(add_program, odd, values, out)
        assert np.array_equal(out.numpy(), odd + values)
        with pytest.raises(ValueError, match="'out'"):
            worker.run(add_program, values, values, odd)


@pytest.mark.parametrize("odd", [np.zeros((8, 16)), torch.zeros(8, 16, dtype=torch.complex64)])
def test_dtypes_that_no_kernel_takes(worker, add_program, odd):
    with pytest.raises(TypeError, match=r"'x'.*(float64|complex64)"):
        worker.run(add_program, odd, ones(8, 16), ones(8, 16))


def test_fake_tensors_are_refused(worker, add_program):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(8, 16)
    with pytest.raises(ValueError, match=r"'x'.*FakeTensor"):
        worker.run(add_program, fake, ones(8, 16), ones(8, 16))


def test_fresh_outputs(worker, add_program):
    x, y = torch.randn(5, 16), torch.randn(5, 16)
    for call in (add_program, worker.register(add_program)):
        out = call(x, y)
        assert type(out) is torch.Tensor
        assert torch.equal(out, x + y)
    assert torch.equal(worker.register(add_program).submit(x, y).result(), x + y)
    with pytest.raises(TypeError, match=r"y|argument"):
        add_program(x)


def test_zero_rows(worker, add_program):
    empty = torch.empty(0, 16)
    assert worker.register(add_program)(empty, empty, empty) is None
    assert add_program(empty, empty).shape == (0, 16)


@pypto.frontend.jit
def first_rows(x: pypto.Tensor([8, 16], pypto.DT_FP32), out: pypto.Tensor([16, 16], pypto.DT_FP32)):
    out[0:8, :] = x * 2.0


def test_bytes_not_written_keep_their_value(worker):
    compiled = ir.compile(first_rows)
    assert [parameter.direction for parameter in compiled.parameters] == ["in", "inout"]
    x, out = torch.randn(8, 16), torch.full((16, 16), 5.0)
    compiled(x, out)
    assert torch.equal(out[:8], x * 2)
    assert torch.equal(out[8:], torch.full((8, 16), 5.0))
    with pytest.raises(TypeError, match=r"inout because line \d+ writes only part of it"):
        compiled(x)


def test_input_that_is_also_the_output(worker, add_program):
    x, y = torch.randn(20, 16), torch.randn(20, 16)
    expected = x + y
    worker.register(add_program)(x, y, x)
    assert torch.equal(x, expected)


def test_overlapping_device_arguments(worker, add_program):
    handle = worker.register(add_program)
    base = worker.alloc_tensor((16, 16), torch.float32, init=torch.randn(16, 16))
    with pytest.raises(ValueError, match=r"'x'.*'out'|'out'.*'x'"):
        handle(base[0:8], base[8:16], base[4:12])
    with pytest.raises(ValueError, match=r"'out'"):
        handle(base, base, base)
    handle(base[0:8], base[0:8], base[8:16])
    host = base.to_host()
    assert torch.equal(host[8:], host[:8] * 2)


@pypto.frontend.jit
def two_outputs(
    x: pypto.Tensor([8, 16], pypto.DT_FP32),
    first: pypto.Tensor([8, 16], pypto.DT_FP32),
    second: pypto.Tensor([8, 16], pypto.DT_FP32),
):
    first[:] = x + 1.0
    second[:] = x + 2.0


def test_overlapping_host_outputs(worker):
    compiled = ir.compile(two_outputs)
    memory = torch.zeros(12, 16)
    x = torch.randn(8, 16)
    with pytest.raises(ValueError, match=r"'first'.*'second'|'second'.*'first'"):
        compiled(x, memory[0:8], memory[4:12])
    first, second = compiled(x)
    assert torch.equal(first, x + 1)
    assert torch.equal(second, x + 2)


def test_resident_and_host_give_the_same_bits(worker, add_program):
    handle = worker.register(add_program)
    x, y = torch.randn(33, 16), torch.randn(33, 16)
    rx = worker.alloc_tensor((33, 16), torch.float32, init=x)
    ry = worker.alloc_tensor((33, 16), torch.float32, init=y)
    rout = worker.alloc_tensor((33, 16), torch.float32)
    out = torch.empty(33, 16)
    handle(x, y, out)
    handle(rx, ry, rout)
    assert torch.equal(rout.to_host(), out)
    handle(rx, y, out)
    assert torch.equal(rout.to_host(), out)


def test_registration_life(worker, add_program):
    loads = worker.counters()["program_loads"]
    first, second = worker.register(add_program), worker.register(add_program)
    assert worker.counters()["program_loads"] == loads + 1
    x = ones(8, 16)
    with first:
        first(x, x, torch.empty(8, 16))
    first.unregister()
    assert not first.is_open
    with pytest.raises(RuntimeError, match="closed|unregistered"):
        first(x, x, torch.empty(8, 16))
    second(x, x, torch.empty(8, 16))
    with pytest.raises(TypeError, match="CompiledProgram"):
        worker.register(object())


def test_platform_mismatch_names_both(worker):
    other = ir.compile(two_outputs, platform="a5sim")
    with pytest.raises(ValueError, match=r"a5sim.*a2a3sim|a2a3sim.*a5sim"):
        worker.register(other)


def test_default_worker_stays_open(add_program):
    x = ones(8, 16)
    out = torch.empty(8, 16)
    add_program(x, x, out)
    from pypto.runtime import current

    default = current.default_worker("a2a3sim")
    loads = default.counters()["program_loads"]
    for _ in range(3):
        add_program(x, x, out)
    assert current.default_worker("a2a3sim") is default
    assert default.counters()["program_loads"] == loads


def test_submit(worker, add_program):
    handle = worker.register(add_program)
    inputs = [torch.randn(8, 16) for _ in range(70)]
    outputs = [torch.empty(8, 16) for _ in inputs]
    pending = []
    for x, out in zip(inputs, outputs, strict=True):
        staged = x.clone()
        pending.append(handle.submit(staged, staged, out))
        staged.zero_()  # inputs are captured before submit returns
    for completion in reversed(pending):
        completion.wait()
        completion.wait(timeout_ms=10)
        assert completion.done()
        assert completion.result() is None
    for x, out in zip(inputs, outputs, strict=True):
        assert torch.equal(out, x * 2)


def test_dropping_a_completion_waits(worker, add_program):
    handle = worker.register(add_program)
    x, out = ones(8, 16), torch.zeros(8, 16)
    handle.submit(x, x, out)
    assert torch.equal(out, x * 2)
    worker.synchronize()


@pytest.mark.parametrize("timeout", [1.5, "1", True])
def test_wait_refuses(worker, add_program, timeout):
    x = ones(8, 16)
    completion = worker.register(add_program).submit(x, x, torch.empty(8, 16))
    with pytest.raises(TypeError, match="timeout_ms"):
        completion.wait(timeout)
    completion.wait()


def test_threads_share_a_worker(worker, add_program):
    handle = worker.register(add_program)
    wrong = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(200):
            x = torch.randn(8, 16, generator=generator)
            out = torch.empty(8, 16)
            handle(x, x, out)
            if not torch.equal(out, x * 2):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_ten_thousand_dispatches_leave_everything_flat(worker, add_program):
    import resource

    handle = worker.register(add_program)
    resident = worker.alloc_tensor((8, 16), torch.float32, init=ones(8, 16))
    x, out = ones(8, 16), torch.empty(8, 16)
    for _ in range(1000):
        handle(x, resident, out)
    before, memory = worker.counters(), worker.memory_info()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000):
        handle(x, resident, out)
    after = worker.counters()
    assert worker.memory_info() == memory
    assert after["device_mallocs"] == before["device_mallocs"]
    assert after["program_loads"] == before["program_loads"]
    assert after["launches"] - before["launches"] == 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 1024


def test_two_workers_on_one_device(worker, add_program):
    other = ChipWorker(RunConfig("a2a3sim"))
    mine = worker.alloc_tensor((8, 16), torch.float32, init=ones(8, 16))
    theirs = other.alloc_tensor((8, 16), torch.float32, init=ones(8, 16) * 3)
    assert mine.data_ptr != theirs.data_ptr
    assert torch.equal(other.run(add_program, theirs, ones(8, 16)), torch.full((8, 16), 4.0))
    with pytest.raises(ValueError, match=r"'x'.*another worker"):
        other.run(add_program, mine, ones(8, 16), torch.empty(8, 16))
    other.close()
    assert torch.equal(mine.to_host(), ones(8, 16))
