"""Outputs that autograd knows: what torch refuses in place is refused here, and writes are counted where it looks."""

import pytest
import torch

from pypto.runtime import ChipWorker


@pytest.fixture
def handle(worker, static_add_program):
    return worker.register(static_add_program)


@pytest.fixture
def x():
    return torch.ones(16, 16)


def leaf() -> torch.Tensor:
    return torch.zeros(16, 16, requires_grad=True)


def calls(handle, program, kernel):
    return (
        handle,
        program,
        kernel,
        lambda *arguments: handle.submit(*arguments).result(),
    )


def test_a_leaf_that_requires_grad_is_no_output(worker, handle, static_add_program, x):
    from conftest import static_add_kernel

    static_add_kernel(x, x, torch.zeros(16, 16))
    launched = worker.counters()["launches"]
    for out in (leaf(), torch.nn.Parameter(torch.zeros(16, 16))):
        for call in calls(handle, static_add_program, static_add_kernel):
            with pytest.raises(ValueError, match="'out' is an output and a leaf tensor that requires grad.*no_grad"):
                call(x, x, out)
        assert torch.equal(out, torch.zeros(16, 16))
    with pytest.raises(ValueError, match="'out' is an output and a tensor that requires grad"):
        handle(x, x, leaf() * 2)
    with pytest.raises(ValueError, match="a leaf tensor that requires grad"):
        handle(x, x, leaf().t().contiguous().detach().t().requires_grad_())  # strided: the way through Python
    with pytest.raises(ValueError, match="'out' is an output and a leaf"):
        worker.alloc_tensor((16, 16), torch.float32, init=x).to_host(leaf())
    assert worker.counters()["launches"] == launched


def test_inputs_may_require_grad(handle):
    out = torch.zeros(16, 16)
    handle(leaf(), torch.nn.Parameter(torch.ones(16, 16)), out)
    assert torch.equal(out, torch.ones(16, 16))
    assert not out.requires_grad


def test_with_grad_mode_off_it_is_written_and_counted(handle, static_add_program, x):
    from conftest import static_add_kernel

    for call in calls(handle, static_add_program, static_add_kernel):
        out = leaf()
        with torch.no_grad():
            call(x, x, out)
            call(x, x, out)
        assert torch.equal(out, torch.full((16, 16), 2.0))
        assert out._version == 2
        assert out.requires_grad


def test_a_backward_pass_that_needs_the_old_value_refuses(handle, x):
    weight = leaf()
    loss = (weight * weight).sum()
    with torch.no_grad():
        handle(x, x, weight)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_submitted_write_counts_when_it_happens(handle, x):
    out = leaf()
    with torch.no_grad():
        completion = handle.submit(x, x, out)
        assert out._version == 0
        completion.wait()
        assert out._version == 1
        completion.wait()
        assert completion.done()
        assert out._version == 1
        dropped = handle.submit(x, x, out)
        del dropped
        assert out._version == 2


def test_downloads_count(worker: ChipWorker, x):
    tensor = worker.alloc_tensor((16, 16), torch.float32, init=x)
    out = torch.zeros(16, 16)
    tensor.to_host(out)
    assert out._version == 1


def test_inference_tensors(handle, x):
    with torch.inference_mode():
        out = torch.zeros(16, 16)
        handle(x, x, out)
        handle(x, x, out.as_subclass(Odd))
    assert torch.equal(out, x * 2)


class Odd(torch.Tensor):
    """A subclass, which goes through Python."""
