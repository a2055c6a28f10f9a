"""State of one trace of a kernel: the builder of the core, open scopes, source places, and what a retrace must know.

A kernel is traced by running its rewritten source. When the trace finds that something should have been prepared
earlier (a tensor that a loop body writes, a name that two branches bind), it notes the fact and starts over; facts are
keyed by places in the source and counters that are the same in each run. Thread rule: a trace belongs to the thread
that runs it.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import collections
import contextvars
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pypto import _core
from pypto.config import scopes
from pypto.dtypes import DataType
from pypto.frontend.catalogue import packed
from pypto.frontend.places import Place, SourceRange, caller_place, trace_error
from pypto.frontend.tiles import Tiles

if TYPE_CHECKING:
    from pypto.frontend.kernels.verify_prints import PrintRecorder
    from pypto.frontend.rewriting.source import Source

MAX_RETRACES = 1000
_EFFECTS = frozenset({"read_cell", "check"})


class TensorLike:
    """Base of traced tensors, for tests of kind without an import cycle."""

    __slots__ = ()


class NoValue:
    """Base of what stands for a name without a value, for the same reason."""

    __slots__ = ()


class FloatLike:
    """Base of floating numbers of the running kernel, for the same reason."""

    __slots__ = ()


# Of a tensor object: a number in the order of the trace; of those that loops and branches make, which one it was, the
# name, and how often, so that the others keep their numbers when the trace starts over with more of them.
Ordinal = int | tuple[int, str, int]


class TensorFact(NamedTuple):
    """Shape and dtype of a name that must be declared ahead of a loop or a branch."""

    shape: tuple[int, ...]
    dtype: DataType


@dataclass
class Facts:
    """What earlier runs of the same trace found out."""

    flows: dict[tuple[Any, int], int] = field(default_factory=dict)  # ordinals of loops and branches
    variables: set[Ordinal] = field(default_factory=set)  # ordinals of tensors that must be variables from the start
    bound: dict[tuple[int, str], TensorFact] = field(default_factory=dict)  # names bound inside a loop or branch
    numbers: dict[tuple[int, str], bool] = field(default_factory=dict)  # that a loop carries: whether floating
    valid: set[tuple[int, str, int]] = field(default_factory=set)  # dims of tensors whose valid extent a loop changes
    moved: dict[Ordinal, set[int]] = field(default_factory=dict)  # the same for moves: dims by ordinal of the tensor
    prints: list[Any] = field(default_factory=list)  # outputs of each place that shows values
    lazy: dict[int, bool] = field(default_factory=dict)  # operands of conditions that read: whether floating
    writes: dict[int, bool] = field(default_factory=dict)  # operands that may write or change containers: whether so
    helpers: dict[int, Any] = field(default_factory=dict)  # functions of modules that were called, by id
    changed: str = ""  # a container that a loop or branch changes and must not
    elements: dict[int, set[str]] = field(default_factory=dict)  # of containers that a loop or branch changes
    structures: dict[int, dict[str, Any]] = field(default_factory=dict)  # names bound anew to containers of one make
    constants: dict[tuple[int, str], tuple[str, Any]] = field(default_factory=dict)  # that a loop binds names to first
    flags: set[tuple[int, str]] = field(default_factory=set)  # names that only some paths of a loop body bind
    nones: set[tuple[int, str]] = field(default_factory=set)  # names that are None until a loop body binds them
    written: set[tuple[int, str]] = field(default_factory=set)  # names that a loop binds anew and writes into as well
    linked: set[tuple[int, str]] = field(default_factory=set)  # those whose tensor of before a branch has more names
    outside: dict[tuple[int, str], list[Ordinal]] = field(default_factory=dict)  # tensors that such a name may be
    same: dict[tuple[int, str, str], Any] = field(default_factory=dict)  # containers that may become one in a loop
    pairs: set[tuple[int, str, str]] = field(default_factory=set)  # of such names that may have one tensor
    kept: set[tuple[int, str]] = field(default_factory=set)  # parameters that one of two branches binds anew
    read: set[str] = field(default_factory=set)  # parameters whose old contents are used after a branch binds them anew

    # Of a trace that only looks for what the body of a loop binds to a name that it reads before, in a branch or loop:
    skipped: set[tuple[int, str]] = field(default_factory=set)  # branches and loops that read it
    sought: set[tuple[int, str]] = field(default_factory=set)  # loops and names
    before: Facts | None = None  # the facts of the other traces
    error: Exception | None = None  # for a name that is not bound after all

    def follow(self, key: tuple[int, str]) -> bool:
        """Notes that what a loop or branch gives to a name is written into; the second time that the tensor of before
        has other names as well. False when both are known."""
        for known in (self.written, self.linked):
            if key not in known:
                known.add(key)
                return True
        return False


class Retrace(BaseException):
    """Starts the trace over; never seen outside of it."""


class Scope:
    """An open block of the program: the kernel, a loop body or a branch. Options set in it end with it."""

    __slots__ = (
        "bounds", "checked", "kind", "linked", "loop", "options_before", "place", "settled", "step", "watchers",
    )  # fmt: skip

    def __init__(self, kind: str, place: Place | None = None) -> None:
        self.kind = kind
        self.checked: set[tuple[str, int]] = set()  # names that were found to be bound, and by which condition
        self.linked: list[Any] = []  # tensors made here that are others under a condition
        self.place = place
        self.options_before: scopes.OptionScope | None = None  # in force again when the block ends
        self.loop: int | None = None  # number of the loop in the program
        self.bounds: tuple[Any, Any, Any] | None = None  # original start, stop, step of a loop
        self.step: Any = None
        self.watchers: Any = None  # snapshot of containers, for loops and branches
        self.settled: Callable[[], None] | None = None  # looks for changes of them behind a statement


class Trace:
    """One run of a kernel under the tracer."""

    def __init__(self, name: str, facts: Facts) -> None:
        self.name = name
        self.builder = _core.Builder(name)
        self.facts = facts
        self.scopes: list[Scope] = [Scope("kernel")]
        self.ranges: list[SourceRange] = []
        self._known_lines: dict[tuple[str, int], Any] = {}  # lines that were looked up in the ranges
        self.parameters: dict[str, Any] = {}
        self.symbols: dict[str, int] = {}  # expressions of named dims and of int parameters
        self.prints: PrintRecorder | None = None  # where values are shown
        self.replaced: list[tuple[Any, Any, Any]] = []  # containers and keys, with what they held
        self.sides: list[tuple[int, str]] = []  # loops and branches that are open: their numbers and which branch
        self.loops: list[Any] = []  # those whose bodies are open, as LoopFlow
        self.operands: list[Any] = []  # snapshots of operands that are evaluated without a branch
        self.regions: dict[tuple[Any, ...], Any] = {}  # large containers that snapshots share, as Region
        self.outer: Any = None  # snapshot of what the kernel and its helpers find outside of them
        self.keeping: list[int] = []  # depths of the helpers whose results are asked whether they are None
        self.kin: Any = None  # containers that may be one, when loops or branches have made some, as Kin
        self.tuples: dict[int, Any] = {}  # by id: those that loops and branches have made
        self.linked: dict[Any, Any] = {}  # what was found of tensors that may be others, until links change
        self.ways: dict[Any, Any] = {}  # by conditions: whether they all hold
        self.writes = 0  # into tensors, so far
        self.effects = self.built = 0  # reads and checks that the running kernel makes, and statements, so far
        self.starts_over = False  # facts were found that change what was traced before
        self.followed: set[tuple[int, str]] = set()  # what this trace has found to be written into
        self.bases: dict[int, Any] = {}  # by id of a window: the tensor under it
        self.shown: dict[str, str] = {}  # what the program calls "slot0" or "loop0", as the kernel writes it
        self.places: dict[tuple[str, int, str], Place] = {}  # of operations, by file, line and name
        self._tensors = self._flows = self._choices = 0  # the last of them
        self._reached: dict[tuple[Any, ...], int] = collections.defaultdict(int)
        self._constants: dict[int, int] = {}
        self._place: Place | None = None
        self.forced_place: Place | None = None  # of statements that stand for something else than the line that runs
        self.refusal: Callable[[], Exception] | None = None  # of a helper that runs and must not call operations
        self.operation = ""  # of the catalogue, that the user has called
        self._options: scopes.OptionScope | None = None  # whose tiles the builder has
        self._tiles: Tiles | None = None

    # Counters.

    def next_tensor(self) -> int:
        """Ordinal of a new tensor object."""
        self._tensors += 1
        return self._tensors

    def next_flow(self, place: tuple[Any, ...]) -> int:
        """Ordinal of a new loop or branch: by its place, and how often that was reached before in this trace."""
        self._reached[place] += 1
        key, flows = (place, self._reached[place]), self.facts.flows
        if key not in flows:
            flows[key] = len(flows) + 1
        self._flows, self._choices = flows[key], 0
        return self._flows

    def next_choice(self) -> Ordinal:
        """Ordinal of a tensor that is one of two others; it shifts no other ordinal."""
        self._choices += 1
        return self._flows, "a choice", self._choices

    # Scopes.

    @property
    def scope(self) -> Scope:
        """The innermost open scope."""
        return self.scopes[-1]

    def block(self) -> tuple[Any, ...]:
        """What tells apart where the trace is: the innermost scope, and the branches and operands that are open."""
        return (self.scope, *self.sides)

    def push(self, kind: str, place: Place | None = None) -> Scope:
        """Opens a scope that starts with the options in force."""
        scope = Scope(kind, place)
        scope.options_before = scopes.enter_child(kind)
        self.scopes.append(scope)
        return scope

    def pop(self) -> None:
        """Closes the innermost scope."""
        scope = self.scopes.pop()
        scope.watchers = scope.settled = None  # tensors hold the scope
        before = scope.options_before
        if before is not None:
            scopes.put_in_force(before)

    def is_open(self, scope: Scope) -> bool:
        """Whether a scope has not been closed yet."""
        return any(scope is other for other in self.scopes)

    def innermost_loop(self) -> Scope | None:
        """The innermost open loop."""
        for scope in reversed(self.scopes):
            if scope.kind == "loop":
                return scope
        return None

    def outlives_loops(self, expr: int) -> bool:
        """Whether an expression holds the index of a loop that has ended."""
        loops = self.builder.expr_loops(expr)
        return bool(loops) and not set(loops).issubset({scope.loop for scope in self.scopes})

    def check_loops(self, expr: int) -> None:
        """Refuses an expression that holds the index of a loop that has ended."""
        if self.outlives_loops(expr):
            raise trace_error(
                NameError,
                "a loop index is used after its pypto.loop has ended: it has no value there; compute what is needed "
                "from the bounds of the loop",
            )

    def follow(self, *keys: tuple[int, str]) -> bool:
        """Notes that what loops or branches give to names is written into, for the next trace; false if it was known.

        This one goes on as it is, to find what else is needed.
        """
        new = {key for key in keys if key not in self.followed and self.facts.follow(key)}
        self.followed |= new
        is_noted = not self.followed.isdisjoint(keys)
        self.starts_over = self.starts_over or is_noted
        return is_noted

    def note_replaced(self, container: Any, key: Any, old: Any) -> None:
        """An element takes a value of the trace: what is not of the trace itself gets its own back when that ends."""
        if self.kin is None or not self.kin.is_made(container):
            self.replaced.append((container, key, old))

    # Building.

    def add_source(self, source: Source) -> SourceRange:
        """Makes the lines of a function known to the program; its places count from the `def` line."""
        for known in self.ranges:
            if known.filename == source.filename and known.first_line == source.first_line:
                return known
        label = source.filename.replace("\\", "/").rpartition("/")[2]
        if self.ranges:  # the kernel comes first
            label += f":{source.name}"
            others = sum(known.label.partition("#")[0] == label for known in self.ranges)
            label += f"#{others + 1}" if others else ""
        text = "".join(source.text.splitlines(keepends=True)[source.def_line - source.first_line :])
        index = self.builder.add_file(label, text, source.filename, source.def_line)
        made = SourceRange(source.filename, source.first_line, source.last_line, source.def_line, index, label)
        self.ranges.append(made)
        self._known_lines.clear()
        return made

    def locate(self, label: str, line: int, name: str) -> Place | None:
        """The place in the source for a file entry, a relative line of the program and an operation there."""
        known = next((each for each in self.ranges if each.label == label), None)
        if known is None:
            return None
        place = Place(known.filename, known.def_line + line - 1)
        return self.places.get((place.filename, place.line, name), place)

    def line_in_kernel(self, place: Place | None = None) -> int | None:
        """The line of a place (default: the caller's) counted from the `def` of its function."""
        place = place or caller_place(self.has_line)
        found = self._range_of(place.filename, place.line) if place is not None else None
        return None if place is None or found is None else place.line - found.def_line + 1

    def _range_of(self, filename: str, line: int) -> SourceRange | None:
        known = self._known_lines.get((filename, line), self)
        if known is self:
            inside = [r for r in self.ranges if r.filename == filename and r.first_line <= line <= r.last_line]
            known = min(inside, key=lambda r: r.last_line - r.first_line) if inside else None
            self._known_lines[(filename, line)] = known
        return known  # type: ignore[no-any-return]

    def has_line(self, filename: str, line: int) -> bool:
        """Whether a line belongs to a traced function."""
        return self._range_of(filename, line) is not None

    def _set_place(self) -> Place | None:
        place = self.forced_place or caller_place(self.has_line)
        if place is None or place == self._place:
            return place
        found = self._range_of(place.filename, place.line)
        if found is not None:
            column = -1 if place.column is None else place.column
            self.builder.set_place(found.file_index, place.line - found.def_line + 1, column + 1)
        self._place = place
        return place

    def _set_tiles(self) -> None:
        node = scopes.current()
        if node is self._options:
            return
        tiles = Tiles.of(node)
        if tiles != self._tiles:
            self.builder.set_tiles(list(tiles.vector), *tiles.cube)
        self._options, self._tiles = node, tiles

    def build(self, method: str, *arguments: Any) -> Any:
        """Calls the builder of the core with place and tiles set; its errors get the source place."""
        if self.refusal is not None:
            raise self.refusal()
        place = self._set_place()
        self._set_tiles()
        self.effects += method in _EFFECTS
        self.built += method != "make_expr"
        if place is not None and method == "op":
            self.places.setdefault((place.filename, place.line, arguments[0].lstrip("_")), place)
        if method in packed.LISTS:
            arguments = packed.stored(self, method, arguments)
        try:
            return getattr(self.builder, method)(*arguments)
        except (ValueError, TypeError, IndexError, NotImplementedError, RuntimeError) as error:
            raise trace_error(type(error), self._named(method, arguments, str(error)), place) from None

    def _named(self, method: str, arguments: tuple[Any, ...], message: str) -> str:
        """The message with the operation that the user has called in place of a part of it."""
        part = str(arguments[0]) if method == "op" else ""
        if not part.startswith("_") or not self.operation:
            return message
        return message.replace(f"{part[1:]}(): ", f"{self.operation}(): ", 1)

    def expression(self, method: str, *arguments: Any) -> int:
        """Calls the builder of the core for an expression, which has no place of its own; its errors get one."""
        try:
            return int(getattr(self.builder, method)(*arguments))
        except (ValueError, TypeError, IndexError) as error:
            raise trace_error(type(error), str(error), caller_place(self.has_line)) from None

    def constant(self, value: int) -> int:
        """The expression of a number."""
        expr = self._constants.get(value)
        if expr is None:
            if not -(1 << 63) <= value < 1 << 63:
                raise trace_error(ValueError, f"{value} does not fit a 64-bit integer")
            expr = self._constants[value] = int(self.builder.const(value))
        return expr


_current: contextvars.ContextVar[Trace | None] = contextvars.ContextVar("pypto_trace", default=None)


def current() -> Trace | None:
    """The trace of this context, or None outside of kernels."""
    return _current.get()


@functools.cache
def free_symbols() -> Trace:
    """What holds symbols that belong to no kernel."""
    return Trace("symbols", Facts())


def require(what: str) -> Trace:
    """The trace of this context; an error that names `what` outside of kernels."""
    trace = _current.get()
    if trace is None:
        raise trace_error(RuntimeError, f"{what} must be called in a kernel (a function under pypto.frontend.jit)")
    return trace


def enter(trace: Trace) -> contextvars.Token[Trace | None]:
    """Makes a trace the current one; the token is for `leave`."""
    return _current.set(trace)


def leave(token: contextvars.Token[Trace | None]) -> None:
    """Undoes `enter`."""
    _current.reset(token)
