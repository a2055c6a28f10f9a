"""The process: import is light, exit with everything open is silent and quick, hardware is never faked."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pypto import testing
from scripts import run_python


def test_import_is_light():
    done = run_python(
        """
        import sys, threading, os
        import pypto
        assert "torch" not in sys.modules and "numpy" not in sys.modules
        assert threading.active_count() == 1
        assert len(os.listdir("/proc/self/task")) == 1
        assert not any("mock_acl" in line for line in open("/proc/self/maps"))
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


PROGRAM = """
import time, torch, pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

@pypto.frontend.jit
def add(x: pypto.Tensor([512, 512], pypto.DT_FP32), y: pypto.Tensor([512, 512], pypto.DT_FP32),
        out: pypto.Tensor([512, 512], pypto.DT_FP32)):
    out[:] = x + y

compiled = ir.compile(add)
x = torch.ones(512, 512)
"""

EVERYTHING = (
    PROGRAM
    + """
w = ChipWorker()
w.__enter__()
t = w.alloc_tensor((512, 512), torch.float32, init=x)
view = t[0:4]
raw = w.malloc(100)
h = w.register(compiled)
out = torch.empty(512, 512)
h(x, t, out)
pending = [h.submit(x, t, torch.empty(512, 512)) for _ in range(10)]
add(x, x, out)
compiled(x, x, out)
cycle = [w, t, h, pending]
cycle.append(cycle)
"""
)


RUN_DELAY = "int(open('/proc/self/schedstat').read().split()[1])"


def seconds_to_exit(code: str) -> float:
    """From the end of the script to the end of the process, without the time its main thread waited for a processor."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(f"{code}\nprint(time.monotonic_ns(), {RUN_DELAY}, flush=True)\n")
        child = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        end = time.monotonic_ns()
        delay = int(Path(f"/proc/{child.pid}/schedstat").read_text().split()[1])
        stdout, stderr = child.communicate(timeout=120)
    assert (child.returncode, stderr) == (0, "")
    began, delay_before = map(int, stdout.split())
    return (end - began - (delay - delay_before)) / 1e9


def test_exit_with_everything_open():
    assert min(seconds_to_exit(EVERYTHING) for _ in range(3)) < 1.0


@pytest.mark.parametrize("ending", ["raise SystemExit(3)", "import os; os._exit(3)", "import sys; sys.exit(3)"])
def test_other_ends(ending):
    done = run_python(EVERYTHING + ending)
    assert done.returncode == 3
    assert done.stderr == ""


# The output is made outside of the thread: torch.empty gives the GIL up in a frame that nothing may unwind, and CPython
# before 3.14 unwinds a daemon thread that asks for the GIL after the end. A thread that does nothing else aborts too.
IN_THREADS = {
    "handle": "h(x, x, out)",
    "submit": "h.submit(x, x, out).wait()",
    "jit": "add(x, x, out)",
    "compiled": "compiled(x, x, out)",
    "download": "t.to_host(out)",
    "large download": "large.to_host(room)",
    "large upload": "large.copy_from_host(room)",
    "long call": "ran.set(); long(x, 1 << 40)",
    "figures": "w.synchronize(); w.counters(); h.workspace_report()",
    "compile": "ir.compile(add)",
}


@pytest.mark.parametrize("call", IN_THREADS)
def test_exit_from_a_thread_that_dispatches(call):
    done = run_python(
        PROGRAM
        + f"""
import threading
w = ChipWorker()
h = w.register(compiled)
t = w.alloc_tensor((512, 512), torch.float32, init=x)
out = torch.empty(512, 512)
large = w.alloc_tensor((4096, 4096), torch.float32)
room = torch.empty(4096, 4096)
ran = threading.Event()

@pypto.frontend.jit
def long(x: pypto.Tensor([512, 512], pypto.DT_FP32), n: int):
    for i in pypto.loop(0, n, 1):
        x[:] = x + 1.0
def work():
    while True:
        {IN_THREADS[call]}
        ran.set()
threading.Thread(target=work, daemon=True).start()
assert ran.wait(60)
"""
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_exit_while_threads_wait_for_the_interpreter():
    for _ in range(3):
        done = run_python(
            PROGRAM
            + """
import threading
w = ChipWorker()
def work():
    while True:
        w.memory_info()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
        )
        assert done.returncode == 0
        assert done.stderr == ""


def test_hardware_without_the_vendor_library():
    done = run_python(
        """
        import pypto
        from pypto.runtime import ChipWorker, RunConfig
        try:
            ChipWorker(RunConfig("a2a3"))
        except pypto.DeviceUnavailableError as error:
            text = str(error)
            for word in ("libascendcl.so", "libacl_rt.so", "a2a3sim"):
                assert word in text, text
            print("said")
        """
    )
    assert done.stdout == "said\n", done.stderr


def test_named_library_that_is_missing():
    done = run_python(
        """
        import pypto
        from pypto.runtime import ChipWorker, RunConfig
        try:
            ChipWorker(RunConfig("a2a3"))
        except pypto.DeviceUnavailableError as error:
            assert "/nonexistent/libascendcl.so" in str(error), str(error)
            print("said")
        """,
        PYPTO_ACL_LIBRARY="/nonexistent/libascendcl.so",
    )
    assert done.stdout == "said\n", done.stderr


def test_hardware_platform_on_the_mock_only_when_named():
    done = run_python(
        PROGRAM
        + """
hardware = ir.compile(add, platform="a2a3")
with ChipWorker(RunConfig("a2a3")) as w:
    out = torch.empty(512, 512)
    hardware(x, x, out)
    assert torch.equal(out, x * 2)
    print(w.library_path)
""",
        PYPTO_ACL_LIBRARY=testing.mock_library_path(),
    )
    assert os.path.basename(done.stdout.strip()) == "libpypto_mock_acl.so", done.stderr


def test_unknown_variable_gives_one_warning_record(tmp_path):
    done = run_python(
        EVERYTHING, PYPTO_MOCK_COERS="4", ASCEND_GLOBAL_LOG_LEVEL="2", ASCEND_PROCESS_LOG_PATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    records = [line for path in tmp_path.rglob("*.log") for line in path.read_text().splitlines()]
    assert len([line for line in records if "PYPTO_MOCK_COERS" in line]) == 1


def test_closing_with_tensors_gives_one_warning_record(tmp_path):
    done = run_python(
        """
        import torch
        from pypto.runtime import ChipWorker
        w = ChipWorker()
        kept = [w.alloc_tensor((100,), torch.float32) for _ in range(3)]
        w.malloc(1000)
        w.close()
        """,
        ASCEND_GLOBAL_LOG_LEVEL="2",
        ASCEND_PROCESS_LOG_PATH=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    records = [line for path in tmp_path.rglob("*.log") for line in path.read_text().splitlines() if "WARNING" in line]
    assert len(records) == 1, records
    assert "3" in records[0]


@pytest.mark.parametrize("simd", ["plain", "avx2", "avx512", "avx512_bf16"])
def test_each_instruction_set_computes(simd):
    flag = {"plain": "", "avx512": "avx512bw"}.get(simd, simd)
    if flag not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this processor has no {simd}")
    done = run_python(PROGRAM + "assert torch.equal(compiled(x, x), x * 2)\nprint('right')", PYPTO_SIMD=simd)
    assert done.stdout == "right\n", done.stderr


def test_strict_mode():
    done = run_python(
        PROGRAM
        + """
w = ChipWorker()
h = w.register(compiled)
pending = [(h.submit(x * i, x, out := torch.empty(512, 512)), out, i) for i in range(20)]
for completion, out, i in pending:
    completion.wait()
    assert torch.equal(out, x * (i + 1))
w.close()
print("right")
""",
        PYPTO_MOCK_STRICT="7",
    )
    assert done.stdout == "right\n", done.stderr


def test_a_full_disk_costs_one_message(tmp_path):
    done = run_python(
        PROGRAM
        + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # writes beyond it fail, as on a disk that is full
with ChipWorker() as worker:
    handle = worker.register(compiled)
    for _ in range(100):
        out = torch.zeros(512, 512)
        handle(x, x, out)
        assert torch.equal(out, x + x)
print("right")
""",
        ASCEND_PROCESS_LOG_PATH=str(tmp_path),
        ASCEND_GLOBAL_LOG_LEVEL="1",
    )
    assert done.stdout == "right\n", done.stderr
    (message,) = done.stderr.splitlines()
    assert message.startswith(f"pypto: log records are lost: cannot write {tmp_path}/debug/plog/plog-"), message
    written = list((tmp_path / "debug/plog").glob("plog-*.log"))
    assert all(path.stat().st_size <= 4096 for path in written)
    assert any("[Workspace Runtime" in path.read_text() for path in written)
