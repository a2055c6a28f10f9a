"""Rewrites what may run methods of the user's objects.

o.f, o[k] (also set and deleted), -o   →   rt.user(o).f, rt.user(o)[k], -rt.user(o)
a + b                                  →   rt.binary("Add", a, b)
*o, for … in o of a comprehension      →   *rt.each(o), for … in rt.each(o)
[… for A[0] in o]                      →   [… for .value0 in rt.each(o) if rt.put_item(.value0, A, 0)]
"""
# ruff: noqa: D102

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from pypto.frontend.rewriting.changes import PAIRS, targets_in
from pypto.frontend.rewriting.code_objects import RUNTIME
from pypto.frontend.rewriting.liveness import Paths
from pypto.frontend.rewriting.rewrite_base import Builder

VALUE = ".value"  # no name of a user; begins those of what a statement has still to set
_NEVER_OBJECTS = (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def is_element(target: ast.AST) -> bool:
    """Whether a target is an element of a container or an attribute."""
    return isinstance(target, ast.Subscript | ast.Attribute)


def elements_in(target: ast.expr) -> list[ast.expr]:
    """The elements that a target sets."""
    return [each for each in targets_in(target) if is_element(each)]


class ObjectUses(Builder):
    """The part of the rewriter that looks at operators, items, attributes and iteration."""

    paths: Paths

    def _note_tested(self, node: ast.expr) -> None:
        raise NotImplementedError

    def _user(self, node: ast.expr) -> ast.expr:
        """What an item or attribute is taken from, visited already."""
        if isinstance(node, _NEVER_OBJECTS) or (isinstance(node, ast.Name) and node.id == "pypto"):
            return node
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pypto":
            return node
        return self._located(self._call(RUNTIME, "user", node), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            self.paths.note(node)
        self.generic_visit(node)
        node.value = self._user(node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            self.paths.note(node)
        self.generic_visit(node)
        node.value = self._user(node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        constant = isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
        self.generic_visit(node)
        if constant:
            return node
        name = ast.Constant(type(node.op).__name__)
        return self._located(self._call(RUNTIME, "binary", name, node.left, node.right), node)

    def _compared(self, node: ast.Compare) -> ast.expr:
        """One comparison that is no identity, visited already."""
        name = ast.Constant(type(node.ops[0]).__name__)
        return self._located(self._call(RUNTIME, "binary", name, node.left, node.comparators[0]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            self._note_tested(node.operand)
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return self._located(self._call(RUNTIME, "not_", node.operand), node)
        node.operand = self._user(node.operand)
        return node

    def _each(self, node: ast.expr) -> ast.expr:
        """What is iterated over, visited already."""
        if isinstance(node, _NEVER_OBJECTS):
            return node
        return self._located(self._call(RUNTIME, "each", node), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        self.generic_visit(node)
        conversion = ast.Constant(node.conversion)
        node.value = self._located(self._call(RUNTIME, "shown", node.value, conversion), node.value)
        node.conversion = -1
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._each(node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        elements = elements_in(node.target)
        if elements:
            target, pairs = self._without_elements(node.target)
            node.target = target
            node.ifs = [self._put(each, name) for each, name in pairs] + node.ifs
        self.generic_visit(node)
        node.iter = self._each(node.iter)
        return node

    def _put(self, target: ast.expr, name: str) -> ast.expr:
        """A call that sets an element and is true."""
        value = self._name(name)
        if isinstance(target, ast.Attribute):
            made = self._call(RUNTIME, "put_attribute", value, target.value, ast.Constant(target.attr))
        else:
            assert isinstance(target, ast.Subscript)
            made = self._call(RUNTIME, "put_item", value, target.value, self._key(target.slice))
        return self._located(made, target)

    def _key(self, node: ast.expr) -> ast.expr:
        """The index of an item as an expression of its own."""
        if isinstance(node, ast.Slice):
            bounds = [each or ast.Constant(None) for each in (node.lower, node.upper, node.step)]
            return self._located(self._call(RUNTIME, "slice", *bounds), node)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._key(each) for each in node.elts], ast.Load()), node)
        return node

    def _without_elements(self, target: ast.expr) -> tuple[ast.expr, list[tuple[ast.expr, str]]]:
        """A target that sets names in place of elements, and which names these are."""
        elements = elements_in(target)
        names = [f"{VALUE}{at}" for at in range(len(elements))]
        return self._renamed(target, iter(names), is_element), list(zip(elements, names, strict=True))

    def _renamed(self, target: ast.expr, names: Iterator[str], wanted: Any) -> ast.expr:
        """A target of the same form that sets these names, in place of the targets that are wanted."""
        if isinstance(target, ast.Starred):
            return ast.copy_location(ast.Starred(self._renamed(target.value, names, wanted), ast.Store()), target)
        if isinstance(target, PAIRS):
            inner = [self._renamed(each, names, wanted) for each in target.elts]
            return ast.copy_location(ast.Tuple(inner, ast.Store()), target)
        return ast.copy_location(self._name(next(names), store=True), target) if wanted(target) else target
