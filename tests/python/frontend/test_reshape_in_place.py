"""`reshape(inplace=True)` shares storage in both directions; a plain reshape is a value."""

import pytest
import torch
from frontend_samples import refuse

import pypto

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
T = pypto.Tensor


def test_writes_are_seen_in_both_directions():
    @pypto.frontend.jit
    def kernel(cache: T([4, 3, 8], FP32), x: T([2, 8], FP32), out: T([3, 8], FP32)):
        rows = pypto.reshape(cache, [12, 8], inplace=True)
        rows[2:4] = x
        cache[3, 0:1] = x[1:2] * 2
        out[0:2] = cache[0, 1:3] + rows[9:11]
        out[2:3] = rows[3:4]

    cache, x, out = torch.randn(4, 3, 8), torch.randn(2, 8), torch.zeros(3, 8)
    expected = cache.clone()
    expected.view(12, 8)[2:4] = x
    expected[3, 0] = x[1] * 2
    kernel(cache, x, out)
    assert torch.equal(cache, expected)
    rows = expected.view(12, 8)
    assert torch.equal(out[0:2], expected[0, 1:3] + rows[9:11])
    assert torch.equal(out[2], rows[3])


@pytest.mark.parametrize("pages", [1, 3, 5])
def test_a_cache_of_dynamic_size_is_written_at_read_slots(pages):
    @pypto.frontend.jit
    def kernel(cache: T([pypto.DYN, 4, 8], FP32), slots: T([3], INT32), x: T([3, 8], FP32)):
        rows = pypto.reshape(cache, [-1, 8], inplace=True)
        for i in pypto.loop(3):
            at = slots[i]
            rows[at : at + 1] = x[i : i + 1]

    cache, x = torch.randn(pages, 4, 8), torch.randn(3, 8)
    slots = torch.tensor([3, 0, pages * 4 - 1], dtype=torch.int32)
    expected = cache.clone()
    expected.view(-1, 8)[slots.long()] = x
    kernel(cache, slots, x)
    assert torch.equal(cache, expected)


def test_a_value_becomes_storage():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([16], FP32)):
        y = x + 1
        flat = y.reshape([16], inplace=True)
        for i in pypto.loop(4):
            y[i : i + 1, :] = y[i : i + 1, :] * i
        flat[0:1] = flat[15:16]
        out[:] = flat

    x, out = torch.randn(4, 4), torch.zeros(16)
    kernel(x, out)
    expected = ((x + 1) * torch.arange(4.0)[:, None]).reshape(16)
    expected[0] = expected[15]
    assert torch.equal(out, expected)


def test_a_whole_write_through_another_shape():
    @pypto.frontend.jit
    def kernel(x: T([16], FP32), out: T([4, 4], FP32)):
        flat = pypto.reshape(out, [16], inplace=True)
        flat[:] = x * 2
        out[0:1] = out[1:2] + 1

    x, out = torch.randn(16), torch.zeros(4, 4)
    kernel(x, out)
    expected = (x * 2).reshape(4, 4)
    expected[0] = expected[1] + 1
    assert torch.equal(out, expected)


def test_slices_of_it_are_values_at_their_place():
    @pypto.frontend.jit
    def kernel(x: T([4, 4], FP32), out: T([4, 4], FP32)):
        flat = pypto.reshape(x, [16], inplace=True)
        before = flat[0:4]
        x[0:1] = x[1:2]
        out[0] = before
        out[1] = flat[0:4]

    x, out = torch.randn(4, 4), torch.zeros(4, 4)
    expected = torch.stack([x[0], x[1], torch.zeros(4), torch.zeros(4)])
    kernel(x, out)
    assert torch.equal(out, expected)


def test_a_plain_reshape_of_part_of_a_tensor_fills_the_holes_with_zeros():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 6], FP32), out: T([48], FP32), boxes: T([2, 24], FP32)):
        tail = x[0:8, 0:6]
        narrow = pypto.view(tail, [8, 6], [0, 2])
        out[:] = pypto.reshape(narrow, [48]) + 1
        boxes[:] = pypto.reshape(tail, [2, 24])

    for rows in (0, 3, 8):
        x, out, boxes = torch.randn(rows, 6), torch.zeros(48), torch.full((2, 24), -1.0)
        kernel(x, out, boxes)
        holes = torch.zeros(8, 6)
        holes[:rows, :4] = x[:, 2:]
        assert torch.equal(out, holes.reshape(48) + 1)
        whole = torch.zeros(8, 6)
        whole[:rows] = x
        assert torch.equal(boxes, whole.reshape(2, 24))


def test_refusals():
    @pypto.frontend.jit
    def derived(x: T([pypto.DYN, 4], FP32)):
        part = x[0:8]
        y = pypto.reshape(part, [32], inplace=True)
        x[0:8] = y.reshape([8, 4])

    @pypto.frontend.jit
    def count(x: T([4, 4], FP32)):
        y = pypto.reshape(x, [15], inplace=True)
        y[:] = y + 1

    @pypto.frontend.jit
    def symbolic(x: T([pypto.DYN, 4], FP32), out: T([4], FP32)):
        out[:] = pypto.reshape(x[0:1], [x.shape[0]])

    refuse(derived, "pypto.reshape(part", "not supported for tensors derived from dynamic view")
    refuse(count, "pypto.reshape(x, [15]", "[4, 4] into [15]: the element counts are not known to agree")
    refuse(symbolic, "pypto.reshape(x[0:1]", "requires integer shape when using non-inplace reshape")
