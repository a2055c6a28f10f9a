"""Makers of cases: operations that move elements, and those that go by an index."""

import torch
from catalogue_support import TORCH
from generated_support import (
    BOOL,
    INT32,
    PACKED,
    UINT8,
    Case,
    bits,
    data,
    dim_of,
    in_place,
    numbers,
    ones_and_zeros,
    small,
    to_codes,
    wide,
)

import pypto
from pypto.frontend.catalogue.operations import CATALOGUE

# What only moves elements: what the kernel does, and the same with the bits of x as they are stored.


def _window(shape, unit=1):
    """All but the first of each dim with more; `unit` elements of the last one go together."""
    offsets = [1 if extent > 1 else 0 for extent in shape]
    offsets[-1] = unit if shape[-1] > unit else 0
    return [extent - offset for extent, offset in zip(shape, offsets, strict=True)], offsets


def _cut(x):
    extents, offsets = _window(x.shape)
    return x[tuple(slice(o, o + e) for o, e in zip(offsets, extents, strict=True))]


def unit(x):
    return 2 if x.dtype in PACKED else 1


def _assembled(op, x, shape):
    result = pypto.clone(x)
    op(pypto.view(x, *_window(shape, unit(x))), [0] * len(shape), result)
    return result


def _assembled_bits(x):
    result = x.clone()
    part = _cut(x)
    result[tuple(slice(0, extent) for extent in part.shape)] = part
    return result


MOVES = {
    "clone": (lambda op, x, s: op(x), lambda x: x),
    "reshape": (lambda op, x, s: op(x, [-1]), lambda x: x.reshape(-1)),
    "unsqueeze": (lambda op, x, s: op(x, 0), lambda x: x.unsqueeze(0)),
    "view": (lambda op, x, s: op(x, *_window(s, unit(x))), _cut),
    "assemble": (_assembled, _assembled_bits),
    "permute": (lambda op, x, s: op(x, list(range(len(s)))[::-1]), lambda x: x.permute(*range(x.dim())[::-1])),
    "transpose": (lambda op, x, s: op(x, 0, -1), lambda x: x.transpose(0, -1)),
    "concat": (lambda op, x, s: op([x, x], -1), lambda x: torch.cat([x, x], -1)),
    "expand_clone": (
        lambda op, x, s: op(x, [4 if e == 1 else e for e in s]),
        lambda x: x.expand([4 if e == 1 else e for e in x.shape]),
    ),
    "tril": (lambda op, x, s: op(x, 1), lambda x: x.tril(1)),
    "triu": (lambda op, x, s: op(x, 1), lambda x: x.triu(1)),
    "gathermask": (lambda op, x, s: op(x, 7), lambda x: x),
}


def _moved(name):
    def make(shape, dtype):
        x = data(shape, dtype)
        body, reference = MOVES[name]
        expected = reference(bits(x)).contiguous().view(x.dtype)
        return Case([(x, dtype)], lambda t: body(CATALOGUE[name], t, shape), expected, dtype)

    return make


def _pack(shape, dtype):
    x = data(shape, dtype)
    return Case([(x, dtype)], CATALOGUE["pack"], x.reshape(-1).view(torch.uint8), UINT8)


def _unpack(shape, dtype):
    x = data(shape, dtype)
    return Case([(x, dtype)], lambda t: CATALOGUE["unpack"](t, pypto.DT_INT8), x.view(torch.int8), pypto.DT_INT8)


def _padded(name):
    def make(shape, dtype):
        x = data(shape, dtype)
        right = [0, 3] if len(shape) == 1 else [0, 3, 0, 2]
        grown = [*shape[:-2], *(e + more for e, more in zip(shape[-2:], (2, 3)[-len(shape) :], strict=True))]
        expected = torch.nn.functional.pad(wide(x), right, value=7)

        def body(t):
            if name == "pad":
                return CATALOGUE[name](t, right, value=7)
            return CATALOGUE[name](pypto.view(t, grown, [0] * len(grown)), value=7)

        return Case([(x, dtype)], body, expected, dtype)

    return make


# What goes by an index.


def _selected(name):
    def make(shape, dtype):
        x, dim = data(shape, dtype), dim_of(shape)
        count = [3] if name == "index_select" else [min(e, 2) if axis != dim else 4 for axis, e in enumerate(shape)]
        index = numbers(count, 0, shape[dim])
        reference = torch.index_select if name == "index_select" else torch.gather
        expected = reference(bits(x), dim, index.long()).view(x.dtype)
        return Case([(x, dtype), (index, INT32)], lambda t, i: CATALOGUE[name](t, dim, i), expected, dtype)

    return make


def _scattered(name):
    def make(shape, dtype):
        dim, count = dim_of(shape), [max(e - 1, 1) for e in shape]
        if dtype in PACKED:
            count[-1] += count[-1] % 2
        x, source = (ones_and_zeros(each, dtype, seed) if dtype in PACKED else data(each, dtype, seed)
                     for each, seed in ((shape, 0), (count, 3)))  # fmt: skip
        generator = torch.Generator().manual_seed(5)
        places = [shape[dim] if axis == dim else e for axis, e in enumerate(count)]
        index = torch.rand(places, generator=generator).argsort(dim).narrow(dim, 0, count[dim]).to(torch.int32)
        if dtype in PACKED:
            expected = to_codes(x.scatter(dim, index.long(), source), dtype)
            x, source = to_codes(x, dtype), to_codes(source, dtype)
        else:
            expected = bits(x).scatter(dim, index.long(), bits(source)).view(x.dtype)
        inputs = [(x, dtype), (index, INT32), (source, dtype)]
        return Case(inputs, lambda t, i, s: in_place(name)(t, dim, i, s), expected, dtype)

    return make


def _added(name):
    def make(shape, dtype):
        dim = dim_of(shape)
        part = [4 if axis == dim else e for axis, e in enumerate(shape)]
        if dtype not in TORCH:
            return _added_codes(name, shape, dtype)
        x, source, index = small(shape, dtype), small(part, dtype, 2), numbers([4], 0, shape[dim])
        expected = wide(x).index_add(dim, index.long(), wide(source), alpha=2)
        expected = expected != 0 if dtype == BOOL else expected
        inputs = [(x, dtype), (index, INT32), (source, dtype)]
        return Case(inputs, lambda t, i, s: in_place(name)(t, dim, i, s, alpha=2), expected, dtype)

    return make


def _added_codes(name, shape, dtype):
    """Of values that the dtype has; each slice gets one of its own, so that no sum is rounded twice."""
    dim = dim_of(shape)
    count = 2 if shape[dim] % 2 == 0 else 1
    x, source = ones_and_zeros(shape, dtype), ones_and_zeros([*shape[:dim], count, *shape[dim + 1 :]], dtype, 2)
    index = torch.randperm(shape[dim], generator=torch.Generator().manual_seed(3))[:count]
    expected = to_codes(x.index_add(dim, index, source), dtype)
    inputs = [(to_codes(x, dtype), dtype), (index.to(torch.int32), INT32), (to_codes(source, dtype), dtype)]
    return Case(inputs, lambda t, i, s: in_place(name)(t, dim, i, s), expected, dtype)


def _put(shape, dtype):
    x = data(shape, dtype)
    count = min(shape[0], 2)
    source, index = data((count, *shape[1:]), dtype, 3), torch.arange(count, dtype=torch.int32).flip(0)
    expected = bits(x).clone()
    expected[index.long()] = bits(source)
    inputs = [(x, dtype), (index, INT32), (source, dtype)]
    return Case(inputs, lambda t, i, s: in_place("index_put_")(t, (i,), s), expected.view(x.dtype), dtype)


def _updated(shape, dtype):
    """Rows of [rows, d], or tokens of [blocks, size, 1, d]."""
    if len(shape) == 4:
        shape = (shape[0], 5, 1, shape[3])
    x = data(shape, dtype)
    rows = shape[0] if len(shape) == 2 else shape[0] * 5
    index = torch.randperm(rows, generator=torch.Generator().manual_seed(1))[: min(rows, 2)].reshape(1, -1)
    source = data((index.numel(), shape[-1]), dtype, 3)
    expected = bits(x).clone()
    expected.view(rows, shape[-1])[index[0]] = bits(source)
    source = source if len(shape) == 2 else source.reshape(1, -1, 1, shape[-1])
    inputs = [(x, dtype), (index.to(torch.int32), INT32), (source, dtype)]
    body = lambda t, i, s: in_place("scatter_update")(t, -2, i, s)  # noqa: E731
    return Case(inputs, body, expected.view(x.dtype), dtype)


def _atomic(shape, dtype):
    maker = small if dtype in TORCH else ones_and_zeros
    x, y = maker(shape, dtype), maker(shape, dtype, 2)

    def body(t, u):
        result = pypto.clone(u)
        CATALOGUE["atomic_add"](t, [0] * len(shape), result)
        return result

    if dtype not in TORCH:
        return Case([(to_codes(x, dtype), dtype), (to_codes(y, dtype), dtype)], body, to_codes(x + y, dtype), dtype)
    expected = x | y if dtype == BOOL else wide(x) + wide(y)
    return Case([(x, dtype), (y, dtype)], body, expected, dtype)


MOVED = {
    **{name: _moved(name) for name in MOVES},
    **{name: _padded(name) for name in ("pad", "fillpad")},
    **{name: _selected(name) for name in ("gather", "index_select")},
    **{name: _scattered(name) for name in ("scatter", "scatter_")},
    **{name: _added(name) for name in ("index_add", "index_add_", "index_add_ub", "index_add__ub")},
    "index_put_": _put, "scatter_update": _updated, "atomic_add": _atomic, "pack": _pack, "unpack": _unpack,
}  # fmt: skip
