"""Setters and getters of the option groups, of whole scopes, and of the values of the process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pypto import _core
from pypto.config import scopes
from pypto.errors import fe_error

__all__ = [
    "ConfigScope", "get_codegen_options", "get_conv_tile_shapes", "get_cube_tile_shapes", "get_current_scope",
    "get_debug_options", "get_global_config", "get_host_options", "get_matrix_size", "get_operation_options",
    "get_options_tree", "get_pass_options", "get_runtime_options", "get_verify_options", "options", "reset_options",
    "set_codegen_options", "set_conv_tile_shapes", "set_debug_options", "set_global_config", "set_host_options",
    "set_matrix_size", "set_operation_options", "set_options", "set_pass_options", "set_print_options",
    "set_runtime_options", "set_semantic_label", "set_verify_options",
]  # fmt: skip

GROUPS = ("runtime", "host", "pass", "codegen", "verify", "debug", "operation")
_TILE_KEYS = ("vec_tile_shapes", "cube_tile_shapes", "conv_tile_shapes", "matrix_size")


class ConfigScope:
    """A look at one scope of options: what was in force when it was taken. Immutable; any thread."""

    def __init__(self, node: scopes.OptionScope) -> None:
        """`node` is a node of the core."""
        self._node = node

    @property
    def name(self) -> str:
        """Name of the scope."""
        return self._node.name

    def get_options(self, prefix: str) -> Any:
        """All options of a group ("pass") by key without prefix, or the value of one full key ("pass.pg_lower_bound").

        FeError(KeyError) "Option not found: …" for unknown and unset ones.
        """
        group = prefix[:-1] if prefix.endswith(".") else prefix
        if group in GROUPS:
            return self._node.get_group(group)
        return _as_tuple(prefix, scopes.checked(self._node.get, prefix))

    def get_runtime_options(self) -> dict[str, Any]:
        """Options of the group runtime."""
        return self._node.get_group("runtime")

    def get_pass_options(self) -> dict[str, Any]:
        """Options of the group pass."""
        return self._node.get_group("pass")

    def get_codegen_options(self) -> dict[str, Any]:
        """Options of the group codegen."""
        return self._node.get_group("codegen")

    def get_host_options(self) -> dict[str, Any]:
        """Options of the group host."""
        return self._node.get_group("host")

    def get_debug_options(self) -> dict[str, Any]:
        """Options of the group debug."""
        return self._node.get_group("debug")

    def get_verify_options(self) -> dict[str, Any]:
        """Options of the group verify."""
        return self._node.get_group("verify")

    def get_operation_options(self) -> dict[str, Any]:
        """Options of the group operation."""
        return self._node.get_group("operation")

    def get_vec_tile_shapes(self) -> list[int]:
        """Tile of vector operations."""
        return list(self.get_options("vec_tile_shapes"))

    def get_cube_tile_shapes(self) -> tuple[list[int], list[int], list[int], bool]:
        """Tile of matrix products: m, k, n, enable_split_k."""
        m, k, n, split = self.get_options("cube_tile_shapes")
        return m, k, n, split

    def get_conv_tile_shapes(self) -> list[int]:
        """Tile of convolutions."""
        return list(self.get_options("conv_tile_shapes"))

    def get_matrix_size(self) -> list[int]:
        """Size of the matrix products, [m, k, n]."""
        return list(self.get_options("matrix_size"))

    def get_all(self) -> dict[str, Any]:
        """All options that are set, by full key."""
        return {key: _as_tuple(key, value) for key, value in self._node.get_all().items()}

    def has(self, key: str) -> bool:
        """Whether a full key is known and set."""
        return self._node.has(key)

    def describe(self) -> str:
        """One line per option: value, who set it, and whether it has an effect in this version."""
        return self._node.describe()


def _as_tuple(key: str, value: Any) -> Any:
    return tuple(value) if key == "cube_tile_shapes" else value


def get_current_scope() -> ConfigScope:
    """The scope in force in this context."""
    return ConfigScope(scopes.current())


def get_options_tree() -> str:
    """The stack of scopes as text, each with the keys that it changes and who set them."""
    return scopes.current().tree_text()


def describe() -> str:
    """One line per option: value, who set it (default, file, environment, scope, jit), and whether it has an effect."""
    return scopes.current().describe()


# Whole scopes.


def _collect(options: dict[str, Any]) -> dict[str, Any]:
    """The full keys of the keywords of `set_options` and `options`; None gives nothing."""
    updates: dict[str, Any] = {}
    for keyword, values in options.items():
        group = keyword.removesuffix("_options")
        if values is None:
            continue
        if keyword in _TILE_KEYS:
            updates[keyword] = scopes.tile_value(keyword, values)
        elif keyword != group and group in GROUPS:
            updates.update(scopes.full_keys(group, values))
        else:
            known = ", ".join([f"{name}_options" for name in GROUPS] + list(_TILE_KEYS))
            raise fe_error(TypeError, f"unknown keyword argument '{keyword}'; known: {known}")
    return updates


_KEYWORDS = tuple(
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
    for name in (*(f"{group}_options" for group in GROUPS), *_TILE_KEYS)
)


def set_options(**options: Any) -> None:
    """Sets options in the current scope: all that are given, or none when one is wrong.

    `codegen_options`, `host_options`, `pass_options`, `runtime_options`, `verify_options`, `debug_options` and
    `operation_options` are dicts; `vec_tile_shapes`, `cube_tile_shapes`, `conv_tile_shapes`, `matrix_size` are lists.
    """
    scopes.change(_collect(options))


def options(name: str = "", **options: Any) -> scopes.ScopeBlock:
    """A child scope with these options (keywords as of `set_options`): a context manager and a decorator."""
    if not isinstance(name, str):
        raise fe_error(TypeError, f"options(): name is a str, got {type(name).__name__}")
    return scopes.ScopeBlock(name, _collect(options))


# What `inspect.signature` and help show.
_NAME = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="")
set_options.__signature__ = inspect.Signature(_KEYWORDS)  # type: ignore[attr-defined]
options.__signature__ = inspect.Signature((_NAME, *_KEYWORDS))  # type: ignore[attr-defined]


def reset_options() -> None:
    """Gives all options their root values again in the present scope; values of `set_global_config` stay."""
    if scopes.is_in_kernel():
        raise fe_error(
            RuntimeError,
            "reset_options() cannot be called inside a kernel: it would change runtime, host, codegen, verify and "
            "debug options. Call it before the kernel is compiled.",
        )
    scopes.put_in_force(scopes.current().reset())


# Groups. The keywords of each setter are the keys of its group in the schema of the core.


def _setter(group: str) -> Callable[..., None]:
    def set_group(**values: Any) -> None:
        given = {key: value for key, value in values.items() if value is not None}
        scopes.change(scopes.full_keys(group, given))

    keys = [row["name"] for row in _core.option_schema() if row["group"] == group and not row["internal"]]
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(key.removeprefix(f"{group}."), kind, default=None) for key in keys]
    set_group.__name__ = set_group.__qualname__ = f"set_{group}_options"
    set_group.__doc__ = f"Sets options of the group {group} in the current scope; those left out or None stay."
    set_group.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return set_group


def _getter(group: str) -> Callable[[], dict[str, Any]]:
    def get_group() -> dict[str, Any]:
        return scopes.current().get_group(group)

    get_group.__name__ = get_group.__qualname__ = f"get_{group}_options"
    get_group.__doc__ = f"The options of the group {group} in force, as a copy that its setter takes."
    return get_group


set_runtime_options, get_runtime_options = _setter("runtime"), _getter("runtime")
set_host_options, get_host_options = _setter("host"), _getter("host")
set_pass_options, get_pass_options = _setter("pass"), _getter("pass")
set_codegen_options, get_codegen_options = _setter("codegen"), _getter("codegen")
set_verify_options, get_verify_options = _setter("verify"), _getter("verify")
set_debug_options, get_debug_options = _setter("debug"), _getter("debug")
set_operation_options, get_operation_options = _setter("operation"), _getter("operation")


# Single keys.


def set_conv_tile_shapes(*shapes: Any) -> None:
    """Tile of the convolutions that follow: ints, or one list of them."""
    extents = shapes[0] if len(shapes) == 1 and isinstance(shapes[0], list | tuple) else shapes
    scopes.change({"conv_tile_shapes": list(extents)})


def get_conv_tile_shapes() -> list[int]:
    """Tile of convolutions in force."""
    return get_current_scope().get_conv_tile_shapes()


def get_cube_tile_shapes() -> tuple[list[int], list[int], list[int], bool]:
    """Tile of matrix products in force: m, k, n, enable_split_k."""
    return get_current_scope().get_cube_tile_shapes()


def set_matrix_size(size: Any) -> None:
    """Size of the matrix products that follow: [m, k, n]."""
    if isinstance(size, list | tuple) and len(size) != 3:
        raise fe_error(ValueError, f"set_matrix_size(): expected [m, k, n], got {len(size)} elements")
    scopes.change({"matrix_size": size})


def get_matrix_size() -> list[int]:
    """Size of the matrix products in force."""
    return get_current_scope().get_matrix_size()


def set_semantic_label(label: str) -> None:
    """Label of the operations that follow; not of the form `func1_0`."""
    if label is None:
        raise fe_error(TypeError, "set_semantic_label(): expected a str, got None")
    scopes.change({"semantic_label": label})


# Values of the process.


def set_global_config(key: str, value: Any) -> None:
    """Sets a value of the process under `global.`; neither checked nor scoped."""
    if not isinstance(key, str):
        raise fe_error(TypeError, f"set_global_config(): the key is a str, got {type(key).__name__}")
    scopes.ensure_defaults()
    scopes.checked(_core.set_global_option, key, value)


def get_global_config(key: str) -> Any:
    """A value under `global.`; FeError(KeyError) when there is none."""
    scopes.ensure_defaults()
    return scopes.checked(_core.get_global_option, key)


def set_print_options(edgeitems: int = 3, precision: int = 4, threshold: int = 10, linewidth: int = 10) -> None:
    """How tensors are printed: values of the process under `global.tensor_print`."""
    values = {"edgeitems": edgeitems, "precision": precision, "threshold": threshold, "linewidth": linewidth}
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise fe_error(TypeError, f"set_print_options(): {name} is an int, got {type(value).__name__}")
        if value < 0:
            raise fe_error(ValueError, f"set_print_options(): {name} is not negative, got {value}")
    for name, value in values.items():
        set_global_config(f"tensor_print.{name}", value)
