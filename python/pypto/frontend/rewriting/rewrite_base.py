"""Nodes of rewritten source: calls of the runtime, at the places of what they stand for."""
# ruff: noqa: D107

from __future__ import annotations

import ast
from typing import Any, TypeVar

from pypto.frontend.rewriting.code_objects import RUNTIME

_Node = TypeVar("_Node", bound=ast.expr)


def _at_start(made: Any, node: ast.AST) -> None:
    """Places a made node at the first line of another; a span of lines would move its calls to the last one."""
    ast.copy_location(made, node)
    if made.end_lineno != made.lineno:
        made.end_lineno, made.end_col_offset = made.lineno, made.col_offset + 1
    ast.fix_missing_locations(made)


class Builder(ast.NodeTransformer):
    """Makes the nodes."""

    @staticmethod
    def _name(name: str, store: bool = False) -> ast.Name:
        return ast.Name(name, ast.Store() if store else ast.Load())

    def _attribute(self, owner: str, name: str) -> ast.Attribute:
        return ast.Attribute(self._name(owner), name, ast.Load())

    def _call(self, owner: str, method: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(self._attribute(owner, method), list(arguments), [])

    def _frame(self) -> ast.Call:
        return self._call(RUNTIME, "frame")

    @staticmethod
    def _placed(made: list[ast.stmt], node: ast.AST) -> list[ast.stmt]:
        for statement in made:
            _at_start(statement, node)
        return made

    @staticmethod
    def _located(made: _Node, node: ast.AST) -> _Node:
        _at_start(made, node)
        return made

    def _visit_all(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            result = self.visit(statement)
            made += result if isinstance(result, list) else [result]
        return made
