"""Moves, selections and running sums over many tiles, with edges that no block divides, against torch."""

import pytest
import torch
from catalogue_support import TORCH, check, run, values

import pypto

BY_SIZE = (pypto.DT_INT8, pypto.DT_BF16, pypto.DT_FP32, pypto.DT_INT64)


@pytest.mark.parametrize("dtype", BY_SIZE[:-1])
@pytest.mark.parametrize("shape", [(1, 300), (131, 67), (17, 1030), (200, 129)])
def test_transpose_of_odd_extents(dtype, shape):
    x = values(shape, dtype)
    out = torch.empty(shape[::-1], dtype=TORCH[dtype])
    check(run(lambda t: pypto.transpose(t, 0, 1), [x], out), x.T.contiguous())


@pytest.mark.parametrize("dtype", BY_SIZE)
@pytest.mark.parametrize("dims", [[1, 0, 2], [2, 1, 0], [0, 2, 1], [2, 0, 1], [1, 2, 0]])
def test_permutations_over_several_tiles(dtype, dims):
    x = values((45, 70, 133), dtype)
    expected = x.permute(dims).contiguous()
    check(run(lambda t: pypto.permute(t, dims), [x], torch.empty_like(expected)), expected)


@pytest.mark.parametrize("dims", [[0, 1], [1, 0]])
def test_results_that_go_past_the_caches(dims):
    x = torch.randn(1031, 1100)
    expected = x.permute(dims).contiguous()
    check(run(lambda t: pypto.clone(pypto.permute(t, dims)), [x], torch.empty_like(expected)), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_over_several_tiles(axis):
    x = torch.randn(70, 3000)
    index = torch.randint(0, x.shape[axis], (61, 2900), dtype=torch.int32)
    got = run(lambda t, i: pypto.gather(t, axis, i), [x, index], torch.empty(index.shape))
    assert torch.equal(got, x.gather(axis, index.long()))


@pytest.mark.parametrize(("axis", "count"), [(0, 500), (1, 300), (0, 7)])
def test_index_select_over_several_tiles(axis, count):
    x = torch.randn(60, 2100)
    index = torch.randint(0, x.shape[axis], (count,), dtype=torch.int32)
    expected = x.index_select(axis, index)
    got = run(lambda t, i: pypto.index_select(t, axis, i), [x, index], torch.empty(expected.shape))
    assert torch.equal(got, expected)


def test_an_index_of_a_later_tile_is_checked():
    index = torch.zeros(500, dtype=torch.int32)
    index[-1] = 60
    with pytest.raises(pypto.AclError, match=r"index 60 is out of range for dim 0 of .*, which has 60 elements"):
        run(lambda t, i: pypto.index_select(t, 0, i), [torch.randn(60, 2100), index], torch.empty(500, 2100))


@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_with_a_small_index_over_several_tiles(axis):
    x = torch.randn(300, 200)
    index = torch.stack([torch.randperm(x.shape[axis])[:50] for _ in range(40)])
    index = index.int() if axis == 1 else index.T.contiguous().int()
    src = torch.randn(index.shape)
    got = run(lambda t, i, s: pypto.scatter(t, axis, i, s), [x, index, src], torch.empty_like(x))
    assert torch.equal(got, x.scatter(axis, index.long(), src))


@pytest.mark.parametrize("k", [1, 8, 64, 65, 700])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_the_first_of_equals_is_chosen(k, largest, whole):
    x = torch.randint(-30, 30, (5, 700)) if whole else torch.randn(5, 700).mul(8).round().div(4)
    x = x.int() if whole else x
    if not whole:
        x[0, 5::90], x[1, ::3], x[2, 7] = float("nan"), -0.0, float("inf")
    expected = torch.sort(x, dim=-1, descending=largest, stable=True).indices[:, :k]
    out = torch.empty(5, k, dtype=torch.int32)
    got = run(lambda t: pypto.topk(t, k, largest=largest)[1], [x], out)
    assert torch.equal(got.long(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
@pytest.mark.parametrize(("shape", "axis"), [((7, 1100), 1), ((1100, 131), 0), ((5, 33, 9), 1), ((1, 40), 1)])
def test_running_sums(dtype, shape, axis):
    x = torch.randn(shape).mul(20).to(dtype)
    exact = x.double().cumsum(axis)
    out = torch.empty(shape, dtype=torch.int64 if dtype == torch.int32 else dtype)
    got = run(lambda t: pypto.cumsum(t, axis), [x], out)
    assert torch.equal(got, exact.to(out.dtype) if dtype == torch.int32 else exact.float().to(out.dtype))
