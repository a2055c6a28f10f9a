"""Names that loops and branches bind anew to lists, tuples, dicts and dataclasses of the same make."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest
import torch

import pypto

ROWS = pypto.frontend.dynamic("rows")
SIM = {"run_mode": pypto.RunMode.SIM}
WIDTH = 8


def rows_and_out(rows: int, out_rows: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(rows)
    return torch.randn(rows, WIDTH), torch.full((out_rows, WIDTH), 7.0)


@pypto.frontend.jit(runtime_options=SIM)
def shift_register(
    x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32),
    state: pypto.Tensor([3, WIDTH], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, WIDTH)
    history = [state[i : i + 1, :] for i in range(3)]
    for t in pypto.loop(x.shape[0]):
        row = x[t : t + 1, :]
        out[t : t + 1, :] = row + history[0] * 2.0 + history[1] * 4.0 + history[2] * 8.0
        history = [*history[1:], row]
    for i in range(3):
        state[i : i + 1, :] = history[i]


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_a_list_is_shifted(rows):
    x, out = rows_and_out(rows, rows)
    state = torch.randn(3, WIDTH)
    padded = torch.cat([state, x])
    expected = x + padded[:rows] * 2.0 + padded[1 : rows + 1] * 4.0 + padded[2 : rows + 2] * 8.0
    shift_register(x, state, out)
    torch.testing.assert_close(out, expected)
    assert torch.equal(state, padded[rows:])


class Moments(NamedTuple):
    count: Any
    mean: Any
    squares: Any


def welford(moments: Moments, row: Any) -> Moments:
    count = moments.count + 1.0
    delta = row - moments.mean
    mean = moments.mean + delta / count
    return Moments(count, mean, moments.squares + delta * (row - mean))


@pypto.frontend.jit(runtime_options=SIM)
def variance(x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32), out: pypto.Tensor([1, WIDTH], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(1, WIDTH)
    moments = Moments(pypto.zeros(1, WIDTH), pypto.zeros(1, WIDTH), pypto.zeros(1, WIDTH))
    for t in pypto.loop(x.shape[0]):
        moments = welford(moments, x[t : t + 1, :])
    out[:] = moments.squares / moments.count


@pytest.mark.parametrize("rows", [1, 2, 13])
def test_a_named_tuple_comes_back_from_a_helper(rows):
    x, out = rows_and_out(rows)
    variance(x, out)
    torch.testing.assert_close(out[0].double(), x.double().var(0, correction=0), rtol=1e-5, atol=1e-6)


@dataclass(frozen=True)
class State:
    total: Any
    steps: Any
    label: str = "sum"


@pypto.frontend.jit(runtime_options=SIM)
def frozen_state(
    x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32),
    out: pypto.Tensor([1, WIDTH], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, WIDTH)
    state = State(pypto.zeros(1, WIDTH), 0)
    first = state
    for t in pypto.loop(x.shape[0]):
        for _ in pypto.loop(2):
            state = replace(state, total=state.total + x[t : t + 1, :], steps=state.steps + 1)
    assert state.label == "sum"
    out[:] = state.total + state.steps + first.total


@pytest.mark.parametrize("rows", [0, 3])
def test_a_frozen_dataclass_in_nested_loops(rows):
    x, out = rows_and_out(rows)
    frozen_state(x, out)
    torch.testing.assert_close(out[0], 2 * x.sum(0) + 2 * rows)


@pypto.frontend.jit(runtime_options=SIM)
def swapped(
    x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32),
    out: pypto.Tensor([3, WIDTH], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, WIDTH)
    pair = {"a": (pypto.zeros(1, WIDTH), [pypto.full([1, WIDTH], 1.0, pypto.DT_FP32)]), "n": 3}
    kept = pair
    for t in pypto.loop(x.shape[0]):
        pair = {"a": (pair["a"][1][0], [pair["a"][0] + x[t : t + 1, :]]), "n": pair["n"]}
    out[0:1, :] = pair["a"][0]
    out[1:2, :] = pair["a"][1][0]
    out[2:3, :] = kept["a"][0] + kept["n"]


@pytest.mark.parametrize("rows", [0, 1, 4, 5])
def test_nested_containers_change_places_at_once(rows):
    x, out = rows_and_out(rows, 3)
    swapped(x, out)
    a, b = torch.zeros(WIDTH), torch.ones(WIDTH)
    for row in x:
        a, b = b, a + row
    torch.testing.assert_close(out, torch.stack([a, b, torch.full((WIDTH,), 3.0)]))


@pypto.frontend.jit(runtime_options=SIM)
def bounds(
    x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32),
    out: pypto.Tensor([2, WIDTH], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, WIDTH)
    pair = (pypto.zeros(1, WIDTH), 0)
    for t in pypto.loop(x.shape[0]):
        row = x[t : t + 1, :]
        if t < 2:
            pair = (pypto.maximum(pair[0], row), pair[1] + 1)
            both = [row, row + 1.0]
        else:
            both = [row * 2.0, row]
        out[0:1, :] = both[0] + both[1]
    out[1:2, :] = pair[0] + pair[1]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_branches_merge_elements(rows):
    x, out = rows_and_out(rows, 2)
    bounds(x, out)
    torch.testing.assert_close(out[0], 2 * x[-1] + 1 if rows <= 2 else 3 * x[-1])
    torch.testing.assert_close(out[1], x[:2].max(0).values.clamp(min=0) + min(rows, 2))


def test_another_length_is_refused_at_the_assignment():
    @pypto.frontend.jit(runtime_options=SIM)
    def grows(x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32), out: pypto.Tensor([1, WIDTH], pypto.DT_FP32)):
        held = [pypto.zeros(1, WIDTH)]
        for t in pypto.loop(x.shape[0]):
            held = [*held, x[t : t + 1, :]]
        out[:] = held[0]

    with pytest.raises(
        pypto.PyptoError, match=r"'held' changes in a pypto.loop from a list of 1 to a list of 2"
    ) as error:
        grows(*rows_and_out(2))
    assert "held = [*held, x[t : t + 1, :]]" in str(error.value)
    assert "column 13" in str(error.value)


def test_an_element_of_another_kind_is_refused_at_the_assignment():
    @pypto.frontend.jit(runtime_options=SIM)
    def changes(x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32), out: pypto.Tensor([1, WIDTH], pypto.DT_FP32)):
        held = (pypto.zeros(1, WIDTH), "first")
        for t in pypto.loop(x.shape[0]):
            held = (x[t : t + 1, :], "later")
        out[:] = held[0]

    with pytest.raises(
        pypto.PyptoError, match=r"'\[1\] of held' changes in a pypto.loop from 'first' to 'later'"
    ) as error:
        changes(*rows_and_out(2))
    assert 'held = (x[t : t + 1, :], "later")' in str(error.value)


def test_branches_with_other_makes_conflict_on_use():
    @pypto.frontend.jit(runtime_options=SIM)
    def conflicts(x: pypto.Tensor([ROWS, WIDTH], pypto.DT_FP32), out: pypto.Tensor([1, WIDTH], pypto.DT_FP32)):
        if x.shape[0] > 1:
            held = [x[0:1, :]]
        else:
            held = (x[0:1, :], x[0:1, :])
        out[:] = held[0]

    with pytest.raises(pypto.PyptoError, match="Conflicted var held"):
        conflicts(*rows_and_out(2))
