"""A `for` of a kernel over an ordinary iterable."""
# ruff: noqa: D105, D107

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class PlainFor:
    """A loop that is unrolled as Python runs it."""

    names: dict[str, Any] = {}  # noqa: RUF012  always empty

    def __init__(self, iterable: Any, each: Callable[[Any], Iterable[Any]]) -> None:
        self.iterable, self._each = iterable, each

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._each(self.iterable)
        finally:  # the last item, or a break
            self.iterable = ()

    def end(self, frame: dict[str, Any]) -> None:
        """Nothing to carry."""
