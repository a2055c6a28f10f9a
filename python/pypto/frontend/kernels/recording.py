"""`with pypto.function("name", a, b): ...`: a kernel written as a block of host code.

The block is read, traced and compiled like the body of a kernel when it is entered, and is not run by Python: its
names are those of the code around it, what it binds stays inside. `pypto.runtime._device_run_once_data_from_host`
runs it.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast
import linecache
import sys
import types
from typing import Any

from pypto.errors import fe_error
from pypto.frontend.annotations import TensorSpec
from pypto.frontend.kernels.options import KernelOptions
from pypto.frontend.kernels.signature import Signature
from pypto.frontend.places import Place, trace_error
from pypto.frontend.rewriting.checks import check_kernel
from pypto.frontend.rewriting.rewrite import rewrite
from pypto.frontend.rewriting.source import Source
from pypto.frontend.tracing import trace_kernel
from pypto.frontend.tracing.tracer import current


class _Skip(BaseException):
    """Leaves the block before its first statement."""


def _specs(tensors: tuple[Any, ...]) -> list[TensorSpec]:
    found: list[TensorSpec] = []
    for tensor in tensors:
        if isinstance(tensor, list | tuple):
            found += _specs(tuple(tensor))
        elif isinstance(tensor, TensorSpec):
            found.append(tensor)
        else:
            raise fe_error(
                TypeError,
                f"function(): expected tensors made by pypto.tensor or pypto.from_torch, got {type(tensor).__name__}",
            )
    return found


class Recording:
    """One block of host code that is a kernel. Used once, by the thread that enters it."""

    def __init__(self, name: str, tensors: tuple[Any, ...]) -> None:
        self.name = name
        self._tensors = _specs(tensors)
        self._traced: Any = None  # what sys.gettrace gave outside of the block
        self.image: Any = None

    def __enter__(self) -> Recording:
        if current() is not None:
            raise trace_error(RuntimeError, "function(): a recording inside of a kernel; call a plain function")
        frame = sys._getframe(1)
        self.image = self._compile(frame)
        self._skip(frame)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        sys.settrace(self._traced)
        if kind is not _Skip:
            return False
        import pypto

        pypto.runtime.keep_recorded(self.image)
        return True

    def _skip(self, frame: types.FrameType) -> None:
        """Makes the next step of the frame, which is the first of the block, raise."""
        outer = frame.f_trace

        def stop(stopped: types.FrameType, event: str, argument: Any) -> Any:
            stopped.f_trace, stopped.f_trace_opcodes = outer, False
            raise _Skip

        self._traced = sys.gettrace()
        sys.settrace(lambda *_: None)
        frame.f_trace, frame.f_trace_opcodes = stop, True

    def _compile(self, frame: types.FrameType) -> Any:
        block, lines = self._find_block(frame)
        names = {**frame.f_globals, **frame.f_locals}
        used = {node.id for statement in block.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
        parameters = [self._parameter(index, spec, names, used) for index, spec in enumerate(self._tensors)]
        source = self._source(frame, block, lines, parameters)
        check_kernel(source)
        function = self._function(source, names)
        function.__annotations__ = dict(zip(parameters, self._tensors, strict=True))
        signature = Signature(function)
        code, metas = rewrite(source, function, frozenset(), returns_frame=True)
        kernel = trace_kernel.PreparedKernel(function, signature, source, code, metas, frozenset())
        options = KernelOptions({})
        bound = tuple(signature.bind_tensor(index, None) for index in range(len(parameters)))
        import pypto

        platform = options.platform() or str(pypto.runtime.default_platform())
        return kernel.compile(trace_kernel.Request(bound, {}, (), options.in_force()), platform)[0]

    def _find_block(self, frame: types.FrameType) -> tuple[ast.With, list[str]]:
        filename, line = frame.f_code.co_filename, frame.f_lineno
        lines = linecache.getlines(filename, frame.f_globals)
        found = None
        for node in ast.walk(ast.parse("".join(lines))) if lines else ():
            if isinstance(node, ast.With):
                last = node.items[-1].context_expr
                if last.lineno <= line <= (last.end_lineno or last.lineno) and isinstance(last, ast.Call):
                    found = node
        if found is None:
            raise trace_error(
                RuntimeError,
                'function(): a recording is written `with pypto.function("name", a, b):` as the last item of a with '
                "statement in a file or a notebook cell",
                Place(filename, line),
            )
        return found, lines

    def _parameter(self, index: int, spec: TensorSpec, names: dict[str, Any], used: set[str]) -> str:
        """The name of a tensor in the block."""
        found = sorted(name for name in used if names.get(name) is spec)
        if len(found) > 1:
            raise fe_error(ValueError, f"function(): {found[0]} and {found[1]} are one tensor; use one of the names")
        return found[0] if found else f"unused_{index}"

    def _source(self, frame: types.FrameType, block: ast.With, lines: list[str], parameters: list[str]) -> Source:
        name = self.name if self.name.isidentifier() else "recording"
        arguments = [ast.arg(parameter) for parameter in parameters]
        taken = ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[])
        tree = ast.copy_location(ast.FunctionDef(name, taken, block.body, [], None), block)
        ast.fix_missing_locations(tree)
        last = block.end_lineno or block.lineno
        text = "".join(lines[block.lineno - 1 : last])
        return Source(frame.f_code.co_filename, name, text, tree, block.lineno, last, block.lineno)

    @staticmethod
    def _function(source: Source, names: dict[str, Any]) -> types.FunctionType:
        """The block as a plain function whose globals are all names of the code around it."""
        code = compile(ast.Module([source.tree], []), source.filename, "exec", dont_inherit=True)
        inner = next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
        return types.FunctionType(inner, names, source.name)
