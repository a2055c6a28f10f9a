"""What a trace has changed and cannot give back: the kernel is refused, and others are made as before."""

import array
import contextlib
import io
import mmap

import pytest
import torch

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor


def kernel_of(read, held):
    """Its first trace starts over: it finds out that `found` is None on one path."""

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), n: T([1], pypto.DT_INT32)):
        number = read(held)
        found = None
        if n[0] > 0:
            found = n[0]
        if found is None:
            out[:] = x
        else:
            out[:] = x * float(number)

    return kernel


def result(kernel):
    out = torch.empty(4)
    kernel(torch.ones(4), out, torch.ones(1, dtype=torch.int32))
    return float(out[0])


def position_moves(held):
    return held.read_byte() + 3


def test_memory_that_is_read_only():
    held = mmap.mmap(-1, 10, access=mmap.ACCESS_READ)
    assert result(kernel_of(position_moves, held)) == 3
    assert held.tell() == 1


def grows(held):
    held.append(1)
    return len(held)


def grows_and_is_lent(held):
    held[0].append(1)
    held.append(memoryview(held[0]))
    return len(held[0])


def is_written(held):
    held[0][0] += 1
    return held[1][0]


def is_closed(held):
    held.close()
    return 1


SHOWN = bytearray(4)
CHANGES = {
    "lent bytes": (lambda: [bytearray(4)], grows_and_is_lent),
    "lent array": (lambda: [array.array("i", [1])], grows_and_is_lent),
    "view that is read only": (lambda: [SHOWN, memoryview(SHOWN).toreadonly()], is_written),
    "stream": (lambda: io.StringIO("a"), is_closed),
    "memory": (lambda: mmap.mmap(-1, 10), is_closed),
}


@pytest.mark.parametrize("name", CHANGES)
def test_others_are_made_as_before(name):
    make, read = CHANGES[name]
    with contextlib.suppress(pypto.PyptoError):
        result(kernel_of(read, make()))
    assert result(kernel_of(len, [1, 2])) == 2


def test_what_raises_an_error_when_it_is_put_back():
    class Meta(type):
        def __setattr__(cls, name, value):
            if value == 1:
                raise ValueError("fixed")
            super().__setattr__(name, value)

    class Counted(metaclass=Meta):
        count = 1

    def counts(held):
        held.count = 5
        return 1

    with pytest.raises(pypto.PyptoError, match="cannot be given back"):
        result(kernel_of(counts, Counted))
    assert result(kernel_of(len, [1, 2])) == 2
