"""Index rules of reads and writes, against NumPy's index arithmetic and against the listing of the program."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto
from pypto import ir
from pypto.frontend.catalogue.indexing import resolve

FP32 = pypto.DT_FP32
T = pypto.Tensor


@st.composite
def shapes_and_keys(draw):
    """A shape, and a key of ints, slices inside the dims and at most one `...`."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    entries = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.booleans()):
            entries.append(draw(st.integers(-size, size - 1)))
            continue
        start = draw(st.integers(0, size - 1))
        stop = draw(st.integers(start + 1, size))
        low = draw(st.sampled_from([start, start - size] + ([None] if start == 0 else [])))
        high = draw(st.sampled_from([stop] + ([None] if stop == size else [stop - size])))
        entries.append(slice(low, high, draw(st.sampled_from([None, 1]))))
    position = draw(st.integers(0, len(entries)))
    if draw(st.booleans()):
        tail = len(entries) - position
        fitted = []  # entries behind the ellipsis index the last dims
        for size in shape[len(shape) - tail :]:
            fitted.append(draw(st.integers(-size, size - 1)))
        entries = [*entries[:position], Ellipsis, *fitted]
    key = tuple(entries)
    return tuple(shape), key[0] if len(key) == 1 and draw(st.booleans()) else key


@given(shapes_and_keys())
def test_reads_select_what_numpy_selects(case):
    shape, key = case
    source = np.arange(np.prod(shape)).reshape(shape)
    indices = resolve(key, list(shape))
    window, kept = [], []
    for index, size in zip(indices, shape, strict=True):
        start = 0 if index.start is None else index.start
        stop = start + 1 if index.is_integer else (size if index.stop is None else index.stop)
        window.append(slice(start, stop))
        if not index.is_integer:
            kept.append(stop - start)
    np.testing.assert_array_equal(source[tuple(window)].reshape(kept), source[key])


@pytest.mark.parametrize(
    ("shape", "key", "kind", "text"),
    [
        ((4, 4), (0, 0, 0), IndexError, "rank not match, expect 2, but got 3"),
        ((4, 4), (..., ...), IndexError, "one `...` at most"),
        ((4, 4), (slice(0, 4, 2),), ValueError, "step must be 1 or None, got 2"),
        ((4, 4), (slice(3, None, -1),), ValueError, "step must be 1 or None, got -1"),
        ((4, 4), "a", TypeError, "Invalid key type str"),
        ((4, 4), True, TypeError, "Invalid key type bool"),
        ((4, 4), (0, None), TypeError, "tuple key must be int, SymbolicScalar or slice, got NoneType"),
        ((4, 4), (0, [1]), TypeError, "tuple key must be int, SymbolicScalar or slice, got list"),
        ((4, 4), (0, 1.5), TypeError, "tuple key must be int, SymbolicScalar or slice, got float"),
        ((4, 4), -5, IndexError, "index -5 is out of range for a dim of 4"),
        ((4, 4), slice(-5, None), IndexError, "index -5 is out of range for a dim of 4"),
        ((4, 4), slice("a", None), TypeError, "the start of a slice must be int or SymbolicScalar, got str"),
    ],
)
def test_wrong_keys(shape, key, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        resolve(key, list(shape))


def listing(body, shape=(8, 4, 6), dtype=FP32) -> str:
    """Statements of a kernel whose body is `body(x, y)`."""

    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, *shape[1:]], dtype), y: T([*shape], dtype), z: T([shape[0] * 2, 16], dtype)):
        body(x, y, z)

    return kernel.to_text()


def test_integers_drop_their_dim():
    def body(x, y, z):
        assert y[0].shape == [4, 6]
        assert y[:, 1].shape == [8, 6]
        assert y[-1, :, 2].shape == [4]
        assert y[..., 3].shape == [8, 4]
        assert y[2:3, 1:4, ...].shape == [1, 3, 6]
        assert y[0:100].shape == [100, 4, 6]
        assert y[0:100].valid_shape == [8, 4, 6]
        assert y[9].valid_shape == [0, 6]

    text = listing(body)
    assert "offsets=[7, 0, 2]) : FP32[1, 4, 1]" in text


def test_symbolic_offsets_and_static_extents():
    def body(x, y, z):
        for i in pypto.loop(0, x.shape[0], 8):
            part = x[i : i + 8, i : i * 1 + 2, -2:]
            assert part.shape == [8, 2, 2]
            rest = x[i * 2 - 8 : (i - 4) * 2 + 3]
            assert rest.shape == [3, 4, 6]

    assert "offsets=[i0, i0, 4]) : FP32[8, 2, 2]" in listing(body)


def test_negative_index_of_a_dynamic_dim():
    def body(x, y, z):
        assert x[-2:].shape == [2, 4, 6]

    assert "offsets=[(x_0-2), 0, 0]) : FP32[2, 4, 6]" in listing(body)


def expect_error(body, kind, text):
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4, 6], FP32), y: T([8, 4, 6], FP32), z: T([16, 16], FP32)):
        body(x, y, z)

    with pytest.raises(kind, match=text) as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, pypto.CompileError)
    assert caught.value.lineno == body.__code__.co_firstlineno + 1


def test_extents_must_be_static_and_positive():
    def dynamic(x, y, z):
        return x[0 : x.shape[0]]

    def whole_dynamic(x, y, z):
        return x[:, 0]

    def empty(x, y, z):
        return y[3:3]

    def scalar(x, y, z):
        return y[0, 0, 0]

    expect_error(
        dynamic,
        ValueError,
        r"extent of dim 0 of a slice must be static, stop - start is RUNTIME_GetInputShapeDim\(ARG_x,0\)",
    )
    expect_error(whole_dynamic, ValueError, "must be static")
    expect_error(empty, ValueError, "must be positive, stop - start is 0")
    expect_error(scalar, TypeError, r"read a \[1\] slice instead")


def writes(body) -> list[str]:
    return re.findall(r"assemble\(%\d+\S*, (\[.*?\]), %\d+:(\w+)\)", listing(body))


def test_writes_assemble_at_the_starts():
    def body(x, y, z):
        part = y[0:2, 0:3, 0:4] * 1
        y[1:3, 1:, 2:] = part
        y[:2, :3, :6] = y[0:2, 0:3] * 1  # a slice with only a stop: the elements before the stop
        y[:8, :4, :6] = part
        for i in pypto.loop(4):
            x[i, 1:4, 2] = y[0, 0:3, 0]
            x[:i, 0, 0] = y[0:2, 0, 0]
            x[i:, 0, 0] = y[0:2, 0, 0]

    assert writes(body) == [
        ("[1, 1, 2]", "y"),
        ("[0, 0, 0]", "y"),
        ("[6, 1, 2]", "y"),
        ("[i0, 1, 2]", "x"),
        ("[(i0-2), 0, 0]", "x"),
        ("[i0, 0, 0]", "x"),
    ]


def test_values_with_ones_at_integer_positions():
    def body(x, y, z):
        y[3, 0:2, 5] = y[0:1, 0:2, 0:1] * 1
        y[3, 0:2, 5] = y[0, 0:2, 0] * 1
        y[3, 1, 5] = y[0:1, 0, 0] * 1

    assert writes(body) == [("[3, 0, 5]", "y"), ("[3, 0, 5]", "y"), ("[3, 1, 5]", "y")]


def test_numbers_fill_the_region():
    def body(x, y, z):
        y[1:3, 2] = 1.5
        y[...] = 0
        for i in pypto.loop(4):
            x[i] = i

    text = listing(body)
    assert "full(1.5) : FP32[2, 1, 6]" in text
    assert re.search(r"%(\d+) = full\(0\) : FP32\[8, 4, 6\].*\n *%1:y\[:\] = %\1", text)
    assert "full(i0) : FP32[1, 4, 6]" in text


def test_whole_writes_move():
    def body(x, y, z):
        y[:] = y + 1
        y[...] = y + 2
        y[:, :, :] = y + 3
        y.move(y + 4)

    text = listing(body)
    assert len(re.findall(r"%1:y\[:\] = ", text)) == 4
    assert "assemble" not in text


def test_write_errors():
    def extent(x, y, z):
        y[0:3] = y[0:2]

    def rank(x, y, z):
        y[0:2] = z[0:2]

    def broadcast(x, y, z):
        y[0:2] = y[0:2, 0:1]

    def kind(x, y, z):
        y[0:2] = "text"

    def float_into_int(x, y, z):
        pypto.tensor([4], pypto.DT_INT32)[0:2] = 1.5

    def dynamic_fill(x, y, z):
        x[:] = 0

    def moved_shape(x, y, z):
        y[:] = z

    expect_error(extent, ValueError, r"dim 0 of the region: expected extent 3, got 2")
    expect_error(rank, ValueError, "does not fit a region of 3 dims")
    expect_error(broadcast, ValueError, r"dim 1 of the region: expected extent 4, got 1")
    expect_error(kind, TypeError, "a region takes a tensor or a number, got str")
    expect_error(float_into_int, TypeError, "float scalar incompatible with integer tensor dtype")
    expect_error(dynamic_fill, ValueError, "must be static")
    expect_error(moved_shape, ValueError, r"expected \[8, 4, 6\] DT_FP32, got \[16, 16\] DT_FP32")


def test_index_tensors():
    def gather(x, y, z):
        return y[0:z]

    def mixed(x, y, z):
        return y[0:z, 1]

    expect_error(gather, TypeError, "gather\\(\\): operand 1 must be DT_INT32, DT_INT64, got DT_FP32")
    expect_error(mixed, TypeError, "an index tensor stands alone")


def test_view_and_assemble():
    def body(x, y, z):
        window = pypto.view(x, [16, 4, 6], [x.shape[0] - 3, 0, 0])
        assert window.shape == [16, 4, 6]
        assert [str(extent) for extent in window.valid_shape] == ["3", "4", "6"]
        given = y.view([8, 4, 6], [0, 0, 0], valid_shape=[3, 4, x.shape[0] % 7])
        assert given.valid_shape[:2] == [3, 4]
        pypto.assemble(y, [1, 0, 0], x)
        pypto.assemble([(y, [2, 0, 0]), (y, [3, 0, 0])], x)
        pypto.assemble([(y, [4, 0, 0])], dst=x, parallel=True)

    assert [offsets for offsets, _ in writes(body)] == ["[1, 0, 0]", "[2, 0, 0]", "[3, 0, 0]", "[4, 0, 0]"]


def test_view_errors():
    def rank(x, y, z):
        pypto.view(y, [4, 4], [0, 0, 0])

    def offsets(x, y, z):
        pypto.view(y, [4, 4, 4], [0, 0])

    def valid_rank(x, y, z):
        pypto.view(y, [4, 4, 4], [0, 0, 0], valid_shape=[4])

    def valid_size(x, y, z):
        pypto.view(y, [4, 4, 4], [0, 0, 0], valid_shape=[5, 4, 4])

    def negative(x, y, z):
        pypto.view(y, [4, 4, 4], [-1, 0, 0])

    def dynamic(x, y, z):
        pypto.view(x, [x.shape[0], 4, 4], [0, 0, 0])

    def missing(x, y, z):
        pypto.view(x)

    expect_error(rank, ValueError, "shape has 2 entries for a tensor of 3 dims")
    expect_error(offsets, ValueError, "offsets has 2 entries for a tensor of 3 dims")
    expect_error(valid_rank, ValueError, "valid_shape has 1 entries")
    expect_error(valid_size, ValueError, "valid_shape 5 in dim 0 is not within 0 to 4")
    expect_error(negative, IndexError, "offset -1 in dim 0 is negative")
    expect_error(dynamic, ValueError, r"requires integer extents, got the symbolic RUNTIME_GetInputShapeDim\(ARG_x,0\)")
    expect_error(missing, TypeError, "missing the shape of the window")
