"""Fixtures of all Python tests. The layer that reports leaks of ACL objects is on for the whole suite."""

import gc
import os

os.environ.setdefault("PYPTO_ACL_LAYERS", "validation")

import hypothesis
import pytest
import torch

import pypto
from pypto import _core, ir, testing
from pypto.runtime import ChipWorker, RunConfig, current

# How long an example takes is no property of it on a machine that does other work too.
hypothesis.settings.register_profile("steady", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("steady")
torch.set_num_threads(1)
_core.set_leak_warnings(True)


@pytest.fixture(scope="session", autouse=True)
def nothing_leaks():
    """Behind the last test no object of the ACL library is alive."""
    yield
    current.close_defaults()
    gc.collect()
    assert testing.leak_reports() == ""
    assert testing.live_bytes() == 0
    assert testing.guard_violations() == 0


@pytest.fixture
def worker():
    """A worker on the mock, current for the test; nothing of it may be alive behind the test."""
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as opened:
        yield opened
    assert testing.pending_faults() == 0


ROWS = pypto.frontend.dynamic("rows")


@pypto.frontend.jit
def add_kernel(
    x: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
    y: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
    out: pypto.Tensor([ROWS, 16], pypto.DT_FP32),
):
    for i in pypto.loop(0, x.shape[0], 8):
        out[i : i + 8, :] = x[i : i + 8, :] + y[i : i + 8, :]


@pypto.frontend.jit
def static_add_kernel(
    x: pypto.Tensor([16, 16], pypto.DT_FP32),
    y: pypto.Tensor([16, 16], pypto.DT_FP32),
    out: pypto.Tensor([16, 16], pypto.DT_FP32),
):
    out[:] = x + y


@pytest.fixture(scope="session")
def add_program():
    """x + y over a dynamic number of rows of 16."""
    return ir.compile(add_kernel, platform="a2a3sim")


@pytest.fixture(scope="session")
def static_add_program():
    """x + y of 16 x 16."""
    return ir.compile(static_add_kernel, platform="a2a3sim")
