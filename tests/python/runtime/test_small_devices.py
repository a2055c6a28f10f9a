"""Devices of one and two MiB: what fits runs, what does not says so with figures that agree."""

import pytest

from scripts import run_python

ADD = """
import torch, pypto
from pypto import ir
from pypto.runtime import ChipWorker

@pypto.frontend.jit
def add(x: pypto.Tensor([32, 32], pypto.DT_FP32), out: pypto.Tensor([32, 32], pypto.DT_FP32)):
    out[:] = x + 1.0

x, out = torch.randn(32, 32), torch.zeros(32, 32)
with ChipWorker() as worker:
    program = ir.compile(add)
"""


@pytest.mark.parametrize("megabytes", [1, 2, 3])
def test_kernels_run(megabytes):
    done = run_python(
        ADD
        + """
    program(x, out)
    assert torch.equal(out, x + 1)
    resident = worker.alloc_tensor((32, 32), torch.float32, init=x)
    program(resident, out)
    tensors = [worker.alloc_tensor((64, 64), torch.float32) for _ in range(20)]
    for tensor in tensors:
        worker.free_tensor(tensor)
    big = worker.alloc_tensor((worker.memory_info()["total"] // 2,), torch.int8)
    program(x, out)
    print("right", torch.equal(out, x + 1))
""",
        PYPTO_MOCK_MEMORY_MB=str(megabytes),
    )
    assert done.stdout == "right True\n", done.stdout + done.stderr


@pytest.mark.parametrize("megabytes", [1, 2])
def test_out_of_memory_says_figures_that_agree(megabytes):
    done = run_python(
        ADD
        + """
    kept = []
    try:
        while True:
            kept.append(worker.alloc_tensor((100, 1024), torch.int8))
    except pypto.OutOfDeviceMemoryError as error:
        assert error.asked == 100 * 1024
        assert error.total == worker.memory_info()["total"]
        assert f"asked for {error.asked} bytes, {error.free} of {error.total} bytes are free" in str(error)
        assert error.free < error.asked or "in pieces that are too small" in str(error)
        assert len(kept) >= 0.75 * error.total / error.asked, (len(kept), str(error))
    worker.free_tensor(kept.pop())
    program(x, out)
    print("right", torch.equal(out, x + 1))
""",
        PYPTO_MOCK_MEMORY_MB=str(megabytes),
    )
    assert done.stdout == "right True\n", done.stdout + done.stderr
