"""pypto: tile kernels written in Python, run on Ascend NPUs and on any CPU.

Importing this package starts nothing and imports neither torch nor the front end: names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pypto import _core
from pypto.dtypes import (
    DT_BF16,
    DT_BOOL,
    DT_FP4_E1M2X2,
    DT_FP4_E2M1X2,
    DT_FP8E4M3,
    DT_FP8E5M2,
    DT_FP8E8M0,
    DT_FP16,
    DT_FP32,
    DT_HF8,
    DT_INT4,
    DT_INT8,
    DT_INT16,
    DT_INT32,
    DT_INT64,
    DT_UINT8,
    DT_UINT16,
    DT_UINT32,
    DT_UINT64,
    DataType,
    bytes_of,
)
from pypto.errors import (
    AclError,
    CompileError,
    DeviceUnavailableError,
    FeError,
    OutOfDeviceMemoryError,
    ParserError,
    PassError,
    ProgramFormatError,
    PyptoError,
    PyptoGeneralError,
    PyptoRtError,
    RenderedParserError,
    VerifyError,
    WorkspaceError,
)

if TYPE_CHECKING:
    from pypto import config, experimental, frontend, ir, runtime
    from pypto.config.groups import *  # noqa: F403
    from pypto.frontend import *  # noqa: F403
    from pypto.frontend._catalogue import *  # noqa: F403

__version__: str = vars(_core)["__version__"]

# Submodules that are loaded when first used; names that are neither these nor of the options belong to the front end.
_SUBMODULES = frozenset({"config", "experimental", "frontend", "ir", "runtime", "testing", "tools"})

# Names of pypto.config.
_OPTION_NAMES = frozenset(
    {
        "ConfigScope", "get_codegen_options", "get_conv_tile_shapes", "get_cube_tile_shapes", "get_current_scope",
        "get_debug_options", "get_global_config", "get_host_options", "get_matrix_size", "get_operation_options",
        "get_options_tree", "get_pass_options", "get_runtime_options", "get_verify_options", "options",
        "reset_options", "set_codegen_options", "set_conv_tile_shapes", "set_debug_options", "set_global_config",
        "set_host_options", "set_matrix_size", "set_operation_options", "set_options", "set_pass_options",
        "set_print_options", "set_runtime_options", "set_semantic_label", "set_verify_options",
    }
)  # fmt: skip

__all__ = [
    "AclError", "CompileError", "DT_BF16", "DT_BOOL", "DT_FP16", "DT_FP32", "DT_FP4_E1M2X2", "DT_INT4",
    "DT_FP4_E2M1X2", "DT_FP8E4M3", "DT_FP8E5M2", "DT_FP8E8M0",
    "DT_HF8", "DT_INT16", "DT_INT32", "DT_INT64", "DT_INT8",
    "DT_UINT16", "DT_UINT32", "DT_UINT64", "DT_UINT8", "DataType", "DeviceUnavailableError", "FeError",
    "OutOfDeviceMemoryError", "ParserError", "PassError", "ProgramFormatError", "PyptoError", "PyptoGeneralError",
    "PyptoRtError", "RenderedParserError", "VerifyError", "WorkspaceError", "__version__", "bytes_of", "config",
    "experimental", "frontend", "ir", "runtime",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Loads a submodule, or the options or the front end for one of their names."""
        if name.startswith("__"):
            raise AttributeError(f"module 'pypto' has no attribute {name!r}")
        if name in _SUBMODULES:
            try:
                return importlib.import_module(f"pypto.{name}")
            except ModuleNotFoundError as error:
                if error.name == f"pypto.{name}":
                    raise AttributeError(f"module 'pypto' has no attribute {name!r}") from None
                raise
        owner = importlib.import_module("pypto.config" if name in _OPTION_NAMES else "pypto.frontend")
        if name not in owner.__all__:
            instead = importlib.import_module("pypto.frontend.catalogue.instead")
            raise AttributeError(f"module 'pypto' has no attribute {name!r}{instead.instead_of(name)}")
        value = getattr(owner, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Own names, submodules, and those of the options and the front end."""
    return sorted({*globals(), *_SUBMODULES, *_OPTION_NAMES, *importlib.import_module("pypto.frontend").__all__})
