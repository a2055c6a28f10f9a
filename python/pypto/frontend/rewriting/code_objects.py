"""Code objects of rewritten functions: how they are found, named, and made functions again."""

from __future__ import annotations

import ast
import types
from typing import Any

RUNTIME = "_pypto_rt"
MADE = "_pypto_made"  # a parameter that tells lambdas made here from those of the source; of operands with their number


def owner_of_private_names(function: types.FunctionType, tree: ast.FunctionDef) -> str | None:
    """The class of a method that has names such as `self.__size`, which the compiler completes by the class."""
    path = function.__qualname__.split(".")
    if len(path) < 2 or path[-2] == "<locals>":
        return None
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)}
    return path[-2] if any(name.startswith("__") and not name.endswith("__") for name in names) else None


_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def named(code: types.CodeType, name: str) -> types.CodeType:
    """The code under a name, which comprehensions and the lambdas made here take too: that is where they stand."""
    inner: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            is_part = constant.co_name in _COMPREHENSIONS or MADE in constant.co_varnames
            inner.append(named(constant, name if is_part else constant.co_name))
        else:
            inner.append(constant)
    more: dict[str, Any] = {"co_qualname": name} if hasattr(code, "co_qualname") else {}
    return code.replace(co_name=name, co_consts=tuple(inner), **more)


def find(code: types.CodeType, name: str) -> types.CodeType:
    """The code object of that name in another one."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name:
            return constant
    raise AssertionError(f"rewritten code without {name}")


def instantiate(code: types.CodeType, function: types.FunctionType, runtime: Any) -> types.FunctionType:
    """A function of the rewritten code with the globals, defaults and captured variables of the original."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(runtime)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made
