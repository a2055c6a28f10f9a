"""Statements that may change a container: what is set or deleted in one, and calls."""

from __future__ import annotations

import ast

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


def may_change(node: ast.stmt) -> Names | None:
    """None for a statement that changes no container; else names that it may read after the change."""
    changes, reads = isinstance(node, ast.AugAssign), EMPTY
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            changes = True
        elif isinstance(each, ast.Call) and not _is_operation(each):
            changes = True
            if isinstance(each.func, ast.Attribute) and each.func.attr in _CHANGERS:
                reads = loads_of(node)
    return reads if changes else None
