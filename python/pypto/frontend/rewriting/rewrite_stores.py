"""Rewrites what sets elements of containers: behind each of them the tracer looks at what has changed.

a[0], b[0] = v, w     →   .value0, .value1 = v, w; a[0] = .value0; rt.settle(…); b[0] = .value1; rt.settle(…)
a[0] = b[0] = v       →   .value = v; a[0] = .value; rt.settle(…); b[0] = .value; rt.settle(…)
a[k] += v             →   a[k] = rt.in_place("Add", a[k], v), where a and k are evaluated once
with m as a[0]: …     →   with rt.managed(m) as .value0: a[0] = .value0; rt.settle(…); …
"""
# ruff: noqa: D102

from __future__ import annotations

import ast
import copy

from pypto.frontend.rewriting.changes import PAIRS, InPlace, bound_anywhere, may_change, targets_in
from pypto.frontend.rewriting.code_objects import RUNTIME
from pypto.frontend.rewriting.liveness import EMPTY, Names, loads_of
from pypto.frontend.rewriting.rewrite_objects import VALUE, ObjectUses, elements_in


def _stores_in(node: ast.Assign) -> int:
    return sum(len(elements_in(target)) for target in node.targets)


def _anything(_: ast.AST) -> bool:
    return True


class Stores(ObjectUses):
    """The part of the rewriter that looks at statements which set elements."""

    own: set[str]  # names that nothing but the function sets
    live: dict[ast.AST, Names]  # by statement: names that can be read behind it
    uncertain: set[str]  # names that may be bound on some paths only

    def _settled(self, node: ast.stmt) -> list[ast.stmt]:
        """The statement, and a call behind it where it may have changed a container."""
        if isinstance(node, ast.Assign) and _stores_in(node) > 1:
            return self._one_by_one(node) if len(node.targets) == 1 else self._target_by_target(node)
        changes, live = may_change(node), self.live.get(node, EMPTY)
        self.generic_visit(node)
        if isinstance(node, ast.Assign) and any(isinstance(each, PAIRS) for each in node.targets):
            node.value = self._each(node.value) if not isinstance(node.value, ast.Tuple) else node.value
        return [node, self._settle(node, live)] if changes else [node]

    def _settle(self, node: ast.AST, live: Names) -> ast.stmt:
        names = [ast.Constant(name) for name in sorted(live)]
        return self._placed([ast.Expr(self._call(RUNTIME, "settle", *names))], node)[0]

    def _put_later(self, target: ast.expr, name: str, node: ast.AST, live: Names) -> list[ast.stmt]:
        """Sets one target to what a name holds."""
        made = self._placed([ast.Assign([self.visit(target)], self._name(name))], node)
        return made if isinstance(target, ast.Name) else [*made, self._settle(node, live)]

    def _forget(self, names: list[str], node: ast.AST) -> list[ast.stmt]:
        return self._placed([ast.Delete([ast.Name(name, ast.Del()) for name in names])], node)

    def _one_by_one(self, node: ast.Assign) -> list[ast.stmt]:
        target = node.targets[0]
        live, targets = self.live.get(node, EMPTY) | loads_of(target), targets_in(target)
        names = [f"{VALUE}{at}" for at in range(len(targets))]
        plain = ast.copy_location(ast.Assign([self._renamed(target, iter(names), _anything)], node.value), node)
        self.live[plain] = live | frozenset(names)
        made = self._settled(plain)
        for at, (each, name) in enumerate(zip(targets, names, strict=True)):
            made += self._put_later(each, name, node, live | frozenset(names[at + 1 :]))
        return [*made, *self._forget(names, node)]

    def _target_by_target(self, node: ast.Assign) -> list[ast.stmt]:
        live = self.live.get(node, EMPTY).union(*(loads_of(target) for target in node.targets), {VALUE})
        plain = ast.copy_location(ast.Assign([self._name(VALUE, store=True)], node.value), node)
        ast.fix_missing_locations(plain)
        self.live[plain] = live
        made = self._settled(plain)
        for target in node.targets:
            single = ast.copy_location(ast.Assign([target], self._name(VALUE)), node)
            ast.fix_missing_locations(single)
            self.live[single] = live
            made += self._settled(single)
        return [*made, *self._forget([VALUE], node)]

    visit_Assign = visit_AnnAssign = visit_Delete = visit_Expr = _settled

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        live = self.live.get(node, EMPTY) | loads_of(node.target)
        made: list[ast.stmt] = []
        names: list[str] = []

        def once(part: ast.expr) -> ast.expr:
            """A part of the target that is evaluated once."""
            is_own = isinstance(part, ast.Name) and part.id in self.own and part.id not in bound
            if isinstance(part, ast.Constant) or is_own:
                return part
            names.append(f"{VALUE}{len(names)}")
            made.append(ast.Assign([self._name(names[-1], store=True)], self.visit(self._key(part))))
            ast.copy_location(made[-1], part)
            return ast.copy_location(self._name(names[-1]), part)

        target, bound = node.target, bound_anywhere(node)
        if not isinstance(target, ast.Name):
            self.paths.note(target)
            target.value = once(target.value)
        if isinstance(target, ast.Subscript):
            target.slice = once(target.slice)
        old = copy.deepcopy(target)
        old.ctx = ast.Load()
        value = self.visit_InPlace(ast.copy_location(InPlace(old, node.op, node.value), node))
        stored = ast.copy_location(ast.Assign([self.visit(target)], value), node)
        settled = self._settle(node, live | frozenset(names))
        made = [*self._placed(made, node), ast.fix_missing_locations(stored), settled]
        return [*made, *self._forget(names, node)] if names else made

    def visit_InPlace(self, node: InPlace) -> ast.expr:
        name = ast.Constant(type(node.op).__name__)
        made = self._call(RUNTIME, "in_place", name, self.visit(node.left), self.visit(node.right))
        return self._located(made, node)

    def visit_With(self, node: ast.With) -> ast.With:
        for at, item in enumerate(node.items[:-1]):
            if item.optional_vars is not None and elements_in(item.optional_vars):
                inner = ast.copy_location(ast.With(node.items[at + 1 :], node.body), node)
                self.live[inner] = self.live.get(node, EMPTY)
                node.items, node.body = node.items[: at + 1], [inner]
                break
        item, first = node.items[-1], []
        live = self.live.get(node, EMPTY).union(*map(loads_of, node.body))
        if item.optional_vars is not None and elements_in(item.optional_vars):
            item.optional_vars, pairs = self._without_elements(item.optional_vars)
            for target, name in pairs:
                first += self._put_later(target, name, target, live)
            first += self._forget([name for _, name in pairs], node)
        for each in node.items:
            each.context_expr = self._located(
                self._call(RUNTIME, "managed", self.visit(each.context_expr)), each.context_expr
            )
            if each.optional_vars is not None:
                each.optional_vars = self.visit(each.optional_vars)
        node.body = [*first, *self._visit_all(node.body)]
        return node
