"""Helpers of kernels that stand in a module of their own."""

import dataclasses

import pypto

STEP = 4


@dataclasses.dataclass(frozen=True)
class Tiles:
    """A tile configuration with a method and a property."""

    rows: int
    cube: tuple[int, int] = (16, 16)
    widths: list[int] = dataclasses.field(default_factory=lambda: [16, 32])

    @property
    def wide(self) -> int:
        return max(self.widths)

    def apply(self) -> None:
        pypto.set_vec_tile_shapes(self.rows, self.wide)
        pypto.set_cube_tile_shapes(list(self.cube), list(self.cube), list(self.cube))


def row_total(x, count):
    """Loops, branches and a return value: the sum of `count` rows, the first one twice."""
    total = pypto.zeros(1, 8)
    for i in pypto.loop(count):
        total = total + x[i : i + 1, :]
        if i == 0:
            total = total + x[i : i + 1, :]
    return total, count * STEP


def swap(pair):
    first, second = pair
    return [second, first]
