"""Numbers that a loop carries: integers and floats that its body changes, and whether names are bound."""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import Any

from pypto.frontend.floats import float_expr, is_float, number_of
from pypto.frontend.symbolic import SymbolicScalar, as_int, static_int, to_expr, to_symbolic
from pypto.frontend.tracing.maybe import Reason, join
from pypto.frontend.tracing.tracer import Trace


class CarriedNumbers:
    """The slots of one loop. Owned by its LoopFlow.

    At the start of a body a number is what its slot holds; at the end all slots take their new values at once. Bodies
    that are repeated in one iteration pass the values on as expressions.
    """

    def __init__(self, trace: Trace, ordinal: int) -> None:
        self._trace, self._ordinal = trace, ordinal
        self._slots: dict[str, int] = {}
        self._floating: dict[str, bool] = {}
        self._cells: dict[str, int] = {}  # slots of "x?", whether a name is bound, and of "x#0", a valid extent
        self._bound_before: set[str] = set()
        self._entry: list[tuple[int, int]] = []
        self._now: dict[str, Any] = {}  # at the start or end of the present body, by name and cell

    def carries(self, name: str) -> bool:
        """Whether an earlier trace found that the body changes this number."""
        return (self._ordinal, name) in self._trace.facts.numbers

    def names(self) -> list[str]:
        """Names of carried numbers."""
        return list(self._slots)

    def note(self, name: str, before: Any, after: Any) -> None:
        """Notes that a number is carried: the trace starts over when it has seen everything else."""
        known = self._trace.facts.numbers.get((self._ordinal, name), False)
        self._trace.facts.numbers[(self._ordinal, name)] = known or is_float(before) or is_float(after)
        self._trace.starts_over = True

    def begin(self, name: str, value: Any) -> None:
        """The number starts the loop with a value."""
        self._floating[name] = self._trace.facts.numbers[(self._ordinal, name)]
        self._slots[name] = self._trace.builder.add_slot(name, self._floating[name])
        self._entry.append((self._slots[name], self._expr(name, value)))

    def begin_flag(self, name: str, bound: Any) -> None:
        """Whether the name is bound is followed from here on."""
        self._begin_cell(name + "?", bound, 1)

    def begin_same(self, flag: str, same: Any) -> None:
        """Whether a name is a tensor of before the loop is followed from here on."""
        self._begin_cell(flag, same, 1)

    def same(self, flag: str) -> Any:
        """Whether it is, at the start of the present body."""
        return self._now[flag]

    def end_same(self, flag: str, same: Any) -> None:
        """Whether it is, at the end of the body."""
        self._now[flag] = same

    def same_after(self, flag: str) -> Any:
        """Whether it is, behind the loop."""
        return number_of(self._trace, self._cells[flag], flag, floating=False)

    def _begin_cell(self, cell: str, value: Any, limit: int) -> None:
        self._cells[cell] = self._trace.builder.add_slot(cell, False, limit)
        self._entry.append((self._cells[cell], to_expr(self._trace, value, cell)))

    def begin_valid(self, name: str, valid: list[int], shape: tuple[int, ...]) -> list[int]:
        """Valid extents of a tensor that the body changes are followed from here on; what they are in the loop."""
        for dim, (expr, extent) in enumerate(zip(valid, shape, strict=True)):
            if (self._ordinal, name, dim) in self._trace.facts.valid:
                self._begin_cell(f"{name}#{dim}", SymbolicScalar._wrap(self._trace, expr), extent)
        slots = [self._cells.get(f"{name}#{dim}") for dim in range(len(valid))]
        return [
            expr if slot is None else int(self._trace.builder.slot(slot))
            for slot, expr in zip(slots, valid, strict=True)
        ]

    def valid(self, name: str, otherwise: list[int]) -> list[int]:
        """Valid extents at the start of the present body."""
        cells = [f"{name}#{dim}" for dim in range(len(otherwise))]
        return [
            to_expr(self._trace, self._now[cell], name) if cell in self._cells else expr
            for cell, expr in zip(cells, otherwise, strict=True)
        ]

    def end_valid(self, name: str, dim: int, expr: int, before: int) -> None:
        """The valid extent of a dim at the end of the body; starts over when that should have been followed."""
        cell = f"{name}#{dim}"
        if cell in self._cells:
            self._now[cell] = SymbolicScalar._wrap(self._trace, expr)
        elif expr != before:
            self._trace.facts.valid.add((self._ordinal, name, dim))
            self._trace.starts_over = True

    def has_flag(self, name: str) -> bool:
        """Whether a slot says if the name is bound."""
        return name + "?" in self._cells

    def bound_before(self, name: str) -> bool:
        """Whether the number had a value when the loop began."""
        return name + "?" not in self._cells

    def store_entry(self) -> None:
        """Puts the first values in place."""
        if self._entry:
            self._trace.build("set_slots", self._entry)

    def open_section(self) -> None:
        """An iteration of the running kernel begins: numbers are what the slots hold."""
        self._now = {name: self.carried(name) for name in self._slots}
        for cell, slot in self._cells.items():
            self._now[cell] = number_of(self._trace, slot, cell, floating=False)

    def carried(self, name: str) -> Any:
        """What the slot of a name holds."""
        return number_of(self._trace, self._slots[name], name, floating=self._floating[name])

    def value(self, name: str) -> Any:
        """The number at the start of the present body."""
        return self._now[name]

    def flagged(self, name: str, value: Any, reason: Reason) -> Any:
        """A value at the start of the present body, with whether its name is bound."""
        return join(name, value, self._now[name + "?"], reason) if self.has_flag(name) else value

    def left(self, name: str, value: Any, reason: Reason) -> Any:
        """A value behind the loop, with whether its name is bound."""
        return join(name, value, number_of(self._trace, self._cells[name + "?"], name, floating=False), reason)

    def end(self, name: str, value: Any) -> bool:
        """The number at the end of the body; false when it is none."""
        if is_float(value) and not self._floating[name]:
            self.note(name, value, value)
        if float_expr(self._trace, value) is None:
            return False
        self._now[name] = value
        return True

    def end_flag(self, name: str, bound: Any) -> None:
        """Whether the name is bound at the end of the body; starts over when that should have been followed."""
        if self.has_flag(name):
            self._now[name + "?"] = bound
        elif static_int(bound) != 1:
            self._trace.facts.flags.add((self._ordinal, name))
            self._trace.starts_over = True

    def store(self) -> None:
        """The slots take the values of the end of the body."""
        values = [(slot, self._expr(name, self._now[name])) for name, slot in self._slots.items()]
        values += [(slot, to_expr(self._trace, self._now[cell], cell)) for cell, slot in self._cells.items()]
        changed = [(slot, expr) for slot, expr in values if expr != self._trace.builder.slot(slot)]
        if changed:
            self._trace.build("set_slots", changed)

    def _expr(self, name: str, value: Any) -> int:
        if self._floating[name]:
            expr = float_expr(self._trace, value)
            assert expr is not None
            return expr
        number = as_int(value)
        return int(to_symbolic(self._trace, int(number) if number is not None else value)._expr)
