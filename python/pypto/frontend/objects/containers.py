"""Notices when a loop body or a branch changes a Python container or object that existed before it.

Such a change would happen once while tracing instead of once per iteration, so it is refused rather than mistraced.
Tensor objects are not containers: writing into them is what kernels do.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import itertools
import math
import operator
import types
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from pypto.errors import PyptoError
from pypto.frontend.kernels.arrays import mark_of, unseen
from pypto.frontend.kernels.tensor_reads import give_back_draws
from pypto.frontend.objects import regions, restoring
from pypto.frontend.objects.callees import callees_of, defaults_of, names_of, special_methods_of, variables_of
from pypto.frontend.objects.code_of import CodeOf
from pypto.frontend.objects.definitions import LIBRARY_TYPES, is_library_name, is_of_library, package_of, put_attribute
from pypto.frontend.objects.hidden import Parts, generators_of, hidden_in, know_packages
from pypto.frontend.objects.parts import (
    ARRAYS,
    BUILT_IN,
    LEADS_NOWHERE,
    PLAIN,
    dict_of,
    inner_of,
    parts_of,
    step_of,
)  # fmt: skip
from pypto.frontend.places import Place, trace_error
from pypto.frontend.rewriting.code_objects import RUNTIME
from pypto.frontend.tracing.maybe import split
from pypto.frontend.tracing.tracer import TensorLike

_MAX_OBJECTS = 100000


class Change(NamedTuple):
    """An element that is not what it was."""

    path: str
    container: Any
    key: Any = None
    old: Any = None
    new: Any = None


class Snapshot:
    """The contents of all containers reachable from some values, and the outer variables of functions."""

    def __init__(self, *, arrays: bool = True, place: Place | None = None, package: str = "") -> None:
        know_packages()
        self._place = place  # of errors
        self.package = package  # of the kernel
        self.tensors: list[Any] = []  # of the kernel, that were met
        self._regions: list[regions.Region] | None = []  # None: it looks into all itself
        self._arrays = arrays  # whether the contents of arrays are looked at, or copies are kept
        self._classes: list[tuple[Any, type, str]] = []  # objects of classes that may be given another one
        self._copies: list[tuple[Any, Any, bytes | None, str]] = []
        self._seen: dict[int, tuple[Any, list[tuple[Any, Any]], str]] = {}
        self._functions: dict[types.FunctionType, list[tuple[str, Any]] | None] = {}  # and their variables
        self._code: list[CodeOf] = []  # of functions and classes
        self._kinds: set[type] = set()  # whose classes were looked at
        self.passed: dict[types.FunctionType, None] = {}  # functions that the kernel may give to others, in order
        self.owner: Any = None  # the FunctionRuntime whose loop or branch has made the snapshot

    def add(self, value: Any, path: str) -> None:
        """Adds what is reachable from a value and not known yet."""
        stack = [(value, path)]
        while stack:
            item, name = stack.pop()
            kind = type(item)
            if kind in PLAIN or id(item) in self._seen:
                continue
            if regions.is_large(kind, item) and self._share(item, name):
                continue
            if kind is types.FunctionType:
                self._seen[id(item)] = (item, parts_of(item) or [], name)
                self._add_captured(item, name, stack)
                if not is_library_name(item.__module__):
                    self._code.append(CodeOf(item, name))
                continue
            is_array = not self._arrays and kind not in BUILT_IN and package_of(kind) in ARRAYS
            if is_array and hidden_in(kind) is None and not isinstance(item, type):
                self._copy(item, name)
                continue
            parts = parts_of(item)
            is_users = kind not in LIBRARY_TYPES and not is_of_library(kind)
            if is_users and kind not in self._kinds:
                self._kinds.add(kind)
                stack.append((kind, kind.__name__))
            if kind not in LEADS_NOWHERE:
                if isinstance(item, type) and not is_of_library(item):
                    self._code.append(CodeOf(item, name))
                    self._add_special_methods(item)
                stack += [(element, name + step) for step, element in inner_of(item)]
            if parts is None:
                if isinstance(item, TensorLike):
                    self.tensors.append(item)
                continue
            self._seen[id(item)] = (item, parts, name)  # the item is held, so its id stays its own
            if len(self._seen) > _MAX_OBJECTS:
                raise self._too_many(path)
            if is_users:
                self._classes.append((item, kind, name))
            for at, (key, element) in enumerate(() if holds_only_plain(item) else parts):
                if type(element) in PLAIN:
                    continue
                if isinstance(key, str):
                    step = f".{key}"
                else:
                    step = f"[{key}]" if type(key) is int else step_of(key, at)
                stack.append((element, name + step))

    def _share(self, item: Any, path: str) -> bool:
        """Adds what is reached from a large container as it was found before, if it is the same still."""
        if self._regions is None:
            return False
        alone = Snapshot(arrays=self._arrays)
        alone._regions = None
        found = regions.share(self, item, path, alone)
        self._regions += [] if found is None else [found]
        if len(self._seen) > _MAX_OBJECTS:
            raise self._too_many(path)
        return found is not None

    def holds_only(self, kinds: Collection[type]) -> bool:
        """Whether all that was added is of these classes, or a tensor."""
        others = self._code or self._classes or self._copies or self._functions or self._kinds
        return not others and all(type(item) in kinds for item, _, _ in self._seen.values())

    def _add_special_methods(self, kind: type) -> None:
        """What methods can change that Python itself calls for objects of a class."""
        for function in callees_of(special_methods_of(kind)):
            self.add_function(function)

    def _copy(self, value: Any, path: str) -> None:
        """Keeps a copy of an array; of a large one what tells whether it changes."""
        if all(value is not known for known, *_ in self._copies):
            with unseen():
                copy = restoring.copy_of_array(value)
                mark = mark_of(value) if copy is None else None
            if copy is not None or mark is not None:
                self._copies.append((value, copy, mark, path))

    def _add_captured(self, function: types.FunctionType, path: str, stack: list[tuple[Any, str]]) -> None:
        """What a function made in a traced frame captures, which it may change where it is called."""
        if RUNTIME in function.__code__.co_freevars:
            names = function.__code__.co_freevars
            captured = zip(names, variables_of(function), strict=False)
            stack += [(value, f"{path}.{name}") for name, (_, value) in captured]
            if function.__defaults__ or function.__kwdefaults__:
                stack += [(value, f"default {at} of {path}") for at, value in enumerate(defaults_of(function))]

    def _too_many(self, path: str) -> PyptoError:
        return trace_error(
            ValueError,
            f"more than {_MAX_OBJECTS} containers and objects can be reached from the kernel, with '{path}': what each "
            "of them holds is looked at around every loop and branch. Instead: give the kernel only what it needs, as "
            "an argument or a captured variable of its own",
            self._place,
        )

    def add_function(self, function: types.FunctionType, *, frame_is_known: bool = False) -> None:
        """Adds what a function can change: its outer variables and what they hold.

        With `frame_is_known` the variables it captures are locals of a traced frame, which the tracer carries itself.
        """
        if function in self._functions:
            return
        variables = variables_of(function)
        self._functions[function] = None if frame_is_known else variables
        for name, value in (*variables, *generators_of(variables, names_of(function.__code__))):
            self.add(value, name)

    def add_globals(self, function: types.FunctionType) -> None:
        """Adds what a function can change of what it does not capture, if it is not known yet."""
        for name, value in variables_of(function):
            if name not in function.__code__.co_freevars:
                self.add(value, name)

    def containers(self) -> Iterator[tuple[str, Any]]:
        """Paths and containers."""
        yield from ((path, item) for item, _, path in self._seen.values())

    def path_of(self, value: Any) -> str | None:
        """The path of a container that is among them."""
        found = self._seen.get(id(value))
        return None if found is None else found[2]

    def find(self, path: str) -> Any:
        """The container at a path; None where there is none."""
        return next((item for item, _, name in self._seen.values() if name == path), None)

    def places(self) -> dict[str, tuple[Any, Any]]:
        """Container and key of every element, by path."""
        return {
            path + step_of(key, at): (item, key)
            for item, parts, path in self._seen.values()
            for at, (key, _) in enumerate(parts)
        }

    def restore(self) -> str | None:
        """Gives all of them back what they held; the path of one that cannot be given it."""
        lost = None
        for item, before, path in self._seen.values():
            try:
                is_put = _put_back(item, before)
            except Exception:  # memory that is read only or lent, something closed, code of the user
                is_put = False
            lost = lost if is_put else lost or path
        for item, kind, _ in self._classes:
            if type(item) is not kind:
                object.__setattr__(item, "__class__", kind)
        for code in self._code:
            if code.has_changed():
                code.restore()
        with unseen():
            for value, copy, mark, path in self._copies:
                if copy is not None:
                    restoring.put_array(value, copy)
                elif mark_of(value) != mark:
                    lost = lost or path
        give_back_draws()
        for function, variables in reversed(self._functions.items()):  # what was seen first counts
            if variables is None:
                continue
            now = dict(variables_of(function))
            for name in now.keys() - {name for name, _ in variables}:
                function.__globals__.pop(name, None)
            for name, old in variables:
                if not same_element(old, now.get(name, variables)):
                    restoring.put_variable(function, name, old)
        return lost

    def changes(self) -> Iterator[Change]:
        """Elements that are not what they were; those that cannot be put back have no key."""
        for item, before, path in regions.of_others(self._seen, self._regions or ()):
            after = parts_of(item) or []
            if _are_same(before, after):
                continue
            if len(after) != len(before):
                yield Change(f"{path} (its length went from {len(before)} to {len(after)})", item)
                continue
            for at, ((old_key, old), (new_key, new)) in enumerate(zip(before, after, strict=True)):
                if old_key is not new_key and not _same_number(old_key, new_key):
                    yield Change(path, item)
                elif old is not new and not _same_number(old, new):
                    yield Change(path + step_of(new_key, at), item, new_key, old, new)
        for item, kind, path in self._classes:
            if type(item) is not kind:
                yield Change(f"{path}.__class__", item)
        for code in self._code:
            if code.has_changed():
                what = "a method" if isinstance(code.of, type) else "its code or a default value"
                yield Change(f"{code.path} ({what})", code.of)
        for function, variables in self._functions.items():
            if variables is None:
                continue
            after = variables_of(function)
            if len(after) != len(variables):
                name = min({name for name, _ in after} ^ {name for name, _ in variables})
                yield Change(f"{name}, a global that {function.__name__}() names,", function)
                continue
            for (name, old), (_, new) in zip(variables, after, strict=True):
                if old is not new and not _same_number(old, new):
                    yield Change(f"{name}, an outer variable of {function.__name__}(),", function)


def holds_only_plain(container: Any) -> bool:
    """Whether it is a list, tuple or dict of numbers and texts."""
    kind = type(container)
    values = container.values() if kind is dict else container if kind is list or kind is tuple else None
    return values is not None and PLAIN.issuperset(map(type, values))


def _are_same(before: list[tuple[Any, Any]], after: list[tuple[Any, Any]]) -> bool:
    """Whether keys and elements are the same objects."""
    flat = itertools.chain.from_iterable
    return len(before) == len(after) and all(map(operator.is_, flat(before), flat(after)))


def _same_number(a: Any, b: Any) -> bool:
    plain = (int, float, str, bool, bytes)
    if type(a) is not type(b) or not isinstance(a, plain) or a != b:
        return False
    return not isinstance(a, float) or math.copysign(1.0, a) == math.copysign(1.0, b)


def put(container: Any, key: Any, value: Any) -> None:
    """Sets an element, or an attribute, also of what is frozen."""
    if isinstance(container, list):
        list.__setitem__(container, key, value)
    elif isinstance(container, dict):
        dict_of(container).__setitem__(container, key, value)
    elif key in attributes_held(container):
        container.__dict__[key] = value
    else:
        put_attribute(container, key, value)


def get(container: Any, key: Any) -> Any:
    """The opposite of put."""
    if isinstance(container, list):
        return list.__getitem__(container, key)
    if isinstance(container, dict):
        return dict.__getitem__(container, key)
    held = attributes_held(container)
    return held[key] if key in held else getattr(container, key)


def attributes_held(value: Any) -> dict[str, Any]:
    """The dict of an object's attributes; an empty one for classes and for objects without."""
    held = {} if isinstance(value, type) else getattr(value, "__dict__", {})
    return held if isinstance(held, dict) else {}


def same_element(a: Any, b: Any) -> bool:
    """Whether keys or elements of a container are the same."""
    return a is b or _same_number(a, b)


def snapshot_of(frame: dict[str, Any], function: types.FunctionType) -> Snapshot:
    """Containers that a frame and its function can reach."""
    snapshot = Snapshot()
    names = {name: split(value, None)[0] for name, value in frame.items() if not name.startswith("_pypto_")}
    for name, value in sorted(names.items(), key=lambda each: isinstance(each[1], types.FunctionType)):
        snapshot.add(value, name)
    snapshot.add_function(function)
    return snapshot


def _put_back(item: Any, before: Parts) -> bool:
    """Gives an object back what it held; false where that cannot be done."""
    after = parts_of(item) or []
    if _are_same(before, after):
        return True
    if len(after) == len(before) and all(
        same_element(a, c) and same_element(b, d) for (a, b), (c, d) in zip(before, after, strict=True)
    ):
        return True
    hidden = hidden_in(type(item))
    if hidden is not None:
        return hidden.put(item, before)
    added = {key for key, _ in after} - {key for key, _ in before}
    if restoring.put_elements(item, before):
        return True
    if isinstance(item, type):
        for key in added:
            delattr(item, key)
        for key, element in before:
            setattr(item, key, element)
        return True
    is_named = isinstance(item, types.ModuleType | types.FunctionType)
    if not is_named and not isinstance(getattr(item, "__dict__", None), dict):
        return False
    for key in added:
        attributes_held(item).pop(key, None)
    for key, element in before:
        put(item, key, element)
    return True
