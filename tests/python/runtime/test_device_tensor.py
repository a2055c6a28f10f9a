"""DeviceTensor: attributes, uploads and downloads, views, life."""

import gc
import pickle

import numpy as np
import pytest
import torch

from pypto.runtime import ChipWorker, RunConfig


def test_attributes(worker):
    tensor = worker.alloc_tensor((3, 5), torch.float16)
    assert tensor.shape == (3, 5)
    assert tensor.dtype is torch.float16
    assert tensor.nbytes == 30
    assert tensor.worker is worker
    assert tensor.is_alive
    assert tensor.data_ptr % 64 == 0
    assert hex(tensor.data_ptr) in repr(tensor)
    assert len({tensor, tensor}) == 1
    with pytest.raises(AttributeError):
        tensor.shape = (1,)
    with pytest.raises(TypeError):
        pickle.dumps(tensor)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.bool])
def test_round_trip(worker, dtype):
    source = torch.randint(0, 2, (7, 9)).to(dtype)
    tensor = worker.alloc_tensor((7, 9), dtype, init=source)
    assert torch.equal(tensor.to_host(), source)
    tensor.copy_from_host(1 - source if dtype is not torch.bool else ~source)
    out = torch.empty(7, 9, dtype=dtype)
    assert tensor.to_host(out) is out
    assert tensor.to_host(out=out) is out


def test_init_of_any_kind(worker):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    frozen = values.copy()
    frozen.flags.writeable = False
    for init in (values, frozen, torch.from_numpy(values), torch.from_numpy(values.T.copy()).T):
        assert torch.equal(worker.alloc_tensor((3, 4), torch.float32, init=init).to_host(), torch.from_numpy(values))


@pytest.mark.parametrize("shape", [(), [], (0,), (4, 0), (4, -1)])
def test_bad_shapes(worker, shape):
    with pytest.raises(ValueError, match="shape|dims"):
        worker.alloc_tensor(shape, torch.float32)


@pytest.mark.parametrize("shape", [(1.5,), (True,), ("4",), "44", 4, None])
def test_bad_shape_types(worker, shape):
    with pytest.raises(TypeError, match="shape"):
        worker.alloc_tensor(shape, torch.float32)


@pytest.mark.parametrize("dtype", [None, "float", torch.complex64, torch.float64, int])
def test_bad_dtypes(worker, dtype):
    with pytest.raises(TypeError, match="dtype"):
        worker.alloc_tensor((4,), dtype)


def test_bad_init_leaves_nothing(worker):
    before = worker.memory_info()
    for init in (torch.ones(5), torch.ones(4, dtype=torch.float16), torch.ones(1, 4)):
        with pytest.raises(ValueError, match=r"\[4\]|FP32") as raised:
            worker.alloc_tensor((4,), torch.float32, init=init)
        assert "init" in str(raised.value)
    for init in (torch.ones(4, dtype=torch.float64), np.ones(4)):
        with pytest.raises(ValueError, match=r"float64.*FP32"):
            worker.alloc_tensor((4,), torch.float32, init=init)
    for init in ("text", 4, [1.0, 2.0, 3.0, 4.0]):
        with pytest.raises(TypeError, match="init"):
            worker.alloc_tensor((4,), torch.float32, init=init)
    with pytest.raises(ValueError, match="meta"):
        worker.alloc_tensor((4,), torch.float32, init=torch.ones(4, device="meta"))
    assert worker.memory_info()["resident"] == before["resident"]


def test_huge_shapes_are_out_of_memory_and_the_worker_lives(worker):
    import pypto

    for shape in ((1 << 40,), (1 << 31, 1 << 31), (1 << 62, 4)):
        with pytest.raises((pypto.OutOfDeviceMemoryError, ValueError)):
            worker.alloc_tensor(shape, torch.float32)
    assert worker.alloc_tensor((4,), torch.float32, init=torch.ones(4)).to_host().sum() == 4


def test_free_twice_is_a_no_op(worker, add_program):
    tensor = worker.alloc_tensor((8, 16), torch.float32)
    worker.free_tensor(tensor)
    worker.free_tensor(tensor)
    assert not tensor.is_alive
    assert "freed" in repr(tensor)
    x = torch.ones(8, 16)
    with pytest.raises(ValueError, match=r"'y'.*freed"):
        worker.run(add_program, x, tensor, torch.empty(8, 16))
    for call in (tensor.to_host, lambda: tensor.copy_from_host(x), lambda: tensor[0:2]):
        with pytest.raises(ValueError, match="freed"):
            call()


def test_an_address_used_again_is_another_tensor(worker, add_program):
    first = worker.alloc_tensor((8, 16), torch.float32)
    address = first.data_ptr
    worker.free_tensor(first)
    second = worker.alloc_tensor((8, 16), torch.float32, init=torch.ones(8, 16))
    x = torch.ones(8, 16)
    with pytest.raises(ValueError, match=r"'y'.*freed"):
        worker.run(add_program, x, first, torch.empty(8, 16))
    worker.free_tensor(first)
    assert second.is_alive
    assert torch.equal(second.to_host(), x)
    assert second.data_ptr == address or second.data_ptr != 0


def test_tensors_of_another_worker(worker, add_program):
    with ChipWorker(RunConfig("a5sim")) as other:
        foreign = other.alloc_tensor((8, 16), torch.float32)
        with pytest.raises(ValueError, match=r"."):
            worker.free_tensor(foreign)
        with pytest.raises(ValueError, match=r"'x'.*another worker"):
            worker.run(add_program, foreign, torch.ones(8, 16), torch.empty(8, 16))


def test_row_views(worker, add_program):
    source = torch.randn(10, 16)
    base = worker.alloc_tensor((10, 16), torch.float32, init=source)
    view = base[2:6]
    assert view.shape == (4, 16)
    assert view.data_ptr == base.data_ptr + 2 * 64
    assert torch.equal(view.to_host(), source[2:6])
    out = torch.empty(4, 16)
    worker.run(add_program, view, base[6:], out)
    assert torch.equal(out, source[2:6] + source[6:])
    with pytest.raises(ValueError, match="view"):
        worker.free_tensor(view)
    with pytest.raises(TypeError, match="rows"):
        base[3]
    with pytest.raises(TypeError, match="rows"):
        base[::2]
    with pytest.raises(ValueError, match=r"."):
        base[5:5]
    worker.free_tensor(base)
    assert not view.is_alive
    with pytest.raises(ValueError, match="freed"):
        view.to_host()


def test_a_view_keeps_its_base(worker):
    base = worker.alloc_tensor((10, 16), torch.float32, init=torch.ones(10, 16))
    held = worker.memory_info()["resident"]
    view = base[0:1]
    del base
    gc.collect()
    assert worker.memory_info()["resident"] == held
    assert torch.equal(view.to_host(), torch.ones(1, 16))
    del view
    gc.collect()
    assert worker.memory_info()["resident"] == held - 640


def test_dropping_the_last_reference_frees(worker):
    before = worker.memory_info()["resident"]
    for _ in range(100):
        worker.alloc_tensor((64, 64), torch.float32)
    gc.collect()
    assert worker.memory_info()["resident"] == before


def test_copies_check_shape_and_dtype(worker):
    tensor = worker.alloc_tensor((4, 4), torch.float32)
    for source in (torch.ones(4, 5), torch.ones(16), torch.ones(4, 4, dtype=torch.float16)):
        with pytest.raises(ValueError, match=r"."):
            tensor.copy_from_host(source)
        with pytest.raises(ValueError, match=r"."):
            tensor.to_host(source)
    with pytest.raises(ValueError, match="contiguous"):
        tensor.to_host(torch.empty(4, 8)[:, ::2])
    with pytest.raises(TypeError):
        tensor.to_host(1, 2)


def test_numpy_is_refused_rather_than_given_an_array_of_one_object(worker):
    tensor = worker.alloc_tensor((4, 4), torch.float32)
    for convert in (np.asarray, np.array, lambda value: np.add(value, 1)):
        with pytest.raises(TypeError, match=r"<DeviceTensor \[4, 4\] FP32 at 0x.*> lies on the device .* call to_host"):
            convert(tensor)
