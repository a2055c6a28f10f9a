"""Functions that may still change."""

from __future__ import annotations

from pypto.experimental.options import (
    get_operation_options,
    get_runtime_options,
    set_operation_options,
    set_runtime_options,
)

__all__ = ["get_operation_options", "get_runtime_options", "set_operation_options", "set_runtime_options"]
