"""Statements that may change a container: what is set or deleted in one, and calls."""

from __future__ import annotations

import ast
from typing import NamedTuple

from pypto.frontend.liveness import EMPTY, Names, loads_of

_CHANGERS = frozenset(
    {
        "append", "extend", "insert", "pop", "popitem", "remove", "clear", "sort", "reverse", "update", "setdefault",
        "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__imul__", "__ior__",
    }
)  # fmt: skip


def _is_operation(node: ast.Call) -> bool:
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
            if not is_harmless and not (_is_operation(each) and getattr(function, "attr", "") in _CONDITIONS):
                return True
    return False


_PAIRS = (ast.Tuple, ast.List)


class Change(NamedTuple):
    """What a statement may do to a container."""

    reads: Names  # names that it may read after the change
    is_last: bool  # whether it reads no container after it


def may_change(node: ast.stmt) -> Change | None:
    """None for a statement that changes no container."""
    changes, methods = isinstance(node, ast.AugAssign), 0
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            changes = True
        elif isinstance(each, ast.Call) and not _is_operation(each):
            changes = True
            methods += _is_changer(each)
    if not changes:
        return None
    is_last = not methods or (methods == 1 and isinstance(node, ast.Expr) and _is_changer(node.value))
    return Change(loads_of(node) if methods else EMPTY, is_last)


def _is_changer(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGERS


def targets_in(target: ast.expr) -> list[ast.expr]:
    """What an assignment sets, in order."""
    return [each for inner in target.elts for each in targets_in(inner)] if isinstance(target, _PAIRS) else [target]


def sets_several(node: ast.stmt) -> ast.expr | None:
    """The target of an assignment that sets elements of several containers one after the other."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if not isinstance(target, _PAIRS):
        return None
    targets = targets_in(target)
    stores = [each for each in targets if isinstance(each, ast.Subscript | ast.Attribute)]
    is_plain = len(stores) + sum(isinstance(each, ast.Name) for each in targets) == len(targets)
    calls = any(isinstance(each, ast.Call) for each in ast.walk(target))
    return target if len(stores) > 1 and is_plain and not calls else None
