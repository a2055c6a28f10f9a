"""From a kernel's function to a compiled image: rewriting once, tracing until nothing new is found, compiling."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from pypto import _core
from pypto.config import scopes
from pypto.errors import ERROR_CODES, CompileError, FeError, PyptoError, PyptoGeneralError, fe_error, typed
from pypto.frontend.floats import FloatScalar
from pypto.frontend.kernels.options import Settings
from pypto.frontend.kernels.signature import NO_DEFAULT, BoundTensor, Signature
from pypto.frontend.kernels.verify_prints import PrintRecorder, PrintSite
from pypto.frontend.objects.containers import Snapshot
from pypto.frontend.objects.elements import undo
from pypto.frontend.places import Place, render, tell_lines, trace_error, traceback_place
from pypto.frontend.rewriting.checks import check_kernel
from pypto.frontend.rewriting.liveness import stores_of
from pypto.frontend.rewriting.rewrite import FlowMeta, rewrite
from pypto.frontend.rewriting.source import Source, read_kernel_source
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing import helpers, tracer
from pypto.frontend.tracing.advice import advice
from pypto.frontend.tracing.tracer import MAX_RETRACES, Facts, Retrace, Trace


def run_time_scalars(signature: Signature, constants: dict[str, Any]) -> tuple[str, ...]:
    """Names of the scalar parameters that stay numbers of each launch; defaults join the constants.

    A parameter annotated `int` or `float` without a sample value is one; any other needs a value.
    """
    names = []
    for parameter in signature.scalars:
        if parameter.name in constants:
            continue
        if parameter.annotation in (int, float):
            names.append(parameter.name)
        elif parameter.default is not NO_DEFAULT:
            constants[parameter.name] = parameter.default
        else:
            raise fe_error(
                TypeError,
                f"Missing required non-tensor argument '{parameter.name}': annotate it with int or float to give its "
                "value at each launch, or give a sample value to compile it in.",
            )
    return tuple(names)


@dataclass(frozen=True)
class Request:
    """What one trace is made for."""

    tensors: tuple[BoundTensor, ...]
    constants: dict[str, Any]  # scalars that are compiled in
    run_time: tuple[str, ...]  # names of scalars that are numbers of each launch
    settings: Settings  # options in force
    prints: bool = False  # whether values are shown behind the call


@dataclass(frozen=True)
class PreparedKernel:
    """The rewritten source of a kernel. Immutable; each trace makes its own function of it."""

    function: types.FunctionType
    signature: Signature
    source: Source
    code: types.CodeType
    metas: list[FlowMeta]
    rebound: frozenset[str]  # tensor parameters that the kernel's own frame binds anew

    def compile(self, request: Request, platform: str) -> tuple[Any, list[PrintSite]]:
        """The compiled image for these parameters, and the places that show values."""
        trace, program = self.trace(request)
        max_num, max_kb, per_pool, parallelism = request.settings.plan
        try:
            image = _core.compile(program, platform, max_num, max_kb, list(per_pool), parallelism)
            return image, [] if trace.prints is None else trace.prints.sites
        except PyptoError as error:
            self._relocate(error, trace)

    def _relocate(self, error: PyptoError, trace: Trace) -> NoReturn:
        """Gives an error of the compiler its place in the source."""
        place = None
        if isinstance(error, CompileError) and error.lineno:
            place = trace.locate(error.filename or "", error.lineno, error.msg.partition("()")[0])
        elif isinstance(error, CompileError):
            place = self._parameter_place(error.msg)
        if place is not None:
            raise trace_error(ValueError, error.msg, place) from None
        raise error

    def _parameter_place(self, message: str) -> Place | None:
        """Where the parameter stands that a message begins with ("parameter 'x': ...")."""
        arguments = self.source.tree.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if message.startswith(f"parameter '{argument.arg}':"):
                return self.source.place(argument)
        return None

    def trace(self, request: Request) -> tuple[Trace, Any]:
        """The finished trace and its program."""
        facts, prints, lost = Facts(), 0, None
        for _ in range(MAX_RETRACES):
            if lost is not None:
                raise self._lost(lost)
            if len(facts.prints) != prints:  # what was found otherwise goes by counters that outputs change
                facts, prints = Facts(prints=facts.prints), len(facts.prints)
            trace, is_done = Trace(self.function.__name__, facts), False
            place, package = self.source.place(self.source.tree), (self.function.__module__ or "").partition(".")[0]
            trace.outer = Snapshot(arrays=False, place=place, package=package)
            trace.outer.add_function(self.function)
            token = tracer.enter(trace)
            try:
                with scopes.kernel_scope(request.settings.node):
                    self._run_kernel(trace, request)
                    if not trace.starts_over:
                        program = trace.builder.finish()
                        is_done = True
                        return trace, program
            except Retrace:
                facts = trace.facts
            except PyptoError as error:
                if trace.starts_over or _may_be_none(error, trace):
                    continue
                if trace.facts.error is not None and isinstance(error, NameError):
                    raise trace.facts.error from None
                if isinstance(error, CompileError) and error.column is None and error.lineno:
                    self._relocate(error, trace)
                if isinstance(error, FeError) and not isinstance(error, CompileError):
                    raise self._placed(error, trace) from None
                raise
            except Exception as error:
                if trace.starts_over or _may_be_none(error, trace):
                    continue
                if trace.facts.error is not None and isinstance(error, NameError):
                    raise trace.facts.error from None
                raise self._wrap(error, trace) from error
            finally:
                try:
                    undo(trace)
                    if not is_done:
                        lost = trace.outer.restore()
                finally:
                    trace.outer = None
                    tracer.leave(token)
        raise trace_error(
            RuntimeError,
            f"kernel '{self.function.__name__}' did not settle after {MAX_RETRACES} traces: its trace depends on "
            "something that changes from one to the next",
            self.source.place(self.source.tree),
        )

    def _lost(self, path: str) -> Exception:
        return trace_error(
            ValueError,
            f"'{path}' changes while kernel '{self.function.__name__}' is traced, and cannot be given back what it was "
            "for the next trace, which would find something else. Instead: make it in the kernel",
            self.source.place(self.source.tree),
        )

    def _run_kernel(self, trace: Trace, request: Request) -> None:
        runtime_function = helpers.bind(self.function, (self.source, self.code, self.metas), trace, is_kernel=True)
        arguments: dict[str, Any] = {}
        for bound in request.tensors:
            dims = [dim if isinstance(dim, int) else None for dim in bound.dims]
            names = [dim if isinstance(dim, str) else "" for dim in bound.dims]
            tensor_id = trace.builder.add_tensor_parameter(bound.name, int(bound.dtype), dims, names)
            arguments[bound.name] = Tensor.make(trace, tensor_id, variable=True, parameter=True)
            for name, expr in zip(names, trace.builder.tensor_shape(tensor_id), strict=True):
                if name:
                    trace.symbols.setdefault(name, expr)
        trace.parameters = dict(arguments)
        for parameter in self.signature.scalars:
            if parameter.name not in request.run_time:
                arguments[parameter.name] = request.constants[parameter.name]
            elif parameter.annotation is float:
                index = trace.builder.add_float_parameter(parameter.name)
                arguments[parameter.name] = FloatScalar(trace, index, parameter.name)
            else:
                expr = trace.symbols[parameter.name] = trace.builder.add_int_parameter(parameter.name)
                arguments[parameter.name] = SymbolicScalar._wrap(trace, expr)
        if request.prints:
            trace.prints = PrintRecorder(trace)
        keyword_only = {parameter.name for parameter in self.signature.scalars if parameter.keyword_only}
        positional = [value for name, value in arguments.items() if name not in keyword_only]
        final = runtime_function(*positional, **{name: arguments[name] for name in keyword_only})
        self._store_rebound(trace, final)

    def _store_rebound(self, trace: Trace, final: dict[str, Any]) -> None:
        """Writes the final binding of a parameter that was bound anew, and never used otherwise, to its buffer."""
        for name in sorted(self.rebound):
            parameter, value = trace.parameters[name], final.get(name)
            if not isinstance(value, Tensor) or value is parameter or not parameter.is_untouched:
                continue
            if value.id == parameter.id:
                continue  # a loop or branch has written it there
            if value.dtype == parameter.dtype and value.shape_exprs() == parameter.shape_exprs():
                trace.build("move", parameter.variable_id(), value.use())

    def _placed(self, error: FeError, trace: Trace) -> PyptoError:
        """An error that knows no source, such as one of an option, with the place of the call in the kernel."""
        place = traceback_place(error.__traceback__, {known.filename for known in trace.ranges})
        kind = next((kind for kind, code in ERROR_CODES.items() if code == error.err_code), ValueError)
        return trace_error(kind, error.msg.removeprefix(f"{kind.__name__}: "), place)

    def _wrap(self, error: Exception, trace: Trace) -> PyptoError:
        """What is no pypto error becomes a PyptoGeneralError that is also of its kind, with the place."""
        files = {known.filename for known in trace.ranges}
        place = traceback_place(error.__traceback__, files)
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, UnboundLocalError):
            text += " (nothing that was traced has bound it: its branch is not taken, or its loop does not run)"
        elif isinstance(error, TypeError | ValueError | LookupError | RuntimeError | AttributeError):
            text += advice(text)
        message = f"Failed to call JIT function '{self.function.__name__}'. {text}"
        return typed((PyptoGeneralError,), type(error), render(message, place))


def _lines() -> Callable[[str, int], bool] | None:
    trace = tracer.current()
    return None if trace is None else trace.has_line


tell_lines(_lines)


def _may_be_none(error: Exception, trace: Trace) -> bool:
    """Notes names whose None may stand for no iteration yet, where an error in a loop speaks of None."""
    if not isinstance(error, TypeError | AttributeError) or "NoneType" not in str(error):
        return False
    noted: list[bool] = [loop.note_nones() for loop in trace.loops]
    return any(noted)


def prepare(function: types.FunctionType, signature: Signature) -> PreparedKernel:
    """Reads, checks and rewrites the source of a kernel."""
    source = read_kernel_source(function)
    check_kernel(source)
    tensors = {name for name, _ in signature.tensors}
    rebound = frozenset(stores_of(list(source.tree.body))) & tensors
    code, metas = rewrite(source, function, rebound, returns_frame=True)
    return PreparedKernel(function, signature, source, code, metas, rebound)
