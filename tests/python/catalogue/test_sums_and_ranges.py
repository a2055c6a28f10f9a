"""Sums of integers in a region, factors of integers, the bounds of ranges by their names, dtypes of parts."""

import pytest
import torch
from catalogue_support import RANGES, TORCH, case_id, run, values

import pypto

INTEGERS = [dtype for dtype in RANGES if dtype != pypto.DT_BOOL]


@pytest.mark.parametrize("dtype", INTEGERS, ids=case_id)
def test_atomic_add_of_integers_wraps(dtype):
    x, target = values((3, 9), dtype), values((7, 12), dtype, 1)

    def body(t, into):
        result = pypto.clone(into)
        pypto.atomic_add(t, [2, 1], result)
        pypto.atomic_add(t, [5, 8], result)  # past both ends
        return result

    expected = target.to(torch.int64, copy=True)
    expected[2:5, 1:10] += x.to(torch.int64)
    expected[5:7, 8:12] += x.to(torch.int64)[:2, :4]
    assert torch.equal(run(body, [x, target], torch.empty_like(target)), expected.to(TORCH[dtype]))


@pytest.mark.parametrize("reduce", [None, "add"])
@pytest.mark.parametrize("number", [2**62 + 1, -(2**53) - 1])
def test_scatter_of_a_number_keeps_all_its_bits(reduce, number):
    x, index = values((4, 6), pypto.DT_INT64), torch.tensor([[0, 3, 2], [5, 4, 1]], dtype=torch.int32)
    source = torch.full((2, 3), number, dtype=torch.int64)
    expected = x.scatter_add(1, index.long(), source) if reduce else x.scatter(1, index.long(), source)
    assert torch.equal(run(lambda t, i: pypto.scatter(t, 1, i, number, reduce=reduce), [x, index], x), expected)


@pytest.mark.parametrize("name", ["index_add", "index_add_", "index_add_ub", "index_add__ub"])
def test_a_float_factor_of_integers_is_refused(name):
    x, index = torch.zeros(4, 4, dtype=torch.int32), torch.tensor([0, 2], dtype=torch.int32)
    with pytest.raises(pypto.CompileError, match=r"float scalar incompatible with integer tensor dtype DT_INT32"):
        run(lambda t, i: getattr(pypto, name)(t, 0, i, t[0:2], alpha=0.5), [x, index], torch.empty_like(x))


def test_arange_by_keyword():
    for arguments in ({"end": 5}, {"end": 7, "step": 2}, {"start": 2, "end": 9}, {"start": 4}):
        expected = torch.arange(arguments.get("start", 0), arguments["end"], arguments.get("step", 1)) if (
            "end" in arguments) else torch.arange(arguments["start"])  # fmt: skip
        got = run(lambda given=arguments: pypto.arange(**given), [], torch.empty_like(expected, dtype=torch.int32))
        assert torch.equal(got, expected.to(torch.int32))
    with pytest.raises(pypto.CompileError, match="start, end and step are numbers"):
        run(pypto.arange, [], torch.empty(1))


def test_parts_of_different_dtypes_are_refused():
    x = torch.zeros(2, 3)
    text = r"concat\(\): operand dtypes must match, got DT_FP32 and DT_FP16 \(there is no implicit promotion; cast one"
    with pytest.raises(pypto.CompileError, match=text):
        run(lambda t: pypto.concat([t, pypto.cast(t, pypto.DT_FP16)]), [x], torch.empty(4, 3))
