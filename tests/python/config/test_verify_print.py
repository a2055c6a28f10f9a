"""`pass_verify_print`: values of the running kernel, shown behind direct calls."""

import pytest
import torch

import pypto

FP32, FP16, INT32 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT32
T = pypto.Tensor
ON = {"enable_pass_verify": True}


@pytest.fixture(autouse=True)
def print_options():
    pypto.set_print_options(edgeitems=3, precision=4, threshold=1000, linewidth=80)
    yield
    pypto.set_print_options(edgeitems=3, precision=4, threshold=1000, linewidth=80)
    pypto.set_verify_golden_data(None)


@pypto.frontend.jit
def kernel(x: T([pypto.DYN, 2], FP32), out: T([pypto.DYN, 2], FP32), n: T([1], INT32)):
    factor = 1.0
    for i in pypto.loop(0, x.shape[0], 4):
        tile = x[i : i + 4] * 2
        factor = factor * 1.5
        pypto.pass_verify_print("tile", i, tile, factor, 3, x)
        if n[0] > i:
            pypto.pass_verify_print("late", n[0], pypto.cast(tile, FP16))
        out[i : i + 4] = tile


def shown(capsys, rows: int, number: int) -> list[str]:
    x, out = torch.arange(2.0 * rows).reshape(rows, 2), torch.zeros(rows, 2)
    with pypto.options(verify_options=ON):
        kernel(x, out, torch.tensor([number], dtype=torch.int32))
    assert torch.equal(out, x * 2)
    return capsys.readouterr().out.split("pass_verify_print at line ")[1:]


def test_each_time_is_shown_in_order(capsys):
    texts = shown(capsys, 6, 1)
    assert [text.split(": ")[1].split(",")[0] for text in texts] == ["tile", "late", "tile"]
    assert "tile, i = 0, [4, 2] DT_FP32\ntensor([[ 0.,  2.],\n        [ 4.,  6.]," in texts[0]
    assert texts[0].endswith(", 1.5, 3, [RUNTIME_GetInputShapeDim(ARG_x,0), 2] DT_FP32\n")
    assert "= 1, [4, 2] DT_FP16\ntensor([[ 0.,  2.]," in texts[1] and "dtype=torch.float16" in texts[1]
    # Of the tail only what is valid.
    assert "i = 4, [4, 2] DT_FP32\ntensor([[16., 18.],\n        [20., 22.]]), 2.25, 3" in texts[2]
    assert [text.split(": ")[1].split(",")[0] for text in shown(capsys, 6, 9)] == ["tile", "late"] * 2


def test_nothing_is_shown_while_the_option_is_off(capsys):
    x, out = torch.ones(3, 2), torch.zeros(3, 2)
    kernel(x, out, torch.tensor([9], dtype=torch.int32))
    assert torch.equal(out, x * 2)
    assert capsys.readouterr().out == ""


def test_print_options_shorten_what_is_shown(capsys):
    pypto.set_print_options(edgeitems=1, precision=1, threshold=2, linewidth=80)
    before = repr(torch.arange(12.0))
    (text,) = shown(capsys, 4, -1)
    assert "tensor([[ 0.,  2.],\n        ...,\n        [12., 14.]])" in text
    assert repr(torch.arange(12.0)) == before


def test_each_place_keeps_its_first_rows(capsys):
    @pypto.frontend.jit(verify_options=ON)
    def many(x: T([4], FP32), out: T([4], FP32)):
        for i in pypto.loop(100):
            pypto.pass_verify_print(i)
        out[:] = x

    many(torch.ones(4), torch.zeros(4))
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("= ")[2] for line in lines] == [str(i) for i in range(64)]


def test_golden_data_are_compared_as_well(capsys):
    @pypto.frontend.jit(verify_options=ON)
    def twice(x: T([4], FP32), out: T([4], FP32)):
        pypto.pass_verify_print(x)
        out[:] = x * 2

    x, out = torch.ones(4), torch.zeros(4)
    pypto.set_verify_golden_data([x * 2])
    twice(x, out)
    assert "tensor([1., 1., 1., 1.])" in capsys.readouterr().out
    pypto.set_verify_golden_data([x * 3])
    with pytest.raises(pypto.VerifyError, match="out: 4 of 4 elements differ"):
        twice(x, out)
