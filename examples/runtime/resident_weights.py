"""A resident weight: uploaded once, used by every call; compared with sending the weight along each time.

Host time falls by the copy of the weight. Device time is that of the same work; for few rows it is mostly the reading
of the weight, and says where the weight was: the copy of a weight that is sent along has just brought it into the cache
of this machine, at a cost that counts as copy, while a resident one is fetched by the kernel when others have pushed it
out meanwhile.
"""

from __future__ import annotations

import statistics
import time

import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

ROWS = 32
BATCH = pypto.frontend.dynamic("batch")  # one name: equal in x and out


@pypto.frontend.jit
def linear(
    x: pypto.Tensor([BATCH, 1024], pypto.DT_FP16),
    weight: pypto.Tensor([1024, 4096], pypto.DT_FP16),
    out: pypto.Tensor([BATCH, 4096], pypto.DT_FP16),
):
    pypto.set_cube_tile_shapes([32, 32], [256, 256], [256, 256])
    for i in pypto.loop(0, x.shape[0], ROWS, name="rows"):
        out[i : i + ROWS, :] = pypto.matmul(x[i : i + ROWS, :], weight, pypto.DT_FP16)


def measure(handle, calls: dict[str, tuple], blocks: int = 4, rounds: int = 8) -> dict[str, tuple[float, float]]:
    """Median host and device time of each call, in microseconds.

    Each call runs in blocks of its own, as in a service, after two that are not counted; the blocks take turns, so that
    both calls see the same machine.
    """
    host: dict[str, list[float]] = {name: [] for name in calls}
    device: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(blocks):
        for name, args in calls.items():
            handle(*args)
            handle(*args)
            for _ in range(rounds):
                begin = time.perf_counter_ns()
                handle(*args)
                host[name].append((time.perf_counter_ns() - begin) / 1e3)
                device[name].append(handle.device_wall_us())
    return {name: (statistics.median(host[name]), statistics.median(device[name])) for name in calls}


def bytes_sent(worker: ChipWorker, handle, args: tuple) -> int:
    """What one call copies to the device."""
    before = worker.counters()
    handle(*args)
    after = worker.counters()
    return sum(after[name] - before[name] for name in ("h2d_bytes", "inline_bytes"))


def check(batch: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> float:
    """Largest error against FP64, relative to the largest value."""
    expected = batch.double() @ weight.double()
    error = (out.double() - expected).abs().max() / expected.abs().max()
    assert error < 1e-3, f"wrong result: relative error {error:.2e}"
    return float(error)


def main() -> None:
    torch.manual_seed(0)
    config = RunConfig(platform="a2a3sim")
    compiled = ir.compile(linear, platform=config.platform)
    host_weight = torch.randn(1024, 4096).half()
    batches = [torch.randn(rows, 1024).half() for rows in (1, 7, 32, 128)]

    with ChipWorker(config=config) as worker:
        weight = worker.alloc_tensor((1024, 4096), torch.float16, init=host_weight)
        uploaded = worker.counters()["h2d_bytes"]
        for batch in batches:
            out = torch.empty(batch.shape[0], 4096, dtype=torch.float16)
            compiled(batch, weight, out)
            check(batch, host_weight, out)
        activations = sum(batch.numel() * batch.element_size() for batch in batches)
        copied = worker.counters()["h2d_bytes"] + worker.counters()["inline_bytes"] - uploaded
        assert copied == activations, f"{copied} bytes copied, the activations are {activations}"

        handle = worker.register(compiled)
        print(
            f"{'rows':>5} {'weight':>9} {'host us':>10} {'device us':>10} {'H2D bytes/call':>15} {'max rel. error':>15}"
        )
        for batch in batches:
            out = torch.empty(batch.shape[0], 4096, dtype=torch.float16)
            calls = {"resident": (batch, weight, out), "host": (batch, host_weight, out)}
            for name, (host_us, device_us) in measure(handle, calls).items():
                sent = bytes_sent(worker, handle, calls[name])
                error = check(batch, host_weight, out)
                print(f"{batch.shape[0]:5} {name:>9} {host_us:10.1f} {device_us:10.1f} {sent:15} {error:15.1e}")
        print("device time of few rows is the reading of the weight: a weight that was just copied is in cache")
        print("counters:", worker.counters())
        worker.free_tensor(weight)


if __name__ == "__main__":
    main()
