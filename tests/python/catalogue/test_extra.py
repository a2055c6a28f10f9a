"""Operations of the a5 platforms, random numbers, those under `pypto.experimental`; values by hypothesis."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from catalogue_support import FLOATS, HALF_ULPS, TORCH, case_id, check, dtypes_of, run, values

import pypto
from pypto import experimental, ir


def _philox(key, counter, count):
    """Words of Philox4x32-10 with Python integers."""
    words = []
    for block in range(math.ceil(count / 4)):
        c = [(counter + block) >> (32 * i) & 0xFFFFFFFF for i in range(4)]
        k = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    return words[:count]


def test_the_reference_is_philox():
    assert [hex(word) for word in _philox(0, 0, 4)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


@pytest.mark.parametrize("dtype", FLOATS, ids=case_id)
@pytest.mark.parametrize(("key", "counter"), [(0, 0), (0x1234567890ABCDEF, 2**64 - 2), (7, [3, 5])])
def test_uniform(dtype, key, counter):
    digits = {pypto.DT_FP32: 23, pypto.DT_FP16: 10, pypto.DT_BF16: 7}[dtype]
    whole = counter if isinstance(counter, int) else counter[0] | counter[1] << 64
    expected = [((word & 0x7FFFFF) >> (23 - digits)) / 2**digits for word in _philox(key, whole, 5 * 33)]
    got = run(
        lambda: pypto.uniform([5, 33], key, counter, 1, dtype), [], torch.empty(5, 33, dtype=TORCH[dtype]), "a5sim"
    )
    assert torch.equal(got.double(), torch.tensor(expected, dtype=torch.float64).reshape(5, 33))
    assert float(got.max()) < 1


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_numbers_of_a_loop_are_those_of_the_whole(kind):
    made = getattr(pypto, kind)

    @pypto.frontend.jit
    def tiles(out: pypto.Tensor([pypto.DYNAMIC, 32], pypto.DT_FP32), key: int, first: int):
        for row in pypto.loop(0, out.shape[0], 4):
            out[row : row + 4, :] = made([4, 32], key, first + row * 8)

    @pypto.frontend.jit
    def whole(out: pypto.Tensor([10, 32], pypto.DT_FP32)):
        out[:] = made([10, 32], 3 + 5 * 2**32, 2**32 - 7)

    got, expected = torch.zeros(10, 32), torch.zeros(10, 32)
    pypto.ir.compile(tiles, platform="a5sim")(got, 3 + 5 * 2**32, 2**32 - 7)
    pypto.ir.compile(whole, platform="a5sim")(expected)
    assert torch.equal(got, expected)
    assert len(set(got.flatten().tolist())) > 300


def test_normal():
    words = [((word & 0x7FFFFF) / 2**23) for word in _philox(11, 5, 4000)]
    expected = []
    for first, second in zip(words[0::2], words[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(max(first, 1e-7)))
        expected += [radius * math.sin(2 * math.pi * second), radius * math.cos(2 * math.pi * second)]
    got = run(lambda: pypto.normal([4000], 11, 5), [], torch.empty(4000), "a5sim")
    torch.testing.assert_close(got.double(), torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=1e-5)
    assert abs(float(got.mean())) < 0.05
    assert abs(float(got.std()) - 1) < 0.05


PAIRED = dtypes_of("_interleave")


@pytest.mark.parametrize(("dtype", "platform"), PAIRED, ids=case_id)
def test_interleave_and_deinterleave(dtype, platform):
    x, y = values((3, 20), dtype, 1), values((3, 20), dtype, 2)
    a, b = (t if dtype in FLOATS else t.to(torch.int64) for t in (x, y))
    stream = torch.stack([a, b], -1).reshape(3, 40)
    both = torch.cat([a, b], -1)
    empty = torch.empty(3, 20, dtype=TORCH[dtype])
    for part in (0, 1):
        got = run(lambda t, u, p=part: pypto.interleave(t, u)[p], [x, y], empty.clone(), platform)
        check(got, stream[:, part * 20 : part * 20 + 20])
        got = run(lambda t, u, p=part: pypto.deinterleave(t, u)[p], [x, y], empty.clone(), platform)
        check(got, both[:, part::2])
        got = run(lambda t, p=part: pypto.deinterleave(t)[p], [x], torch.empty(3, 10, dtype=TORCH[dtype]), platform)
        check(got, a[:, part::2])


def test_a5_operations_are_refused_elsewhere():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32)):
        out[:] = pypto.interleave(x, x)[0]

    with pytest.raises(pypto.CompileError, match=r"interleave\(\) of DT_FP32 is not available on platform a2a3sim"):
        ir.compile(kernel)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int8])
def test_gather_in_ub_and_l1(dtype):
    cache, table = (torch.randn(24, 16) * 9).to(dtype), torch.tensor([[3, 0, 5]], dtype=torch.int32)
    indices = torch.tensor([[0, 11, 4, 5, 7]], dtype=torch.int32)
    rows = table[0].long()[indices[0].long() // 4] * 4 + indices[0].long() % 4
    if dtype in (torch.float32, torch.float16):
        for given in (indices, indices.long()):
            got = run(lambda c, i, t: experimental.gather_in_ub(c, i, t, 4, -2), [cache, given, table],
                      torch.empty(5, 16, dtype=dtype))  # fmt: skip
            assert torch.equal(got, cache[rows])
    got = run(lambda c, i, t: experimental.gather_in_l1(c, i, t, 4, 8, False, True), [cache, indices, table],
              torch.empty(8, 5, dtype=dtype))  # fmt: skip
    assert torch.equal(got, cache[rows][:, :8].T)


def test_transposed_batchmatmul():
    a, b = torch.randn(7, 3, 20).half(), torch.randn(3, 20, 9).half()
    got = run(lambda x, y: experimental.transposed_batchmatmul(x, y, pypto.DT_FP16), [a, b],
              torch.empty(7, 3, 9, dtype=torch.float16))  # fmt: skip
    check(got, torch.einsum("mbk,bkn->mbn", a.double(), b.double()), HALF_ULPS, 1e-5)
    with pytest.raises(pypto.CompileError, match="DT_FP32 is not supported; accepted: DT_FP16, DT_BF16"):
        run(lambda x, y: experimental.transposed_batchmatmul(x, y, pypto.DT_FP32), [a.float(), b.float()],
            torch.empty(7, 3, 9))  # fmt: skip


def test_online_softmax_in_two_blocks():
    @pypto.frontend.jit
    def kernel(
        s0: pypto.Tensor([16, 8], pypto.DT_FP32), s1: pypto.Tensor([16, 8], pypto.DT_FP32),
        largest: pypto.Tensor([1, 8], pypto.DT_FP32), total: pypto.Tensor([1, 8], pypto.DT_FP32),
        out: pypto.Tensor([1, 8], pypto.DT_FP32),
    ):  # fmt: skip
        w0, m0, l0 = experimental.online_softmax(s0, 0.5)
        w1, m1, l1 = experimental.online_softmax(s1, 0.5)
        o0 = pypto.sum(pypto.cast(w0, pypto.DT_FP32), 0, True)
        o1 = pypto.sum(pypto.cast(w1, pypto.DT_FP32), 0, True)
        m, l, o = experimental.online_softmax_update(m0, l0, o0, m1, l1, o1)  # noqa: E741
        largest[:], total[:], out[:] = m, l, o

    s0, s1 = torch.randn(16, 8), torch.randn(16, 8) + 1
    out = [torch.empty(1, 8) for _ in range(3)]
    ir.compile(kernel, platform="a5sim")(s0, s1, *out)
    scores = torch.cat([s0, s1]).double() * 0.5
    largest = scores.amax(0, keepdim=True)
    weights = (scores - largest).exp().sum(0, keepdim=True)
    torch.testing.assert_close(out[0].double(), largest, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(out[1].double(), weights, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(out[2].double(), weights, rtol=1e-2, atol=1e-2)


def test_gather_and_scatter_by_index_syntax():
    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor([6, 4], pypto.DT_FP32), i: pypto.Tensor([3, 4], pypto.DT_INT32),
        out: pypto.Tensor([3, 4], pypto.DT_FP32), target: pypto.Tensor([6, 4], pypto.DT_FP32),
    ):  # fmt: skip
        out[:] = x[0:i]
        target[0:i] = out

    x, target = torch.randn(6, 4), torch.zeros(6, 4)
    index = torch.stack([torch.randperm(6)[:3] for _ in range(4)], 1)
    out = torch.empty(3, 4)
    kernel(x, index.int(), out, target)
    assert torch.equal(out, torch.gather(x, 0, index))
    assert torch.equal(target, torch.zeros(6, 4).scatter(0, index, out))


# Values by hypothesis: one compiled kernel each, any bits.

BITS32 = st.binary(min_size=256, max_size=256)


def _compiled(body, count, dtype, result):
    spec, out_spec = pypto.Tensor([64], dtype), pypto.Tensor([64], result)
    if count == 1:

        @pypto.frontend.jit
        def kernel(x: spec, out: out_spec):
            out[:] = body(x)

    else:

        @pypto.frontend.jit
        def kernel(x: spec, y: spec, out: out_spec):
            out[:] = body(x, y)

    return ir.compile(kernel)


ANY_FLOAT = {
    "floor": torch.floor, "sin": torch.sin, "expm1": torch.expm1, "isfinite": torch.isfinite,
    "remainder": torch.remainder, "fmod": torch.fmod, "maximum": torch.maximum, "lt": torch.lt, "atan2": torch.atan2,
}  # fmt: skip


@pytest.mark.parametrize("name", ANY_FLOAT)
def test_any_floats(name):
    count = 2 if name in ("remainder", "fmod", "maximum", "lt", "atan2") else 1
    boolean = name in ("isfinite", "lt")
    program = _compiled(getattr(pypto, name), count, pypto.DT_FP32, pypto.DT_BOOL if boolean else pypto.DT_FP32)

    @hypothesis.settings(
        max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(BITS32, BITS32)
    def compare(first, second):
        inputs = [torch.from_numpy(np.frombuffer(bits, np.float32).copy()) for bits in (first, second)[:count]]
        out = torch.empty(64, dtype=torch.bool if boolean else torch.float32)
        program(*inputs, out)
        check(out, ANY_FLOAT[name](*[x.double() for x in inputs]), HALF_ULPS)

    compare()


@pytest.mark.parametrize("name", ["add", "mul", "gcd", "floor_div", "bitwise_xor"])
def test_any_integers(name):
    program = _compiled(getattr(pypto, name), 2, pypto.DT_INT32, pypto.DT_INT32)
    references = {
        "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "gcd": math.gcd,
        "floor_div": lambda a, b: a // b if b else 0, "bitwise_xor": lambda a, b: a ^ b,
    }  # fmt: skip

    @hypothesis.settings(
        max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(BITS32, BITS32)
    def compare(first, second):
        x, y = (torch.from_numpy(np.frombuffer(bits, np.int32).copy()) for bits in (first, second))
        out = torch.empty(64, dtype=torch.int32)
        program(x, y, out)
        expected = [references[name](a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        assert out.tolist() == [(value + 2**31) % 2**32 - 2**31 for value in expected]

    compare()


def test_gather_in_ub_addresses_the_tensor_under_the_view():
    rows = pypto.frontend.dynamic("rows")

    @pypto.frontend.jit
    def kernel(
        cache: pypto.Tensor([rows, 16], pypto.DT_FP32), i: pypto.Tensor([1, 5], pypto.DT_INT32),
        table: pypto.Tensor([1, 3], pypto.DT_INT32), out: pypto.Tensor([5, 16], pypto.DT_FP32),
    ):  # fmt: skip
        window = pypto.view(cache, [5, 16], [0, 0])
        out[:] = experimental.gather_in_ub(window, i, table, 4, -2)

    table = torch.tensor([[3, 0, 5]], dtype=torch.int32)
    indices = torch.tensor([[0, 11, 4, 5, 7]], dtype=torch.int32)
    places = table[0].long()[indices[0].long() // 4] * 4 + indices[0].long() % 4
    program = ir.compile(kernel)
    for count in (24, 100):
        cache, out = torch.randn(count, 16), torch.empty(5, 16)
        program(cache, indices, table, out)
        assert torch.equal(out, cache[places])


def test_gather_in_ub_inherits_symbolic_widths():
    @pypto.frontend.jit
    def kernel(
        cache: pypto.Tensor([8, 8], pypto.DT_FP32),
        indices: pypto.Tensor([1, 4], pypto.DT_INT32),
        table: pypto.Tensor([1, 4], pypto.DT_INT32),
        width: pypto.Tensor([1], pypto.DT_INT32),
        out: pypto.Tensor([4, 8], pypto.DT_FP32),
    ):
        window = pypto.view(cache, [4, 8], [0, 0], valid_shape=[4, width[0]])
        out[:] = experimental.gather_in_ub(window, indices, table, 2)

    cache, out = torch.randn(8, 8), torch.full((4, 8), 7.0)
    indices, table = torch.tensor([[0, 3, 5, 6]]).int(), torch.tensor([[3, 0, 2, 1]]).int()
    kernel(cache, indices, table, torch.tensor([5]).int(), out)
    expected = torch.full((4, 8), 7.0)
    for row, index in enumerate(indices[0].tolist()):
        expected[row, :5] = cache[table[0, index // 2] * 2 + index % 2, :5]
    assert torch.equal(out, expected)


@pytest.mark.parametrize("shape", [(6, 4, 16), (6, 4, 1, 16), (3, 2, 4, 1, 16)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gather_in_ub_of_pages_with_dims_of_their_own(shape, dynamic):
    declared = [pypto.DYN if dynamic and dim < 2 else extent for dim, extent in enumerate(shape)]
    whole = list(shape) if not dynamic else [1] * (len(shape) - 1) + [16]

    @pypto.frontend.jit
    def kernel(
        cache: pypto.Tensor(declared, pypto.DT_FP32), i: pypto.Tensor([5], pypto.DT_INT32),
        table: pypto.Tensor([2, 3], pypto.DT_INT32), out: pypto.Tensor([5, 16], pypto.DT_FP32),
        narrow: pypto.Tensor([5, 8], pypto.DT_FP32),
    ):  # fmt: skip
        window = pypto.view(cache, whole, [0] * len(shape)) if dynamic else cache
        out[:] = experimental.gather_in_ub(window, i, table, 4, -2)
        part = pypto.view(cache, [*whole[:-1], 8], [0] * len(shape))
        narrow[:] = experimental.gather_in_ub(part, i, table, 4)

    cache, table = torch.randn(shape), torch.tensor([[3, 0, 5], [9, 9, 9]], dtype=torch.int32)
    indices = torch.tensor([0, 11, 4, 5, 7], dtype=torch.int32)
    places = table[0].long()[indices.long() // 4] * 4 + indices.long() % 4
    out, narrow = torch.empty(5, 16), torch.empty(5, 8)
    ir.compile(kernel)(cache, indices, table, out, narrow)
    assert torch.equal(out, cache.reshape(-1, 16)[places])
    assert torch.equal(narrow, cache.reshape(-1, 16)[places][:, :8])


@pytest.mark.parametrize("name", ["gather_in_ub", "gather_in_l1"])
@pytest.mark.parametrize(("index", "text"), [
    (16, r"index 16 is out of range for the block table t, which has 4 blocks of 4 rows"),
    (-1, r"index -1 is out of range for the block table t, which has 4 blocks of 4 rows"),
    (13, r"index 13 is in block 7 of c, which has 16 rows, in blocks of 4"),
    (4, r"index 4 is in block -2 of c, which has 16 rows, in blocks of 4"),
])  # fmt: skip
def test_a_paged_gather_names_index_block_and_tensor(name, index, text):
    @pypto.frontend.jit
    def kernel(
        c: pypto.Tensor([16, 8], pypto.DT_FP32), i: pypto.Tensor([1, 2], pypto.DT_INT32),
        t: pypto.Tensor([1, 4], pypto.DT_INT32), out: pypto.Tensor([2, 8], pypto.DT_FP32),
    ):  # fmt: skip
        more = [] if name == "gather_in_ub" else [8]
        out[:] = getattr(experimental, name)(c, i, t, 4, *more)

    indices, table = torch.tensor([[0, index]]).int(), torch.tensor([[0, -2, 2, 7]]).int()
    with pytest.raises(pypto.AclError, match=rf"{name}\(\): {text}"):
        kernel(torch.randn(16, 8), indices, table, torch.empty(2, 8))


def test_blocks_of_a_paged_gather_may_have_symbolic_size():
    @pypto.frontend.jit
    def kernel(
        c: pypto.Tensor([pypto.DYN, pypto.DYN, 8], pypto.DT_FP32), i: pypto.Tensor([3], pypto.DT_INT32),
        t: pypto.Tensor([1, 2], pypto.DT_INT32), out: pypto.Tensor([3, 8], pypto.DT_FP32),
    ):  # fmt: skip
        out[:] = experimental.gather_in_ub(pypto.view(c, [1, 1, 8], [0, 0, 0]), i, t, c.shape[1])

    for size in (2, 5):
        cache, out, index = torch.randn(4, size, 8), torch.empty(3, 8), [0, size, 2 * size - 1]
        kernel(cache, torch.tensor(index).int(), torch.tensor([[3, 1]]).int(), out)
        assert torch.equal(out, torch.stack([cache[[3, 1][i // size], i % size] for i in index]))


@pytest.mark.parametrize("size", [0, -4, 2.0, None])
def test_the_block_size_of_a_paged_gather_is_positive(size):
    def body(c):
        zeros = pypto.zeros([1, 2], dtype=pypto.DT_INT32)
        return experimental.gather_in_ub(c, zeros, zeros, size)

    x = torch.zeros(4, 8)
    with pytest.raises(pypto.CompileError, match=r"block_size is a positive int or a symbolic integer, got "):
        run(body, [x], x[:2])


def test_gather_in_ub_says_what_it_takes():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([8], pypto.DT_FP32), i: pypto.Tensor([1, 4], pypto.DT_INT32)):
        experimental.gather_in_ub(x, i, i, 4)

    @pypto.frontend.jit
    def along(x: pypto.Tensor([8, 8], pypto.DT_FP32), i: pypto.Tensor([1, 4], pypto.DT_INT32)):
        experimental.gather_in_ub(x, i, i, 4, axis=1)

    @pypto.frontend.jit
    def other(x: pypto.Tensor([8, 8], pypto.DT_BF16), i: pypto.Tensor([1, 4], pypto.DT_INT32)):
        experimental.gather_in_ub(x, i, i, 4)

    with pytest.raises(pypto.CompileError, match="DT_BF16 is not supported; accepted: DT_FP32, DT_FP16"):
        ir.compile(other)
    for each, got in ((kernel, r"got \[8\] DT_FP32, \[1, 4\] DT_INT32 and -2"), (along, ".* DT_INT32 and 1")):
        with pytest.raises(pypto.CompileError, match="a block table of 2 dims, and axis -2, " + got):
            ir.compile(each)


def test_prelu_of_one_dim_has_one_weight():
    x, weight = torch.randn(9), torch.tensor([0.25])
    got = run(pypto.prelu, [x, weight], torch.empty(9))
    assert torch.equal(got, torch.nn.functional.prelu(x, weight))
