"""Containers, memory and arrays that kernels read their numbers from; as in changed_things."""

import array
import collections
import ctypes
import mmap
import operator
import types
import weakref

import numpy as np
import torch
from changed_things import classes, pair, put, put_item


def c_structure(kind=ctypes.Structure):
    class S(kind):
        _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_byte * 2))

    return S(2)


def read_only_view():
    base = np.array([2, 2])
    view = base[:]
    view.flags.writeable = False
    return view, base


def read_only():
    made = np.array([2, 2])
    made.flags.writeable = False
    return made


def with_gradient():
    made = torch.tensor([1.0], requires_grad=True)
    made.grad = torch.tensor([2.0])
    return made


def anonymous_memory():
    made = mmap.mmap(-1, 16)
    made[0] = 2
    return made


CONTAINERS = {
    "proxy of a dict": (
        lambda: pair(lambda: {"a": 2}, types.MappingProxyType),
        lambda o: o[0]["a"],
        lambda o: o[1].update(a=3),
    ),
    "view of a dict": (lambda: pair(lambda: {"a": 2}, dict.values), lambda o: sum(o[0]), lambda o: o[1].update(a=3)),
    "order of an OrderedDict": (
        lambda: collections.OrderedDict(a=2, b=3),
        lambda o: next(iter(o.values())),
        lambda o: o.move_to_end("a"),
    ),
    "defaultdict": (
        lambda: collections.defaultdict(lambda: 2),
        lambda o: o.default_factory(),
        put("default_factory", lambda: 3),
    ),
    "ChainMap": (lambda: collections.ChainMap({"a": 2}), lambda o: o["a"], put_item("a", 3)),
    "UserDict": (lambda: collections.UserDict(a=2), lambda o: o["a"], put_item("a", 3)),
    "deque": (lambda: collections.deque([2]), lambda o: o[0], put_item(0, 3)),
    "deque of equal numbers": (lambda: collections.deque([1, 1]), lambda o: o[0] / 2 * 3, put_item(0, 3)),
    "array": (lambda: array.array("i", [2]), lambda o: o[0], put_item(0, 3)),
    "bytearray": (lambda: bytearray([2]), lambda o: o[0], put_item(0, 3)),
    "memoryview": (lambda: pair(lambda: bytearray([2]), memoryview), lambda o: o[0][0], lambda o: put_item(0, 3)(o[1])),
    "mapped memory": (anonymous_memory, lambda o: o[0], put_item(0, 3)),
    "array of ctypes": (lambda: (ctypes.c_int * 2)(2, 2), lambda o: o[0], put_item(0, 3)),
    "number of ctypes": (lambda: ctypes.c_int(2), lambda o: o.value, put("value", 3)),
    "structure of ctypes": (c_structure, lambda o: o.a, put("a", 3)),
    "array in a structure": (c_structure, lambda o: o.b[1], lambda o: o.b.__setitem__(1, 3)),
    "union of ctypes": (lambda: c_structure(ctypes.Union), lambda o: o.a, put("a", 3)),
    "object in a tuple": (lambda: (types.SimpleNamespace(a=2),), lambda o: o[0].a, lambda o: put("a", 3)(o[0])),
    "iterator": (lambda: iter(range(9)), operator.length_hint, next),
    "weak reference": (lambda: pair(classes, weakref.ref), lambda o: o[0]().k, lambda o: put("k", 3)(o[1])),
}
ARRAYS = {
    "numpy": (lambda: np.array([2]), lambda o: int(o[0]), put_item(0, 3)),
    "numpy without dims": (lambda: np.array(2), int, put_item((), 3)),
    "window of an array": (
        lambda: pair(lambda: np.array([2, 2, 2]), lambda of: of[::2]),
        lambda o: int(o[0][0]),
        lambda o: put_item(0, 3)(o[1]),
    ),
    "window that only reads": (read_only_view, lambda o: int(o[0][0]), lambda o: put_item(0, 3)(o[1])),
    "array that only reads": (
        read_only,
        lambda o: int(o[0]),
        lambda o: (put("writeable", True)(o.flags), put_item(0, 3)(o)),
    ),
    "array of objects": (lambda: np.array([2, None], object), lambda o: o[0], put_item(0, 3)),
    "masked array": (
        lambda: np.ma.array([2, 2], mask=[0, 0]),
        lambda o: int(o.sum()),
        put_item(0, np.ma.masked),
    ),
    "shape": (lambda: np.zeros((2, 3)), lambda o: o.shape[0], put("shape", (3, 2))),
    "torch": (lambda: torch.tensor([2.0]), lambda o: int(o[0]), put_item(0, 3)),
    "data of a tensor": (lambda: torch.tensor([2.0]), lambda o: int(o[0]), lambda o: o.data.fill_(3)),
    "memory of a tensor": (lambda: torch.tensor([2.0]), lambda o: int(o[0]), lambda o: o.numpy().fill(3)),
    "other data": (lambda: torch.tensor([2.0]), lambda o: int(o[0]), put("data", torch.tensor([3.0]))),
    "transposed tensor": (
        lambda: torch.full((2, 2), 2.0).T,
        lambda o: int(o[0, 0]),
        lambda o: o.data.__setitem__((0, 0), 3),
    ),
    "gradient": (with_gradient, lambda o: int(o.grad[0]), lambda o: o.grad.fill_(3)),
    "attribute of a tensor": (lambda: torch.zeros(1), lambda o: getattr(o, "k", 2), put("k", 3)),
    "requires_grad": (lambda: torch.zeros(1), lambda o: o.requires_grad + 2, lambda o: o.requires_grad_()),
    "size": (lambda: [torch.zeros(2)], lambda o: o[0].shape[0], lambda o: o[0].resize_(3)),
    "training": (lambda: torch.nn.Linear(1, 1), lambda o: o.training + 1, lambda o: o.eval()),
    "parameter": (lambda: torch.nn.Linear(1, 1), lambda o: float(o.weight[0, 0]), lambda o: o.weight.data.fill_(3)),
    "submodule": (lambda: torch.nn.Sequential(), len, lambda o: o.append(torch.nn.ReLU())),
}
KINDS = {"container": CONTAINERS, "array": ARRAYS}
