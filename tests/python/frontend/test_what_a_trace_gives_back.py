"""What a kernel changes outside of it is what it was before when its trace starts over: each call changes it once."""

import pytest
from container_programs import load, run

MORE = """
import array
import collections
import contextvars
import io
import itertools
import threading
import numpy
import torch

class Bare:
    pass

class Listed(list):
    pass

class Sets(set):
    pass

def counter():
    count = 0

    def more():
        nonlocal count
        count += 1
        return count

    return more

COUNT = 0

def more():
    global COUNT
    COUNT = COUNT + 1
    return COUNT

def new_global():
    global NEW
    NEW = NEW + 1 if "NEW" in globals() else 1
    return NEW

def plain():
    pass

def with_default(held=[0]):
    held[0] = held[0] + 1
    return held[0]

listed, mapped, ordered = [0], {}, collections.OrderedDict()
queue, members, more_members = collections.deque([0]), set(), Sets()
octets, numbers, cells = bytearray(1), array.array("i", [0]), numpy.zeros(2, dtype=int)
host, context, unset = torch.zeros(2), contextvars.ContextVar("context", default=0), contextvars.ContextVar("unset")
of_thread = threading.local()
of_thread.w = 0
text, view = io.StringIO(), memoryview(octets)
steps, counts, squares = iter(range(1, 100)), itertools.count(1), (k * k for k in range(1, 100))
bare, with_attribute, inner, closed = Bare(), Listed(), ([0], {"a": {1}}), counter()
"""

TWICE = "y = x * k\nif n[0] > 0:\n    y = y + 1.0\nout[0:4] = y"


@pytest.mark.parametrize(
    "count",
    [
        "listed[0] = listed[0] + 1\nk = listed[0]",
        "mapped[len(mapped)] = 1\nk = len(mapped)",
        "ordered[len(ordered)] = 1\nk = len(ordered)",
        "queue[0] = queue[0] + 1\nk = queue[0]",
        "queue.append(1)\nk = len(queue) - 1",
        "members.add(len(members))\nk = len(members)",
        "more_members.add(len(more_members))\nk = len(more_members)",
        "octets[0] = octets[0] + 1\nk = octets[0]",
        "view[0] = view[0] + 1\nk = octets[0]",
        "numbers[0] = numbers[0] + 1\nk = numbers[0]",
        "numbers.append(1)\nk = len(numbers) - 1",
        "of_thread.w = of_thread.w + 1\nk = of_thread.w",
        "cells[0] = cells[0] + 1\nk = int(cells[0])",
        "host[0] = host[0] + 1.0\nk = int(host[0])",
        "text.write('a')\nk = len(text.getvalue())",
        "context.set(context.get() + 1)\nk = context.get()",
        "bare.k = getattr(bare, 'k', 0) + 1\nk = bare.k",
        "Bare.k = getattr(Bare, 'k', 0) + 1\nk = Bare.k",
        "with_attribute.k = getattr(with_attribute, 'k', 0) + 1\nk = with_attribute.k",
        "plain.k = getattr(plain, 'k', 0) + 1\nk = plain.k",
        "inner[1]['a'].add(len(inner[1]['a']) + 1)\nk = len(inner[1]['a']) - 1",
        "k = closed()",
        "k = more()",
        "k = new_global()",
        "k = with_default()",
    ],
)
def test_each_call_changes_it_once(tmp_path, count):
    kernel = load(tmp_path, f"{count}\n{TWICE}", MORE)
    assert [run(kernel, n)[0].item() for n in (0, 1, 2)] == [1.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("count", "name"),
    [
        ("k = next(steps)", "steps"),
        ("k = next(counts)", "counts"),
        ("k = next(squares)", "squares"),
        ("unset.set(unset.get(0) + 1)\nk = unset.get()", "unset"),
    ],
)
def test_what_cannot_be_given_back_is_refused(tmp_path, count, name):
    with pytest.raises(ValueError, match=f"'{name}' changes while kernel 'kernel' is traced.*make it in the kernel"):
        run(load(tmp_path, f"{count}\n{TWICE}", MORE), 0)
    assert run(load(tmp_path, f"{count}\nout[0:4] = x * k", MORE), 0)[0] == 1.0
