"""Functions that may still change."""

from __future__ import annotations

from typing import Any

from pypto.experimental.options import (
    get_operation_options,
    get_runtime_options,
    set_operation_options,
    set_runtime_options,
)

__all__ = [
    "gather_in_l1", "gather_in_ub", "get_operation_options", "get_runtime_options", "online_softmax",
    "online_softmax_update", "set_operation_options", "set_runtime_options", "transposed_batchmatmul",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Operations that may still change; the front end is loaded when one is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pypto.frontend.catalogue.extra import EXPERIMENTAL

    return EXPERIMENTAL[name]
