"""Tuples that a loop carries or branches merge: taken apart into names like "state[0]" and put together again."""
# ruff: noqa: D107

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto.frontend.maybe import Maybe


def is_structure(value: Any) -> bool:
    """Whether a value is a tuple of the user."""
    return isinstance(value, tuple) and not isinstance(value, Maybe) and len(value) > 0


def alike(a: Any, b: Any) -> bool:
    """Whether two values are tuples of one structure; what stands in them may differ."""
    return is_structure(a) and is_structure(b) and type(a) is type(b) and len(a) == len(b)


def apart(name: str, value: Any) -> dict[str, Any]:
    """The elements of a tuple, and of the tuples in it, by name; the value itself if it is none."""
    if not is_structure(value):
        return {name: value}
    found: dict[str, Any] = {}
    for index, element in enumerate(value):
        found |= apart(f"{name}[{index}]", element)
    return found


def together(like: Any, elements: list[Any]) -> Any:
    """A tuple of the same kind."""
    return type(like)(*elements) if hasattr(like, "_fields") else tuple(elements)


def _rebuilt(name: str, like: Any, elements: dict[str, Any]) -> Any:
    if not is_structure(like):
        return elements[name]
    return together(like, [_rebuilt(f"{name}[{index}]", part, elements) for index, part in enumerate(like)])


def _fits(like: Any, value: Any) -> bool:
    if not is_structure(like):
        return not is_structure(value)
    return alike(like, value) and all(_fits(a, b) for a, b in zip(like, value, strict=True))


class Structures:
    """The tuples among the names that one loop carries. Owned by its LoopFlow."""

    def __init__(self, names: Iterable[str], frame: dict[str, Any]) -> None:
        self._tuples = {name: frame[name] for name in names if is_structure(frame.get(name))}

    def elements(self) -> dict[str, Any]:
        """What the tuples hold when the loop begins, by name."""
        found: dict[str, Any] = {}
        for name, value in self._tuples.items():
            found |= apart(name, value)
        return found

    def with_elements(self, names: Iterable[str]) -> set[str]:
        """The names, and those of the elements of the tuples among them."""
        found = set(names)
        for name in found & self._tuples.keys():
            found = found | apart(name, self._tuples[name]).keys()
        return found

    def without_tuples(self, names: set[str]) -> set[str]:
        """The names but those of tuples."""
        return names - self._tuples.keys()

    def put_together(self, names: dict[str, Any], otherwise: dict[str, Any]) -> None:
        """Adds the tuples to a table of names that has their elements; those it has not are as in `otherwise`."""
        for name, like in self._tuples.items():
            elements = {element: names.get(element, otherwise.get(element)) for element in apart(name, like)}
            names[name] = _rebuilt(name, like, elements)

    def take_apart(self, frame: dict[str, Any]) -> str | None:
        """Adds the elements of the tuples to a frame; gives the name of one whose structure has changed, if any."""
        for name, like in self._tuples.items():
            if not _fits(like, frame.get(name)):
                return name
            frame |= apart(name, frame[name])
        return None
