"""Direct calls of a kernel: what makes it compile again, and which calls the core takes by itself."""

import contextlib
import gc
import types
import weakref

import numpy
import pytest
import torch

import pypto

FP32 = pypto.DT_FP32
T = pypto.Tensor
SCALE = 2.0
OFFSETS = [1.0, 2.0]


@pytest.fixture
def small():
    """x, out of four numbers."""
    return torch.arange(4.0), torch.zeros(4)


def shifted(x):
    return x + OFFSETS[0]


@pypto.frontend.jit
def scaled(x: T([4], FP32), out: T([4], FP32), factor=1.0):
    out[:] = shifted(x * SCALE * factor)


@pypto.frontend.jit
def rows(x: T([pypto.DYNAMIC, pypto.STATIC], FP32), out: T([pypto.DYNAMIC, pypto.STATIC], FP32)):
    for i in pypto.loop(0, x.shape[0], 4):
        out[i : i + 4, :] = x[i : i + 4, :] + x[i : i + 4, :]


def test_captured_values_and_options_are_looked_at_in_each_call(worker, small, monkeypatch):
    x, out = small

    def check(factor: float, compiled: int) -> None:
        for _ in range(2):
            scaled(x, out, factor)
            assert torch.equal(out, x * SCALE * factor + OFFSETS[0])
        assert scaled.cache_info().misses == compiled

    scaled.cache_clear()
    check(1.0, 1)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    check(1.0, 2)
    OFFSETS[0] = 7.0
    check(1.0, 3)
    OFFSETS[0] = 1.0
    check(1.0, 3)  # as it was
    monkeypatch.setitem(globals(), "shifted", lambda_free_shift())
    scaled(x, out)
    assert torch.equal(out, x * SCALE + 100)
    monkeypatch.undo()
    scaled(x, out)
    assert torch.equal(out, x * 2 + 1)


def lambda_free_shift():
    def shifted(x):
        return x + 100.0

    return shifted


def test_a_captured_local_is_looked_at_in_each_call(worker, small):
    x, out = small
    factor = 2.0

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * factor

    for factor in (2.0, 2.0, 3.0, 3.0, 2.0):  # noqa: B007
        kernel(x, out)
        assert torch.equal(out, x * factor)
    assert kernel.cache_info()[:2] == (3, 2)


def test_values_inside_modules_are_looked_at_in_each_call(worker, small, monkeypatch):
    module = types.ModuleType("user_settings")
    module.FACTOR = 4.0
    monkeypatch.setitem(globals(), "user_settings", module)
    x, out = small

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * user_settings.FACTOR  # noqa: F821

    for factor in (4.0, 4.0, 5.0, 5.0):
        module.FACTOR = factor
        kernel(x, out)
        assert torch.equal(out, x * factor)
    other = types.ModuleType("user_settings")
    other.FACTOR = 6.0
    monkeypatch.setitem(globals(), "user_settings", other)
    kernel(x, out)
    assert torch.equal(out, x * 6)


@pytest.mark.parametrize("held", [{"a": 2.0}, [2.0], (2.0, [1])])
def test_captured_containers_are_compared_in_each_call(worker, small, held):
    x, out = small
    key = "a" if isinstance(held, dict) else 0

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * held[key]

    kernel(x, out)
    kernel(x, out)
    assert kernel._known_hits == 1
    if isinstance(held, tuple):
        held[1].append(2)
    else:
        held[key] = 3.0
    kernel(x, out)
    assert torch.equal(out, x * held[key])
    assert kernel.cache_info().misses == 2


class Settings:
    """A class of the user."""

    factor = 2.0


def test_captured_objects_are_compared_in_each_call(worker, small):
    settings = Settings()
    x, out = small

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * settings.factor

    for factor in (2.0, 2.0, 3.0):
        settings.factor = factor
        kernel(x, out)
        assert torch.equal(out, x * factor)
    assert kernel._known_hits == 1
    assert kernel.cache_info()[:2] == (1, 2)


def test_options_in_force_are_looked_at_in_each_call(worker, small):
    group = {"stitch_function_max_num": 64}
    kernel = pypto.frontend.jit(runtime_options=group)(scaled.function)
    kernel(*small)
    kernel(*small)
    assert kernel._known_hits == 1
    group["stitch_function_max_num"] = 32
    kernel(*small)
    assert kernel.cache_info().misses == 2
    with pypto.options(vec_tile_shapes=[2]):
        kernel(*small)
        kernel(*small)
        assert kernel.cache_info().misses == 3
    kernel(*small)
    kernel(*small)
    assert kernel.cache_info().misses == 3
    group["run_mode"] = 7
    with pytest.raises(ValueError, match="Invalid run mode 7"):
        kernel(*small)


def test_scalars_count_by_type_and_value(worker, small):
    x, out = small
    scaled.cache_clear()
    values = (1.0, 1, True, 2.0, 10**20 / 10**20, -0.0, 0.0, 0, float("nan"))
    for _ in range(3):
        for value in values:
            scaled(x, out, value)
            expected = x * SCALE * value + OFFSETS[0]
            assert torch.equal(out, expected) or out.isnan().all()
    assert scaled.cache_info().misses == 8  # 1.0 is there twice
    scaled(x, out, factor=1.0)
    scaled(x, out, factor=1.0)
    assert scaled.cache_info().misses == 8
    for arguments, keywords, text in (
        ((x,), {}, "Expected at least 2"),
        ((x, out, 1.0, 2.0), {}, "Too many positional"),
        ((x, out), {"other": 1.0}, "Unknown keyword"),
        ((x, out, x), {}, "must not be a torch.Tensor"),
        ((x, out, 1.0), {"factor": 2.0}, "given twice"),
    ):
        with pytest.raises(pypto.FeError, match=text):
            scaled(*arguments, **keywords)


def test_dims_and_dtypes_count_where_they_are_static(worker):
    rows.cache_clear()

    def run(*shape: int) -> None:
        x = torch.randn(shape)
        out = torch.zeros(shape)
        rows(x, out)
        assert torch.equal(out, x + x)

    for height in (1, 5, 9, 1):
        run(height, 8)
    assert rows.cache_info()[:2] == (3, 1)
    assert rows._known_hits == 3
    run(5, 9)
    run(6, 9)
    assert rows.cache_info().misses == 2
    with pytest.raises(pypto.FeError, match="does not match the dtype"):
        rows(torch.zeros(5, 8, dtype=torch.float16), torch.zeros(5, 8))
    with pytest.raises(pypto.FeError, match="number of dimensions"):
        rows(torch.zeros(5, 8, 1), torch.zeros(5, 8))


def test_other_tensors_go_through_python(worker, small):
    x, out = small
    scaled.cache_clear()
    scaled(x, out)
    scaled(numpy.arange(4, dtype=numpy.float32), out)
    assert torch.equal(out, x * 2 + 1)
    strided = torch.stack([x, x], dim=1)[:, 0]
    scaled(strided, out)
    assert torch.equal(out, x * 2 + 1)
    with pytest.raises(ValueError, match="contiguous"):
        scaled(x, torch.zeros(4, 2)[:, 0])
    assert scaled._known_hits == 0


def test_forgotten_programs_leave_the_device(worker, small):
    before = worker.memory_info()["programs"]

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * 5.0

    kernel(*small)
    kernel(*small)
    assert worker.memory_info()["programs"] > before
    kernel.cache_clear()
    assert kernel.cache_info()[:2] == (0, 0)
    gc.collect()
    assert worker.memory_info()["programs"] == before
    assert worker.counters()["program_unloads"] == 1


def test_more_situations_than_are_kept(worker, small):
    scaled.cache_clear()
    for _ in range(2):
        for extent in range(1, 13):
            with pypto.options(vec_tile_shapes=[extent]):
                scaled(*small)
                assert torch.equal(small[1], small[0] * 2 + 1)
    assert scaled.cache_info()[:2] == (12, 12)
    for factor in range(100):
        scaled(*small, factor)
    scaled(*small, 0)
    assert torch.equal(small[1], torch.ones(4))


def test_a_kernel_and_its_program_are_collected(worker, small):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        if kernel is not None:  # noqa: F821  captures itself
            out[:] = x + 1.0

    with contextlib.suppress(pypto.PyptoError):
        kernel(*small)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None
