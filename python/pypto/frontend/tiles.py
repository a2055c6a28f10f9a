"""Tile shapes that options put in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypto.config import scopes


@dataclass(frozen=True)
class Tiles:
    """Tile shapes in force: of vector operations, and m, k, n of the cube (0: chosen by the compiler)."""

    vector: tuple[int, ...] = ()
    cube: tuple[int, int, int] = (0, 0, 0)

    @classmethod
    def of(cls, node: scopes.OptionScope) -> Tiles:
        """Those of a scope of options; of each extent of the cube the largest."""
        vector: Any = node.get("vec_tile_shapes") if node.has("vec_tile_shapes") else ()
        if not node.has("cube_tile_shapes"):
            return cls(tuple(vector))
        tile: Any = node.get("cube_tile_shapes")
        return cls(tuple(vector), (max(tile[0]), max(tile[1]), max(tile[2])))
