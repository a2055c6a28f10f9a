"""Every operation of the catalogue by dtype and rank, and what of the table that covers.

Operations with shapes of their own, and floats of four bits, have tests elsewhere: `ELSEWHERE` says where.
"""

import functools

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from catalogue_support import case_id, check
from generated_cases import CASES, broadcast
from generated_support import BOOL, PACKED, SHAPES, TILES, dtypes_in_table, ranks_in_table
from test_elementwise import BINARY, UNARY

import pypto
from pypto import ir
from pypto.frontend.catalogue.operations import CATALOGUE

ELSEWHERE = {
    "conv": "test_matrix", "uniform": "test_extra", "normal": "test_extra", "quant_mx": "test_microscaling",
    "scaled_mm": "test_microscaling",
}  # fmt: skip
# What adds takes dtypes that are added, though its own row has more.
ADDS = {"atomic_add": "add", "index_add_ub": "index_add"}
BROADCASTING = [*BINARY, "greater", "where"]


def _pairs(names):
    return [(name, dtype) for name in names for dtype in dtypes_in_table(ADDS.get(name, name)) if dtype not in PACKED]


def _spec(tensor, dtype):
    return pypto.Tensor(list(tensor.shape), dtype)


def compute(case, tiles):
    """The result of a case on the platforms that have everything."""
    specs = [_spec(*each) for each in case.inputs]
    host = torch.uint8 if case.result == pypto.DT_HF8 else getattr(torch, pypto.dtypes.torch_name(case.result))
    out = torch.empty(case.expected.shape, dtype=host)
    result, body, count = _spec(out, case.result), case.body, len(specs)
    a, b, c = (*specs, *[None] * 3)[:3]
    if count == 0:

        @pypto.frontend.jit
        def kernel(out: result):
            pypto.set_vec_tile_shapes(*tiles)
            out[:] = body()
    elif count == 1:

        @pypto.frontend.jit
        def kernel(x: a, out: result):
            pypto.set_vec_tile_shapes(*tiles)
            out[:] = body(x)
    elif count == 2:

        @pypto.frontend.jit
        def kernel(x: a, y: b, out: result):
            pypto.set_vec_tile_shapes(*tiles)
            out[:] = body(x, y)
    else:

        @pypto.frontend.jit
        def kernel(x: a, y: b, z: c, out: result):
            pypto.set_vec_tile_shapes(*tiles)
            out[:] = body(x, y, z)

    ir.compile(kernel, platform="a5sim")(*(tensor for tensor, _ in case.inputs), out)
    return out


def verify(case, rank):
    got = compute(case, TILES[rank])
    if got.dtype.is_floating_point and got.element_size() == 1:
        got, case = got.view(torch.uint8), case._replace(expected=case.expected.view(torch.uint8))
    check(got, case.expected, case.ulps, case.absolute)


@functools.cache
def shapes_of(name):
    """Those of each rank that the operation has."""
    ranks = [rank for rank in ranks_in_table(name) if (name, rank) not in REFUSED]
    return [shape for rank in ranks for shape in SHAPES[rank]]


# Ranks of the table's range that an operation does not have.
REFUSED = {("scatter_update", 3), ("arange", 2), ("arange", 3), ("arange", 4), ("unsqueeze", 5)}


@pytest.mark.parametrize(("name", "dtype"), _pairs(CASES), ids=case_id)
def test_operation(name, dtype):
    for shape in shapes_of(name):
        verify(CASES[name](shape, dtype), len(shape))


@pytest.mark.parametrize(("name", "dtype"), _pairs(BROADCASTING), ids=case_id)
def test_broadcasting(name, dtype):
    for shape in shapes_of(name):
        verify(CASES[name](shape, dtype, broadcast(shape)), len(shape))


# Of an operand without valid cells, results have none.
EMPTY = [
    *UNARY, *BINARY, "cast", "clip", "clone", "cumprod", "cumsum", "greater", "lrelu", "permute", "rms_norm", "round",
    "softmax", "topk", "transpose", "argsort", "tril", "triu", "sum", "prod", "amax", "amin", "argmax", "argmin", "var",
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), _pairs(EMPTY), ids=case_id)
def test_nothing_is_written_of_an_empty_operand(name, dtype):
    case = CASES[name]((3, 37), dtype)
    specs = [_spec(*each) for each in case.inputs]
    host = torch.uint8 if case.result == pypto.DT_HF8 else getattr(torch, pypto.dtypes.torch_name(case.result))
    before = torch.ones(case.expected.shape).to(host)
    a, b, result, body = specs[0], specs[-1], _spec(before, case.result), case.body
    rank = before.dim()

    @pypto.frontend.jit
    def kernel(x: a, y: b, n: pypto.Tensor([1], pypto.DT_INT32), out: result):
        pypto.set_vec_tile_shapes(2, 16)
        window = pypto.view(x, [3, 37], [0, 0], valid_shape=[n[0], 37])
        made = body(window) if len(specs) == 1 else body(window, y)
        pypto.assemble(made, [0] * rank, out)

    out = before.clone()
    tensors = [tensor for tensor, _ in case.inputs]
    program = ir.compile(kernel, platform="a5sim")
    program(tensors[0], tensors[-1], torch.tensor([0], dtype=torch.int32), out)
    assert torch.equal(out.view(torch.uint8), before.view(torch.uint8))
    program(tensors[0], tensors[-1], torch.tensor([3], dtype=torch.int32), out)
    verify_same(case, out)


def verify_same(case, got):
    if got.dtype.is_floating_point and got.element_size() == 1:
        got, case = got.view(torch.uint8), case._replace(expected=case.expected.view(torch.uint8))
    check(got, case.expected, case.ulps, case.absolute)


@pytest.mark.parametrize("name", ADDS)
def test_what_cannot_be_added_is_refused(name):
    accepted = dtypes_in_table(ADDS[name])
    for dtype in dtypes_in_table(name):
        if dtype in accepted or dtype in PACKED:
            continue
        spec = pypto.Tensor([8], dtype)

        @pypto.frontend.jit
        def kernel(x: spec, i: pypto.Tensor([8], pypto.DT_INT32), out: spec):
            if name == "atomic_add":
                pypto.atomic_add(x, [0], out)
            else:
                out[:] = pypto.index_add_ub(x, 0, i, x)

        with pytest.raises(pypto.CompileError, match=rf"add.*\(\): dtype {dtype.name} is not supported; accepted: "):
            ir.compile(kernel, platform="a5sim")


@hypothesis.settings(max_examples=200, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.data())
def test_any_operation_of_any_shape(draw):
    name, dtype = draw.draw(st.sampled_from(_pairs(CASES)))
    rank = draw.draw(st.sampled_from([len(shape) for shape in shapes_of(name)]))
    shape = tuple(draw.draw(st.lists(st.integers(1, 3 if rank > 3 else 20), min_size=rank, max_size=rank)))
    verify(CASES[name](shape, dtype), rank)


def features(name, dtype):
    """What the cases of an operation and a dtype have."""
    found = set()
    for shape in shapes_of(name):
        rank, tile = len(shape), TILES[len(shape)]
        found.add(f"rank {rank}")
        found |= {"extent 1"} if 1 in shape else set()
        tails = [extent > part and extent % part for extent, part in zip(shape, tile, strict=True)]
        found |= {"tail"} if any(tails) else set()
        found |= {"broadcast"} if name in BROADCASTING and broadcast(shape) != shape else set()
    return found | ({"empty"} if name in EMPTY else set())


def test_the_table_is_covered():
    """By operation and dtype: every rank, extents of 1, last tiles that are not full, operands of two shapes."""
    assert set(CASES) | set(ELSEWHERE) == set(CATALOGUE)
    assert not set(CASES) & set(ELSEWHERE)
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
        if dtype in (BOOL,) or dtype.name.startswith(("DT_FP8", "DT_HF8")):
            continue
        x = CASES[name]((75,), dtype).inputs[0][0]
        if x.dtype.is_floating_point:
            assert x.isnan().any() and x.isinf().any() and (x == 0).any() and x.signbit()[x == 0].any()
        else:
            wide = x.to(torch.int64)
            assert int(wide.max()) >= 2 ** (8 * min(x.element_size(), 7) - 2) and bool((wide == 0).any())
