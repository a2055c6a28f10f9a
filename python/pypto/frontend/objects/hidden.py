"""Objects of libraries with state that no attribute shows: random generators, files, buffers, context variables.

How it is read, so that a change is seen, and how it is given back.
"""

from __future__ import annotations

import array
import contextvars
import io
import pickle
import random
import sys
import threading
import types
import zlib
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

Parts = list[tuple[Any, Any]]  # keys and elements
_MAX_KEPT_BYTES = 1 << 20  # of larger buffers a checksum tells whether they change
UNSET = object()  # the value of a context variable that has none


class Hidden(NamedTuple):
    """What is done with the state of one kind of object."""

    read: Callable[[Any], Parts]
    put: Callable[[Any, Parts], bool]  # whether that was possible


def _as_bytes(read: Callable[[Any], Any], put: Callable[[Any, Any], Any]) -> Hidden:
    """Of objects that tell their state as a value and take it back."""

    def put_parts(value: Any, parts: Parts) -> bool:
        put(value, pickle.loads(parts[0][1]))
        return True

    return Hidden(lambda value: [("state", pickle.dumps(read(value)))], put_parts)


def _buffered(value: Any) -> Parts:
    if value.closed:
        return [("contents", None), ("position", None)]
    return [("contents", value.getvalue()), ("position", b"%d" % value.tell())]


def _put_buffered(value: Any, parts: Parts) -> bool:
    (_, held), (_, position) = parts
    if held is None or value.closed:
        return False
    value.seek(0)
    value.truncate()
    value.write(held)
    value.seek(int(position))
    return True


def _position(file: Any) -> Parts:
    try:
        return [("position", None if file.closed else b"%d" % file.tell())]
    except (OSError, ValueError):  # a pipe, or a text that a loop reads
        return [("position", None)]


def _put_position(file: Any, parts: Parts) -> bool:
    """What was written into a file stays there."""
    position = parts[0][1]
    if position is None or file.closed or file.writable():
        return False
    file.seek(int(position))
    return True


def _put_elements(value: Any, parts: Parts) -> bool:
    del value[:]
    value.frombytes(parts[0][1])
    return True


def is_released(view: memoryview) -> bool:
    """Whether a view has given its memory back: nothing can be asked of it."""
    try:
        return view.nbytes < 0
    except ValueError:
        return True


def _viewed(view: Any) -> Parts:
    if is_released(view):
        return [("contents", None)]
    held = view.tobytes()
    return [("contents", held if view.nbytes <= _MAX_KEPT_BYTES else b"%d" % zlib.crc32(held))]


def _put_viewed(view: Any, parts: Parts) -> bool:
    held = parts[0][1]
    if not is_released(view) and view.nbytes <= _MAX_KEPT_BYTES and view.c_contiguous:
        view.cast("B")[:] = held
        return True
    return False


def _value_of(variable: contextvars.ContextVar[Any]) -> Parts:
    try:
        return [("value", variable.get())]
    except LookupError:
        return [("value", UNSET)]


def _put_value(variable: contextvars.ContextVar[Any], parts: Parts) -> bool:
    if parts[0][1] is UNSET:
        return False
    variable.set(parts[0][1])
    return True


def _of_thread(local: Any) -> Parts:
    return list(vars(local).items())


def _put_of_thread(local: Any, parts: Parts) -> bool:
    held = vars(local)
    held.clear()
    held.update(parts)
    return True


_BUFFER, _FILE = Hidden(_buffered, _put_buffered), Hidden(_position, _put_position)
_KINDS: dict[type, Hidden] = {
    random.Random: _as_bytes(random.Random.getstate, random.Random.setstate),
    array.array: Hidden(lambda value: [("contents", value.tobytes())], _put_elements),
    memoryview: Hidden(_viewed, _put_viewed),
    io.StringIO: _BUFFER,
    io.BytesIO: _BUFFER,
    io.TextIOWrapper: _FILE,
    io.BufferedReader: _FILE,
    io.BufferedWriter: _FILE,
    io.BufferedRandom: _FILE,
    io.FileIO: _FILE,
    contextvars.ContextVar: Hidden(_value_of, _put_value),
    threading.local: Hidden(_of_thread, _put_of_thread),
}
_known_packages: set[str] = set()


def _of_numpy(numpy_random: Any) -> dict[type, Hidden]:
    def put_state(generator: Any, state: Any) -> None:
        generator.bit_generator.state = state

    def put_bits(generator: Any, state: Any) -> None:
        generator.state = state

    return {
        numpy_random.Generator: _as_bytes(lambda value: value.bit_generator.state, put_state),
        numpy_random.BitGenerator: _as_bytes(lambda value: value.state, put_bits),
        numpy_random.RandomState: _as_bytes(
            lambda value: value.get_state(legacy=False), lambda value, state: value.set_state(state)
        ),
    }


def _of_torch(torch: Any) -> dict[type, Hidden]:
    def read(generator: Any) -> Parts:
        return [("state", generator.get_state().numpy().tobytes())]

    def put(generator: Any, parts: Parts) -> bool:
        generator.set_state(torch.frombuffer(bytearray(parts[0][1]), dtype=torch.uint8))
        return True

    return {torch.Generator: Hidden(read, put)}


def _of_ctypes(module: Any) -> dict[type, Hidden]:
    def put(value: Any, parts: Parts) -> bool:
        memoryview(value).cast("B")[:] = parts[0][1]
        return True

    return {kind: Hidden(lambda value: [("contents", bytes(value))], put) for kind in _memory_kinds(module)}


def _memory_kinds(module: Any) -> tuple[Any, ...]:
    return module._SimpleCData, module.Array, module.Structure, module.Union


def has_pointers(kind: Any) -> bool:
    """Whether objects of a class of ctypes hold addresses of other memory."""
    module: Any = sys.modules.get("_ctypes")
    if module is None or not issubclass(kind, (module._Pointer, *_memory_kinds(module))):
        return False
    if issubclass(kind, module._SimpleCData):
        return kind._type_ in "PzZO"
    if issubclass(kind, module.Array):
        return has_pointers(kind._type_)
    bases = [base for base in kind.__mro__ if "_fields_" in vars(base)]
    fields = [field[1] for base in bases for field in vars(base)["_fields_"]]
    return issubclass(kind, module._Pointer) or any(map(has_pointers, fields))


def is_flat(kind: Any) -> bool:
    """Whether objects of a class of ctypes are plain memory."""
    module: Any = sys.modules.get("_ctypes")
    return module is not None and issubclass(kind, _memory_kinds(module)) and not has_pointers(kind)


def _of_mmap(module: Any) -> dict[type, Hidden]:
    def read(value: Any) -> Parts:
        if value.closed:
            return [("contents", None)]
        return [*_viewed(memoryview(value)), ("position", b"%d" % value.tell())]

    def put(value: Any, parts: Parts) -> bool:
        (_, held), (_, position) = parts
        is_put = len(value) <= _MAX_KEPT_BYTES
        if is_put:
            if value[:] != held:  # which may be read only
                value[:] = held
            value.seek(int(position))
        return is_put

    return {module.mmap: Hidden(read, put)}


_PACKAGES: dict[str, Callable[[Any], dict[type, Hidden]]] = {
    "numpy.random": _of_numpy, "torch": _of_torch, "_ctypes": _of_ctypes, "mmap": _of_mmap,
}  # fmt: skip
_OF_NUMPY = frozenset({"random"})
_OF_TORCH = frozenset(
    {
        "bernoulli", "bernoulli_", "cauchy_", "default_generator", "dropout", "exponential_", "geometric_",
        "get_rng_state", "initial_seed", "log_normal_", "manual_seed", "multinomial", "normal", "normal_", "poisson",
        "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "random_", "randperm", "seed",
        "set_rng_state", "uniform_",
    }
)  # fmt: skip


def know_packages() -> None:
    """Adds the kinds of packages that have been imported."""
    for name, kinds_of in _PACKAGES.items():
        module = sys.modules.get(name)
        if module is not None and name not in _known_packages:
            _KINDS.update(kinds_of(module))
            _known_packages.add(name)


def hidden_in(kind: type) -> Hidden | None:
    """What is done with the state of objects of a class, also of one that is derived from such a one."""
    for base in kind.__mro__:
        found = _KINDS.get(base)
        if found is not None:
            return found
    return None


def is_generator(kind: type) -> bool:
    """Whether objects of a class draw random numbers."""
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    of_numpy = () if numpy is None else (numpy.Generator, numpy.BitGenerator, numpy.RandomState)
    return issubclass(kind, (random.Random, *of_numpy, *(() if torch is None else (torch.Generator,))))


def _of_random() -> Any:
    return vars(random)["_inst"]


def _of_numpy_random() -> Any:
    return vars(sys.modules["numpy.random"])["mtrand"]._rand


def _of_torch_random() -> Any:
    return sys.modules["torch"].default_generator


def generators_of(values: list[tuple[str, Any]], names: Collection[str]) -> list[tuple[str, Any]]:
    """The generators of modules that a function uses, by what it can reach and the names in its code.

    A function that does something else with such a module does not depend on its generator, which other threads use.
    """
    found = []
    for path, value in values:
        if isinstance(value, types.ModuleType):
            is_numpy = value.__name__ == "numpy" and not _OF_NUMPY.isdisjoint(names)
            is_torch = value.__name__ == "torch" and not _OF_TORCH.isdisjoint(names)
            if value.__name__ == "random":
                found.append((f"the generator of {path}", _of_random()))
            elif is_numpy or value.__name__ == "numpy.random":
                found.append((f"the generator of {path}", _of_numpy_random()))
            elif is_torch or value.__name__ == "torch.random":
                found.append((f"the generator of {path}", _of_torch_random()))
        elif isinstance(value, types.BuiltinFunctionType) and value.__name__ in _OF_TORCH:
            module = getattr(value.__self__, "__module__", None)
            if isinstance(module, str) and module.partition(".")[0] == "torch":
                found.append((f"the generator of {path}", _of_torch_random()))
    return found
