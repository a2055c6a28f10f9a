"""Copies by counters: what a resident weight saves, what several threads share, what goes back to the system when."""

import torch

import pypto
from pypto import ir, testing
from scripts import run_python

WEIGHT_BYTES = 8 << 20


@pypto.frontend.jit
def add_corner(
    x: pypto.Tensor([1, 16], pypto.DT_FP32),
    weight: pypto.Tensor([2048, 1024], pypto.DT_FP32),
    out: pypto.Tensor([1, 16], pypto.DT_FP32),
):
    out[:] = x + weight[0:1, 0:16]


def test_a_resident_weight_is_not_copied_in_the_loop(worker):
    handle = worker.register(ir.compile(add_corner))
    weight = torch.randn(2048, 1024)
    assert weight.nbytes == WEIGHT_BYTES
    resident = worker.alloc_tensor((2048, 1024), torch.float32, init=weight)
    x, out = torch.ones(1, 16), torch.empty(1, 16)
    handle(x, resident, out)
    before, calls, shared = worker.counters(), testing.counters(), testing.shared_copies()
    for _ in range(50):
        handle(x, resident, out)
    after = worker.counters()
    assert torch.equal(out, x + weight[0:1, 0:16])
    moved = {name: after[name] - before[name] for name in ("h2d_copies", "h2d_bytes", "d2h_bytes", "inline_bytes")}
    assert moved == {"h2d_copies": 0, "h2d_bytes": 0, "d2h_bytes": 50 * out.nbytes, "inline_bytes": 50 * x.nbytes}
    assert testing.counters().get("aclrtMemcpy", 0) - calls.get("aclrtMemcpy", 0) == 50, "the outputs"
    assert testing.shared_copies() == shared
    for _ in range(3):
        handle(x, weight, out)
    assert worker.counters()["h2d_bytes"] - after["h2d_bytes"] == 3 * WEIGHT_BYTES
    assert worker.counters()["h2d_copies"] - after["h2d_copies"] == 3


def test_each_way_of_copying_counts_its_bytes_once(worker):
    source, target = torch.randn(1024, 1024), torch.empty(1024, 1024)
    tensor = worker.alloc_tensor((1024, 1024), torch.float32)
    before = worker.counters()
    tensor.copy_from_host(source)
    tensor.to_host(target)
    assert tensor.to_host(out=target) is target
    assert torch.equal(tensor.to_host(None), source)
    assert torch.equal(tensor.to_host(), source)
    assert torch.equal(target, source)
    after = worker.counters()
    assert (after["h2d_copies"] - before["h2d_copies"], after["d2h_copies"] - before["d2h_copies"]) == (1, 4)
    assert after["h2d_bytes"] - before["h2d_bytes"] == source.nbytes
    assert after["d2h_bytes"] - before["d2h_bytes"] == 4 * source.nbytes


def test_large_copies_are_right_at_every_size(worker):
    """Around the sizes where copies are shared and where they pass the caches by."""
    for elements in (1 << 18, (1 << 19) - 1, 1 << 19, (1 << 19) + 1, 2 << 20, (3 << 20) + 17, 8 << 20):
        source = torch.arange(elements, dtype=torch.int32)
        tensor = worker.alloc_tensor((elements,), torch.int32, init=source)
        target = torch.zeros(elements + 8, dtype=torch.int32)
        tensor.to_host(out=target[3 : elements + 3])
        assert torch.equal(target[3 : elements + 3], source)
        assert target[:3].sum() == 0 and target[elements + 3 :].sum() == 0
        worker.free_tensor(tensor)


def test_nothing_goes_back_to_the_system_before_trim():
    done = run_python(
        """
        import os, torch
        from pypto import testing
        from pypto.runtime import ChipWorker

        def resident_bytes():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        source = torch.ones(64 << 20, dtype=torch.int8)
        with ChipWorker() as worker:
            for _ in range(3):
                kept = [worker.alloc_tensor((64 << 20,), torch.int8, init=source) for _ in range(8)]
                for tensor in kept:
                    worker.free_tensor(tensor)
            assert testing.give_back_calls() == 0
            held = resident_bytes()
            assert worker.memory_info()["cached"] >= 512 << 20
            worker.trim()
            assert testing.give_back_calls() > 0
            assert worker.memory_info()["cached"] == 0
            assert held - resident_bytes() > 400 << 20, (held, resident_bytes())
        print("right")
        """
    )
    assert done.stdout == "right\n", done.stderr
