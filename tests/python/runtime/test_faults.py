"""Failures: each ACL call in turn, kernel faults, memory that is used up, damaged programs, interrupts."""

import signal
import threading
import time

import pytest
import torch

import pypto
from pypto import ir, testing
from pypto.runtime import ChipWorker
from scripts import run_python

ERRORS = (pypto.PyptoError, RuntimeError, TimeoutError)


@pytest.fixture(autouse=True)
def no_fault_stays():
    yield
    testing.clear_faults()


def fail_each_call(operation, check, limit: int = 200) -> int:
    """Runs `operation` with ACL call number k failing, for k = 0, 1, 2 … until it succeeds; how many failed."""
    for k in range(limit):
        testing.fail_call(None, k, 507899)
        try:
            operation()
        except ERRORS:
            failed = True
        else:
            failed = testing.pending_faults() == 0
        struck = testing.pending_faults() == 0
        testing.clear_faults()
        check()
        if not struck:
            assert not failed
            return k
    raise AssertionError("never succeeded")


def usable(worker: ChipWorker, add_program) -> ChipWorker:
    """The worker, or a new one when the fault broke it: which must close cleanly."""
    if not worker.is_usable:
        worker.close()
        worker.init()
    x = torch.ones(40, 16)
    out = torch.empty(40, 16)
    worker.run(add_program, x, x, out)
    assert torch.equal(out, x * 2)
    return worker


def test_every_call_of_open_and_close(add_program):
    bytes_before, handles_before = testing.live_bytes(), testing.live_handles()

    def operation():
        worker = ChipWorker()
        worker.close()

    def check():
        assert testing.live_bytes() == bytes_before
        assert testing.live_handles() == handles_before

    assert fail_each_call(operation, check) > 3


def test_every_call_of_alloc_tensor(add_program):
    held = testing.live_bytes()
    worker = ChipWorker()
    worker.alloc_tensor((1024, 1024), torch.float32)
    source = torch.randn(300, 300)

    def operation():
        tensor = worker.alloc_tensor((300, 300), torch.float32, init=source)
        assert torch.equal(tensor.to_host(), source)

    def check():
        usable(worker, add_program)
        assert worker.memory_info()["resident"] == 0

    fail_each_call(operation, check)
    worker.close()
    assert testing.live_bytes() == held


def test_every_call_of_register(add_program, static_add_program):
    worker = ChipWorker()
    usable(worker, add_program)

    def operation():
        worker.register(static_add_program).unregister()

    fail_each_call(operation, lambda: usable(worker, add_program))
    worker.close()


def test_every_call_of_a_dispatch(add_program):
    worker = ChipWorker()
    x = torch.randn(200, 16)
    out = torch.empty(200, 16)

    def operation():
        out.zero_()
        handle = worker.register(add_program)
        handle(x, x, out)
        handle.unregister()
        assert torch.equal(out, x * 2)

    assert fail_each_call(operation, lambda: usable(worker, add_program)) > 2
    worker.close()


def test_every_call_of_close_with_everything_open(add_program):
    bytes_before, handles_before = testing.live_bytes(), testing.live_handles()

    def operation():
        worker = ChipWorker()
        try:
            worker.alloc_tensor((100, 100), torch.float32)
            worker.malloc(1000)
            worker.register(add_program)
        finally:
            worker.close()

    def check():
        assert testing.live_bytes() == bytes_before
        assert testing.live_handles() == handles_before

    fail_each_call(operation, check)


def test_an_acl_error_carries_its_code(worker, add_program):
    testing.fail_call("aclrtLaunchKernelWithHostArgs", 0, 107017)
    x = torch.ones(8, 16)
    with pytest.raises(pypto.AclError, match="107017") as raised:
        worker.run(add_program, x, x, torch.empty(8, 16))
    assert raised.value.code == 107017
    assert raised.value.call == "aclrtLaunchKernelWithHostArgs"
    assert torch.equal(worker.run(add_program, x, x), x * 2)


@pytest.mark.parametrize("code", [507015, 507010])
def test_a_kernel_fault_breaks_the_worker_which_closes_cleanly(add_program, code):
    worker = ChipWorker()
    handle = worker.register(add_program)
    tensor = worker.alloc_tensor((8, 16), torch.float32)
    x = torch.ones(8, 16)
    testing.fail_kernel(0, code)
    with pytest.raises(pypto.AclError, match=str(code)) as raised:
        handle(x, tensor, torch.empty(8, 16))
    assert raised.value.failure_class in ("kernel_fault", "device_lost")
    for call in (lambda: handle(x, x, torch.empty(8, 16)), tensor.to_host, lambda: worker.register(add_program)):
        with pytest.raises(RuntimeError, match="broken"):
            call()
    worker.close()
    with ChipWorker() as fresh:
        assert torch.equal(fresh.run(add_program, x, x), x * 2)


def test_negative_offset_is_a_kernel_fault_naming_the_line():
    @pypto.frontend.jit
    def before_the_start(
        x: pypto.Tensor([8, 16], pypto.DT_FP32), out: pypto.Tensor([1, 16], pypto.DT_FP32), shift: int
    ):
        out[:] = x[shift : shift + 1, :] + 0.0

    compiled = ir.compile(before_the_start)
    x = torch.randn(8, 16)
    with ChipWorker() as worker:
        out = torch.empty(1, 16)
        worker.run(compiled, x, out, 3)
        assert torch.equal(out, x[3:4])
        with pytest.raises(pypto.PyptoError, match=r"-2|negative"):
            worker.run(compiled, x, out, -2)


def test_out_of_device_memory():
    done = run_python(
        """
        import torch, pypto
        from pypto.runtime import ChipWorker
        with ChipWorker() as w:
            big = w.alloc_tensor((24, 1024, 1024), torch.int8)
            try:
                w.alloc_tensor((64, 1024, 1024), torch.int8)
            except pypto.OutOfDeviceMemoryError as error:
                assert error.asked >= 64 << 20, error.asked
                assert 0 < error.free < 64 << 20, error.free
                assert error.total == 64 << 20, error.total
                assert "25165824" in str(error) or "24" in str(error.largest_holders), str(error)
                assert isinstance(error, MemoryError)
            else:
                raise SystemExit("no error")
            small = w.alloc_tensor((4,), torch.float32, init=torch.ones(4))
            assert small.to_host().sum() == 4
            w.free_tensor(big)
            w.alloc_tensor((40, 1024, 1024), torch.int8)
        print("fine")
        """,
        PYPTO_MOCK_MEMORY_MB="64",
    )
    assert done.stdout == "fine\n", done.stderr


def test_damaged_programs(add_program, tmp_path):
    path = tmp_path / "program.pto"
    add_program.save(path)
    data = path.read_bytes()
    loaded = ir.load(path)
    assert loaded.fingerprint == add_program.fingerprint
    assert torch.equal(loaded(torch.ones(3, 16), torch.ones(3, 16)), torch.full((3, 16), 2.0))
    step = max(1, len(data) // 97)
    for at in range(0, len(data), step):
        path.write_bytes(data[:at])
        with pytest.raises(pypto.ProgramFormatError):
            ir.load(path)
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        with pytest.raises(pypto.ProgramFormatError):
            ir.load(path)
    with pytest.raises(OSError, match="nothing"):
        ir.load(tmp_path / "nothing.pto")


LONG = """
import signal, threading, time, os, torch, pypto
from pypto import ir
from pypto.runtime import ChipWorker

@pypto.frontend.jit
def long(x: pypto.Tensor([256, 256], pypto.DT_FP32), out: pypto.Tensor([256, 256], pypto.DT_FP32), n: int):
    for i in pypto.loop(n):
        out[:] = pypto.exp(x) * 0.5

compiled = ir.compile(long)
x, out = torch.randn(256, 256), torch.empty(256, 256)
"""


def test_interrupt_during_a_long_kernel():
    done = run_python(
        LONG
        + """
w = ChipWorker()
handle = w.register(compiled)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    handle(x, out, 10_000_000)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 5)
handle(x, out, 1)
assert torch.allclose(out, torch.exp(x) * 0.5, rtol=1e-5)
print("usable")
w.close()
"""
    )
    assert done.stdout == "interrupted True\nusable\n", done.stdout + done.stderr


READ_TRIPS = """
@pypto.frontend.jit
def read_trips(trips: pypto.Tensor([1], pypto.DT_INT32), x: pypto.Tensor([256, 256], pypto.DT_FP32),
               out: pypto.Tensor([256, 256], pypto.DT_FP32)):
    for i in pypto.loop(trips[0]):
        out[:] = pypto.exp(x) * 0.5

many = ir.compile(read_trips)
"""
LONG_CALLS = {
    "a scalar says how often": "w.register(compiled)(x, out, 3000)",
    "a tensor says how often": "w.register(many)(torch.tensor([3000], dtype=torch.int32), x, out)",
}


@pytest.mark.parametrize("name", LONG_CALLS)
def test_other_threads_run_during_a_long_kernel(name):
    done = run_python(
        LONG
        + READ_TRIPS
        + f"""
w = ChipWorker()
ticks = []
stop = threading.Event()
def tick():
    while not stop.is_set():
        ticks.append(1)
        time.sleep(0.002)
thread = threading.Thread(target=tick)
thread.start()
before = len(ticks)
{LONG_CALLS[name]}
during = len(ticks) - before
stop.set()
thread.join()
print(during > 10)
"""
    )
    assert done.stdout == "True\n", done.stderr


def test_timeout_lists_what_is_in_flight():
    done = run_python(
        LONG
        + """
w = ChipWorker()
pending = w.register(compiled).submit(x, out, 20000)
for call in (lambda: w.synchronize(timeout_ms=20), lambda: pending.wait(timeout_ms=20)):
    try:
        call()
    except TimeoutError as error:
        print("long" in str(error))
pending.wait()
assert torch.allclose(out, torch.exp(x) * 0.5, rtol=1e-5)
"""
    )
    assert done.stdout == "True\nTrue\n", done.stderr


def test_signal_handlers_are_python_s_own():
    before = signal.getsignal(signal.SIGINT)
    with ChipWorker():
        assert signal.getsignal(signal.SIGINT) is before
    assert threading.active_count() >= 1
    assert time.monotonic() > 0


@pytest.mark.parametrize(
    "waiting",
    ["handle(x, out)", "program(x, out)", "quick(x, out)", "worker.alloc_tensor((4,), torch.float32)",
     "worker.counters()", "worker.synchronize()", "worker.register(program)", "handle.submit(x, out)",
     "handle.workspace_report()", "resident.to_host()", "completion.wait()"],
)  # fmt: skip
def test_interrupt_while_another_thread_uses_the_worker(waiting):
    done = run_python(
        f"""
import os, signal, threading, time
import torch, pypto
from pypto import ir, testing
from pypto.runtime import ChipWorker

@pypto.frontend.jit
def long(x: pypto.Tensor([16], pypto.DT_FP32), n: int):
    for i in pypto.loop(0, n, 1):
        x[:] = x + 1.0

@pypto.frontend.jit
def quick(x: pypto.Tensor([16], pypto.DT_FP32), out: pypto.Tensor([16], pypto.DT_FP32)):
    out[:] = x * 2.0

x, out = torch.ones(16), torch.zeros(16)
with ChipWorker() as worker:
    program = ir.compile(quick)
    handle = worker.register(program)
    busy = worker.register(ir.compile(long))
    resident = worker.alloc_tensor((16,), torch.float32, init=x)
    quick(x, out)
    program(x, out)
    completion = handle.submit(x, out)
    ended = []

    def occupy():
        try:
            busy(torch.zeros(16), 10**9)
        finally:
            ended.append(True)

    launched = testing.counters()["aclrtLaunchKernelWithHostArgs"]
    thread = threading.Thread(target=occupy, daemon=True)
    thread.start()
    while testing.counters()["aclrtLaunchKernelWithHostArgs"] == launched:
        time.sleep(0.001)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        {waiting}
    except KeyboardInterrupt:
        print("interrupted", ended, flush=True)
    os._exit(0)
"""
    )
    assert done.stdout == "interrupted []\n", done.stdout + done.stderr
