"""Options of a kernel: the dicts of `jit(...)` over the scope in force, the tile shapes, what reaches the compiler."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

from pypto.config import scopes
from pypto.errors import fe_error
from pypto.frontend.kernels import verify
from pypto.frontend.places import trace_error
from pypto.frontend.symbolic import as_int

GROUPS = (
    "host_options", "codegen_options", "pass_options", "runtime_options", "verify_options", "debug_options",
)  # fmt: skip

PlanOptions = tuple[int, int, tuple[int, int, int], int]


class CompStage(enum.IntEnum):
    """Values of host.compile_stage."""

    ALL_COMPLETE = 0
    TENSOR_GRAPH = 1
    TILE_GRAPH = 2
    EXECUTE_GRAPH = 3
    CODEGEN_INSTRUCTION = 4
    CODEGEN_BINARY = 5


class RunMode(enum.IntEnum):
    """Where a kernel that is called directly runs."""

    NPU = 0
    SIM = 1


_PLATFORMS = {RunMode.NPU: "a2a3", RunMode.SIM: "a2a3sim"}


def _run_mode(mode: Any) -> RunMode:
    if isinstance(mode, bool) or mode not in (0, 1):
        raise fe_error(ValueError, f"Invalid run mode {mode!r}: expected RunMode.NPU (0) or RunMode.SIM (1)")
    return RunMode(mode)


def refuse_pool_depths(runtime_options: Mapping[str, Any] | None) -> None:
    """The depths per pool are no option of `jit`."""
    if runtime_options and "stitch_function_num_per_pool" in runtime_options:
        raise fe_error(
            ValueError,
            "stitch_function_num_per_pool is not an option of pypto.jit. Set it with pypto.experimental."
            "set_runtime_options(stitch_function_num_per_pool=[...]) before the kernel is compiled.",
        )


class Settings(NamedTuple):
    """The options that one compilation is made under."""

    node: scopes.OptionScope  # the scope that the trace starts in
    key: str  # equal for equal values in force
    plan: PlanOptions  # stitch_function_max_num, max_workspace_kb, depths per pool, parallelism
    tolerance: tuple[float, float] | None  # rtol and atol of the comparison with golden data, when it is on


def _plan_options(node: scopes.OptionScope) -> PlanOptions:
    values: dict[str, Any] = node.get_group("runtime")
    inner, assemble, exclusive = values["stitch_function_num_per_pool"]
    return (
        values["stitch_function_max_num"],
        values["max_workspace_kb"],
        (inner, assemble, exclusive),
        values["device_sched_parallelism"],
    )


class KernelOptions:
    """The dicts given to `jit`, which are held by reference, over the scope in force. Any thread."""

    def __init__(self, groups: Mapping[str, dict[str, Any] | None]) -> None:
        """`groups` by keyword of `jit`; `given` are those that are not None."""
        self.given = {keyword: values for keyword, values in groups.items() if values is not None}
        self._known: tuple[scopes.OptionScope, str, Settings] | None = None

    def platform(self) -> str | None:
        """The platform that `run_mode` asks for; None when neither the dicts nor a scope give it."""
        runtime = self.given.get("runtime_options", {})
        if "run_mode" in runtime:
            return _PLATFORMS[_run_mode(runtime["run_mode"])]
        node = scopes.current()
        return _PLATFORMS[_run_mode(node.get("runtime.run_mode"))] if node.is_given("runtime.run_mode") else None

    def in_force(self) -> Settings:
        """What a compilation now is made under; made anew only when the scope or a dict has changed."""
        base = scopes.current()
        text = repr(self.given) if self.given else ""
        known = self._known
        if known is not None and known[0] is base and known[1] == text:
            return known[2]
        updates: dict[str, Any] = {}
        for keyword, values in self.given.items():
            updates.update(scopes.full_keys(keyword.removesuffix("_options"), values))
        refuse_pool_depths(self.given.get("runtime_options"))
        if "runtime.run_mode" in updates:
            _run_mode(updates["runtime.run_mode"])
        node = base.child("jit_scope")
        if updates:
            node = scopes.checked(node.with_values, updates, True)
        settings = Settings(node, node.effective_text(), _plan_options(node), verify.tolerance_of(node))
        self._known = (base, text, settings)
        return settings


# Tile shapes.


def _positive(value: Any, what: str) -> int:
    number = as_int(value)
    if number is None or isinstance(value, bool):
        raise trace_error(TypeError, f"{what}: tile shapes are ints, got {type(value).__name__}")
    if number <= 0:
        raise trace_error(ValueError, f"{what}: tile shapes are positive, got {number}")
    return number


def set_vec_tile_shapes(*shapes: int) -> None:
    """Upper bounds of the tile of the vector operations that follow, one per dim (1 to 5)."""
    if not 1 <= len(shapes) <= 5:
        raise trace_error(ValueError, f"set_vec_tile_shapes(): expected 1 to 5 extents, got {len(shapes)}")
    vector = tuple(_positive(extent, "set_vec_tile_shapes()") for extent in shapes)
    scopes.change({"vec_tile_shapes": vector})


def set_cube_tile_shapes(m: Any, k: Any, n: Any, enable_split_k: bool = False) -> None:
    """Tile of the matrix products that follow: [m0, m1], [k0, k1] or [k0, k1, k2], [n0, n1].

    `enable_split_k` is kept for compilers of the hardware and changes no result.
    """
    tile: list[Any] = []
    for name, extents, lengths in (("m", m, (2,)), ("k", k, (2, 3)), ("n", n, (2,))):
        if not isinstance(extents, list | tuple) or len(extents) not in lengths:
            raise trace_error(
                ValueError,
                f"set_cube_tile_shapes(): {name} is a list of {' or '.join(map(str, lengths))} ints, got {extents!r}",
            )
        tile.append([_positive(extent, "set_cube_tile_shapes()") for extent in extents])
    if not isinstance(enable_split_k, bool):
        kind = type(enable_split_k).__name__
        raise trace_error(TypeError, f"set_cube_tile_shapes(): enable_split_k is True or False, got {kind}")
    scopes.change({"cube_tile_shapes": [*tile, enable_split_k]})


def get_vec_tile_shapes() -> list[int]:
    """Tile of vector operations in force; empty when unset."""
    node = scopes.current()
    shapes: Any = node.get("vec_tile_shapes") if node.has("vec_tile_shapes") else ()
    return list(shapes)
