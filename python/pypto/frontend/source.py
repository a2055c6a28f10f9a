"""Reading a function's source as a syntax tree whose positions are those of the file."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import FunctionType

from pypto.errors import fe_error
from pypto.frontend.places import Place


@dataclass(frozen=True)
class Source:
    """A function's `def` with absolute lines and columns."""

    filename: str
    name: str
    text: str  # as in the file, decorators included
    tree: ast.FunctionDef
    first_line: int  # of the first decorator or the def
    last_line: int
    def_line: int

    def place(self, node: ast.AST) -> Place:
        """Where a node of the tree stands."""
        line = getattr(node, "lineno", self.def_line)
        return Place(self.filename, line, getattr(node, "col_offset", None), self.name)


class NoSourceError(Exception):
    """The source of a function cannot be read, or it is not a plain `def`."""


def _arguments(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def read_source(function: FunctionType) -> Source:
    """The source of a function defined with `def`; NoSourceError when there is none."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise NoSourceError(str(error)) from None
    text = "".join(lines)
    indented = text[:1] in " \t"
    try:
        module = ast.parse("if True:\n" + text if indented else text)
    except SyntaxError as error:
        raise NoSourceError(str(error)) from None
    node = module.body[0]
    if indented:
        assert isinstance(node, ast.If)
        node = node.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise NoSourceError(f"{function.__qualname__} is no plain def")
    code = function.__code__
    if node.name != code.co_name or [a.arg for a in _arguments(node)] != list(
        code.co_varnames[: len(_arguments(node))]
    ):
        raise NoSourceError(f"line {first} of {code.co_filename} is another function: the file has changed")
    ast.increment_lineno(node, first - (2 if indented else 1))
    return Source(
        filename=function.__code__.co_filename,
        name=function.__name__,
        text=text,
        tree=node,
        first_line=first,
        last_line=first + len(lines) - 1,
        def_line=node.lineno,
    )


def read_kernel_source(function: FunctionType) -> Source:
    """The source of a kernel; an FeError when it cannot be read."""
    try:
        return read_source(function)
    except NoSourceError as error:
        raise fe_error(
            RuntimeError,
            f"the source of kernel '{function.__qualname__}' cannot be read ({error}); kernels are plain `def` "
            "functions in a file, a notebook cell or anything else that inspect.getsource can read",
        ) from None
