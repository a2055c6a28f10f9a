"""Large lists, tuples and dicts that many snapshots hold: looked at once, and compared as a whole behind that."""
# ruff: noqa: D107

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pypto.frontend.tracing.tracer import current

if TYPE_CHECKING:
    from pypto.frontend.objects.containers import Snapshot

_PLAIN: tuple[type, ...] = (list, tuple, dict)
_MIN_ELEMENTS = 64
_MAX_CHANGES = 8  # of one that changes more often each snapshot looks itself
Seen = dict[int, tuple[Any, list[tuple[Any, Any]], str]]


class Region:
    """What is reached from one of them: lists, tuples and dicts only, and tensors."""

    def __init__(self, value: Any, found: Snapshot, changes: int) -> None:
        self._of = value  # held, so that its id stays its own
        self.changes = changes
        self.seen, self.tensors = found._seen, found.tensors
        items = [item for item, _, _ in self.seen.values()]
        self._rows = [item for item in items if type(item) is not dict]
        self._tables = [item for item in items if type(item) is dict]
        self._lengths, self._contents = self._now()

    def _now(self) -> tuple[list[int], list[Any]]:
        flat = itertools.chain.from_iterable
        lengths = [*map(len, self._rows), *map(len, self._tables)]
        return lengths, [*flat(self._rows), *flat(self._tables), *flat(map(dict.values, self._tables))]

    def is_same(self) -> bool:
        """Whether all of them hold the same objects as before."""
        lengths, contents = self._now()
        return lengths == self._lengths and all(map(operator.is_, contents, self._contents))


def is_large(kind: type, value: Any) -> bool:
    """Whether a value may be the start of a region."""
    return kind in _PLAIN and len(value) >= _MIN_ELEMENTS


def share(snapshot: Snapshot, value: Any, path: str, made: Snapshot) -> Region | None:
    """Adds a region to a snapshot, found by an empty one if it is not known; None where there is none."""
    trace = current()
    if trace is None:
        return None
    key = (id(value), path, snapshot._arrays)
    known: Region | None = trace.regions.get(key)
    region = known
    if key not in trace.regions or (known is not None and not known.is_same()):
        changes = 0 if known is None else known.changes + 1
        made.add(value, path)
        is_one = changes <= _MAX_CHANGES and made.holds_only(_PLAIN)
        region = trace.regions[key] = Region(value, made, changes) if is_one else None
    if region is None or not snapshot._seen.keys().isdisjoint(region.seen):
        return None
    snapshot._seen.update(region.seen)
    snapshot.tensors += region.tensors
    return region


def of_others(seen: Seen, regions: Iterable[Region]) -> Iterable[tuple[Any, list[tuple[Any, Any]], str]]:
    """What a snapshot holds apart from regions that are the same as before."""
    same = [region.seen for region in regions if region.is_same()]
    if not same:
        return seen.values()
    known = set[int]().union(*same)
    return itertools.compress(seen.values(), map(operator.not_, map(known.__contains__, seen)))
