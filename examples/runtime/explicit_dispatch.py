"""Register once, dispatch many: an inference service, a training loop, and what the counters say about both."""

from __future__ import annotations

import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig

HIDDEN = 256
TILE = 16
ROWS = pypto.frontend.dynamic("rows")  # one name: equal in every tensor of a call


@pypto.frontend.jit
def project(
    x: pypto.Tensor([ROWS, HIDDEN], pypto.DT_FP32),
    weight: pypto.Tensor([HIDDEN, HIDDEN], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, HIDDEN], pypto.DT_FP32),
):
    for i in pypto.loop(0, x.shape[0], TILE):
        out[i : i + TILE, :] = pypto.matmul(x[i : i + TILE, :], weight, pypto.DT_FP32)


@pypto.frontend.jit
def softmax_rows(
    x: pypto.Tensor([ROWS, HIDDEN], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, HIDDEN], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(TILE, HIDDEN)
    for i in pypto.loop(0, x.shape[0], TILE):
        rows = x[i : i + TILE, :]
        shifted = pypto.exp(rows - pypto.amax(rows, -1, keepdim=True))
        out[i : i + TILE, :] = shifted / pypto.sum(shifted, -1, keepdim=True)


@pypto.frontend.jit
def sgd_step(
    weight: pypto.Tensor([HIDDEN, HIDDEN], pypto.DT_FP32),
    x: pypto.Tensor([TILE, HIDDEN], pypto.DT_FP32),
    target: pypto.Tensor([TILE, HIDDEN], pypto.DT_FP32),
    loss: pypto.Tensor([1, 1], pypto.DT_FP32),
):
    """One step of linear regression; the weight is updated where it lies."""
    error = pypto.matmul(x, weight, pypto.DT_FP32) - target
    loss[:] = pypto.sum(pypto.sum(error * error, -1, keepdim=True), 0, keepdim=True) * (1.0 / (TILE * HIDDEN))
    gradient = pypto.matmul(x, error, pypto.DT_FP32, a_trans=True)
    weight[:] = weight - gradient * (0.05 / TILE)


def inference_service(worker: ChipWorker) -> None:
    """Several kernels registered by name, requests of any number of rows."""
    service = {kernel.__name__: worker.register(ir.compile(kernel)) for kernel in (project, softmax_rows)}
    host_weight = torch.randn(HIDDEN, HIDDEN)
    weight = worker.alloc_tensor((HIDDEN, HIDDEN), torch.float32, init=host_weight)
    for rows in (1, 5, 16, 33):
        x = torch.randn(rows, HIDDEN)
        hidden, out = torch.empty_like(x), torch.empty_like(x)
        service["project"](x, weight, hidden)
        service["softmax_rows"](hidden, out)
        torch.testing.assert_close(out, torch.softmax(x @ host_weight, -1), rtol=1e-4, atol=1e-5)
        print(f"request of {rows:2} rows: sum of row 0 = {out[0].sum():.6f}")
    worker.free_tensor(weight)


def training_loop(worker: ChipWorker) -> None:
    """A resident weight that every step updates; only the batch travels."""
    truth = torch.randn(HIDDEN, HIDDEN)
    x = torch.randn(TILE, HIDDEN)
    target = x @ truth
    weight = worker.alloc_tensor((HIDDEN, HIDDEN), torch.float32, init=torch.zeros(HIDDEN, HIDDEN))
    step = worker.register(ir.compile(sgd_step))
    loss = torch.empty(1, 1)
    losses = []
    for _ in range(20):
        step(weight, x, target, loss)
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0], losses
    print(f"training loss {losses[0]:.2f} -> {losses[-1]:.4f}")
    worker.free_tensor(weight)


def counted(worker: ChipWorker) -> None:
    """Twenty dispatches need one program load and no device allocation."""
    loads = worker.counters()["program_loads"]
    handle = worker.register(ir.compile(project, platform="a2a3sim"))
    weight = worker.alloc_tensor((HIDDEN, HIDDEN), torch.float32, init=torch.eye(HIDDEN))
    x = torch.randn(8, HIDDEN)
    out = torch.empty_like(x)
    handle(x, weight, out)
    before = worker.counters()
    for _ in range(20):
        handle(x, weight, out)
    after = worker.counters()
    assert after["program_loads"] - loads <= 1
    assert after["launches"] - before["launches"] == 20
    assert after["device_mallocs"] == before["device_mallocs"]
    print("20 dispatches:", {name: after[name] - before[name] for name in after})
    torch.testing.assert_close(out, x)
    worker.free_tensor(weight)


def main() -> None:
    torch.manual_seed(0)
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        inference_service(worker)
        training_loop(worker)
        counted(worker)


if __name__ == "__main__":
    main()
