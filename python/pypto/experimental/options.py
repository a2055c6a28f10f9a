"""Setters of options that may still change: depths per pool, and how operations are built."""

from __future__ import annotations

from typing import Any

from pypto.config import get_operation_options, get_runtime_options, scopes

__all__ = ["get_operation_options", "get_runtime_options", "set_operation_options", "set_runtime_options"]


def set_runtime_options(*, stitch_function_num_per_pool: list[int] | tuple[int, int, int] | None = None) -> None:
    """Depths of the pools root_inner, assemble_outcast, exclusive_outcast in the current scope; None changes nothing.

    Exactly three ints in 0..1024; ValueError (FeError) otherwise, and the old value stays. [0, 0, 0] leaves the depths
    to the other options. RuntimeError while a kernel is traced.
    """
    _set("runtime.stitch_function_num_per_pool", stitch_function_num_per_pool)


def set_operation_options(*, combine_axis: bool | None = None) -> None:
    """Sets options of operations in the current scope; None changes nothing."""
    _set("operation.combine_axis", combine_axis)


def _set(key: str, value: Any) -> None:
    if value is not None:
        scopes.change({key: value})
