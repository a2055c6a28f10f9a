"""A tensor of a kernel that is being traced, and what writing into it means.

A Tensor object holds either a value (the result of an operation or a view, never changed) or a variable (a parameter
or a declared tensor). Writing into a value first makes it a variable. Each variable belongs to one object, so writes
through one object are never seen through another.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

from typing import Any

from pypto.dtypes import PACKED, DataType
from pypto.frontend import symbolic
from pypto.frontend.annotations import TensorSpec, make_spec, spec_from_brackets
from pypto.frontend.catalogue import packed
from pypto.frontend.catalogue.tensor_methods import TensorMethods
from pypto.frontend.kernels.arrays import kind_name
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import static_int
from pypto.frontend.tracing import tracer
from pypto.frontend.tracing.links import Link, Linked
from pypto.frontend.tracing.moved_extents import MovedExtents
from pypto.frontend.tracing.tracer import Ordinal, Retrace, Scope, Trace


class Tensor(Linked, TensorMethods):
    """In a kernel: a tensor. In an annotation: the declaration of one (`pypto.Tensor([d0, d1], dtype)`)."""

    __slots__ = (
        "_base", "_derived", "_extents", "_gone", "_gone_key", "_home", "_id", "_ordinal", "_parameter", "_read",
        "_scope", "_taken", "_trace", "_valid", "_variable", "_writes", "_written_at",
    )  # fmt: skip

    _trace: Trace
    _id: int
    _base: Tensor | None  # of a reshape in place: the tensor that it shares its cells with
    _derived: tuple[Tensor, ...]  # reshapes in place of this one
    _scope: Scope  # where the object was made
    _home: Scope  # where what it holds was made
    _ordinal: Ordinal
    _variable: bool
    _parameter: bool
    _valid: list[int] | None  # of a variable: valid extents that every move keeps; None: all
    _extents: MovedExtents | None  # the valid extents, where moves in loops or branches change them
    _frozen: str  # why it must not be written into
    _thaw: tuple[tuple[int, str], ...]  # what starts the trace over when a frozen one is written after all
    _may_be: dict[int, Tensor] | None  # other objects that Python would have here, depending on what runs
    _links: tuple[Link, ...]  # those, where the conditions are known
    _gone: str  # why it cannot be used any more
    _gone_key: tuple[int, str] | None  # what starts the trace over when it is used after all
    _taken: str  # the parameter whose memory a branch gave to another object
    _read: bool
    _writes: int
    _written_at: int  # the number of the last write, among all of the trace

    def __new__(cls, shape: Any = None, dtype: Any = None, format: Any = None, name: str = "") -> Any:  # noqa: A002
        """A declared tensor in a kernel, a TensorSpec elsewhere."""
        trace = tracer.current()
        if trace is None:
            return make_spec(shape, dtype, format, name)
        from pypto.frontend.catalogue.declarations import declare

        return declare(shape, dtype, name)

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Everything happens in `__new__`."""

    def __class_getitem__(cls, item: Any) -> TensorSpec:
        """A declaration: `pypto.Tensor[[d0, d1], dtype]`."""
        return spec_from_brackets(item)

    @classmethod
    def make(
        cls, trace: Trace, tensor_id: int, *, variable: bool = False, parameter: bool = False, of: Ordinal | None = None
    ) -> Tensor:
        """An object for a tensor of the program, made in the innermost scope; `of` is its ordinal, if not the next."""
        made: Tensor = object.__new__(cls)
        made._trace, made._id = trace, tensor_id
        made._scope = made._home = trace.scope
        made._variable, made._parameter = variable, parameter
        made._base = made._extents = None
        made._frozen = made._gone = made._taken = ""
        made._valid = made._gone_key = made._group = made._may_be = None
        made._links = made._derived = made._thaw = ()
        made._read, made._writes, made._written_at = False, 0, 0
        made._ordinal = trace.next_tensor() if of is None else of
        if not variable and made._ordinal in trace.facts.variables:
            made._become_variable()
        elif made._ordinal in trace.facts.moved:
            made.set_valid(made.shape_exprs())
        return made

    # What it is.

    @property
    def dtype(self) -> DataType:
        """Data type of the elements."""
        return DataType(self._trace.builder.tensor_dtype(self._id))

    @property
    def shape(self) -> list[Any]:
        """Extents: ints, and symbolic integers for dynamic dims."""
        return [symbolic.from_expr(self._trace, expr) for expr in self.shape_exprs()]

    @property
    def valid_shape(self) -> list[Any]:
        """Valid extents: cells at or past them are padding."""
        return [symbolic.from_expr(self._trace, expr) for expr in self.valid_exprs()]

    @property
    def dim(self) -> int:
        """Number of dims."""
        return len(self.shape_exprs())

    ndim = dim

    @property
    def id(self) -> int:
        """The tensor of the program that the object holds now."""
        return self._id

    @property
    def ordinal(self) -> Ordinal:
        """What it is known by in every run of the trace."""
        return self._ordinal

    @property
    def scope(self) -> Scope:
        """The block in which the object was made; it can be used while that is open."""
        return self._scope

    def is_of(self, trace: Trace) -> bool:
        """Whether it was made by this run of the trace."""
        return self._trace is trace

    def shape_exprs(self) -> list[int]:
        """Expressions of the extents."""
        self._check_trace()
        return packed.counted(
            self._trace, self._trace.builder.tensor_dtype(self._id), list(self._trace.builder.tensor_shape(self._id))
        )

    def valid_exprs(self) -> list[int]:
        """Expressions of the valid extents."""
        if self._extents is not None:
            return self._extents.now()
        return self._value_valid() if self._valid is None else self._valid

    def _value_valid(self) -> list[int]:
        return packed.counted(
            self._trace, self._trace.builder.tensor_dtype(self._id), list(self._trace.builder.tensor_valid(self._id))
        )

    def set_valid(self, valid: list[int]) -> None:
        """Says which cells of a variable hold something."""
        self._valid = None if valid == self.shape_exprs() else valid
        dims = self._trace.facts.moved.get(self._ordinal)
        if dims is not None:
            if self._extents is None:
                self._extents = MovedExtents(self._trace, "moved", sorted(dims), self.shape_exprs())
            self._note_moved(self._extents.take(valid))

    def _note_moved(self, dims: list[int]) -> None:
        """Starts over with these valid extents followed, if there are any."""
        if dims:
            self._trace.facts.moved.setdefault(self._ordinal, set()).update(dims)
            self._trace.starts_over = True

    def static_shape(self, what: str) -> tuple[int, ...]:
        """Extents as ints; an error that names `what` when one is dynamic."""
        extents = [self._trace.builder.expr_value(expr) for expr in self.shape_exprs()]
        if any(extent is None for extent in extents):
            raise trace_error(
                ValueError,
                f"{what}: Dynamic shape tensors are not allowed as operation operands, got {self.describe()}; take a "
                "slice of static extent (x[i : i + 16]) or a pypto.view of it",
            )
        return tuple(int(extent) for extent in extents if extent is not None)

    def describe(self) -> str:
        """Shape and dtype as text."""
        return f"[{', '.join(str(extent) for extent in self.shape)}] {self.dtype.name}"

    def __repr__(self) -> str:
        if self._trace is not tracer.current():
            return "<pypto.Tensor of another trace>"
        return f"<pypto.Tensor {self.describe()}>"

    # Use.

    def _check_trace(self) -> None:
        if self._trace is not tracer.current():
            raise trace_error(
                RuntimeError, "a tensor of another trace is used: it was kept outside of the kernel that made it"
            )

    def _check(self) -> None:
        self._check_trace()
        if not self._trace.is_open(self._scope) and not self._trace.starts_over:
            place = self._scope.place
            where = f" at line {place.line}" if place is not None else ""
            word = {"loop": "pypto.loop", "then": "branch", "else": "branch"}.get(self._scope.kind, self._scope.kind)
            raise trace_error(
                NameError,
                f"a tensor made inside the {word}{where} is used after it; bind it to a name before and assign that "
                "name in the body, or write it into a tensor declared before",
            )
        self.check_kept()
        if self._gone:
            raise trace_error(ValueError, self._gone)
        if self._taken:
            self._trace.facts.read.add(self._taken)
            raise Retrace

    def check_kept(self) -> None:
        """Starts over with links when it was given up, as nobody seemed to use it any more."""
        if self._gone_key is not None:
            self._trace.facts.linked.add(self._gone_key)
            raise Retrace

    def use(self) -> int:
        """The id, for reading the contents."""
        self._check()
        self._read = True
        if self._base is not None:
            self._base.use()
        if self._valid is None and self._extents is None:
            return self._id
        valid = self.valid_exprs()
        zeros = [self._trace.constant(0)] * len(valid)
        shape = list(self.static_shape("a partly valid tensor"))
        return int(self._trace.build("slice", self._id, shape, zeros, valid))

    @property
    def is_untouched(self) -> bool:
        """Whether nobody has read or written it."""
        return not self._read and not self._writes

    @property
    def writes(self) -> int:
        """How often it was written through this object."""
        return self._writes

    def was_written_since(self, number: int) -> bool:
        """Whether it was written after so many writes of the trace."""
        return self._written_at > number

    def _note_write(self) -> None:
        self._writes += 1
        self._trace.writes += 1
        self._written_at = self._trace.writes

    # Variables.

    def _become_variable(self) -> None:
        trace = self._trace
        valid = self._value_valid()
        variable = trace.build("declare", f"tensor{self._ordinal}", int(self.dtype), self.shape_exprs())
        trace.build("move", variable, self._id)
        self._id, self._variable, self._home = variable, True, trace.scope
        self.set_valid(valid)

    def alias(self, scope: Scope, reason: str, thaw: tuple[int, str] | None, of: Ordinal) -> Tensor:
        """The same variable as an object of a loop body, which must not be written into if there is a reason."""
        made = Tensor.make(self._trace, self._id, variable=True, of=of)
        made._scope = scope
        made._frozen, made._thaw = reason, () if thaw is None else (thaw,)
        made.set_valid(self.valid_exprs())
        return made

    def succeed(self, name: str, of: Ordinal) -> Tensor:
        """The same variable as another object; this one cannot be used any more."""
        self._gone = (
            f"the parameter '{name}' is bound anew in a loop, so its old contents are gone, and another name still "
            "stands for them; declare a tensor for the loop's results and write out[:] = value behind the loop"
        )
        return Tensor.make(self._trace, self._id, variable=True, of=of)

    def lend(self, name: str, of: Ordinal) -> Tensor:
        """The same memory as another object, for a parameter that a branch binds anew; using this one starts over."""
        self._taken = name
        return Tensor.make(self._trace, self._id, variable=True, of=of)

    def give_up(self, key: tuple[int, str]) -> None:
        """Says that only the name of the key stands for the tensor; any further use starts the trace over."""
        if self._frozen:
            self.writable()  # raises with the reason
        self._gone_key = key

    @property
    def is_variable(self) -> bool:
        """Whether it holds memory that is written, rather than a value."""
        return self._variable

    def variable_id(self) -> int:
        """The id of a variable, for writing."""
        assert self._variable
        return self._id

    def writable(self) -> int:
        """The id of the variable to write a region into; a value becomes a variable first."""
        self.check_family()
        return self._writable()

    def _writable(self) -> int:
        self._check()
        if self._frozen and not self.thaw() and not self._trace.starts_over:
            raise self.refusal(self._frozen)
        if not self._variable:
            self._need_variable()
            self._become_variable()
        if self._base is not None:
            self._base._writable()
        self._note_write()
        return self._id

    def reshaped_in_place(self, shape: list[Any]) -> Tensor:
        """An object for the same cells in another shape: what is written through one is seen through the other."""
        self._check()
        if self.dtype in PACKED:
            raise trace_error(ValueError, "reshape(inplace=True): FP4 and INT4 tensors are reshaped without inplace")
        if self._valid is not None or self._extents is not None:
            raise trace_error(
                ValueError, "reshape(inplace=True): the tensor is only partly valid; reshape without inplace"
            )
        if not self._variable:
            if self.valid_exprs() != self.shape_exprs():
                raise trace_error(
                    ValueError, "Reshape(Inplace=true) is not supported for tensors derived from dynamic view"
                )
            self._need_variable()
            self._become_variable()
        dims = [None if extent == -1 else symbolic.to_expr(self._trace, extent, "reshape()") for extent in shape]
        made = Tensor.make(self._trace, self._trace.build("alias", self._id, dims), variable=True)
        made._home, made._base = self._home, self
        self._derived = (*self._derived, made)
        return made

    def _need_variable(self) -> None:
        """In a loop or branch inside the block that made the value, the variable must exist ahead of it.

        The trace goes on to find what else is needed, and starts over.
        """
        if self._home is not self._trace.scope:
            self._trace.facts.variables.add(self._ordinal)
            self._trace.starts_over = True

    def move(self, value: Any) -> None:
        """Makes the object hold the value, seen through every alias; afterwards both are independent."""
        if not isinstance(value, Tensor):
            raise trace_error(TypeError, f"move(): expected a tensor, got {kind_name(value)}")
        self._check()
        if value is self:
            return
        if value.dtype != self.dtype:
            raise trace_error(TypeError, f"move(): expected {self.describe()}, got {value.describe()}; use pypto.cast")
        self.write(lambda each: each._take(value))

    def _take(self, value: Tensor) -> None:
        if value is self:
            return
        same_shape = value.shape_exprs() == self.shape_exprs()
        if self._parameter and not same_shape:
            unlike = [pair for pair in zip(self.shape, value.shape, strict=False) if static_int(pair[0] - pair[1]) != 0]
            dynamic = len(self.shape) == len(value.shape) and all(
                static_int(a) is static_int(b) is None for a, b in unlike
            )
            hint = "; dims that are equal in every call have one name: pypto.frontend.dynamic(...)" if dynamic else ""
            raise trace_error(ValueError, f"move(): expected {self.describe()}, got {value.describe()}{hint}")
        same_valid = self._parameter or value.valid_exprs() == self.valid_exprs()
        if self._variable and same_shape and (same_valid or self._home is not self._trace.scope):
            valid, source = value.valid_exprs(), value.use()
            self._trace.build("move", self.writable(), source)
            if self._extents is not None:
                self._note_moved(self._extents.take(valid))
            elif not same_valid:
                before = self.valid_exprs()
                self._note_moved([dim for dim, expr in enumerate(valid) if expr != before[dim]])
        else:
            self._take_over(value, same_shape)

    def _take_over(self, value: Tensor, same_shape: bool) -> None:
        """Holds another value, or one of another shape."""
        if self._base is not None:
            raise trace_error(ValueError, f"move(): expected {self.describe()}, got {value.describe()}")
        if self._home is not self._trace.scope:
            if self._variable or not same_shape:
                raise trace_error(
                    ValueError,
                    f"move(): expected {self.describe()}, got {value.describe()}; a tensor keeps its shape when it is "
                    "written inside a pypto.loop or a branch",
                )
            self._need_variable()
        if self._frozen:
            self.writable()  # raises with the reason
        self._note_write()
        self._id, self._variable, self._valid, self._extents = value.use(), False, None, None
        if value._variable or self._ordinal in self._trace.facts.variables:
            self._become_variable()
