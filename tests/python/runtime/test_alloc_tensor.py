"""alloc_tensor: memory that the pool has is handed out on a short way with the answers of the long one."""

import numpy as np
import pytest
import torch

import pypto
from pypto.runtime import ChipWorker, RunConfig


def warm(worker) -> None:
    for elements in (256, 1 << 18):
        for _ in range(2):
            worker.free_tensor(worker.alloc_tensor((elements,), torch.float32))


WRONG = {
    "no dims": (((), torch.float32), {}, ValueError, r"at least one dim, got \[\]"),
    "zero": (((0, 4), torch.float32), {}, ValueError, "greater than 0"),
    "negative": (([4, -1], torch.float32), {}, ValueError, "greater than 0"),
    "bool": (((True, 4), torch.float32), {}, TypeError, "not an int: True"),
    "float": (((4.0,), torch.float32), {}, TypeError, "not an int: 4.0"),
    "text": (("44", torch.float32), {}, TypeError, "tuple or list of ints, got str"),
    "a number": ((4, torch.float32), {}, TypeError, "tuple or list of ints, got int"),
    "too large": (((1 << 64,), torch.float32), {}, ValueError, "does not fit 64 bits"),
    "too many bytes": (((1 << 62, 4), torch.float32), {}, ValueError, "more bytes than 63 bits hold"),
    "nine dims": (((1,) * 9, torch.float32), {}, ValueError, "at most 8 dims"),
    "dtype": (((4,), torch.complex64), {}, TypeError, "complex64.*not supported"),
    "unhashable dtype": (((4,), []), {}, TypeError, "not supported"),
    "shape of init": (((4,), torch.float32), {"init": torch.ones(5)}, ValueError, r"\[4\] DT_FP32.*\[5\] DT_FP32"),
    "dtype of init": (((4,), torch.float32), {"init": torch.ones(4).half()}, ValueError, "DT_FP32.*DT_FP16"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_as_before(worker, name):
    arguments, keywords, error, text = WRONG[name]
    warm(worker)
    before = worker.memory_info()
    with pytest.raises(error, match=text):
        worker.alloc_tensor(*arguments, **keywords)
    assert worker.memory_info() == before


def test_init_is_by_keyword_only(worker):
    with pytest.raises(TypeError, match="positional"):
        worker.alloc_tensor((4,), torch.float32, torch.ones(4))


@pytest.mark.parametrize("shape", [(4, 8), [4, 8], torch.Size([4, 8])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.bfloat16, "FP32", pypto.DT_FP16])
def test_shapes_and_dtypes(worker, shape, dtype):
    for _ in range(3):
        tensor = worker.alloc_tensor(shape, dtype)
        assert tensor.shape == (4, 8)
        assert tensor.dtype == worker.alloc_tensor((1,), dtype).dtype
        assert tensor.is_alive
        worker.free_tensor(tensor)
        assert not tensor.is_alive


@pytest.mark.parametrize("elements", [256, 1 << 18, 3 << 19])
def test_the_pool_serves_again_without_the_library(worker, elements):
    tensor = worker.alloc_tensor((elements,), torch.float32)
    address = tensor.data_ptr
    worker.free_tensor(tensor)
    counters, held = worker.counters(), worker.memory_info()
    for _ in range(50):
        tensor = worker.alloc_tensor((elements,), torch.float32)
        assert tensor.data_ptr == address
        assert worker.memory_info()["resident"] == held["resident"] + tensor.nbytes
        worker.free_tensor(tensor)
        worker.free_tensor(tensor)
    assert worker.counters() == counters
    assert worker.memory_info() == held


@pytest.mark.parametrize("elements", [64, 1 << 16])
def test_init_of_each_kind_is_uploaded_and_counted(worker, elements):
    warm(worker)
    source = torch.arange(elements, dtype=torch.float32)
    for init in (source, source.numpy(), source.clone().requires_grad_(), source.repeat(2)[:elements]):
        before = worker.counters()
        tensor = worker.alloc_tensor((elements,), torch.float32, init=init)
        assert worker.counters()["h2d_bytes"] == before["h2d_bytes"] + 4 * elements
        assert torch.equal(tensor.to_host(), source)
    strided = np.arange(2 * elements, dtype=np.float32)[::2]
    assert torch.equal(worker.alloc_tensor((elements,), torch.float32, init=strided).to_host(), source * 2)


def test_a_closed_worker_and_a_tensor_of_another_one(worker):
    with ChipWorker(config=RunConfig(platform="a5sim")) as second:
        warm(second)
        foreign = second.alloc_tensor((4,), torch.float32)
        with pytest.raises(ValueError, match="another worker"):
            worker.free_tensor(foreign)
        second.free_tensor(foreign)
    with pytest.raises(RuntimeError, match="closed"):
        second.alloc_tensor((4,), torch.float32)


def test_views_are_not_freed_by_themselves(worker):
    tensor = worker.alloc_tensor((8, 4), torch.float32)
    with pytest.raises(ValueError, match="is a view"):
        worker.free_tensor(tensor[0:4])
    assert tensor.is_alive
