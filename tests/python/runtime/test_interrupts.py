"""Ctrl-C in a loop of each kind of call: KeyboardInterrupt comes, and the worker is right and closes afterwards."""

import pytest

from scripts import run_python

CALLS = {
    "handle": "handle(x, out)",
    "compiled": "compiled(x, out)",
    "jitted": "add(x, out)",
    "submit, never waited": "handle.submit(x, out)",
    "submit and wait": "handle.submit(x, out).wait()",
    "synchronize": "worker.synchronize()",
    "upload": "large.copy_from_host(host)",
    "download": "large.to_host(host)",
    "download into a new tensor": "large.to_host()",
    "register": "worker.register(compiled)",
    "open and close": "ChipWorker().close()",
}


@pytest.mark.parametrize("call", CALLS)
def test_interrupt_in_a_loop_of_calls(call):
    done = run_python(
        f"""
import itertools, os, signal, threading, time
import torch, pypto
from pypto import ir
from pypto.runtime import ChipWorker

@pypto.frontend.jit
def add(x: pypto.Tensor([64, 64], pypto.DT_FP32), out: pypto.Tensor([64, 64], pypto.DT_FP32)):
    out[:] = x + 1.0

compiled = ir.compile(add)
x, out, host = torch.ones(64, 64), torch.empty(64, 64), torch.ones(4096, 1024)
worker = ChipWorker()
handle = worker.register(compiled)
large = worker.alloc_tensor((4096, 1024), torch.float32, init=host)
add(x, out)
began = threading.Event()

def interrupt():
    began.wait()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    end = time.monotonic() + 60
    for number in itertools.count():
        {CALLS[call]}
        if number == 20:
            began.set()
        assert time.monotonic() < end
except KeyboardInterrupt:
    print("interrupted")
worker.synchronize()
out.zero_()
handle(x, out)
assert torch.equal(out, x + 1)
worker.close()
print("usable")
"""
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\nusable\n"), done.stderr
