"""Kernels that draw random numbers while they are traced give what Python gives, call for call."""

import random

import numpy as np
import pytest
import torch

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor
table = torch.ones(8)
dropout = torch.nn.Dropout(0.5)
host = torch.empty(4)
own = torch.Generator()
of_python = random.Random(3)


def of_a_helper():
    return float(torch.rand(1))


class Noise(torch.nn.Module):
    """Draws by no name that a kernel holds."""

    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5) + torch.randn_like(x)


noise = Noise()
draws = {
    "in place": lambda: float(host.normal_()[0]),
    "method": lambda: float(table.clone().uniform_()[1]),
    "layer": lambda: float((dropout(table) * torch.arange(8)).sum()),
    "module": lambda: float(noise(table)[3]),
    "functional": lambda: float((torch.nn.functional.dropout(table, 0.3) * torch.arange(8)).sum()),
    "function": lambda: float(torch.rand(1)),
    "helper": of_a_helper,
    "initialised": lambda: float(torch.nn.init.uniform_(torch.empty(3))[2]),
    "own generator": lambda: float(torch.rand(1, generator=own)),
    "random": random.random,
    "own random": of_python.random,
    "numpy": lambda: float(np.random.rand()),
}


def seed(number=3):
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)
    own.manual_seed(number)
    of_python.seed(number)


def kernel_of(draw, carries=False):
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        drawn = draw()
        y = x * 1.0
        z = y
        for _ in pypto.loop(3 if carries else 1):  # the trace starts over where they turn out to be one or two
            y = z
            if carries:
                z = y + 1.0
        out[:] = x * drawn + (y - y)

    return kernel


def call(kernel):
    out = torch.empty(4, dtype=torch.float32)
    kernel(torch.ones(4, dtype=torch.float32), out)
    return float(out[0])


@pytest.mark.parametrize("carries", [False, True])
@pytest.mark.parametrize("name", draws)
def test_each_call_draws(name, carries):
    draw = draws[name]
    seed()
    expected = [draw() for _ in range(4)]
    assert len(set(expected)) > 1
    kernel = kernel_of(draw, carries)
    seed()
    assert [call(kernel) for _ in range(4)] == pytest.approx(expected)
    seed()  # what was compiled serves again, and the generators go on as if it had drawn
    assert [call(kernel), draw(), call(kernel)] == pytest.approx(expected[:3])


def test_a_trace_that_fails_gives_back_what_it_drew():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        dropout(table)
        raise KeyError("on purpose")

    seed()
    expected = float(torch.rand(1))
    seed()
    with pytest.raises(pypto.PyptoError, match="on purpose"):
        kernel(torch.ones(4))
    assert float(torch.rand(1)) == expected


def test_kernels_that_draw_nothing_leave_generators_alone():
    kernel = kernel_of(lambda: float(table.sum()))
    seed()
    expected = float(torch.rand(1))
    seed()
    assert call(kernel) == call(kernel) == 8
    assert kernel._known_hits == 1
    assert float(torch.rand(1)) == expected
    seed(5)  # the state of a generator is none of its inputs
    assert call(kernel) == 8
    assert (kernel.cache_info().misses, kernel._known_hits) == (1, 2)


def test_images_that_numbers_were_drawn_for_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        seed()
        expected = [noise(torch.ones(8))[3].item() for _ in range(2)]
        seed()
        kernel = kernel_of(lambda: float(Noise()(torch.ones(8))[3]))
        assert [call(kernel) for _ in range(2)] == pytest.approx(expected)
    assert not list(tmp_path.iterdir())


def test_a_module_that_is_captured():
    def made(generators):
        return kernel_of(lambda: generators.random())

    kernel = made(random)
    seed()
    expected = [random.random() for _ in range(3)]
    seed()
    assert [call(kernel) for _ in range(3)] == pytest.approx(expected)


def test_the_default_dtype_of_torch():
    kernel = kernel_of(lambda: torch.zeros(1).element_size())
    assert call(kernel) == call(kernel) == 4
    torch.set_default_dtype(torch.float64)
    try:
        assert call(kernel) == call(kernel) == 8
    finally:
        torch.set_default_dtype(torch.float32)
    assert call(kernel) == 4
    assert (kernel.cache_info().misses, kernel._known_hits) == (2, 3)
