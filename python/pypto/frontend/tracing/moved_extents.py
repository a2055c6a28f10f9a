"""Valid extents of a tensor that moves in loops or branches change: followed while the kernel runs."""
# ruff: noqa: D107

from __future__ import annotations

from pypto.frontend.tracing.tracer import Scope, Trace


class MovedExtents:
    """The valid extents of one tensor object that is moved into. Owned by the object.

    A slot for each dim that changes holds what is valid now. What reads the tensor takes the extents at its place in
    program order, so it gets copies of the slots; they serve until the next move, in the same block.
    """

    def __init__(self, trace: Trace, name: str, dims: list[int], shape: list[int]) -> None:
        self._trace, self._name = trace, name
        self._limits = {dim: int(trace.builder.expr_value(shape[dim]) or 0) for dim in dims}
        self._slots = {dim: self._slot(dim, "") for dim in dims}
        self._fixed: list[int] = []
        self._copies: list[int] = []
        self._copied: tuple[Scope, int] | None = None
        self._moves = 0

    def _slot(self, dim: int, mark: str) -> int:
        return int(self._trace.builder.add_slot(f"{self._name}#{dim}{mark}", False, self._limits[dim]))

    def take(self, valid: list[int]) -> list[int]:
        """The tensor holds a value with these valid extents; the dims in which others would change unseen."""
        before, self._fixed = self._fixed or valid, valid
        self._trace.build("set_slots", [(slot, valid[dim]) for dim, slot in self._slots.items()])
        self._moves += 1
        return [dim for dim, expr in enumerate(valid) if dim not in self._slots and expr != before[dim]]

    def now(self) -> list[int]:
        """The valid extents at this place of the program."""
        at = (self._trace.scope, self._moves)
        if self._copied is None or self._copied[0] is not at[0] or self._copied[1] != at[1]:
            copies = {dim: self._slot(dim, "'") for dim in self._slots}
            builder = self._trace.builder
            self._trace.build("set_slots", [(copy, builder.slot(self._slots[dim])) for dim, copy in copies.items()])
            self._copies = list(self._fixed)
            for dim, copy in copies.items():
                self._copies[dim] = int(builder.slot(copy))
            self._copied = at
        return self._copies
