"""Rewrites `return` inside an `if` of a helper, where the condition may be one of the running kernel.

    if c: return a       →   if c: result = a
    rest                     else: rest
    return b                       result = b
                             return result

What follows a branch that always returns moves into the other one, so nothing is traced twice. Behind a statement that
returns on some paths of both branches it becomes conditional on a flag, which is set beside the result.

    for t in it:           →   for t in it:
        if c: return a             if done == 0:
        rest                           if c: result = a; done = 1
                                       else: rest
                                   if done is known to be 1: break

So is the body of a Python loop, which goes on where only the running kernel knows whether it has returned.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from pypto.frontend.rewriting.changes import Known, ReturningFor, ReturningIf

_Made = TypeVar("_Made", bound=ast.AST)


def _all_returns(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Every `return` in the statements, outside of nested functions."""
    found: list[ast.stmt] = []
    for node in statements:
        if isinstance(node, ast.Return):
            found.append(node)
        elif isinstance(node, ast.If | ast.For | ast.While | ast.With):
            found += _all_returns([*node.body, *getattr(node, "orelse", [])])
    return found


def _returns(statements: list[ast.stmt]) -> bool:
    """Whether there is one."""
    return bool(_all_returns(statements))


def _conditional(statements: list[ast.stmt]) -> bool:
    """Whether one of them stands in an `if`."""
    return any(
        (isinstance(node, ast.If) and (_returns(node.body) or _returns(node.orelse)))
        or (isinstance(node, ast.With | ast.For | ast.While) and _conditional(node.body))
        for node in statements
    )


def _ends(statements: list[ast.stmt]) -> bool:
    """Whether every path through the statements returns."""
    return any(
        isinstance(node, ast.Return)
        or (isinstance(node, ast.If) and _ends(node.body) and _ends(node.orelse))
        or (isinstance(node, ast.With) and _ends(node.body))
        for node in statements
    )


class _NeedsFlag(Exception):
    """Some path goes on behind a statement in which others return."""


class _Returns:
    def __init__(self, name: str, flag: bool) -> None:
        self._result, self._done = f"return value of {name}", f"whether {name} has returned"
        self._flag = flag

    @staticmethod
    def _at(made: _Made, node: ast.AST) -> _Made:
        ast.copy_location(made, node)
        return ast.fix_missing_locations(made)

    def _set(self, name: str, value: ast.expr, node: ast.AST) -> ast.stmt:
        return self._at(ast.Assign([ast.Name(name, ast.Store())], value), node)

    def function(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        end = statements[-1]
        whole = statements if isinstance(end, ast.Return) else [*statements, self._at(ast.Return(None), end)]
        begin = [self._set(self._done, ast.Constant(0), statements[0])] if self._flag else []
        result = self._at(ast.Return(ast.Name(self._result, ast.Load())), whole[-1])
        return [*begin, *self._block(whole)[0], result]

    def _block(self, statements: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """The statements with results in place of `return`, and whether every path through them has one."""
        made: list[ast.stmt] = []
        for position, node in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(node, ast.Return):
                value = self._at(ast.Constant(None), node) if node.value is None else node.value
                made.append(self._set(self._result, value, node))
                if self._flag:
                    made.append(self._set(self._done, ast.Constant(1), node))
                return made, True
            if not _returns([node]):
                made.append(node)
            elif isinstance(node, ast.If):
                return self._if(made, node, rest)
            elif isinstance(node, ast.For | ast.While):
                made.append(self._loop(node))
                return self._behind(made, node, rest)
            else:
                assert isinstance(node, ast.With)
                body, always = self._block(node.body)
                made.append(self._at(ast.With(node.items, body), node))
                return (made, True) if always else self._behind(made, node, rest)
        return made, False

    def _if(self, made: list[ast.stmt], node: ast.If, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        body, other = node.body, node.orelse
        if _ends(body) != _ends(other):
            body, other, rest = (body, [*other, *rest], []) if _ends(body) else ([*body, *rest], other, [])
        (body, body_ends), (other, other_ends) = self._block(body), self._block(other)
        returned = "" if body_ends == other_ends else "then" if body_ends else "else"
        made.append(self._returning(node.test, body, other, returned, node))
        return (made, True) if body_ends and other_ends else self._behind(made, node, rest)

    def _loop(self, node: ast.For | ast.While) -> ast.stmt:
        """A loop that goes on, and does nothing, where it is not known whether the function has returned."""
        if not self._flag:
            raise _NeedsFlag
        returns = _all_returns(node.body)
        body = [self._if_not_done(self._block(node.body)[0], node.body[0])]
        done = self._at(Known(ast.Not(), ast.Name(self._done, ast.Load())), returns[0])
        body.append(self._at(ast.If(done, [ast.Break()], []), returns[0]))
        if isinstance(node, ast.While):
            return self._at(ast.While(node.test, body, []), node)
        made = self._at(ReturningFor(node.target, node.iter, body, []), node)
        made.returns = returns
        return made

    def _if_not_done(self, statements: list[ast.stmt], node: ast.AST) -> ast.stmt:
        goes_on = ast.Compare(ast.Name(self._done, ast.Load()), [ast.Eq()], [ast.Constant(0)])
        return self._returning(goes_on, statements, [], "else", node)

    def _returning(
        self, test: ast.expr, body: list[ast.stmt], other: list[ast.stmt], returned: str, node: ast.AST
    ) -> ast.stmt:
        made = self._at(ReturningIf(test, body, other), node)
        made.returned = returned
        return made

    def _behind(self, made: list[ast.stmt], node: ast.stmt, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """What follows a statement that returns on some paths."""
        if not rest:
            return made, False
        if not self._flag:
            raise _NeedsFlag
        body, always = self._block(rest)
        made.append(self._if_not_done(body, rest[0]))
        return made, always


def without_conditional_returns(function: ast.FunctionDef) -> None:
    """Gives a helper one `return` behind all of its branches, if it has one in a branch."""
    if not _conditional(function.body):
        return
    try:
        function.body = _Returns(function.name, flag=False).function(function.body)
    except _NeedsFlag:
        function.body = _Returns(function.name, flag=True).function(function.body)
