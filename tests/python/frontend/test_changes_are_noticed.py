"""What a kernel has read changes: it is compiled anew. Nothing changes: the same compilation."""

import enum
import os
import types
from os import getenv

import pytest
import torch
from changed_containers import KINDS as CONTAINERS
from changed_things import KINDS as OBJECTS
from changed_things import enum_of

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor
KINDS = OBJECTS | CONTAINERS
CASES = [(kind, name) for kind, cases in KINDS.items() for name in cases]


def kernel_of(read, held):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * float(read(held))

    return kernel


def result(kernel):
    out = torch.empty(4)
    kernel(torch.ones(4), out)
    assert out.eq(out[0]).all()
    return float(out[0])


@pytest.mark.parametrize("kept", [False, True], ids=["", "images are kept"])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_change(kind, name, kept, tmp_path, monkeypatch):
    if kept:
        monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path))
    make, read, change = KINDS[kind][name]
    held = make()
    kernel = kernel_of(read, held)
    before = float(read(held))
    assert [result(kernel) for _ in range(4)] == pytest.approx([before] * 4)
    assert kernel.cache_info().misses == 1
    assert kernel._known_hits == 3
    change(held)
    after = float(read(held))
    assert after != before
    assert [result(kernel) for _ in range(4)] == pytest.approx([after] * 4)
    assert kernel.cache_info().misses == 2


lazy = types.ModuleType("lazy_module_of_a_test")
lazy.held = 2
lazy.__getattr__ = lambda name: lazy.held


def changed_between(read, change):
    kernel = kernel_of(lambda held: held(), read)
    for _ in range(2):
        assert [result(kernel) for _ in range(2)] == [float(read())] * 2
        change()


def test_modules_that_make_their_attributes():
    changed_between(lambda: lazy.anything, lambda: setattr(lazy, "held", 3))
    changed_between(lambda: lazy.another, lambda: setattr(lazy, "another", 4))


@pytest.mark.parametrize("kept", [False, True], ids=["", "images are kept"])
def test_settings_of_the_process(kept, tmp_path, monkeypatch):
    if kept:
        monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBER_OF_A_TEST", "2")
    change = lambda: monkeypatch.setenv("NUMBER_OF_A_TEST", "3")  # noqa: E731
    changed_between(lambda: int(os.environ["NUMBER_OF_A_TEST"]), change)
    changed_between(lambda: int(os.getenv("NUMBER_OF_A_TEST")), lambda: monkeypatch.setenv("NUMBER_OF_A_TEST", "4"))
    changed_between(lambda: int(getenv("NUMBER_OF_A_TEST")), lambda: monkeypatch.setenv("NUMBER_OF_A_TEST", "5"))
    with torch.enable_grad():
        changed_between(lambda: torch.is_grad_enabled() + 1, lambda: torch.set_grad_enabled(False))
    changed_between(
        lambda: float(torch.mm(torch.full((1, 1), 257.0), torch.ones(1, 1))),
        lambda: torch.set_autocast_enabled("cpu", True),
    )
    torch.set_autocast_enabled("cpu", False)


def test_what_nothing_tells_of_is_read_in_each_call():
    import ctypes

    pointer = ctypes.pointer(ctypes.c_int(2))
    kernel = kernel_of(lambda held: held[0], pointer)
    assert result(kernel) == 2
    pointer.contents.value = 3
    assert result(kernel) == 3


def test_combinations_of_flags_that_are_made_later_change_nothing():
    flags = enum_of(enum.Flag, 1, 2)
    kernel = kernel_of(lambda held: held.X.value, flags)
    assert result(kernel) == 1
    assert (flags.X | flags.Y).value == 3
    assert result(kernel) == result(kernel) == 1
    assert kernel.cache_info().misses == 1
    assert kernel._known_hits == 2


def test_members_as_arguments():
    mode = enum_of()

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), by):
        out[:] = x * float(by.value)

    def call(by):
        out = torch.empty(4)
        kernel(torch.ones(4), out, by)
        return float(out[0])

    assert [call(each) for each in (mode.X, mode.Y, mode.X, mode.Y)] == [2, 3, 2, 3]
    assert (kernel.cache_info().misses, kernel._known_hits) == (2, 2)
    mode.X._value_ = 7
    assert [call(each) for each in (mode.X, mode.Y, mode.X)] == [7, 3, 7]


def test_what_one_call_reads_counts_where_another_call_reads_nothing():
    table = torch.tensor([2.0])

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), reads):
        out[:] = x * (float(table[0]) if reads else 1.0)

    def call(reads):
        out = torch.empty(4)
        kernel(torch.ones(4), out, reads)
        return float(out[0])

    assert [call(each) for each in (False, True, False, True)] == [1, 2, 1, 2]
    table.data.fill_(3.0)
    assert [call(each) for each in (False, True, False, True)] == [1, 3, 1, 3]
    for number in range(20):  # the calls that are remembered do not pile up
        table.data.fill_(float(number))
        assert call(True) == number
