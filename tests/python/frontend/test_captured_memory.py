"""Memory that kernels capture: fingerprints of it, arrays of any size, and calls while other threads change things."""

import dataclasses
import enum
import resource
import subprocess
import sys
import threading
import time
import weakref

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from test_changes_are_noticed import kernel_of, result

import pypto
from pypto import _core
from pypto.frontend.kernels.arrays import mark_of

FP32, T = pypto.DT_FP32, pypto.Tensor
SIZES = [0, 1, 7, 63, 64, 65, 4095, 4096, 4097, 4160, 10007, 65536]


@hypothesis.settings(max_examples=300, deadline=None, derandomize=True)
@hypothesis.given(st.sampled_from(SIZES), st.integers(0, 2**31), st.integers(1, 255), st.integers(0, 99))
def test_any_byte_counts(size, place, change, seed):
    data = bytearray(np.random.default_rng(seed).bytes(size))
    before = _core.fingerprint(data)
    assert before == _core.fingerprint(bytes(data))
    assert len(before) == (1 + size if size <= 4096 else 73)
    if size:
        data[place % size] ^= change
        assert _core.fingerprint(data) != before


@pytest.mark.parametrize("size", SIZES[1:])
def test_the_number_of_bytes_counts(size):
    zeros = [_core.fingerprint(bytes(size + more)) for more in (0, 1, 64)]
    assert len(set(zeros)) == 3


def test_words_that_change_places_count():
    data = np.arange(5000, dtype=np.uint64)
    prints = {_core.fingerprint(data)}
    for distance in (1, 8, 64):
        swapped = data.copy()
        swapped[[100, 100 + distance]] = swapped[[100 + distance, 100]]
        prints.add(_core.fingerprint(swapped))
    assert len(prints) == 4


def test_what_has_no_bytes_in_a_row_is_refused():
    with pytest.raises(BufferError):
        _core.fingerprint(memoryview(bytes(100))[::2])
    with pytest.raises(TypeError):
        _core.fingerprint("text")


@pytest.mark.parametrize("mebibytes", [1, 9])
@pytest.mark.parametrize("made", [lambda array: array, torch.from_numpy], ids=["numpy", "torch"])
def test_the_last_cell_of_a_large_array(mebibytes, made):
    """A copy is kept of small ones, and a hash of large ones."""
    array = np.zeros(mebibytes << 18, np.float32)
    held = made(array)
    kernel = kernel_of(lambda held: float(held[-1]), held)
    assert result(kernel) == result(kernel) == 0
    array[-1] = 3
    assert result(kernel) == result(kernel) == 3
    array[0] = 3
    assert result(kernel) == 3
    assert kernel.cache_info().misses == 3
    assert kernel._known_hits == 2


def test_arrays_of_any_size_have_a_mark():
    huge = np.zeros(300 << 20, np.int8)
    before = mark_of(huge)
    huge[-1] = 1
    assert mark_of(huge) != before


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[D]", "S3", "U2", "c16", "?", "f2", ">i4", "O", "i4,f4", "V5"])
def test_arrays_of_all_kinds(dtype):
    held = np.zeros(3, dtype)
    kernel = kernel_of(lambda held: held.tobytes().count(0) if held.dtype != object else len(held), held)
    first = result(kernel)
    assert result(kernel) == first
    assert (kernel.cache_info().misses, kernel._known_hits) == (1, 1)
    if dtype != "O":
        held.view(np.uint8)[...] = 7
        assert result(kernel) == 0


def test_numbers_of_numpy_and_memory_of_bytes_never_change():
    fixed = np.frombuffer(bytes(1 << 20), np.float32)
    kernel = kernel_of(lambda held: held[0] + float(held[1][5]), [np.float32(2), fixed])
    assert result(kernel) == result(kernel) == 2
    assert kernel._known_hits == 1


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float8_e4m3fn, torch.bool, torch.float64])
@pytest.mark.parametrize("change", [lambda t: t.T, lambda t: t[1:], lambda t: t.conj(), lambda t: t])
def test_tensors_of_all_kinds(dtype, change):
    held = change(torch.zeros(2, 2).to(dtype))
    kernel = kernel_of(lambda held: held.flatten()[-1].to(torch.complex64).real.item(), held)
    assert result(kernel) == result(kernel) == 0
    held.data.fill_(1)
    assert result(kernel) == result(kernel) == 1
    assert (kernel.cache_info().misses, kernel._known_hits) == (2, 2)


def test_the_mark_of_a_conjugate_is_part_of_a_tensor():
    held = torch.tensor([1 + 2j])
    kernel = kernel_of(lambda held: held[0].resolve_conj().imag.item(), held)
    assert result(kernel) == result(kernel) == 2
    held.data = held.conj()
    assert result(kernel) == result(kernel) == -2


@pytest.mark.parametrize("is_released", [False, True])
def test_views_that_are_released(is_released):
    held = memoryview(bytearray(4))
    kernel = kernel_of(lambda held: 2 if held is not None else 0, held)
    if is_released:
        held.release()
    assert result(kernel) == result(kernel) == 2
    held.release()
    assert result(kernel) == 2
    assert kernel.cache_info().misses == (1 if is_released else 2)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_tensors_without_elements(shape):
    held = torch.zeros(shape)
    kernel = kernel_of(lambda held: len(held.flatten().tolist()) + 1, held)
    assert result(kernel) == result(kernel) == 1
    assert kernel._known_hits == 1


FIRST_TENSOR = """
import torch, pypto
from pypto.frontend.kernels.guards import Guards
from pypto.frontend.kernels.tensor_reads import contents_of
held = torch.zeros(2)

@pypto.frontend.jit
def kernel(x: pypto.Tensor([4], pypto.DT_FP32), out: pypto.Tensor([4], pypto.DT_FP32)):
    out[:] = x * (1.0 + float(held[0]))

worker = pypto.runtime.ChipWorker()
with worker:
    x, out = (worker.alloc_tensor((4,), torch.float32) for _ in range(2))
    for _ in range(3):
        kernel(x, out)
assert kernel._known_hits == 2, kernel.cache_info()
"""


def test_the_first_tensor_of_torch_that_is_seen_is_a_captured_one(tmp_path):
    script = tmp_path / "first.py"
    script.write_text(FIRST_TENSOR)
    subprocess.run([sys.executable, script], check=True)


def test_tensors_of_inference_mode():
    with torch.inference_mode():
        held = torch.zeros(2)
    kernel = kernel_of(lambda held: float(held[0]), held)
    assert result(kernel) == result(kernel) == 0
    with torch.inference_mode():
        held.fill_(1)
    assert result(kernel) == 1


def test_shapes_are_seen_where_contents_do_not_count():
    held = torch.zeros(2, 3)
    kernel = kernel_of(lambda held: held.shape[0] * 10 + held.stride(0), held)
    assert result(kernel) == result(kernel) == 23
    held.data.fill_(1)
    assert result(kernel) == 23
    assert (kernel.cache_info().misses, kernel._known_hits) == (1, 2)
    held.data = torch.zeros(3, 2).T
    assert result(kernel) == 21
    assert kernel.cache_info().misses == 2


def _for_a_while(actions, seconds=1.0):
    """Each action again and again, in a thread of its own."""
    failures, end = [], time.monotonic() + seconds

    def repeat(action):
        try:
            while time.monotonic() < end:
                action()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=repeat, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


class Held:
    number = 1


@pytest.mark.parametrize("seen_by", ["the core", "Python"])
def test_threads_call_while_another_changes_what_is_captured(seen_by):
    """Each call gives a number that was there while it ran."""
    held = Held()
    reference = held if seen_by == "the core" else weakref.ref(held)
    read = (lambda of: of.number) if seen_by == "the core" else (lambda of: of().number)
    kernel = kernel_of(read, reference)
    turn = iter(range(10**9))

    def call():
        least = held.number
        got = result(kernel)
        assert least <= got <= held.number

    def change():
        held.number = next(turn) // 3 + 1
        time.sleep(0.01)

    _for_a_while([call, call, call, change, kernel.cache_clear])
    assert result(kernel) == held.number


class Kind(enum.Enum):
    PLAIN, OTHER = 1, 2


@dataclasses.dataclass
class Part:
    size: int = 4
    kind: Kind = Kind.PLAIN
    sizes: list = dataclasses.field(default_factory=lambda: [1, 2])
    named: dict = dataclasses.field(default_factory=lambda: {"a": 1.0})


def test_a_layer_with_many_parts_is_watched_by_the_core():
    parts = [Part() for _ in range(12)]
    layer = torch.nn.Linear(4, 4)
    lock = threading.Lock()
    kernel = kernel_of(
        lambda held: sum(p.size + p.sizes[0] + p.named["a"] + p.kind.value for p in held[0]) + held[1].in_features,
        (parts, layer, lock),
    )
    assert result(kernel) == result(kernel) == 12 * 7 + 4
    assert kernel._known_hits == 1
    parts[7].named["a"] = 2.0
    assert result(kernel) == 12 * 7 + 5


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_calls_share_the_copy_of_an_array():
    held = np.ones(2 << 20, np.float32)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), times: int):
        out[:] = x * float(held[-1]) * float(times)

    x, out = torch.ones(4), torch.empty(4)
    kernel(x, out, 1)
    before = resident_bytes()
    for times in range(2, 32):
        kernel(x, out, times)
        kernel(x, out, times)
        assert out.tolist() == [times] * 4
    assert kernel._known_hits == 30
    assert resident_bytes() - before < 4 * held.nbytes


@pytest.mark.parametrize("held", [[1.0], {0: 1.0}, np.ones(1), np.ones(9000), torch.ones(1)])
def test_what_changes_during_a_compilation_is_not_kept(held):
    """Another thread changes it between the look at what is captured and where the trace reads it."""

    def read(held):
        time.sleep(0.2)
        return held[0]

    kernel = kernel_of(read, held)
    compiling = threading.Thread(target=result, args=(kernel,))
    compiling.start()
    time.sleep(0.1)
    held[0] = 2.0
    compiling.join()
    assert result(kernel) == 2
    held[0] = 1.0
    assert [result(kernel), result(kernel)] == [1, 1]
    held[0] = 2.0
    assert result(kernel) == 2
    assert kernel.cache_info().currsize == 2
