"""Moves operands that bind a name, and that Python may not evaluate, into `if` statements of their own.

    if a and (y := f(b)) > 0: …   →   operand = a
                                      if operand: operand = (y := f(b)) > 0
                                      if operand: …
    c and f(x)                    →   if c: f(x)

So the name is merged as that of any branch. What the statement evaluates before is kept in names as well. Operands of
lambdas and comprehensions, of `while` and of `assert` stay where they are.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TypeVar

from pypto.frontend.rewriting.changes import Holds, InPlace, bound_anywhere, is_operation
from pypto.frontend.rewriting.liveness import evaluated_by, stores_of

_Made = TypeVar("_Made", bound=ast.AST)
_FRAMES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _at(made: _Made, node: ast.AST) -> _Made:
    ast.copy_location(made, node)
    return ast.fix_missing_locations(made)


def _bound(node: ast.AST) -> set[str]:
    """Names that an expression binds in the frame of the function."""
    if isinstance(node, ast.Lambda):
        return set[str]().union(*map(_bound, evaluated_by(node)))
    if isinstance(node, _FRAMES):
        return set()
    own = {node.target.id} if isinstance(node, ast.NamedExpr) else set()
    return own.union(*map(_bound, ast.iter_child_nodes(node)))


def _is_lazy(node: ast.AST) -> bool:
    """Whether an expression has an operand that binds a name and may not be evaluated."""
    if isinstance(node, ast.BoolOp):
        first = node.values[0]
        return any(map(_bound, node.values[1:])) or (isinstance(first, ast.BoolOp) and _is_lazy(first))
    if isinstance(node, ast.IfExp):
        return bool(_bound(node.body) or _bound(node.orelse))
    if isinstance(node, ast.Compare):
        return len(node.ops) > 1 and any(map(_bound, node.comparators))
    return False


def _has_lazy(node: ast.AST) -> bool:
    if isinstance(node, ast.Lambda):
        return any(map(_has_lazy, evaluated_by(node)))
    return _is_lazy(node) or (not isinstance(node, _FRAMES) and any(map(_has_lazy, ast.iter_child_nodes(node))))


class _Hoisting:
    def __init__(self, own: set[str]) -> None:
        self._count = 0
        self._own = own  # names that nothing but the function sets

    # Statements.

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in statements for made in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        for name in ("body", "orelse"):
            if isinstance(node, ast.If | ast.For | ast.While | ast.With):
                setattr(node, name, self.block(getattr(node, name, [])))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.BoolOp | ast.IfExp):
            return self.block([self._without_value(node.value)])
        before: list[ast.stmt] = []
        if isinstance(node, ast.AugAssign):
            made = self._augmented(node, before) if _has_lazy(node) else node
            return [*before, made]
        field = {ast.If: "test", ast.For: "iter"}.get(type(node), "value")
        value = getattr(node, field, None)
        if isinstance(value, ast.expr) and _has_lazy(value):
            setattr(node, field, self._expression(value, before))
        return [*before, node]

    def _without_value(self, node: ast.expr) -> ast.stmt:
        """A statement that evaluates what a BoolOp or a conditional expression does."""
        if isinstance(node, ast.IfExp):
            return _at(ast.If(node.test, [self._without_value(node.body)], [self._without_value(node.orelse)]), node)
        if not isinstance(node, ast.BoolOp):
            return _at(ast.Expr(node), node)
        rest = node.values[1:]
        last = self._without_value(rest[0] if len(rest) == 1 else _at(ast.BoolOp(node.op, rest), rest[0]))
        first = holds(node.values[0]) if isinstance(node.values[0], ast.BoolOp) else node.values[0]
        test = first if isinstance(node.op, ast.And) else _at(ast.UnaryOp(ast.Not(), first), first)
        return _at(ast.If(test, [last], []), node)

    # Expressions.

    def _new(self) -> str:
        self._count += 1
        return f"operand {self._count}"

    @staticmethod
    def _set(name: str, value: ast.expr) -> ast.stmt:
        return _at(ast.Assign([ast.Name(name, ast.Store())], value), value)

    @staticmethod
    def _get(name: str, node: ast.AST) -> ast.expr:
        return _at(ast.Name(name, ast.Load()), node)

    def _kept(self, value: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """A name that holds the value."""
        name = self._new()
        before.append(self._set(name, self._expression(value, before)))
        return self._get(name, value)

    def _expression(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if not _has_lazy(node):
            return node
        if _is_lazy(node):
            if isinstance(node, ast.BoolOp):
                return self._combination(node, before)
            if isinstance(node, ast.Compare):
                return self._comparison(node, before)
            assert isinstance(node, ast.IfExp)
            name = self._new()
            sides: list[list[ast.stmt]] = []
            test = self._expression(node.test, before)
            for side in (node.body, node.orelse):
                sides.append([])
                value = self._expression(side, sides[-1])
                sides[-1].append(self._set(name, value))
            before.append(_at(ast.If(test, *sides), node))
            return self._get(name, node)
        return self._operation(node, before)

    def _combination(self, node: ast.BoolOp, before: list[ast.stmt], truth: str = "") -> ast.expr:
        """`and` and `or`. The name `truth`, if any, gets whether the value counts as true, which is asked once."""
        name, block = self._new(), before
        inner: list[ast.stmt]
        last = len(node.values) - 1
        for position, value in enumerate(node.values):
            asked = self._new() if isinstance(value, ast.BoolOp) and (position < last or truth) else truth
            if isinstance(value, ast.BoolOp) and asked:
                made = self._combination(value, block, asked)
                block += [self._set(truth, self._get(asked, value))] if truth else []
            else:
                made = self._expression(value, block)
            block.append(self._set(name, made))
            if truth and not isinstance(value, ast.BoolOp):
                block.append(self._set(truth, holds(self._get(name, value))))
            if position < last:
                known = self._get(asked or name, value)
                test = known if isinstance(node.op, ast.And) else _at(ast.UnaryOp(ast.Not(), known), value)
                block.append(_at(ast.If(test, inner := [], []), node.values[position + 1]))
                block = inner
        return self._get(name, node)

    def _comparison(self, node: ast.Compare, before: list[ast.stmt]) -> ast.expr:
        name, block = self._new(), before
        inner: list[ast.stmt]
        left = self._kept(node.left, before)
        for position, (operator, value) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if position:
                block.append(_at(ast.If(self._get(name, value), inner := [], []), value))
                block = inner
            right = self._kept(value, block)
            block.append(self._set(name, _at(ast.Compare(left, [operator], [right]), node)))
            left = self._get(right.id, value) if isinstance(right, ast.Name) else right
        return self._get(name, node)

    def _operation(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Another expression: what it evaluates before the operand is kept."""
        parts = _parts(node)
        last = max(number for number, part in enumerate(parts) if _has_lazy(part.value))
        names = bound_anywhere(*(part.value for part in parts[: last + 1]))
        for number, part in enumerate(parts[: last + 1]):
            if number == last:
                part.put(self._expression(part.value, before))
            elif not self._stays(part.value, names) and not _is_static(node, part):
                part.put(self._kept_part(part, names, before))
        return node

    def _stays(self, value: ast.expr, names: set[str]) -> bool:
        """Whether an expression gives the same behind others that bind these names, and call functions."""
        is_own = isinstance(value, ast.Name) and value.id in self._own and value.id not in names
        return isinstance(value, ast.Constant) or is_own

    def _kept_part(self, part: _Part, names: set[str], before: list[ast.stmt]) -> ast.expr:
        """What stands for a part of an expression that has been evaluated."""
        value = part.value
        if isinstance(value, ast.Starred):
            elements = _at(ast.Tuple([value], ast.Load()), value)
            return _at(ast.Starred(self._kept(elements, before), ast.Load()), value)
        if isinstance(value, ast.FormattedValue):
            text = _at(ast.JoinedStr([value]), value)
            return _at(ast.FormattedValue(self._kept(text, before), -1, None), value)
        if isinstance(value, ast.Slice):
            for each in _parts(value):
                if not self._stays(each.value, names):
                    each.put(self._kept(each.value, before))
            return value
        return self._kept(_at(ast.Dict([None], [value]), value) if part.is_mapping else value, before)

    def _augmented(self, node: ast.AugAssign, before: list[ast.stmt]) -> ast.stmt:
        """`a[k] += v`, where a[k] is read before v is evaluated."""
        target, names = node.target, bound_anywhere(node)
        for part in [] if isinstance(target, ast.Name) else _parts(target):
            if not self._stays(part.value, names):
                keeps_key = isinstance(part.value, ast.Slice | ast.Tuple)
                part.put(self._kept_key(part.value, before) if keeps_key else self._kept(part.value, before))
        old = copy.deepcopy(target)
        old.ctx = ast.Load()
        value = InPlace(self._kept(old, before), node.op, self._expression(node.value, before))
        return _at(ast.Assign([target], _at(value, node)), node)

    def _kept_key(self, key: ast.expr, before: list[ast.stmt]) -> ast.expr:
        for part in _parts(key):
            is_key = isinstance(part.value, ast.Slice | ast.Tuple)
            part.put(self._kept_key(part.value, before) if is_key else self._kept(part.value, before))
        return key


@dataclass
class _Part:
    """An expression that another one is made of, and where it stands in it."""

    owner: ast.AST
    field: str
    position: int | None
    value: ast.expr
    is_mapping: bool = False  # it is taken apart by **

    def put(self, value: ast.expr) -> None:
        """Puts another one there."""
        if self.position is None:
            setattr(self.owner, self.field, value)
        else:
            getattr(self.owner, self.field)[self.position] = value


def _is_static(node: ast.expr, part: _Part) -> bool:
    """Whether a part is what is called, where that is known by its name."""
    if not isinstance(node, ast.Call) or part.field != "func":
        return False
    return is_operation(node) or (isinstance(node.func, ast.Name) and node.func.id in {"super", "locals"})


def _parts(node: ast.AST) -> list[_Part]:
    """The expressions that one is made of, in the order of evaluation."""
    if isinstance(node, ast.NamedExpr):
        return [_Part(node, "value", None, node.value)]
    if isinstance(node, ast.BoolOp):
        return [_Part(node, "values", 0, node.values[0])]
    if isinstance(node, ast.IfExp):
        return [_Part(node, "test", None, node.test)]
    if isinstance(node, ast.Lambda):
        return [
            _Part(node.args, field, at, each)
            for field in ("defaults", "kw_defaults")
            for at, each in enumerate(getattr(node.args, field))
            if each is not None
        ]
    if isinstance(node, ast.Dict):
        pairs = enumerate(zip(node.keys, node.values, strict=True))
        return [
            _Part(node, field, at, each, is_mapping=key is None)
            for at, (key, value) in pairs
            for field, each in (("keys", key), ("values", value))
            if each is not None
        ]
    found = []
    for field, value in ast.iter_fields(node):
        for position, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(each, ast.keyword):
                found.append(_Part(each, "value", None, each.value, is_mapping=each.arg is None))
            elif isinstance(each, ast.expr):
                found.append(_Part(node, field, position, each))
    return found


def own_names(function: ast.FunctionDef) -> set[str]:
    """Names of the frame of a function, which nothing else sets."""
    arguments = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    return arguments | set(stores_of(list(function.body)))


def holds(node: ast.expr) -> ast.expr:
    """A condition of which nothing but its truth is used, where that of each operand is asked once."""
    if isinstance(node, ast.BoolOp):
        node.values = [holds(value) for value in node.values]
        return node
    is_condition = isinstance(node, Holds | ast.Compare | ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
    return node if is_condition else _at(Holds(ast.Not(), node), node)


class _Conditions(ast.NodeVisitor):
    """Finds the conditions of which nothing but the truth is used; Python asks for the truth of each operand once."""

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.generic_visit(node)
        inner = [
            each.values if isinstance(each, ast.BoolOp) and type(each.op) is type(node.op) else [each]
            for each in node.values
        ]
        node.values = [value for values in inner for value in values]

    def _tested(self, node: ast.If | ast.While | ast.Assert | ast.IfExp) -> None:
        self.generic_visit(node)
        if isinstance(node.test, ast.BoolOp):
            node.test = holds(node.test)

    visit_If = visit_While = visit_Assert = visit_IfExp = _tested

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BoolOp):
            node.operand = holds(node.operand)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.generic_visit(node)
        node.ifs = [holds(each) for each in node.ifs]


def hoist(function: ast.FunctionDef) -> None:
    """Rewrites the statements of a function, without those of functions in it."""
    for statement in function.body:
        _Conditions().visit(statement)
    function.body = _Hoisting(own_names(function)).block(function.body)
