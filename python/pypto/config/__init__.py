"""Options: scopes, groups, and what of them is in force."""

from __future__ import annotations

from pypto.config.groups import (
    ConfigScope,
    describe,
    get_codegen_options,
    get_conv_tile_shapes,
    get_cube_tile_shapes,
    get_current_scope,
    get_debug_options,
    get_global_config,
    get_host_options,
    get_matrix_size,
    get_operation_options,
    get_options_tree,
    get_pass_options,
    get_runtime_options,
    get_verify_options,
    options,
    reset_options,
    set_codegen_options,
    set_conv_tile_shapes,
    set_debug_options,
    set_global_config,
    set_host_options,
    set_matrix_size,
    set_operation_options,
    set_options,
    set_pass_options,
    set_print_options,
    set_runtime_options,
    set_semantic_label,
    set_verify_options,
)

__all__ = [
    "ConfigScope", "describe", "get_codegen_options", "get_conv_tile_shapes", "get_cube_tile_shapes",
    "get_current_scope", "get_debug_options", "get_global_config", "get_host_options", "get_matrix_size",
    "get_operation_options", "get_options_tree", "get_pass_options", "get_runtime_options", "get_verify_options",
    "options", "reset_options", "set_codegen_options", "set_conv_tile_shapes", "set_debug_options",
    "set_global_config", "set_host_options", "set_matrix_size", "set_operation_options", "set_options",
    "set_pass_options", "set_print_options", "set_runtime_options", "set_semantic_label", "set_verify_options",
]  # fmt: skip
