"""Things around kernels change at random between calls: each kernel gives what Python gives then, and is compiled anew
only where what it reads has changed."""

import collections
import dataclasses
import enum
import functools
import importlib
import random
import sys
import types
import typing

import numpy as np
import pytest
import torch

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor


class AttributeDict(dict):
    __getattr__ = dict.__getitem__


class Answers:
    """Answers every name."""

    def __init__(self):
        self.held = 1

    def __getattr__(self, name):
        return 1


class Listed(list):
    pass


class Pair(typing.NamedTuple):
    first: int
    second: object


class Mode(enum.Enum):
    FAST = 1

    def factor(self):
        return state.number


@dataclasses.dataclass
class Configuration:
    rows: int = 1
    weights: object = None
    inner: object = None


def helper(k, other=1):
    return k * state.number + other


@functools.cache
def cached_helper(k):
    return k + 1


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, 4))
        self.scale = 1


state = types.SimpleNamespace(number=1)
numbers = [1, 2]
names = {"a": 1, "b": 2}
elements = {8, 0}
ordered = collections.OrderedDict(a=1, b=2)
made = collections.defaultdict(int, a=1)
queue = collections.deque([1, 2])
attributes = AttributeDict(k=1)
answers = Answers()
listed = Listed([1, 2])
pair = Pair(1, [1, 2])
mode = Mode.FAST
partial = functools.partial(helper, 2, other=1)
configuration = Configuration(weights=torch.ones(4), inner=np.ones(4))
weights, array = torch.ones(4, 6), np.ones((4, 6))
module = Module()
neighbour = types.ModuleType("neighbour_of_the_user")
neighbour.K = 1

FORMS = [
    "state.number", "numbers[0]", "globals()['numbers'][0]", "eval('numbers[1]')", "next(iter(names.values()))",
    "float(next(iter(elements)))", "next(iter(ordered.values()))", "made['a']", "made.default_factory() + 1",
    "queue[0]", "attributes.k", "attributes['k']", "answers.held", "answers.other", "listed[0]", "pair.first",
    "pair.second[0]", "mode.factor()", "partial()", "configuration.rows", "configuration.weights.shape[0]",
    "float(configuration.weights[1])", "float(configuration.inner[1])", "weights.shape[0]", "float(weights[0, 1])",
    "array.shape[0]", "float(array[0, 1])", "float(array.sum()) + array.shape[1]", "module.weight.shape[0]",
    "float(module.weight.detach().sum())", "module.scale", "neighbour.K", "getattr(neighbour, 'K')",
    "vars(neighbour)['K']",
    "neighbour.__dict__['K']", "sys.modules['neighbour_of_the_user'].K",
    "importlib.import_module('neighbour_of_the_user').K", "helper(numbers[0])", "cached_helper(2)",
    "len(weights.dtype.__str__())", "weights.stride()[0]", "list(vars(state))[0].__len__()",
]  # fmt: skip


def set_global(name, make):
    return lambda k: globals().__setitem__(name, make(k))


def in_another_order(mapping):
    def change(_):
        key = next(iter(mapping))
        value = mapping.pop(key)
        mapping[key] = value

    return change


def changed_elements(k):
    elements.clear()
    elements.update((8, 0) if k % 2 else (0, 8))
    elements.add(16 + k)


CHANGES = [
    lambda k: setattr(state, "number", k),
    lambda k: numbers.__setitem__(0, k),
    lambda k: numbers.__setitem__(1, k),
    set_global("numbers", lambda k: [k, k + 1]),
    lambda k: names.__setitem__("a", k),
    in_another_order(names),
    in_another_order(made),
    changed_elements,
    lambda k: ordered.move_to_end("a" if k % 2 else "b"),
    lambda k: ordered.__setitem__("b", k),
    lambda k: made.__setitem__("a", k),
    lambda k: setattr(made, "default_factory", int if k % 2 else float),
    lambda k: queue.__setitem__(0, k),
    lambda k: attributes.__setitem__("k", k),
    lambda k: setattr(answers, "held", k),
    lambda k: listed.__setitem__(0, k),
    lambda k: globals().__setitem__("pair", Pair(k, [1, 2])),
    lambda k: pair.second.__setitem__(0, k),
    lambda k: partial.keywords.__setitem__("other", k),
    set_global("partial", lambda k: functools.partial(helper, k, other=2)),
    lambda k: setattr(configuration, "rows", k),
    lambda k: setattr(configuration, "weights", torch.full((4 + k,), float(k))),
    lambda k: configuration.weights.numpy().__setitem__(1, k),
    lambda k: configuration.inner.__setitem__(1, k),
    lambda k: weights.data.fill_(k),
    lambda k: weights.numpy().__setitem__((0, 1), k),
    lambda k: weights.t_(),
    lambda k: weights.set_(torch.full((4 + k % 3, 6), float(k))),
    lambda k: array.__setitem__((0, 1), k),
    lambda k: setattr(array, "shape", (4, 6) if k % 2 else (6, 4)),
    set_global("array", lambda k: np.full((4, 6), k)),
    lambda k: module.weight.data.fill_(k),
    lambda k: setattr(module, "scale", k),
    lambda k: setattr(neighbour, "K", k),
    lambda k: setattr(helper, "__defaults__", (k,)),
    lambda k: state.__dict__.__setitem__("other" * k, k),
]
assert importlib and sys  # named by the forms


@pytest.fixture
def _surroundings(monkeypatch):
    monkeypatch.setitem(sys.modules, neighbour.__name__, neighbour)


def kernels_of(folder):
    kernels = {}
    for at, form in enumerate(FORMS):
        path = folder / f"kernel_{at}.py"
        path.write_text(f"@pypto.jit\ndef kernel(x: T([4], FP32), out: T([4], FP32)):\n    out[:] = x * ({form})\n")
        exec(compile(path.read_text(), str(path), "exec"), globals())
        kernels[form] = globals().pop("kernel")
    return kernels


def result_of(kernel):
    out = torch.zeros(4)
    kernel(torch.ones(4), out)
    return out.tolist()


@pytest.mark.usefixtures("_surroundings")
@pytest.mark.parametrize("seed", range(4))
def test_changed_at_random(seed, tmp_path):
    choice = random.Random(seed)
    kernels = kernels_of(tmp_path)
    for _ in range(40):
        choice.choice(CHANGES)(choice.randint(1, 5))
        for form in choice.sample(FORMS, 12):
            kernel = kernels[form]
            expected = [float(eval(form))] * 4
            for _ in range(2):
                assert result_of(kernel) == expected, form
            misses = kernel.cache_info().misses
            assert result_of(kernel) == expected, form
            assert kernel.cache_info().misses == misses, form


# Kernels and changes of what they do not read.
UNREAD = {
    "weights.shape[0]": lambda k: weights.data.fill_(k),
    "weights.stride()[0]": lambda k: weights.data.fill_(k),
    "configuration.weights.shape[0]": lambda k: configuration.weights.numpy().__setitem__(1, k),
    "module.weight.shape[0]": lambda k: module.weight.data.fill_(k),
    "module.scale": lambda k: module.weight.data.fill_(k),
    "configuration.rows": lambda k: configuration.weights.numpy().__setitem__(1, k),
    "array.shape[0]": lambda k: array.__setitem__((0, 1), k),
    "neighbour.K": lambda k: setattr(neighbour, "unread", k),
}


@pytest.mark.usefixtures("_surroundings")
@pytest.mark.parametrize("form", UNREAD)
def test_what_is_not_read_compiles_nothing_anew(form, tmp_path):
    kernel = kernels_of(tmp_path)[form]
    result_of(kernel)
    known = kernel._known_hits
    for k in range(1, 4):
        UNREAD[form](k)
        result_of(kernel)
    assert kernel.cache_info().misses == 1
    assert kernel._known_hits == known + 3


@pytest.mark.usefixtures("_surroundings")
@pytest.mark.parametrize(
    "form",
    [form for form in FORMS if not any(word in form for word in ("queue", "globals", "eval"))],
)
def test_repeated_calls_run_no_python_code_of_the_kernel(form, tmp_path):
    kernel = kernels_of(tmp_path)[form]
    result_of(kernel)
    known = kernel._known_hits
    for _ in range(3):
        result_of(kernel)
    assert kernel._known_hits == known + 3


READS = [
    "float(weights[0, 0])", "weights.tolist()[0][0]", "weights.sum().item()", "[1, 2, 3][weights.to(int)[0, 0] - 1]",
    "float(np.asarray(weights)[0, 0])", "bool(weights[0, 0] > 1) + 1", "len(range(weights.to(int)[0, 0]))",
    "max(weights.flatten()).item()", "float(list(weights)[0][0])", "float(f'{weights[0, 0].item()}')",
    "float(torch.stack([weights, weights])[1, 0, 0])", "float(module(torch.ones(4)).sum().detach())",
    "float(weights.detach().clone().apply_(lambda v: v + module.weight[0, 0].item())[0, 0])",
]  # fmt: skip


@pytest.mark.parametrize("form", READS)
def test_every_way_to_read_a_tensor_of_torch(form, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "weights", torch.ones(4, 6))
    monkeypatch.setattr(Module, "forward", lambda self, x: x @ self.weight, raising=False)
    monkeypatch.setitem(globals(), "module", Module())
    path = tmp_path / "kernel_that_reads.py"
    path.write_text(f"@pypto.jit\ndef kernel(x: T([4], FP32), out: T([4], FP32)):\n    out[:] = x * ({form})\n")
    exec(compile(path.read_text(), str(path), "exec"), globals())
    kernel = globals().pop("kernel")
    for k in (1, 2, 3):
        weights.data.fill_(k)
        module.weight.data.fill_(k)
        for _ in range(2):
            assert result_of(kernel) == [float(eval(form))] * 4
    assert kernel.cache_info().misses == 3
