"""Gives what is outside of a kernel back what it held before a trace that starts over."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any

from pypto.frontend.kernels.arrays import is_torch_tensor, size_of
from pypto.frontend.objects.hidden import Parts
from pypto.frontend.objects.parts import SlotBeside, dict_of

_MAX_COPIED_BYTES = 16 << 20


def copy_of_array(value: Any) -> Any:
    """A copy of an array or host tensor that may be written into; None for others and for large ones."""
    if not 0 < size_of(value) <= _MAX_COPIED_BYTES:
        return None
    if is_torch_tensor(value):
        is_plain = value.device.type == "cpu" and value.is_contiguous() and not value.is_inference()
        return value.detach().clone() if is_plain else None
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and isinstance(value, numpy.ndarray) and value.flags.writeable
    return value.copy() if is_array else None


def put_array(value: Any, copy: Any) -> None:
    """Sets what an array held."""
    if is_torch_tensor(value):
        if not value.detach().equal(copy):
            value.detach().copy_(copy)
    elif value.shape == copy.shape and value.tobytes() != copy.tobytes():
        value[...] = copy


def put_elements(item: Any, before: Parts) -> bool:
    """Sets what a container of Python without names held; false for what cannot be set, and for other objects."""
    elements = [element for key, element in before if not isinstance(key, SlotBeside)]
    if isinstance(item, list):
        list.__setitem__(item, slice(None), elements)
    elif isinstance(item, dict):
        kind = dict_of(item)
        kind.clear(item)
        for key, element in before:
            if not isinstance(key, SlotBeside):
                kind.__setitem__(item, key, element)
    elif isinstance(item, set):
        set.clear(item)
        set.update(item, [key for key, _ in before])
    elif isinstance(item, collections.deque):
        collections.deque.clear(item)
        collections.deque.extend(item, elements)
    elif isinstance(item, bytearray):
        bytearray.__setitem__(item, slice(None), bytes(elements))
    else:
        return False
    return True


def put_variable(function: types.FunctionType, name: str, value: Any) -> None:
    """Sets a captured variable, or a global that a function names."""
    code = function.__code__
    if name in code.co_freevars:
        (function.__closure__ or ())[code.co_freevars.index(name)].cell_contents = value
    elif name in code.co_names or name in function.__globals__:
        function.__globals__[name] = value
