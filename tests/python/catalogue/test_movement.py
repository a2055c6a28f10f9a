"""Operations that move elements, by dtype and shape, against torch; indices out of range are faults."""

import pytest
import torch
from catalogue_support import FLOATS, HALF_ULPS, TORCH, case_id, check, dtypes_of, run, values

import pypto


def _cases(*names):
    return [(name, dtype, platform) for name in names for dtype, platform in dtypes_of(name)]


def _moved(x):
    """As integers, because torch has few operations on unsigned dtypes."""
    return x if x.dtype.is_floating_point else x.to(torch.int64)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("permute"), ids=case_id)
def test_permute(name, dtype, platform):
    for shape, dims in (((7,), [0]), ((5, 33), [1, 0]), ((2, 3, 17), [2, 0, 1]), ((2, 3, 4, 5, 6), [4, 2, 0, -2, 1])):
        x = values(shape, dtype)
        expected = _moved(x).permute(dims).contiguous()
        got = run(lambda t, d=dims: pypto.permute(t, d), [x], torch.empty(expected.shape, dtype=TORCH[dtype]), platform)
        check(got, expected)


@pytest.mark.parametrize("dtype", [pypto.DT_INT8, pypto.DT_BF16, pypto.DT_FP32, pypto.DT_INT64], ids=case_id)
def test_runs_that_change_places(dtype):
    """Runs of one byte and of some lines, with tails, in tiles of several neighbours and in others."""
    cases = (
        ((512, 8, 64), [1, 0, 2]), ((256, 12, 33), [1, 0, 2]), ((130, 7, 64), [1, 0, 2]),
        ((2, 128, 4, 65), [0, 2, 1, 3]), ((64, 8, 3, 16), [2, 1, 0, 3]), ((5, 4, 96, 1), [1, 2, 0, 3]),
        ((4, 640, 8, 40), [2, 0, 1, 3]),
    )  # fmt: skip
    for shape, dims in cases:
        x = values(shape, dtype)
        expected = _moved(x).permute(dims).contiguous()
        got = run(lambda t, d=dims: pypto.permute(t, d), [x], torch.empty(expected.shape, dtype=TORCH[dtype]))
        check(got, expected)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("expand_clone"), ids=case_id)
def test_expand_clone(name, dtype, platform):
    for shape, target in (((1,), (9,)), ((3, 1), (3, 33)), ((1, 1, 17), (2, 3, 17)), ((2, 1, 3, 1), (2, 4, 3, 9))):
        x = values(shape, dtype)
        got = run(
            lambda t, s=target: pypto.expand_clone(t, list(s)), [x], torch.empty(target, dtype=TORCH[dtype]), platform
        )
        check(got, _moved(x).expand(target).contiguous())


@pytest.mark.parametrize("dtype", [d for d in TORCH if d != pypto.DT_BOOL], ids=case_id)
def test_concat(dtype):
    for shapes, dim in (([(3,), (5,)], 0), ([(2, 7), (4, 7)], 0), ([(3, 5), (3, 9)], -1), ([(2, 3, 4), (2, 1, 4)], 1)):
        parts = [values(shape, dtype, seed) for seed, shape in enumerate(shapes)]
        expected = torch.cat([_moved(part) for part in parts], dim)
        out = torch.empty(expected.shape, dtype=TORCH[dtype])
        check(run(lambda x, y, d=dim: pypto.concat([x, y], d), parts, out), expected)


def test_concat_of_tails():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([3, 4], pypto.DT_FP32), y: pypto.Tensor([2, 4], pypto.DT_FP32),
               out: pypto.Tensor([16, 4], pypto.DT_FP32)):  # fmt: skip
        both = pypto.concat([pypto.view(x, [8, 4], [0, 0]), pypto.view(y, [8, 4], [0, 0])], 0)
        assert both.shape == [16, 4]
        assert both.valid_shape == [5, 4]
        pypto.assemble(both, [0, 0], out)

    x, y, out = torch.randn(3, 4), torch.randn(2, 4), torch.zeros(16, 4)
    kernel(x, y, out)
    assert torch.equal(out[:5], torch.cat([x, y]))
    assert not out[5:].any()


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_gather"), ids=case_id)
def test_gather(name, dtype, platform, index_dtype):
    for shape, places in (
        ((9,), (20,)),
        ((5, 33), (4, 33)),
        ((3, 4, 9), (3, 2, 5)),
        ((2, 2, 2, 3, 7), (2, 1, 2, 3, 4)),
    ):
        x = values(shape, dtype)
        for dim in range(-1, len(shape) - 1):
            inside = [
                place if axis == dim % len(shape) else min(place, shape[axis]) for axis, place in enumerate(places)
            ]
            index = torch.randint(0, shape[dim], inside).to(index_dtype)
            expected = torch.gather(_moved(x), dim, index.long())
            out = torch.empty(expected.shape, dtype=TORCH[dtype])
            check(run(lambda t, i, d=dim: pypto.gather(t, d, i), [x, index], out, platform), expected)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_index_select"), ids=case_id)
def test_index_select(name, dtype, platform):
    for shape in ((9,), (5, 33), (3, 4, 17), (2, 3, 4, 9)):
        x = values(shape, dtype)
        for dim in range(-1, len(shape) - 1):
            index = torch.randint(0, shape[dim], (6,), dtype=torch.int32)
            expected = torch.index_select(_moved(x), dim, index)
            out = torch.empty(expected.shape, dtype=TORCH[dtype])
            check(run(lambda t, i, d=dim: pypto.index_select(t, d, i), [x, index], out, platform), expected)
    x, index = values((8, 5), dtype), torch.randint(0, 8, (3, 2))
    expected = _moved(x)[index]
    check(run(lambda t, i: pypto.index_select(t, 0, i), [x, index], torch.empty(3, 2, 5, dtype=TORCH[dtype]), platform),
          expected)  # fmt: skip


def _distinct(shape, dim, extent):
    return (
        torch.rand(*[extent if axis == dim else n for axis, n in enumerate(shape)])
        .argsort(dim)
        .narrow(dim, 0, shape[dim])
    )


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_scatter"), ids=case_id)
def test_scatter(name, dtype, platform):
    for shape, places in (((9,), (5,)), ((5, 33), (4, 20)), ((3, 4, 9), (3, 2, 5)), ((2, 2, 3, 7), (2, 1, 3, 4))):
        x, src = values(shape, dtype), values(places, dtype, 3)
        for dim in range(len(shape)):
            index = _distinct(places, dim, shape[dim])
            got = run(lambda t, i, s, d=dim: pypto.scatter(t, d, i, s), [x, index.int(), src],
                      torch.empty(shape, dtype=TORCH[dtype]), platform)  # fmt: skip
            check(got, torch.scatter(_moved(x), dim, index, _moved(src)))
            got = run(lambda t, i, d=dim: pypto.scatter(t, d, i, 3), [x, index],
                      torch.empty(shape, dtype=TORCH[dtype]), platform)  # fmt: skip
            check(got, torch.scatter(_moved(x), dim, index, 3).to(TORCH[dtype]))


@pytest.mark.parametrize("reduce", ["add", "multiply"])
@pytest.mark.parametrize("dtype", [pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT32, pypto.DT_INT8, pypto.DT_INT64,
                                   pypto.DT_UINT16], ids=case_id)  # fmt: skip
def test_scatter_reduces(dtype, reduce):
    x, src = (torch.randint(-5, 5, shape).to(TORCH[dtype]) for shape in ((6, 10), (4, 10)))
    index = torch.randint(0, 6, (4, 10))
    got = run(lambda t, i, s: pypto.scatter(t, 0, i, s, reduce=reduce), [x, index, src], torch.empty_like(x))
    expected = torch.scatter(x.double(), 0, index, src.double(), reduce=reduce)
    check(got, expected.to(torch.int64).to(x.dtype) if dtype not in FLOATS else expected)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_index_add"), ids=case_id)
def test_index_add(name, dtype, platform):
    for shape in ((9,), (5, 33), (3, 4, 9)):
        x = torch.randint(-9, 9, shape).to(TORCH[dtype])
        for dim in range(len(shape)):
            index = torch.randint(0, shape[dim], (7,), dtype=torch.int32)
            src = torch.randint(-5, 5, [7 if axis == dim else n for axis, n in enumerate(shape)]).to(TORCH[dtype])
            got = run(lambda t, i, s, d=dim: pypto.index_add(t, d, i, s, alpha=2), [x, index, src],
                      torch.empty(shape, dtype=TORCH[dtype]), platform)  # fmt: skip
            expected = torch.index_add(x.double() if dtype in FLOATS else x.long(), dim, index,
                                       src.double() if dtype in FLOATS else src.long(), alpha=2)  # fmt: skip
            check(got, expected.to(TORCH[dtype]))


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_index_put"), ids=case_id)
def test_index_put(name, dtype, platform):
    first, second = torch.tensor([4, 0, 2], dtype=torch.int32), torch.tensor([1, 0, 3])
    for shape in ((5, 4, 6), (5, 4)):
        x = values(shape, dtype)

        @pypto.frontend.jit
        def kernel(
            t: pypto.Tensor(list(shape), dtype), v: pypto.Tensor([3, *shape[2:]], dtype),
            w: pypto.Tensor([3, *shape[1:]], dtype),
            i: pypto.Tensor([3], pypto.DT_INT32), j: pypto.Tensor([3], pypto.DT_INT64),
        ):  # fmt: skip
            pypto.index_put_(t, (i, j), v)
            pypto.index_put_(t, [i], w, accumulate=True)

        v, w = torch.randint(0, 9, (3, *shape[2:])).to(x.dtype), torch.randint(0, 9, (3, *shape[1:])).to(x.dtype)
        expected = _moved(x).clone()
        expected[first.long(), second] = _moved(v)
        expected[first.long()] += _moved(w)
        got = x.clone()
        pypto.ir.compile(kernel, platform=platform)(got, v, w, first, second)
        low = torch.iinfo(x.dtype).bits if not x.dtype.is_floating_point else 64
        if low < 64:
            check(got, expected.to(x.dtype))
        else:
            check(got, expected, HALF_ULPS)


@pytest.mark.parametrize("dtype", [pypto.DT_FP32, pypto.DT_BF16, pypto.DT_INT16], ids=case_id)
def test_scatter_update(dtype):
    @pypto.frontend.jit
    def kernel(
        flat: pypto.Tensor([12, 8], dtype), rows: pypto.Tensor([6, 8], dtype),
        paged: pypto.Tensor([3, 4, 1, 8], dtype), tokens: pypto.Tensor([2, 3, 1, 8], dtype),
        index: pypto.Tensor([2, 3], pypto.DT_INT32),
    ):  # fmt: skip
        pypto.scatter_update(flat, -2, index, rows)
        pypto.scatter_update(paged, -2, index, tokens)

    flat, rows, paged, tokens = (values(shape, dtype) for shape in ((12, 8), (6, 8), (3, 4, 1, 8), (2, 3, 1, 8)))
    index = torch.tensor([[11, 0, 5], [7, 3, 4]], dtype=torch.int32)
    expected_flat, expected_paged = flat.clone(), paged.clone()
    expected_flat[index.reshape(-1).long()] = rows
    expected_paged.view(12, 8)[index.reshape(-1).long()] = tokens.view(6, 8)
    kernel(flat, rows, paged, tokens, index)
    assert torch.equal(flat.nan_to_num(9), expected_flat.nan_to_num(9))
    assert torch.equal(paged.nan_to_num(9), expected_paged.nan_to_num(9))


def test_updates_in_place_where_the_source_is_the_target():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 4], pypto.DT_FP32), i: pypto.Tensor([4, 4], pypto.DT_INT32)):
        pypto.scatter_(x, 0, i, x)

    x, index = torch.randn(4, 4), torch.arange(4).flip(0).reshape(4, 1).expand(4, 4).contiguous()
    expected = torch.scatter(x, 0, index, x)
    kernel(x, index.int())
    assert torch.equal(x, expected)


OUT_OF_RANGE = [
    ("gather", lambda x, i: pypto.gather(x, 0, pypto.expand_clone(pypto.reshape(i, [3, 1]), [3, 4])), 1),
    ("index_select", lambda x, i: pypto.index_select(x, 0, i), 1),
    ("index_add", lambda x, i: pypto.index_add(x, 0, i, x[0:3]), 1),
    ("scatter", lambda x, i: pypto.scatter(x, 0, pypto.expand_clone(pypto.reshape(i, [3, 1]), [3, 4]), 1.0), 1),
]


@pytest.mark.parametrize("bad", [5, -1, 2**31 - 1])
@pytest.mark.parametrize(("name", "body", "line"), OUT_OF_RANGE, ids=[case[0] for case in OUT_OF_RANGE])
def test_an_index_out_of_range_is_a_fault(name, body, line, bad):
    from pypto.runtime import ChipWorker, RunConfig

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([5, 4], pypto.DT_FP32), i: pypto.Tensor([3], pypto.DT_INT32),
        out: pypto.Tensor([5, 4], pypto.DT_FP32),
    ):  # fmt: skip
        pypto.assemble(body(x, i), [0, 0], out)

    program = pypto.ir.compile(kernel)
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker, pytest.raises(pypto.AclError) as caught:
        worker.run(program, torch.randn(5, 4), torch.tensor([1, bad, 0], dtype=torch.int32), torch.zeros(5, 4))
    text = str(caught.value)
    assert f"{name}(): index {bad} is out of range for dim 0 of x, which has 5 elements there" in text
    assert "line" in text


@pytest.mark.parametrize("dtype", [pypto.DT_INT8, pypto.DT_INT16, pypto.DT_INT32, pypto.DT_INT64], ids=case_id)
def test_one_hot(dtype):
    for shape in ((5,), (3, 4), (2, 3, 4)):
        x = torch.randint(0, 7, shape).to(TORCH[dtype])
        got = run(lambda t: pypto.one_hot(t, 7), [x], torch.empty((*shape, 7), dtype=torch.int64))
        assert torch.equal(got, torch.nn.functional.one_hot(x.long(), 7))


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("_triangle"), ids=case_id)
def test_triangles(name, dtype, platform):
    for shape in ((1, 1), (20, 33), (3, 9, 5), (2, 2, 40, 40)):
        x = values(shape, dtype)
        for diagonal in (0, 2, -3, 100, -100):
            for operation in (pypto.tril, pypto.triu):
                reference = getattr(torch, operation.__name__)
                out = torch.empty(shape, dtype=TORCH[dtype])
                got = run(lambda t, f=operation, d=diagonal: f(t, d), [x], out, platform)
                check(got, reference(_moved(x), diagonal))


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [((5,), torch.int32), ((2, 700), torch.int32), ((10, 0, -3), torch.int32), ((0.5, 4), torch.float32),
     ((0, 1, 0.25), torch.float32), ((300.0,), torch.float32)],
)  # fmt: skip
def test_arange(arguments, dtype):
    expected = torch.arange(*arguments, dtype=dtype)
    check(run(lambda: pypto.arange(*arguments), [], torch.empty_like(expected)), expected.double(), HALF_ULPS)


@pytest.mark.parametrize(("name", "dtype", "platform"), _cases("gathermask"), ids=case_id)
def test_gathermask(name, dtype, platform):
    x = values((3, 40), dtype)
    for mode in range(1, 8):
        expected = _moved(x)[:, mode - 1 :: 2] if mode < 3 else _moved(x)[:, mode - 3 :: 4] if mode < 7 else _moved(x)
        out = torch.empty(expected.shape, dtype=TORCH[dtype])
        check(run(lambda t, m=mode: pypto.gathermask(t, m), [x], out, platform), expected)


@pytest.mark.parametrize("dtype", [d for d in TORCH if d != pypto.DT_BOOL], ids=case_id)
def test_pack_and_unpack(dtype):
    x = values((3, 7), dtype)
    packed = run(pypto.pack, [x], torch.empty(21 * x.element_size(), dtype=torch.uint8))
    assert torch.equal(packed, x.reshape(-1).view(torch.uint8))
    back = run(lambda t: pypto.unpack(t, dtype), [packed], torch.empty(21, dtype=x.dtype))
    assert torch.equal(back.view(torch.uint8), packed)


PADDED = [
    pypto.DT_FP32, pypto.DT_FP16, pypto.DT_BF16, pypto.DT_INT8, pypto.DT_INT16, pypto.DT_INT32, pypto.DT_UINT8,
    pypto.DT_UINT16, pypto.DT_UINT32,
]  # fmt: skip


@pytest.mark.parametrize("dtype", PADDED, ids=case_id)
def test_pad_and_fillpad(dtype):
    x = values((3, 5), dtype)
    got = run(lambda t: pypto.pad(t, [0, 4, 0, 2], value=7), [x], torch.empty(5, 9, dtype=x.dtype))
    check(got, torch.nn.functional.pad(_moved(x), [0, 4, 0, 2], value=7))
    got = run(lambda t: pypto.fillpad(pypto.view(t, [4, 8], [0, 0]), value=2), [x], torch.empty(4, 8, dtype=x.dtype))
    check(got, torch.nn.functional.pad(_moved(x), [0, 3, 0, 1], value=2))


def test_atomic_add():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 4], pypto.DT_FP32), out: pypto.Tensor([8, 8], pypto.DT_FP32)):
        for i in pypto.loop(3):
            pypto.atomic_add(x, [i * 2, 1], out)

    x, out = torch.randn(4, 4), torch.randn(8, 8)
    expected = out.clone()
    for i in range(3):
        expected[i * 2 : i * 2 + 4, 1:5] += x
    kernel(x, out)
    torch.testing.assert_close(out, expected)


def test_results_cut_off_by_the_end_of_their_target():
    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([6, 4], pypto.DT_FP32), i: pypto.Tensor([6, 4], pypto.DT_INT32),
        j: pypto.Tensor([6], pypto.DT_INT32),
        gathered: pypto.Tensor([8, 4], pypto.DT_FP32), scattered: pypto.Tensor([8, 4], pypto.DT_FP32),
        added: pypto.Tensor([8, 4], pypto.DT_FP32), selected: pypto.Tensor([8, 4], pypto.DT_FP32),
    ):  # fmt: skip
        pypto.assemble(pypto.gather(x, 0, i), [4, 0], gathered)
        pypto.assemble(pypto.scatter(x, 0, i, 1.0), [4, 0], scattered)
        pypto.assemble(pypto.index_add(x, 0, j, x), [4, 0], added)
        pypto.assemble(pypto.index_select(x, 0, j), [4, 0], selected)

    x, row = torch.randn(6, 4), torch.randperm(6)
    index = row.reshape(6, 1).expand(6, 4).contiguous()
    out = [torch.zeros(8, 4) for _ in range(4)]
    kernel(x, index.int(), row.int(), *out)
    expected = [
        torch.gather(x, 0, index), x.scatter(0, index, 1.0), x.index_add(0, row, x), x.index_select(0, row),
    ]  # fmt: skip
    for got, want in zip(out, expected, strict=True):
        assert not got[:4].any()
        assert torch.equal(got[4:], want[:4])


def test_updates_of_a_parameter_copy_nothing_else():
    """The cells that no index names keep their bits, in a tensor that is read again afterwards as well."""

    @pypto.frontend.jit
    def kernel(
        cache: pypto.Tensor([64, 8], pypto.DT_FP32), i: pypto.Tensor([1, 3], pypto.DT_INT32),
        rows: pypto.Tensor([3, 8], pypto.DT_FP32), out: pypto.Tensor([64, 8], pypto.DT_FP32),
    ):  # fmt: skip
        for _ in pypto.loop(2):
            pypto.scatter_update(cache, -2, i, rows)
        out[:] = cache + 1.0

    cache, rows, out = torch.randn(64, 8), torch.randn(3, 8), torch.empty(64, 8)
    expected = cache.clone()
    expected[[5, 63, 0]] = rows
    kernel(cache, torch.tensor([[5, 63, 0]], dtype=torch.int32), rows, out)
    assert torch.equal(cache, expected)
    assert torch.equal(out, expected + 1)


def test_updates_of_tensors_with_a_dynamic_dim():
    blocks, rows = pypto.frontend.dynamic("blocks"), pypto.frontend.dynamic("rows")

    @pypto.frontend.jit
    def kernel(
        paged: pypto.Tensor([blocks, 4, 1, 8], pypto.DT_FP16), flat: pypto.Tensor([rows, 8], pypto.DT_FP32),
        i: pypto.Tensor([2, 3], pypto.DT_INT32), tokens: pypto.Tensor([2, 3, 1, 8], pypto.DT_FP16),
        values: pypto.Tensor([6, 8], pypto.DT_FP32),
    ):  # fmt: skip
        pypto.scatter_update(paged, -2, i, tokens)
        for _ in pypto.loop(2):
            pypto.index_add_(flat, 0, pypto.reshape(i, [6]), values)
            pypto.index_put_(flat, (pypto.reshape(i, [6]),), values, accumulate=True)

    index = torch.tensor([[11, 0, 5], [7, 3, 4]], dtype=torch.int32)
    program = pypto.ir.compile(kernel)
    for count in (3, 50):
        paged, flat = torch.randn(count, 4, 1, 8).half(), torch.randn(count * 4, 8)
        tokens, added = torch.randn(2, 3, 1, 8).half(), torch.randn(6, 8)
        expected, sums = paged.clone(), flat.clone()
        expected.view(-1, 8)[index.reshape(-1).long()] = tokens.view(6, 8)
        for _ in range(4):
            sums[index.reshape(-1).long()] += added
        program(paged, flat, index, tokens, added)
        assert torch.equal(paged, expected)
        torch.testing.assert_close(flat, sums)
    assert program.workspace_budget(blocks=50, rows=200).pools[0].unit < 4096  # no copy of either tensor
