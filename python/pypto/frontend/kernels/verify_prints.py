"""`pass_verify_print`: values of the running kernel that a direct call shows while `enable_pass_verify` is on.

Such a call is traced with outputs of its own behind the kernel's: for each place that prints a table of numbers (a row
per time: when, valid extents, integers) and a buffer per tensor and floating number. Each place keeps its first rows.
"""
# ruff: noqa: D107

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pypto import _core
from pypto.config.groups import get_global_config
from pypto.dtypes import PACKED, DataType, bytes_of
from pypto.frontend.floats import FloatScalar
from pypto.frontend.places import caller_place
from pypto.frontend.symbolic import SymbolicScalar, static_int

if TYPE_CHECKING:
    from pypto.frontend.tensor import Tensor
    from pypto.frontend.tracing.tracer import Trace

_LOG_INFO = 1
_MOST_ROWS = 64
_MOST_BYTES = 16 << 20  # of one buffer


_Output = tuple[DataType, tuple[int, ...]]  # dtype and dims


@dataclass(frozen=True)
class PrintPart:
    """One value of a place: a text, a column of its table, or a buffer."""

    text: str = ""
    column: int = -1  # of an integer, or of the first valid extent of a tensor
    buffer: int = -1  # number of the output
    shape: tuple[int, ...] | None = None  # of a tensor


@dataclass
class PrintSite:
    """One `pass_verify_print` of a kernel."""

    line: int
    table: int = -1  # number of the output that says when
    parts: list[PrintPart] = field(default_factory=list)


class PrintRecorder:
    """The places of one trace, and the outputs made for them. Owned by the trace.

    Outputs are parameters, which come before everything else: a first trace finds what is needed and starts over.
    """

    def __init__(self, trace: Trace) -> None:
        """Makes the outputs that an earlier trace has found; counters start at 0 with the kernel."""
        from pypto.frontend.tensor import Tensor

        self._trace = trace
        self.sites: list[PrintSite] = []
        self._known = list(trace.facts.prints)
        self._asked: list[_Output] = []  # by the place that is recorded now
        self._outputs: list[Tensor] = []
        builder = trace.builder
        for dtype, dims in (output for place in self._known for output in place):
            name = f"print{len(self._outputs)}"
            made = builder.add_tensor_parameter(name, int(dtype), list(dims), [""] * len(dims))
            self._outputs.append(Tensor.make(trace, made, variable=True, parameter=True))
        self._clock = int(builder.add_slot("prints", False))
        self._counters = [int(builder.add_slot(f"prints{place}", False)) for place in range(len(self._known))]
        zero = trace.constant(0)
        trace.build("set_slots", [(slot, zero) for slot in (self._clock, *self._counters)])

    def _output(self, dtype: DataType, dims: tuple[int, ...]) -> tuple[int, Tensor | None]:
        """The next output of this place: its number, and itself unless this trace only looks what is needed."""
        place = len(self.sites) - 1
        number = sum(len(each) for each in self._known[:place]) + len(self._asked)
        self._asked.append((dtype, dims))
        is_made = place < len(self._known) and self._known[place][: len(self._asked)] == self._asked
        return number, self._outputs[number] if is_made else None

    def _number(self, slot: int) -> SymbolicScalar:
        return SymbolicScalar._wrap(self._trace, int(self._trace.builder.slot(slot)))

    def add(self, values: tuple[Any, ...]) -> None:
        """Records the values at this place of the kernel."""
        from pypto.frontend.tensor import Tensor

        place = caller_place(self._trace.has_line)
        site = PrintSite(0 if place is None else place.line)
        index = len(self.sites)
        self.sites.append(site)
        self._asked = []
        tensors = [value for value in values if isinstance(value, Tensor)]
        sizes = [_bytes(tensor) for tensor in tensors]
        rows = max(1, min([_MOST_ROWS, *(_MOST_BYTES // max(size, 1) for size in sizes)]))
        counter = self._counters[index] if index < len(self._counters) else self._clock
        row = self._number(counter)
        columns: list[Any] = [self._number(self._clock) + 1]
        for value in values:
            site.parts.append(self._part(value, columns, row, rows))
        site.table, table = self._output(DataType.DT_INT64, (rows, len(columns)))
        if self._known[index : index + 1] != [self._asked] or table is None:
            self._trace.facts.prints[index:] = [self._asked]
            self._trace.starts_over = True
            return
        for column, number in enumerate(columns):
            table[row, column] = number
        after = [(slot, (self._number(slot) + 1)._expr) for slot in (counter, self._clock)]
        self._trace.build("set_slots", after)

    def _part(self, value: Any, columns: list[Any], row: SymbolicScalar, rows: int) -> PrintPart:
        from pypto.frontend.catalogue import operations
        from pypto.frontend.tensor import Tensor

        if isinstance(value, Tensor) and _bytes(value):
            shape = value.static_shape("pass_verify_print()")
            column = len(columns)
            columns += value.valid_shape
            count = 1
            for extent in shape:
                count *= extent
            number, buffer = self._output(value.dtype, (rows, count))
            if buffer is not None:
                operations.write_region(buffer, operations.reshape(value, [1, count]), [row, 0])
            return PrintPart(value.describe(), column, number, shape)
        if isinstance(value, SymbolicScalar) and static_int(value) is None:
            columns.append(value)
            return PrintPart(str(value), len(columns) - 1)
        if isinstance(value, FloatScalar):
            number, buffer = self._output(DataType.DT_FP32, (rows, 1))
            if buffer is not None:
                operations.write_region(buffer, operations.full([1, 1], value, DataType.DT_FP32), [row, 0])
            return PrintPart(buffer=number)
        return PrintPart(value.describe() if isinstance(value, Tensor) else str(value))


def _bytes(tensor: Tensor) -> int:
    """Bytes of a tensor; 0 when it is not shown."""
    count = 1
    for extent in tensor.shape:
        known = static_int(extent)
        if known is None:
            return 0
        count *= known
    return 0 if tensor.dtype in PACKED else count * bytes_of(tensor.dtype)


def describe(values: tuple[Any, ...]) -> None:
    """Says in the log what the values are, where they are not shown."""
    from pypto.frontend.tensor import Tensor

    shown = [value.describe() if isinstance(value, Tensor) else str(value) for value in values]
    place = caller_place()
    line = f" at line {place.line}" if place is not None else ""
    _core.write_log(_LOG_INFO, f"pass_verify_print{line}: {', '.join(shown)}")


def show(runtime: Any, sites: list[PrintSite], outputs: list[Any]) -> None:
    """Prints what a call has recorded, in the order in which it happened."""
    options = {
        name: get_global_config(f"tensor_print.{name}") for name in ("edgeitems", "precision", "threshold", "linewidth")
    }
    found = []
    for site in sites:
        for row, columns in enumerate(outputs[site.table].tolist()):
            if columns[0]:
                found.append((columns[0], site, row, columns))
    for _, site, row, columns in sorted(found, key=lambda each: each[0]):
        parts = []
        for part in site.parts:
            if part.shape is not None:
                valid = columns[part.column : part.column + len(part.shape)]
                window = outputs[part.buffer][row].reshape(part.shape)[tuple(slice(extent) for extent in valid)]
                parts.append(f"{part.text}\n{runtime.tensor_text(window, **options)}")
            elif part.buffer >= 0:
                parts.append(str(float(outputs[part.buffer][row, 0])))
            elif part.column >= 0:
                parts.append(f"{part.text} = {columns[part.column]}")
            else:
                parts.append(part.text)
        text = f"pass_verify_print at line {site.line}: {', '.join(parts)}"
        print(text, flush=True)
        _core.write_log(_LOG_INFO, text)
