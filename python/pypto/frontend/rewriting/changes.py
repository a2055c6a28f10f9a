"""Statements that may change a container: what is set or deleted in one, and calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence

CHANGERS = frozenset(
    {
        "append", "extend", "insert", "pop", "popitem", "remove", "clear", "sort", "reverse", "update", "setdefault",
        "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__imul__", "__ior__",
    }
)  # fmt: skip


class InPlace(ast.BinOp):
    """What an augmented assignment sets its target to, of the old value and the operand."""


class Holds(ast.UnaryOp):
    """Whether a value counts as true, which is asked once."""


class Known(ast.UnaryOp):
    """Whether a number is known to be another one than zero."""


class ReturningIf(ast.If):
    """An `if` behind which the function has returned if one branch, "then" or "else", was taken."""

    returned: str


class ReturningFor(ast.For):
    """A `for` out of which a helper returned."""

    returns: list[ast.stmt]


def is_operation(node: ast.Call) -> bool:
    """Whether a call is one of pypto, which changes no container."""
    function = node.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id == "pypto"


_HARMLESS = frozenset(
    {
        "abs", "bool", "callable", "float", "hasattr", "int", "isinstance", "issubclass", "len", "max", "min", "range",
        "round", "str", "tuple", "type",
    }
)  # fmt: skip
_CONDITIONS = frozenset({"ceildiv", "cond", "is_loop_begin", "is_loop_end", "max", "min", "symbolic_scalar"})


def may_write(node: ast.expr) -> bool:
    """Whether an expression calls what may change a container or write into a tensor."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            function = each.func
            is_harmless = isinstance(function, ast.Name) and function.id in _HARMLESS
            if not is_harmless and not (is_operation(each) and getattr(function, "attr", "") in _CONDITIONS):
                return True
    return False


PAIRS = (ast.Tuple, ast.List)


def may_change(node: ast.stmt) -> bool:
    """Whether a statement may change a container."""
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            return True
        if isinstance(each, ast.Call) and not is_operation(each):
            return True
        if isinstance(each, InPlace):
            return True
    return isinstance(node, ast.AugAssign | ast.Delete)


def targets_in(target: ast.expr) -> list[ast.expr]:
    """What an assignment sets, in order."""
    if isinstance(target, ast.Starred):
        return targets_in(target.value)
    return [each for inner in target.elts for each in targets_in(inner)] if isinstance(target, PAIRS) else [target]


def given_to(node: ast.Call) -> list[ast.Name]:
    """Names that are arguments of a call."""
    arguments = (*node.args, *(each.value for each in node.keywords if each.arg is not None))
    return [each for each in arguments if isinstance(each, ast.Name)]


def asks_for_none(statements: Sequence[ast.AST]) -> frozenset[str]:
    """Names that statements ask whether they are None, or give to other functions."""
    found = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
                if isinstance(node.ops[0], ast.Is | ast.IsNot) and len(node.ops) == 1:
                    found.add(node.left.id)
            elif isinstance(node, ast.Call) and not is_operation(node):
                found.update(each.id for each in given_to(node))
    return frozenset(found)


def bound_anywhere(*nodes: ast.AST) -> set[str]:
    """Names that := binds in the nodes, also in comprehensions, which bind those of the frame around them."""
    inner = [each for node in nodes for each in ast.walk(node)]
    return {each.target.id for each in inner if isinstance(each, ast.NamedExpr)}


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not is_operation(node)


def _asked(node: ast.AST) -> ast.expr | None:
    """The expression that a node asks whether it is None, or counts as true."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
        other = node.comparators[0]
        return node.left if isinstance(other, ast.Constant) and other.value is None else None
    if isinstance(node, ast.If | ast.IfExp):
        return node.test
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return node.value if isinstance(node, ast.Return) else None


def calls_that_may_give_none(function: ast.AST) -> tuple[set[ast.expr], set[str]]:
    """Calls of helpers, and names, whose values something asks whether they are None; names that are bound to such."""
    nodes = list(ast.walk(function))
    asked = [each for each in map(_asked, nodes) if each is not None]
    names = {each.id for each in asked if isinstance(each, ast.Name)}
    names |= {each.id for node in nodes if isinstance(node, ast.Call) and _is_call(node) for each in given_to(node)}
    named = [each for each in asked if isinstance(each, ast.NamedExpr)]
    calls, bound = {each for each in asked if _is_call(each)}, set()
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not isinstance(node, ast.Assign | ast.NamedExpr) or len(targets) != 1:
            continue
        target, value = targets[0], node.value
        is_asked = isinstance(target, ast.Name) and (target.id in names or node in named)
        if is_asked and (_is_call(value) or isinstance(value, ast.Name)):
            calls.add(value)
            bound.add(target.id)  # type: ignore[union-attr]
    return calls, bound
