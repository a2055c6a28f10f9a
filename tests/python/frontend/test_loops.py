"""loop and loop_unroll: the tables of iterations, bounds, begin and end, scopes of tile shapes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto
from pypto import ir
from pypto.frontend.tracing.loops import sections, trips

FP32 = pypto.DT_FP32
T = pypto.Tensor


def table(start: int, stop: int, step: int, factors: list[int], *, repeat: bool = False) -> list[tuple[int, int]]:
    """(idx, k) of every body that the plain loops run."""
    rows = []
    unique = sorted({1, *factors}, reverse=True)
    for section in sections(start, stop, step, unique, repeat=repeat):
        for iteration in range(trips(section.start, section.stop, section.stride)):
            index = section.start + iteration * section.stride
            rows += [(index + body * section.step, section.extent) for body in range(section.repeat)]
    return rows


def test_documented_table():
    assert table(0, 13, 1, [8, 4, 1]) == [(0, 8), (8, 4), (12, 1)]


@pytest.mark.parametrize(
    ("bounds", "factors", "rows"),
    [
        ((0, 0, 1), [4], []),
        ((5, 3, 1), [4], []),
        ((0, 3, 1), [4], [(0, 1), (1, 1), (2, 1)]),
        ((0, 20, 2), [4], [(0, 8), (8, 8), (16, 2), (18, 2)]),
        ((0, 19, 2), [4], [(0, 8), (8, 8), (16, 2), (18, 2)]),
        ((10, 0, -1), [4, 2], [(10, -4), (6, -4), (2, -2)]),
        ((10, -1, -3), [2], [(10, -6), (4, -6)]),
        ((0, 7, 1), [2, 2, 3], [(0, 3), (3, 3), (6, 1)]),
    ],
)
def test_tables(bounds, factors, rows):
    assert table(*bounds, factors) == rows


@given(
    st.integers(-30, 30),
    st.integers(-30, 30),
    st.integers(-4, 4).filter(bool),
    st.lists(st.integers(1, 9), max_size=4),
)
def test_batches_cover_the_plain_loop(start, stop, step, factors):
    rows = table(start, stop, step, factors)
    covered = [index + offset for index, k in rows for offset in range(0, k, step)]
    assert covered == list(range(start, stop, step))
    left = len(range(start, stop, step))
    for factor in sorted({1, *factors}, reverse=True):
        assert sum(1 for _, k in rows if k == factor * step) == left // factor
        left %= factor


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-4, 4).filter(bool), st.integers(1, 6))
def test_repeated_bodies_are_the_plain_loop(start, stop, step, factor):
    rows = table(start, stop, step, [factor], repeat=True)
    assert [index for index, _ in rows] == list(range(start, stop, step))


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_trip_counts(start, stop, step):
    assert trips(start, stop, step) == len(range(start, stop, step))


def loops_in(text: str) -> list[str]:
    return re.findall(r"loop i\d+ in (\(.*\)) name", text)


def test_symbolic_bounds():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 4], FP32), y: T([pypto.DYN, 4], FP32)):
        for i, k in pypto.loop_unroll(0, x.shape[0], 1, unroll_list=[8, 4]):
            y[i : i + k] = x[i : i + k]

    text = kernel.to_text()
    assert loops_in(text) == [
        "(0, ((x_0/8)*8), 8)", "(((x_0/8)*8), ((x_0/4)*4), 4)", "(((x_0/4)*4), x_0, 1)",
    ]  # fmt: skip
    assert [int(n) for n in re.findall(r"view\(.*FP32\[(\d+), 4\]", text)] == [8, 4, 1]


def test_constant_bounds_leave_out_what_never_runs():
    @pypto.frontend.jit
    def kernel(x: T([16, 4], FP32)):
        for i, k in pypto.loop_unroll(0, 12, 1, unroll_list=[8, 4, 2]):
            x[i : i + k] = x[i : i + k] + 1
        for i in pypto.loop(0):
            x[i : i + 1] = x[i : i + 1] * 5

    text = kernel.to_text()
    assert loops_in(text) == ["(0, 8, 8)", "(8, 12, 4)"]
    assert "mul" not in text


def test_unroll_list_of_a_plain_loop_repeats_the_body():
    @pypto.frontend.jit
    def kernel(x: T([16, 4], FP32)):
        for i in pypto.loop(0, 5, 1, unroll_list=[2]):
            x[i : i + 1] = x[i : i + 1] + 1

    text = kernel.to_text()
    assert loops_in(text) == ["(0, 4, 2)", "(4, 5, 1)"]
    assert re.findall(r"assemble\(%\d+, \[(.*), 0\]", text) == ["i0", "(i0+1)", "i1"]


@pytest.mark.parametrize(
    ("arguments", "keywords", "kind", "text"),
    [
        ((), {}, TypeError, r"loop\(\) takes 1 to 3 positional arguments but 0 were given"),
        ((1, 2, 3, 4), {}, TypeError, r"loop\(\) takes 1 to 3 positional arguments but 4 were given"),
        ((0, 4, 0), {}, ValueError, "the step must not be 0"),
        ((2.5,), {}, TypeError, "bounds are ints or symbolic integers, got float"),
        ((4,), {"unroll_list": [0]}, ValueError, "unroll factor 0 must be a positive integer"),
        ((4,), {"unroll_list": [2.5]}, ValueError, "unroll factor 2.5 must be a positive integer"),
        ((4,), {"unroll_list": [-2]}, ValueError, "unroll factor -2 must be a positive integer"),
        ((4,), {"unroll_list": 2}, TypeError, r"unroll_list is a list of ints, such as \[8, 4\], got int"),
    ],
)
def test_wrong_arguments(arguments, keywords, kind, text):
    @pypto.frontend.jit
    def kernel(x: T([16, 4], FP32)):
        for i in pypto.loop(*arguments, **keywords):
            x[i : i + 1] = x[i : i + 1] + 1

    with pytest.raises(kind, match=text) as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, pypto.CompileError)


def test_begin_and_end():
    @pypto.frontend.jit
    def kernel(x: T([64, 4], FP32)):
        for i in pypto.loop(2, 64, 8):
            if pypto.is_loop_begin(i):
                x[0:1] = x[i : i + 1]
            if pypto.is_loop_end(i):
                x[1:2] = x[i : i + 1]
        for j in pypto.loop(64, 2, -8):
            if pypto.is_loop_end(j):
                x[2:3] = x[3:4]

    conditions = re.findall(r"if (.*?)  #", kernel.to_text())
    assert conditions == ["(i0==2)", "(64<=(i0+8))", "((i1-8)<=2)"]


def test_begin_and_end_refer_to_the_bounds_before_unrolling():
    @pypto.frontend.jit
    def kernel(x: T([64, 4], FP32)):
        for i, k in pypto.loop_unroll(0, 13, 1, unroll_list=[8]):
            if pypto.is_loop_end(i):
                x[i : i + k] = x[0:k]

    conditions = re.findall(r"if (.*?)  #", kernel.to_text())
    # The batch of 8 cannot be the end, which is known; the single steps can.
    assert conditions == ["(13<=(i1+1))"]


def test_begin_outside_of_a_loop():
    @pypto.frontend.jit
    def kernel(x: T([64, 4], FP32)):
        if pypto.is_loop_begin(0):
            x[:] = x

    with pytest.raises(RuntimeError, match=r"is_loop_begin\(\) must be called in a pypto.loop"):
        ir.compile(kernel)


def test_tile_shapes_are_scoped():
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32), n: int):
        pypto.set_vec_tile_shapes(8, 8)
        for _ in pypto.loop(4):
            x[:] = x + 1
            pypto.set_vec_tile_shapes(16, 16)
            x[:] = x + 2
            if n > 3:
                pypto.set_vec_tile_shapes(32, 32)
                x[:] = x + 3
            x[:] = x + 4
        x[:] = x + 5
        if n is not None:
            pypto.set_vec_tile_shapes(64, 64)
        x[:] = x + 6

    tiles = re.findall(r"add\(%\d+\S*, (\d)\).*vec_tile \[(\d+)", kernel.to_text())
    assert tiles == [("1", "8"), ("2", "16"), ("3", "32"), ("4", "16"), ("5", "8"), ("6", "64")]


def test_each_body_of_an_unrolled_loop_starts_with_the_tiles_of_before():
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        pypto.set_vec_tile_shapes(8, 8)
        for _ in pypto.loop(5, unroll_list=[3]):
            x[:] = x + 1
            pypto.set_vec_tile_shapes(16, 16)
            pypto.set_pass_options(pg_lower_bound=pypto.get_pass_options()["pg_lower_bound"] + 1)
            assert pypto.get_pass_options()["pg_lower_bound"] == 513
            x[:] = x + 2
        assert pypto.get_pass_options()["pg_lower_bound"] == 512
        x[:] = x + 3

    tiles = re.findall(r"add\(%\d+\S*, (\d)\).*vec_tile \[(\d+)", kernel.to_text())
    assert tiles == [("1", "8"), ("2", "16")] * 4 + [("3", "8")]


def test_tile_shapes_of_the_host_are_where_kernels_start():
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        x[:] = x + 1
        pypto.set_vec_tile_shapes(4, 4)

    import contextvars

    def body():
        pypto.set_vec_tile_shapes(32, 16)
        text = kernel.to_text()
        assert pypto.frontend.get_vec_tile_shapes() == [32, 16]
        return text

    assert "vec_tile [32, 16]" in contextvars.copy_context().run(body)
    assert "vec_tile" not in kernel.to_text()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: pypto.set_vec_tile_shapes(), ValueError, "expected 1 to 5 extents, got 0"),
        (lambda: pypto.set_vec_tile_shapes(0), ValueError, "tile shapes are positive, got 0"),
        (lambda: pypto.set_vec_tile_shapes(2.0), TypeError, "tile shapes are ints"),
        (lambda: pypto.set_cube_tile_shapes([1], [1, 1], [1, 1]), ValueError, "m is a list of 2 ints"),
        (lambda: pypto.set_cube_tile_shapes([1, 1], [1], [1, 1]), ValueError, "k is a list of 2 or 3 ints"),
        (lambda: pypto.set_cube_tile_shapes([1, 1], [1, 1], [1, 1], 1), TypeError, "enable_split_k is True or False"),
    ],
)
def test_wrong_tile_shapes(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
