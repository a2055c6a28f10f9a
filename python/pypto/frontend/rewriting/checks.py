"""What the source of a kernel may not hold: refused before anything runs, at file, line and column."""
# ruff: noqa: D105, D107

from __future__ import annotations

import ast

from pypto.errors import PyptoError
from pypto.frontend.places import syntax_error
from pypto.frontend.rewriting.source import Source

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFunctionDef: ("async def", "use a plain def"),
    ast.AsyncFor: ("async for", "use a plain for"),
    ast.AsyncWith: ("async with", "use a plain with"),
    ast.Await: ("await", "kernels run at once"),
    ast.Yield: ("yield", "collect the values in a list"),
    ast.YieldFrom: ("yield from", "collect the values in a list"),
    ast.Try: ("try", "check the condition before, errors of a kernel end its trace"),
    ast.Global: ("global", "pass the value as an argument or return it from a helper"),
    ast.Nonlocal: ("nonlocal", "return the value from the nested function"),
    ast.ClassDef: ("class", "define the class outside of the kernel"),
    ast.Match: ("match", "use if and elif"),
}
if hasattr(ast, "TryStar"):
    _REFUSED[ast.TryStar] = _REFUSED[ast.Try]


class Finding(Exception):
    """A construct that is not accepted."""

    def __init__(self, node: ast.AST, what: str, instead: str) -> None:
        super().__init__(f"Unsupported syntax: {what}. Instead: {instead}.")
        self.node = node


def find_unsupported(function: ast.FunctionDef, *, is_kernel: bool) -> Finding | None:
    """The first construct in source order that a kernel (or an inlined helper) cannot hold."""
    if is_kernel:
        for argument, text in ((function.args.vararg, "*"), (function.args.kwarg, "**")):
            if argument is not None:
                return Finding(argument, f"{text}{argument.arg} in the kernel", "name the parameters")
    found: list[Finding] = []
    _walk(function.body, in_kernel=is_kernel, found=found)
    if not found:
        return None
    return min(found, key=lambda f: (getattr(f.node, "lineno", 0), getattr(f.node, "col_offset", 0)))


def _walk(nodes: list[ast.stmt] | list[ast.AST], *, in_kernel: bool, found: list[Finding]) -> None:
    for node in nodes:
        refused = _REFUSED.get(type(node))
        if refused is not None:
            found.append(Finding(node, refused[0], refused[1]))
            continue
        if isinstance(node, ast.Return) and in_kernel:
            found.append(Finding(node, "return in the kernel", "write results into output parameters (out[:] = value)"))
        elif isinstance(node, ast.For | ast.While) and node.orelse:
            word = "for" if isinstance(node, ast.For) else "while"
            found.append(Finding(node.orelse[0], f"{word} … else", f"set a flag in the {word} and use if"))
        elif isinstance(node, ast.Raise) and node.exc is None:
            found.append(Finding(node, "bare raise", "raise an exception by name"))
        nested = isinstance(node, ast.FunctionDef | ast.Lambda)
        _walk(list(ast.iter_child_nodes(node)), in_kernel=in_kernel and not nested, found=found)


def check_kernel(source: Source) -> None:
    """Raises the SyntaxError of the first construct that kernels cannot hold."""
    finding = find_unsupported(source.tree, is_kernel=True)
    if finding is not None:
        raise finding_error(finding, source)


def finding_error(finding: Finding, source: Source) -> PyptoError:
    """The error of a finding, with its place."""
    return syntax_error(str(finding), source.place(finding.node))
