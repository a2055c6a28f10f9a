"""Code that functions and classes of the user are made of: a change of it is seen, and taken back."""
# ruff: noqa: D107

from __future__ import annotations

import types
from typing import Any

_Function = tuple[Any, ...]  # code, defaults, defaults of keywords and what these hold


def _of_function(function: types.FunctionType) -> _Function:
    keywords = function.__kwdefaults__
    return function.__code__, function.__defaults__, keywords, *(keywords or {}).values()


def _of_class(kind: type) -> dict[str, tuple[Any, _Function]]:
    """Methods and other descriptors, with the code of each."""
    found = {}
    for name, held in vars(kind).items():
        if hasattr(type(held), "__get__"):
            function = getattr(held, "__func__", held)
            found[name] = held, _of_function(function) if isinstance(function, types.FunctionType) else ()
    return found


def _are_same(a: _Function, b: _Function) -> bool:
    return len(a) == len(b) and all(map(lambda one, other: one is other, a, b))


def _put(function: types.FunctionType, code: _Function) -> None:
    function.__code__, function.__defaults__, keywords, *values = code
    if keywords is not None:
        keywords.update(zip(list(keywords), values, strict=False))
    function.__kwdefaults__ = keywords


class CodeOf:
    """The code of one function or class, as it was when this was made."""

    def __init__(self, of: Any, path: str) -> None:
        self.of, self.path = of, path
        self._is_class = isinstance(of, type)
        self._known: Any = _of_class(of) if self._is_class else _of_function(of)

    def has_changed(self) -> bool:
        """Whether it is another one now."""
        if not self._is_class:
            return not _are_same(self._known, _of_function(self.of))
        now = _of_class(self.of)
        return now.keys() != self._known.keys() or any(
            held is not now[name][0] or not _are_same(code, now[name][1]) for name, (held, code) in self._known.items()
        )

    def restore(self) -> None:
        """Gives it back what it was."""
        if not self._is_class:
            _put(self.of, self._known)
            return
        for name in _of_class(self.of).keys() - self._known.keys():
            type.__delattr__(self.of, name)
        for name, (held, code) in self._known.items():
            if vars(self.of).get(name) is not held:
                type.__setattr__(self.of, name, held)
            if code:
                _put(getattr(held, "__func__", held), code)
