"""Kernels as text that run under pypto and, as ordinary Python on torch tensors, eagerly."""

import importlib.util
import itertools
import textwrap
import types

import torch

import pypto

_numbers = itertools.count()
_open = []  # start, stop and step of the loops that run eagerly

HEAD = """
import dataclasses


@dataclasses.dataclass
class Box:
    t: object
    u: object


@dataclasses.dataclass(frozen=True)
class Tiles:
    rows: int
    width: int


TILES = Tiles(2, 2)


def fresh(value):
    return [value, value + 1.0]


def pick(condition, a, b):
    if condition > 0:
        return a
    return b


def kept(container, count):
    for j in pypto.loop(count):
        if j == 0:
            found = container
        else:
            found = [found[0] + 1.0, found[1]]
    return found


def kernel(x: ROW, n: NUMBERS, out: OUT):
    pypto.set_vec_tile_shapes(4)
"""
SIGNATURE = {
    "ROW": pypto.Tensor([4], pypto.DT_FP32),
    "NUMBERS": pypto.Tensor([2], pypto.DT_INT32),
    "OUT": pypto.Tensor([16], pypto.DT_FP32),
}


def _loop(*bounds, unroll_list=None):
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    for index in range(start, stop, step):
        _open.append((start, stop, step))
        yield index
        _open.pop()


def _loop_unroll(*bounds, unroll_list):
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    for factor in sorted({*unroll_list, 1}, reverse=True):
        while (stop - start) // step >= factor:
            _open.append((start, stop, step))
            yield start, step * factor
            _open.pop()
            start += step * factor


EAGER = types.SimpleNamespace(
    loop=_loop,
    loop_unroll=_loop_unroll,
    is_loop_begin=lambda index: index == _open[-1][0],
    is_loop_end=lambda index: index + _open[-1][2] >= _open[-1][1],
    set_vec_tile_shapes=lambda *_: None,
    clone=torch.clone,
)


def text_of(body, more=""):
    """The source of the kernel, with more before it."""
    return more + HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


def line_of(body, statement):
    """The line in the source of a statement of the body."""
    lines = [each.strip() for each in textwrap.dedent(body).strip("\n").split("\n")]
    return HEAD.count("\n") + 1 + lines.index(statement)


def module_of(directory, body, more=""):
    """A module with the kernel."""
    path = directory / f"kernel_{next(_numbers)}.py"
    path.write_text(text_of(body, more))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(SIGNATURE, pypto=pypto)
    spec.loader.exec_module(module)
    return module


def eager(module, numbers):
    """What Python gives: x and out, or None where it reads a name that is not bound."""
    x, out = torch.arange(1.0, 5.0, dtype=torch.float64), torch.zeros(16, dtype=torch.float64)
    _open.clear()
    vars(module)["pypto"] = EAGER
    try:
        module.kernel(x, numbers, out)
    except NameError:
        return None
    finally:
        vars(module)["pypto"] = pypto
    return x, out


def run(kernel, numbers):
    """What the jitted kernel gives."""
    x, out = torch.arange(1.0, 5.0), torch.zeros(16)
    kernel(x, torch.tensor(numbers, dtype=torch.int32), out)
    return x, out


def is_as_eager(module, kernel, numbers):
    """Compares both, and gives whether Python reads no unbound name there; that is a fault of the kernel."""
    expected = eager(module, list(numbers))
    try:
        found = run(kernel, numbers)
    except pypto.PyptoError as error:
        if expected is None and "was never bound" in str(error):
            return False
        raise
    assert expected is not None, "a name is read that Python has not bound"
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-6, atol=1e-6)
    return True


def check_afresh(directory, body, numbers, more=""):
    """Compares both, each in a module of its own, for kernels that change globals."""
    expected = eager(module_of(directory, body, more), list(numbers))
    assert expected is not None, "a name is read that Python has not bound"
    found = run(pypto.frontend.jit(module_of(directory, body, more).kernel), numbers)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-6, atol=1e-6)
