"""How often kernels are traced, and what tracing costs, as the same statements follow each other."""

import sys

import pytest
import torch
from repeated_programs import FAMILIES, HEAD, NESTED, kernel_of

from pypto import ir
from pypto.frontend.rewriting.liveness import Liveness
from pypto.frontend.tracing import trace_kernel


@pytest.fixture
def traces(monkeypatch):
    """Made one by one as a kernel is compiled."""
    made = []
    kind = trace_kernel.Trace

    def make(*arguments):
        made.append(kind(*arguments))
        return made[-1]

    monkeypatch.setattr(trace_kernel, "Trace", make)
    return made


def calls_while(action) -> int:
    """Function calls of Python and of C code."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", FAMILIES)
def test_traces_do_not_grow_with_the_statements(tmp_path, name, traces):
    counts = []
    for count in (2, 10):
        traces.clear()
        ir.compile(kernel_of(tmp_path, FAMILIES[name](count)))
        counts.append(len(traces))
    assert counts[1] <= counts[0] + 1 and counts[1] <= 6, counts


@pytest.mark.parametrize("name", NESTED)
def test_traces_grow_slowly_with_loops_in_loops(tmp_path, name, traces):
    counts = []
    for depth in (2, 6):
        traces.clear()
        ir.compile(kernel_of(tmp_path, NESTED[name](depth)))
        counts.append(len(traces))
    assert counts[1] <= counts[0] + 4, counts


# A write into tensors of which any may be the one leads to each of them: what is written grows with them.
_LINEAR = [name for name in FAMILIES if "tensors" not in name and "unrolled" not in name]


@pytest.mark.parametrize("name", _LINEAR)
def test_twice_the_statements_cost_about_twice(tmp_path, name):
    """Counted in function calls."""
    ir.compile(kernel_of(tmp_path, FAMILIES[name](1)))
    calls = []
    for count in (2, 6, 10):
        kernel = kernel_of(tmp_path, FAMILIES[name](count))
        calls.append(calls_while(lambda kernel=kernel: ir.compile(kernel)))
    assert calls[2] - calls[1] <= 1.5 * (calls[1] - calls[0]), calls


def test_names_of_loops_in_loops_are_found_in_one_pass(tmp_path, monkeypatch):
    visited = []
    plain = Liveness._plain
    monkeypatch.setattr(Liveness, "_plain", lambda self, *given: visited.append(1) or plain(self, *given))
    counts = []
    for depth in (2, 12):
        visited.clear()
        ir.compile(kernel_of(tmp_path, NESTED["lists in loops in loops"](depth)))
        counts.append(len(visited))
    assert counts[1] <= 6 * counts[0]


@pytest.mark.parametrize("name", [*FAMILIES, *NESTED])
def test_results_are_those_of_python(tmp_path, name):
    body = (FAMILIES | NESTED)[name](3)
    kernel = kernel_of(tmp_path, body)
    for numbers in ([0, 0, 0], [1, 0, 2], [2, 1, 3], [3, 2, 1]):
        out = torch.zeros(8)
        kernel(torch.arange(1.0, 5.0), torch.tensor(numbers, dtype=torch.int32), out)
        assert out.tolist() == eager(body, numbers).tolist(), numbers


class Eager:
    """What Python does where a kernel uses pypto."""

    def loop(self, *bounds):
        yield from range(*bounds)

    def loop_unroll(self, start, stop, step, unroll_list):
        for factor in (*sorted(unroll_list, reverse=True), 1):
            while start + factor * step <= stop:
                yield start, factor * step
                start += factor * step


def eager(body, numbers):
    out, names = torch.zeros(8), {"pypto": Eager()}
    head = HEAD[: HEAD.index("@pypto")].replace("import pypto\n", "")
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    exec(f"{head}\ndef program(x, n, out):\n{lines}", names)
    names["program"](torch.arange(1.0, 5.0), numbers, out)
    return out
