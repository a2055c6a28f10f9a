"""A `for` of a kernel over an ordinary iterable."""
# ruff: noqa: D105, D107

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class PlainFor:
    """A loop that is unrolled as Python runs it."""

    names: dict[str, Any] = {}  # noqa: RUF012  always empty

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self.iterable
        finally:  # the last item, or a break
            self.iterable = ()

    def end(self, frame: dict[str, Any]) -> None:
        """Nothing to carry."""
