"""Every operation of the catalogue by dtype and rank, and what of the table that covers."""

import functools

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from catalogue_support import case_id, check
from generated_cases import CASES, broadcast
from generated_support import BOOL, PACKED, SHAPES, TILES, dtypes_in_table, fitting, host_dtype, ranks_in_table
from test_elementwise import BINARY, UNARY

import pypto
from pypto import ir
from pypto.frontend.catalogue.operations import CATALOGUE

BROADCASTING = [*BINARY, "greater", "where"]


# Dtypes that the front end adds to those of a row.
FURTHER = {"cast": [pypto.DT_INT4]}


def _pairs(names):
    return [(name, dtype) for name in names for dtype in (*dtypes_in_table(name), *FURTHER.get(name, ()))]


def makers_of(name):
    """More than one where a parameter changes what is done."""
    found = CASES[name]
    return found if isinstance(found, list) else [found]


def _spec(tensor, dtype):
    *shape, last = tensor.shape
    return pypto.Tensor([*shape, 2 * last if dtype in PACKED else last], dtype)


def specs_of(case):
    """Of five parameters; those behind the inputs of the case are not used."""
    return [*(_spec(*each) for each in case.inputs), *[pypto.Tensor([1], pypto.DT_FP32)] * (5 - len(case.inputs))]


def tensors_of(case):
    return [*(tensor for tensor, _ in case.inputs), *[torch.zeros(1)] * (5 - len(case.inputs))]


def compute(case, tiles):
    """The result of a case on the platforms that have everything."""
    a, b, c, d, e = specs_of(case)
    out = torch.empty(case.expected.shape, dtype=host_dtype(case.result))
    result, body, count = _spec(out, case.result), case.body, len(case.inputs)

    @pypto.frontend.jit
    def kernel(x: a, y: b, z: c, v: d, w: e, out: result):
        pypto.set_vec_tile_shapes(*tiles)
        out[:] = body(*[x, y, z, v, w][:count])

    ir.compile(kernel, platform="a5sim")(*tensors_of(case), out)
    return out


def verify(case, rank):
    verify_same(case, compute(case, TILES[rank]))


def verify_same(case, got):
    if got.dtype.is_floating_point and got.element_size() == 1:
        got, case = got.view(torch.uint8), case._replace(expected=case.expected.view(torch.uint8))
    check(got, case.expected, case.ulps, case.absolute)


@functools.cache
def shapes_of(name, dtype):
    """Those of each rank that the operation has."""
    ranks = [rank for rank in ranks_in_table(name) if (name, rank) not in REFUSED]
    return [fitting(shape, dtype) for rank in ranks for shape in SHAPES[rank]]


# Ranks of the table's range that an operation does not have.
REFUSED = {
    ("scatter_update", 3),  # rows of 2 dims, tokens of 4
    *(("arange", rank) for rank in (2, 3, 4)),  # the result has one dim; operations on it have more
    ("unsqueeze", 5),  # the result would have 6
}


@pytest.mark.parametrize(("name", "dtype"), _pairs(CASES), ids=case_id)
def test_operation(name, dtype):
    for shape in shapes_of(name, dtype):
        for make in makers_of(name):
            verify(make(shape, dtype), len(shape))


@pytest.mark.parametrize(("name", "dtype"), _pairs(BROADCASTING), ids=case_id)
def test_broadcasting(name, dtype):
    for shape in shapes_of(name, dtype):
        verify(CASES[name](shape, dtype, broadcast(shape)), len(shape))


# Of an operand without valid cells, results have none.
EMPTY = [
    *UNARY, *BINARY, "cast", "clip", "clone", "cumprod", "cumsum", "greater", "lrelu", "permute", "rms_norm", "round",
    "softmax", "topk", "transpose", "argsort", "tril", "triu", "sum", "prod", "amax", "amin", "argmax", "argmin", "var",
    "quant_mx", "scaled_mm", "conv",
]  # fmt: skip
# Of three dims: a batch of convolutions.
EMPTY_SHAPES = {"conv": (3, 2, 9)}


@pytest.mark.parametrize(("name", "dtype"), _pairs(EMPTY), ids=case_id)
def test_nothing_is_written_of_an_empty_operand(name, dtype):
    makers = makers_of(name)
    for make in makers[::2] if name == "scaled_mm" else makers:  # the others begin with K: of none the sum is 0
        verify_empty(make(fitting(EMPTY_SHAPES.get(name, (3, 37)), dtype), dtype))


def verify_empty(case):
    before = torch.ones(case.expected.shape).to(host_dtype(case.result))
    (a, b, c, d, e), result, body, count = specs_of(case), _spec(before, case.result), case.body, len(case.inputs)
    rank, (first, *others) = before.dim(), a.shape

    @pypto.frontend.jit
    def kernel(x: a, y: b, z: c, v: d, w: e, n: pypto.Tensor([1], pypto.DT_INT32), out: result):
        pypto.set_vec_tile_shapes(*TILES[rank])
        window = pypto.view(x, [first, *others], [0] * (1 + len(others)), valid_shape=[n[0], *others])
        made = body(*[window, y, z, v, w][:count])
        pypto.assemble(made, [0] * rank, out)

    out = before.clone()
    program = ir.compile(kernel, platform="a5sim")
    program(*tensors_of(case), torch.tensor([0], dtype=torch.int32), out)
    assert torch.equal(out.view(torch.uint8), before.view(torch.uint8))
    program(*tensors_of(case), torch.tensor([first], dtype=torch.int32), out)
    verify_same(case, out)


@hypothesis.settings(max_examples=200, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.data())
def test_any_operation_of_any_shape(draw):
    name, dtype = draw.draw(st.sampled_from(_pairs(CASES)))
    rank = draw.draw(st.sampled_from([len(shape) for shape in shapes_of(name, dtype)]))
    shape = tuple(draw.draw(st.lists(st.integers(1, 3 if rank > 3 else 20), min_size=rank, max_size=rank)))
    make = draw.draw(st.sampled_from(makers_of(name)))
    verify(make(fitting(shape, dtype), dtype), rank)


def features(name, dtype):
    """What the cases of an operation and a dtype have."""
    found = set()
    for shape in shapes_of(name, dtype):
        rank, tile = len(shape), TILES[len(shape)]
        found.add(f"rank {rank}")
        found |= {"extent 1"} if 1 in shape else set()
        tails = [extent > part and extent % part for extent, part in zip(shape, tile, strict=True)]
        found |= {"tail"} if any(tails) else set()
        found |= {"broadcast"} if name in BROADCASTING and broadcast(shape) != shape else set()
    return found | ({"empty"} if name in EMPTY else set())


def test_the_table_is_covered():
    """By operation and dtype: every rank, extents of 1, last tiles that are not full, operands of two shapes."""
    assert set(CASES) == set(CATALOGUE)
    missing, count = [], 0
    for name, dtype in _pairs(CASES):
        wanted = {f"rank {rank}" for rank in ranks_in_table(name) if (name, rank) not in REFUSED}
        wanted |= {"extent 1", "tail"} | ({"broadcast"} if name in BROADCASTING else set())
        count += len(wanted)
        missing += [(name, dtype.name, feature) for feature in wanted - features(name, dtype)]
    assert not missing
    assert count > 3000, count


def test_values_have_specials():
    for name, dtype in _pairs(["abs", "add", "isfinite", "clone"]):
        if dtype in (BOOL, *PACKED) or dtype.name.startswith(("DT_FP8", "DT_HF8")):
            continue
        x = CASES[name]((75,), dtype).inputs[0][0]
        if x.dtype.is_floating_point:
            assert x.isnan().any() and x.isinf().any() and (x == 0).any() and x.signbit()[x == 0].any()
        else:
            wide = x.to(torch.int64)
            assert int(wide.max()) >= 2 ** (8 * min(x.element_size(), 7) - 2) and bool((wide == 0).any())
