"""The kernel language: `jit` and what kernels are written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto.frontend.annotations import DYN, DYNAMIC, STATIC, DynamicDim, StaticDim, TensorSpec, TileOpFormat, dynamic
from pypto.frontend.catalogue.arguments import Element
from pypto.frontend.catalogue.declarations import tensor
from pypto.frontend.catalogue.operations import CATALOGUE, CastMode, SaturationMode
from pypto.frontend.catalogue.reductions import TopKAlgo
from pypto.frontend.catalogue.signatures import PrecisionType
from pypto.frontend.formats import from_torch, nd_to_nz, nz_shape, nz_to_nd
from pypto.frontend.kernels.image_cache import ImageCacheInfo, image_cache_info
from pypto.frontend.kernels.kernel import CacheInfo, JitKernel, function, jit
from pypto.frontend.kernels.options import (
    CompStage,
    RunMode,
    get_vec_tile_shapes,
    set_cube_tile_shapes,
    set_vec_tile_shapes,
)
from pypto.frontend.kernels.verify import pass_verify_print, set_verify_golden_data
from pypto.frontend.symbolic import SatStatus, SymbolicScalar, ceildiv, symbolic_scalar
from pypto.frontend.symbolic import maximum as max
from pypto.frontend.symbolic import minimum as min
from pypto.frontend.tensor import Tensor
from pypto.frontend.tracing.loops import cond, is_loop_begin, is_loop_end, loop, loop_unroll

if TYPE_CHECKING:
    from pypto.frontend._catalogue import *  # noqa: F403

__all__ = [
    "CacheInfo", "CastMode", "CompStage", "DYN", "DYNAMIC", "DynamicDim", "Element", "ImageCacheInfo", "JitKernel",
    "PrecisionType", "RunMode", "STATIC", "SatStatus", "SaturationMode", "StaticDim", "SymbolicScalar", "Tensor",
    "TensorSpec", "TileOpFormat", "TopKAlgo", "ceildiv", "cond", "dynamic", "from_torch", "function",
    "get_vec_tile_shapes", "image_cache_info", "is_loop_begin", "is_loop_end", "jit", "loop", "loop_unroll", "max",
    "min", "nd_to_nz", "nz_shape", "nz_to_nd", "pass_verify_print", "set_cube_tile_shapes", "set_vec_tile_shapes",
    "set_verify_golden_data", "symbolic_scalar", "tensor",
]  # fmt: skip
__all__ += list(CATALOGUE)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Operations of the catalogue."""
        if name in CATALOGUE:
            return CATALOGUE[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
