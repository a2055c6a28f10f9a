"""Methods of the user that do not give what Python asks of them, in kernels as in Python."""

import pytest
import torch

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor


class Broken:
    def __str__(self):
        return 1  # noqa: PLE0307

    def __bool__(self):
        return 1  # noqa: PLE0304

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration

    def __getattr__(self, name):
        raise AttributeError(f"no attribute {name}")


broken = Broken()


def fails(body, error, text):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * body(broken)

    with pytest.raises(error, match=text):
        body(broken)
    with pytest.raises(pypto.PyptoError, match=text):
        kernel(torch.ones(4), torch.empty(4))


def test_texts_that_are_none():
    fails(lambda held: len(str(held)), TypeError, r"__str__ returned non-string \(type int\)")


def test_truth_that_is_a_number():
    fails(lambda held: 1.0 if held else 2.0, TypeError, "__bool__ should return bool, returned int")


def test_attributes_that_are_not_there():
    fails(lambda held: held.size, AttributeError, "no attribute size")
    fails(lambda held: getattr(held, "size"), AttributeError, "no attribute size")  # noqa: B009


def test_iterators_that_have_ended():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * (3.0 if next(broken, None) is None else next(broken))

    out = torch.empty(4)
    kernel(torch.ones(4), out)
    assert out[0] == 3

    @pypto.frontend.jit
    def ended(x: T([4], FP32), out: T([4], FP32)):
        out[:] = x * next(broken)

    with pytest.raises(pypto.PyptoError, match="StopIteration"):
        ended(torch.ones(4), out)
