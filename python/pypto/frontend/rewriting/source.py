"""Reading a function's source as a syntax tree whose positions are those of the file."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
from dataclasses import dataclass, field
from types import CodeType, FunctionType

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
    live: dict[int, frozenset[str]] = field(default_factory=dict)  # by line: names that a call there leaves readable
    asked: dict[tuple[str, tuple[str, ...]], frozenset[str]] = field(default_factory=dict)  # parameters
    passed: frozenset[tuple[str, str]] = frozenset()  # names, and attributes of names, that it does more with than call

    def place(self, node: ast.AST) -> Place:
        """Where a node of the tree stands."""
        line = getattr(node, "lineno", self.def_line)
        return Place(self.filename, line, getattr(node, "col_offset", None), self.name)


class NoSourceError(Exception):
    """The source of a function cannot be read, or it is not a plain `def`."""


def _passed(tree: ast.AST) -> frozenset[tuple[str, str]]:
    nodes = list(ast.walk(tree))
    aside = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    aside |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    found = set()
    for node in nodes:
        if id(node) not in aside and isinstance(node, ast.Name):
            found.add((node.id, ""))
        elif id(node) not in aside and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add((node.value.id, node.attr))
    return frozenset(found)


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
        passed=_passed(node),
    )


@functools.lru_cache(maxsize=64)
def _lambdas_of(text: str) -> dict[int, list[ast.Lambda]]:
    """The lambdas of a file, by line."""
    found: dict[int, list[ast.Lambda]] = {}
    try:
        module = ast.parse(text)
    except SyntaxError:
        return found
    for node in ast.walk(module):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def _may_be(code: CodeType, node: ast.Lambda) -> bool:
    """Whether a lambda of the file can be the one that was compiled to the code."""
    arguments = [a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    if list(code.co_varnames[: len(arguments)]) != arguments:
        return False
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return True
    begin, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
    places = [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]
    return all(begin <= (line, column) and (last, until) <= end for line, last, column, until in places)


def read_lambda_source(function: FunctionType) -> Source:
    """The source of a lambda as a `def` that returns its body; NoSourceError when it cannot be told which one it is."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    found = [each for each in _lambdas_of("".join(lines)).get(code.co_firstlineno, ()) if _may_be(code, each)]
    # Of lambdas in one another the innermost that holds all of the code.
    found = [each for each in found if not any(other in ast.walk(each.body) for other in found)]
    if len(found) != 1:
        raise NoSourceError(f"line {code.co_firstlineno} of {code.co_filename} holds {len(found)} such lambdas")
    node = copy.deepcopy(found[0])
    returned = ast.copy_location(ast.Return(node.body), node.body)
    tree = ast.copy_location(ast.FunctionDef(code.co_name, node.args, [returned], [], None), node)
    last = node.end_lineno or node.lineno
    return Source(
        filename=code.co_filename,
        name=code.co_name,
        text="".join(lines[node.lineno - 1 : last]),
        tree=ast.fix_missing_locations(tree),
        first_line=node.lineno,
        last_line=last,
        def_line=node.lineno,
        passed=_passed(tree),
    )


def def_place(function: FunctionType) -> tuple[str, int]:
    """File and line of the `def` of a function; line 0 when it cannot be read."""
    try:
        source = read_source(function)
    except NoSourceError:
        return function.__code__.co_filename, 0
    return source.filename, source.def_line


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
