"""What makes a kernel compile again: captured values, helpers, scalars, static dims, dtypes, options."""

import dataclasses
import enum
import types

import pytest
from frontend_samples import Sample

import pypto
from pypto.frontend.kernels import kernel as kernel_module
from pypto.frontend.kernels.captures import value_key

FP32 = pypto.DT_FP32
T = pypto.Tensor
SCALE = 2.0
TABLE = [1, 2]
HELPER_OFFSET = 1


def helper(x):
    return x + HELPER_OFFSET


@pytest.fixture(autouse=True)
def _dispatched(monkeypatch):
    """Direct calls reach a stand-in of the runtime; the images are kept."""
    images: list = []
    runtime = types.ModuleType("pypto.runtime")
    runtime.dispatch_kernel = lambda image, args: images.append((image, args))
    runtime.default_platform = lambda: "a2a3sim"
    monkeypatch.setitem(__import__("sys").modules, "pypto.runtime", runtime)
    monkeypatch.setattr(pypto, "runtime", runtime, raising=False)
    return images


def misses(kernel) -> int:
    return kernel.cache_info().misses


def test_hits_and_misses(_dispatched):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, pypto.STATIC]), scale):
        x[0:4] = x[0:4] * scale

    x = Sample((8, 4))
    assert kernel(x, 2) is None
    kernel(x, 2)
    kernel(Sample((99, 4)), 2)  # a dynamic dim
    assert kernel.cache_info() == (2, 1, 512, 1)
    kernel(Sample((8, 5)), 2)
    kernel(Sample((8, 4), "float16"), 2)
    kernel(x, 3)
    kernel(x, 2.0)
    kernel(x, True)
    assert kernel.cache_info().misses == 6
    assert [args for _, args in _dispatched][:2] == [(x,), (x,)]
    kernel.cache_clear()
    assert kernel.cache_info() == (0, 0, 512, 0)


def test_captured_locals_and_globals(monkeypatch):
    factor = 2

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        x[:] = helper(x * factor * SCALE + TABLE[0])

    x = Sample((4,))
    kernel(x)
    kernel(x)
    assert misses(kernel) == 1
    factor = 3
    kernel(x)
    assert misses(kernel) == 2
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    kernel(x)
    assert misses(kernel) == 3
    TABLE[0] = 7
    kernel(x)
    TABLE[0] = 1
    kernel(x)
    assert misses(kernel) == 4
    monkeypatch.setitem(globals(), "HELPER_OFFSET", 5)
    kernel(x)
    assert misses(kernel) == 5


def test_globals_that_the_kernel_does_not_read():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        x[:] = x * 2

    kernel(Sample((4,)))
    globals()["UNREAD"] = 3
    kernel(Sample((4,)))
    assert misses(kernel) == 1


def test_values_inside_modules_of_the_user(monkeypatch):
    module = types.ModuleType("user_settings")
    module.TILE = 4
    monkeypatch.setitem(globals(), "user_settings", module)

    @pypto.frontend.jit
    def kernel(x: T([8], FP32)):
        x[0 : user_settings.TILE] = x[0 : user_settings.TILE] * 2  # noqa: F821

    kernel(Sample((8,)))
    module.TILE = 5
    kernel(Sample((8,)))
    assert misses(kernel) == 2


def test_redefined_helper(monkeypatch):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        x[:] = helper(x)

    kernel(Sample((4,)))

    def other(x):
        return x + HELPER_OFFSET + 1

    monkeypatch.setitem(globals(), "helper", other)
    kernel(Sample((4,)))
    assert misses(kernel) == 2


def test_options_and_tiles():
    group = {"stitch_function_max_num": 64}
    kernel = pypto.frontend.jit(runtime_options=group)(lambda_free_kernel())
    kernel(Sample((4,)))
    group["stitch_function_max_num"] = 32
    kernel(Sample((4,)))
    assert misses(kernel) == 2

    import contextvars

    def body():
        pypto.set_vec_tile_shapes(2)
        kernel(Sample((4,)))

    contextvars.copy_context().run(body)
    assert misses(kernel) == 3
    kernel(Sample((4,)))
    assert misses(kernel) == 3


def lambda_free_kernel():
    def kernel(x: T([4], FP32)):
        x[:] = x * 2

    return kernel


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(kernel_module, "MAX_CACHED", 3)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), scale):
        x[:] = x * scale

    for scale in (1, 2, 3, 1, 4, 1, 2):  # 2 goes when 4 comes: it was used longest ago
        kernel(Sample((4,)), scale)
    assert kernel.cache_info() == (2, 5, 3, 3)


def test_failed_compilations_are_not_kept():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), y: T([pypto.STATIC], FP32)):
        x[:] = x + y

    with pytest.raises(ValueError, match="do not broadcast"):
        kernel(Sample((4,)), Sample((3,)))
    kernel(Sample((4,)), Sample((4,)))
    assert kernel.cache_info() == (0, 2, 512, 1)


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Settings:
    tile: int
    names: list


class Plain:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", b"a"),
        ([1], (1,)),
        ([1, 2], [2, 1]),
        ({1: 2}, {1: 3}),
        ({1}, {2}),
        (Settings(1, ["a"]), Settings(1, ["b"])),
        (Plain(1), Plain(2)),
        (None, False),
        (Color.RED, 1),
    ],
)
def test_different_values(a, b):
    assert value_key(a) != value_key(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Settings(1, ["a"]), Settings(1, ["a"])),
        (Plain([1, {"k": 2.5}]), Plain([1, {"k": 2.5}])),
        (Color.RED, Color.RED),
        (float("nan"), float("nan")),
        ({"a": [1]}, {"a": [1]}),
    ],
)
def test_equal_values(a, b):
    assert value_key(a) == value_key(b)
    assert hash(value_key(a)) == hash(value_key(b))


def test_cycles_and_opaque_objects():
    cycle: list = [1]
    cycle.append(cycle)
    assert value_key(cycle) == value_key(cycle)
    assert value_key(object()) != value_key(object())
    assert value_key(int) == value_key(int)
