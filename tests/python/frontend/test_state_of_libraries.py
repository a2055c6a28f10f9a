"""State of generators, files and buffers, and of what ordinary Python calls: each kernel changes it as eager code does.

A trace that starts over gives it back; what cannot be given back, and what changes under a condition, is refused.
"""

import random

import numpy as np
import pytest
import torch
from eager_kernels import check_afresh, eager, module_of, run

import pypto
from pypto.frontend.objects import containers

HEAD = """
import bisect
import collections
import functools
import heapq
import io
import itertools
import operator
import random
import re
import tempfile
from random import randint

import numpy as np
import torch
from numpy.random import rand

random.seed(5)
np.random.seed(5)
torch.manual_seed(5)


class Random(random.Random):
    pass


class Buffer(io.StringIO):
    pass


own, derived, seeded = random.Random(3), Random(3), np.random.RandomState(3)
generator, twister = np.random.default_rng(3), np.random.Generator(np.random.MT19937(3))
of_torch = torch.Generator().manual_seed(3)
text, octets, derived_text = io.StringIO("abcdefghij"), io.BytesIO(b"abcdefghij"), Buffer("abcdefghij")
with tempfile.NamedTemporaryFile("w", delete=False) as file:
    file.write("abcdefghij" * 10)
read, raw, unbuffered = open(file.name), open(file.name, "rb"), open(file.name, "rb", buffering=0)
written = open(file.name + "2", "w")
first, second = itertools.tee(iter(range(1, 10)))
next(second)
numbers, large = np.zeros(400000), np.zeros(3 << 20)
host, large_host = torch.zeros(400000), torch.zeros(5 << 20)
G = 1


def peek():
    return G


def bump():
    global G
    G = G + 1
    return G


def plainly(**more):
    return bump()


def twice(**more):
    return plainly(**more)


def of_object(what, **more):
    return what.step()


def by_table(**more):
    return TABLE["f"]()


def inside(**more):
    return [bump() for _ in range(2)][1]


def key(value):
    bump()
    return value


@functools.wraps(bump)
def wrapped(*more):
    return bump()


class Object:
    q = 3

    def step(self):
        return bump()

    def __str__(self):
        return "a" * bump()

    def __int__(self):
        return bump()

    def __index__(self):
        return bump() - 1

    def __lt__(self, other):
        return bump() > 0

    def __getattr__(self, name):
        return bump()

    @staticmethod
    def fixed(**more):
        return bump()


zipped, numbered, backwards = zip((1, 2, 3), (4, 5, 6)), enumerate((5, 6, 7)), reversed([1, 2, 3])
mapped = map(int, "123")
chained, paired = itertools.chain((1, 2), (3, 4)), itertools.pairwise((1, 2, 3, 4))
TABLE = {"f": bump}
thing, made = Object(), collections.defaultdict(bump)
"""
STATE = [
    "own.random()", "own.gauss(0, 1)", "derived.randint(1, 9)", "random.random()", "randint(1, 100)",
    "float(generator.random())", "int(twister.integers(100))", "float(seeded.rand())", "float(np.random.rand())",
    "float(rand())", "float(torch.rand(1)[0])", "float(torch.rand(1, generator=of_torch)[0])", "ord(text.read(1))",
    "octets.read(1)[0]", "ord(derived_text.read(1))", "ord(read.read(1))", "raw.read(1)[0]", "unbuffered.read(1)[0]",
    "numbers.__setitem__(0, numbers[0] + 1) or float(numbers[0])", "float(host.add_(1)[0])",
]  # fmt: skip
CALLS = [
    "plainly()", "plainly(a=1)", "twice(a=1)", "of_object(thing)", "of_object(Object())", "by_table()", "inside()",
    "wrapped()", "Object.fixed()", "re.sub('a', lambda m: str(bump()), 'aa').count('2')", "max([1, 2], key=key)",
    "sorted([1, 2], key=key)[0]", "functools.reduce(lambda a, b: bump() + a, [1, 2])", "made[3]",
    "collections.defaultdict(bump)[5]", "next(iter(bump, 5))", "bisect.bisect([1, 2, 3], 2, key=key)",
    "heapq.nsmallest(1, [1, 2], key=key)[0]", "len(str(thing))", "len(f'{thing}')", "len('%s' % thing)", "int(thing)",
    "[1, 2, 3][thing]", "list(range(thing))[0]", "sorted([thing, thing])[0].q", "operator.methodcaller('step')(thing)",
    "TABLE['f']()", "thing.other", "eval('bump()')",
]  # fmt: skip
LOST = [
    "written.write('ab')", "next(first)", "large.__setitem__(0, large[0] + 1) or float(large[0])",
    "float(large_host.add_(1)[0])",
]  # fmt: skip
ITERATORS = [
    "next(first)", "next(zipped)[0]", "next(numbered)[1]", "next(backwards)", "next(mapped)", "next(chained)",
    "next(paired)[1]", "written.write('ab') + written.tell()",
]  # fmt: skip
TWICE = "k = {}\ny = x * k\nif n[0] > 0:\n    y = y + 1.0\nout[0:4] = y\nout[4:8] = x * peek()"


@pytest.mark.parametrize("call", STATE + CALLS)
def test_each_call_changes_it_once(tmp_path, call):
    check_afresh(tmp_path, TWICE.format(call), (1, 0), HEAD)


@pytest.mark.parametrize("call", STATE + ITERATORS)
def test_a_call_finds_what_the_last_one_left(tmp_path, call):
    body = f"k = {call}\nout[0:4] = x * k"
    module = module_of(tmp_path, body, HEAD)
    expected = [eager(module, [0, 0])[1][0].item() for _ in range(3)]
    kernel = pypto.frontend.jit(module_of(tmp_path, body, HEAD).kernel)
    assert [run(kernel, (0, 0))[1][0].item() for _ in range(3)] == pytest.approx(expected)


@pytest.mark.parametrize("around", ["if n[0] > 0:", "for i in pypto.loop(n[0]):"])
@pytest.mark.parametrize("call", STATE + CALLS)
def test_under_a_condition_it_is_refused(tmp_path, call, around):
    module = module_of(tmp_path, f"k = 0\n{around}\n    k = {call}\nout[0:4] = x * k", HEAD)
    with pytest.raises(pypto.PyptoError, match="changes in a|change in a"):
        run(pypto.frontend.jit(module.kernel), (0, 0))


@pytest.mark.parametrize("call", LOST)
def test_what_cannot_be_given_back_is_refused(tmp_path, call):
    module = module_of(tmp_path, TWICE.format(call), HEAD)
    name = call.partition(".")[0].rpartition("(")[2].strip(")")
    with pytest.raises(pypto.PyptoError, match=f"'{name}.*' changes while kernel 'kernel' is traced.*make it in the"):
        run(pypto.frontend.jit(module.kernel), (0, 0))


def test_too_many_objects_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "_MAX_OBJECTS", 50)
    module = module_of(tmp_path, "out[0:4] = x * many[59][0]", "many = [[at] for at in range(60)]\n")
    text = r"more than 50 containers and objects can be reached from the kernel, with 'many'.*give the kernel only what"
    with pytest.raises(pypto.PyptoError, match=text):
        run(pypto.frontend.jit(module.kernel), (0, 0))


def test_more_objects_than_few_are_all_looked_at(tmp_path):
    module = module_of(
        tmp_path, "if n[0] > 0:\n    many[0].append(1)\nout[0:4] = x", "many = [[at] for at in range(25000)]\n"
    )
    with pytest.raises(pypto.PyptoError, match="its length went from 1 to 2"):
        run(pypto.frontend.jit(module.kernel), (0, 0))


def test_a_kernel_that_draws_nothing_is_compiled_once(tmp_path):
    kernel = pypto.frontend.jit(module_of(tmp_path, "k = 1 if torch.float32 else 2\nout[0:4] = x * k", HEAD).kernel)
    for _ in range(3):
        torch.rand(1)
        run(kernel, (0, 0))
    assert kernel.cache_info().misses == 1


@pytest.mark.parametrize(
    ("draw", "uses", "uses_not"),
    [
        (lambda: torch.rand(1), lambda: torch.rand(1), lambda: torch.float32),
        (lambda: np.random.rand(), lambda: np.random.rand(), lambda: np.float32),
        (lambda: random.random(), lambda: random.random(), lambda: torch.float32),
    ],
)
def test_a_generator_that_a_kernel_does_not_use_may_be_used_by_other_threads(draw, uses, uses_not):
    for function, has_changed in ((uses, True), (uses_not, False)):
        snapshot = containers.Snapshot()
        snapshot.add_function(function)
        draw()
        assert any(snapshot.changes()) is has_changed
