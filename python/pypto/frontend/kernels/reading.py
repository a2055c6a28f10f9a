"""What the source of a function reads of its surroundings: captured variables, globals, names inside modules."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pypto.frontend.kernels.arrays import described, is_array
from pypto.frontend.objects.definitions import is_library_name
from pypto.frontend.objects.hidden import generators_of
from pypto.frontend.objects.installed import is_installed_file
from pypto.frontend.rewriting.source import NoSourceError, read_source

_MAX_SOURCES = 1024
# Attributes of arrays and tensors that `Described` tells.
_DESCRIBING = frozenset(
    {"device", "dim", "dtype", "element_size", "itemsize", "nbytes", "ndim", "nelement", "numel", "shape", "size",
     "stride", "strides"}
)  # fmt: skip
_BY_TEXT = frozenset({"globals", "eval", "exec"})  # built-in functions that find any global
_MODULES = frozenset({"modules", "import_module", "__import__"})  # names that find modules by text

_BEGINNING = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"})
_GOING_ON = frozenset({"LOAD_ATTR", "LOAD_METHOD"})

_MODES_OF_TORCH = frozenset(
    {"is_grad_enabled", "is_inference_mode_enabled", "is_deterministic_algorithms_warn_only_enabled",
     "are_deterministic_algorithms_enabled", "get_num_threads", "get_default_device"}
)  # fmt: skip

_EMPTY = types.CellType()

Path = tuple[str, ...]


class Import(NamedTuple):
    """An import statement in a function: the name it binds, the module, the attribute of the module or None."""

    name: str
    module: str
    attribute: str | None


class Reading(NamedTuple):
    """What the source of a function says."""

    text: Any  # its code object where there is no source
    paths: tuple[Path, ...]  # dotted names, as long as they are written
    described: frozenset[Path]  # dotted names of which only the attributes are read that describe an array
    imports: tuple[Import, ...]
    by_text: bool  # whether it may read any global
    modules: tuple[str, ...]  # texts that may name modules


_readings: dict[tuple[types.CodeType, str], Reading] = {}


def reading_of(function: types.FunctionType) -> Reading:
    """What the source of a function says, read once."""
    key = (function.__code__, function.__code__.co_filename)
    known = _readings.get(key)
    if known is not None:
        return known
    if len(_readings) >= _MAX_SOURCES:
        _readings.clear()
    try:
        source = read_source(function)
    except NoSourceError:
        paths = _paths_in(function.__code__)
        by_text = any(path[0] in _BY_TEXT for path in paths)
        made = Reading(function.__code__, tuple(sorted(paths)), frozenset(), (), by_text, ())
    else:
        made = _read(source.text, source.tree.body, function.__globals__.get("__package__"))
    _readings[key] = made
    return made


def _paths_in(code: types.CodeType) -> set[Path]:
    """The dotted names in a code object and in the functions, lambdas and comprehensions in it."""
    found: set[Path] = set()
    path: Path = ()
    for each in dis.get_instructions(code):
        if path and each.opname in _GOING_ON:
            path = (*path, str(each.argval))
            continue
        found.add(path)
        path = (str(each.argval),) if each.opname in _BEGINNING else ()
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return found.union({path}, *map(_paths_in, inner)) - {()}


def _read(text: str, body: list[ast.stmt], package: str | None) -> Reading:
    nodes = [node for statement in body for node in ast.walk(statement)]
    paths = {path for statement in body for path in _paths(statement)}
    words = {word for path in paths for word in path}
    texts: set[str] = set()
    if not _MODULES.isdisjoint(words):
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        texts |= {"__name__"} & words
    imports = tuple(item for node in nodes for item in _imports(node, package))
    by_text = any(path[0] in _BY_TEXT for path in paths)
    return Reading(text, tuple(sorted(paths)), _described_paths(paths), imports, by_text, tuple(sorted(texts)))


def _paths(node: ast.AST) -> Iterator[Path]:
    """The dotted names in a statement."""
    path = _dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None
    if path is not None:
        yield path
        return
    for child in ast.iter_child_nodes(node):
        yield from _paths(child)


def _dotted(node: ast.AST) -> Path | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return None if owner is None else (*owner, node.attr)
    return None


def _described_paths(paths: set[Path]) -> frozenset[Path]:
    wider = {path[:length] for path in paths for length in range(1, len(path) + 1)}
    read = {path for path in wider if path in paths}
    read |= {path[:-1] for path in wider if path[-1] not in _DESCRIBING}
    return frozenset(wider - read)


def _imports(node: ast.AST, package: str | None) -> list[Import]:
    if isinstance(node, ast.Import):
        return [
            Import(alias.asname, alias.name, None)
            if alias.asname
            else Import(alias.name.partition(".")[0], alias.name.partition(".")[0], None)
            for alias in node.names
        ]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        module = importlib.util.resolve_name(module, package or "") if node.level else module
        return [Import(alias.asname or alias.name, module, alias.name) for alias in node.names]
    return []


def user_imports(function: types.FunctionType) -> list[Import]:
    """What a function imports from modules of the user."""
    return [item for item in reading_of(function).imports if not is_library_name(item.module)]


def paths_from(function: types.FunctionType, name: str) -> list[Path]:
    """The dotted names in a function that begin with a name."""
    return [path for path in reading_of(function).paths if path[0] == name]


def wrapped_by(function: types.FunctionType) -> list[types.FunctionType]:
    """The functions that a decorator of a library has put into one that it made."""
    cells = function.__closure__ or ()
    held = [cell.cell_contents for cell in cells if cell != _EMPTY]
    return [each for each in held if type(each) is types.FunctionType]


def _imported_values(function: types.FunctionType) -> list[tuple[str, Any]]:
    values: list[tuple[str, Any]] = []
    for name, module, attribute in user_imports(function):
        value = sys.modules.get(module)
        if attribute is not None:
            value = getattr(value, attribute, sys.modules.get(f"{module}.{attribute}"))
        if is_user_module(value):
            values.extend(_follow(function, path, value) for path in paths_from(function, name))
        else:
            values.append((name, value))
    return values


def _follow(function: types.FunctionType, path: Path, value: Any) -> tuple[str, Any]:
    """What a dotted name gives whose first part is `value`, as far as it goes through modules of the user.

    Of an array of which nothing but its shape is read its description.
    """
    depth = 1
    while depth < len(path) and is_user_module(value) and path[depth] != "__dict__":
        value = vars(value).get(path[depth], vars(value).get("__getattr__"))
        depth += 1
    return ".".join(path[:depth]), as_read(function, path[:depth], value)


def as_read(function: types.FunctionType, path: Path, value: Any) -> Any:
    """What a function reads of what a dotted name gives: of some arrays only what describes them."""
    return described(value) if path in reading_of(function).described and is_array(value) else value


def captured_values(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Captured variables, the globals that the source names, and what it names inside modules of the user."""
    values: list[tuple[str, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:  # not set yet
            continue
        if is_user_module(held):
            values.extend(_follow(function, path, held) for path in paths_from(function, name))
        else:
            values.append((name, as_read(function, (name,), held)))
    for path in global_paths(function):
        names = function.__globals__ if path[0] in function.__globals__ else vars(builtins)
        if path[0] in names:
            values.append(_follow(function, path, names[path[0]]))
    if reading_of(function).by_text:
        values += namespace(function.__globals__).items()
    values += [(module.__name__, module) for module in modules_by_text(function)]
    values += [*_imported_values(function), *random_generators(function)]
    return values + [(mode.name, mode.value) for mode in modes(function)]


def _held_by_name(function: types.FunctionType) -> dict[str, Any]:
    """What the captured variables and the globals of a function hold that its dotted names begin with."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    held = {name: cell.cell_contents for name, cell in cells.items() if cell != _EMPTY}
    named = {path[0] for path in global_paths(function)}
    return {**{name: function.__globals__.get(name) for name in named}, **held}


def random_generators(function: types.FunctionType) -> list[tuple[str, Any]]:
    """The generators of random numbers of the modules whose functions the source names."""
    found: dict[str, Any] = {}
    held = _held_by_name(function)
    for name, *rest in reading_of(function).paths:
        value = held.get(name)
        if isinstance(value, types.ModuleType) or type(value) is types.BuiltinFunctionType:
            found.update(generators_of([(name, value)], rest))
    return list(found.items())


class Mode(NamedTuple):
    """What functions of a library give depends on."""

    name: str
    get: Callable[[], Any]
    value: Any


def _of_torch(names: set[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    torch: Any = sys.modules["torch"]
    held = [(name, vars(torch).get(name)) for name in sorted(names)]
    functions = [(name, each) for name, each in held if callable(each) and not isinstance(each, type)]
    if functions:
        yield "the default dtype of torch", torch.get_default_dtype
        yield "autocast", functools.partial(torch.is_autocast_enabled, "cpu")
    yield from ((f"torch.{name}", function) for name, function in functions if name in _MODES_OF_TORCH)


def modes(function: types.FunctionType) -> list[Mode]:
    """Settings of the process that the source reads by its names: of torch, and variables of the environment."""
    found: dict[str, Callable[[], Any]] = {}
    held, paths = _held_by_name(function), reading_of(function).paths
    for name, value in held.items():
        names = {path[1] for path in paths if path[0] == name and len(path) > 1}
        if value is sys.modules.get("torch") and names:
            found.update(_of_torch(names))
        if value is os.getenv or (value is os and not names.isdisjoint({"environ", "getenv"})):
            found["the environment"] = functools.partial(dict, vars(os.environ)["_data"])
    return [Mode(name, get, get()) for name, get in found.items()]


def namespace(names: dict[str, Any]) -> dict[str, Any]:
    """The variables of a module but for other modules."""
    is_own = {name: not (name.startswith("__") and name.endswith("__")) for name in names}
    return {name: held for name, held in names.items() if is_own[name] and not isinstance(held, types.ModuleType)}


def modules_by_text(function: types.FunctionType) -> list[types.ModuleType]:
    """Modules of the user that a function may find by the texts it holds."""
    texts = reading_of(function).modules
    named = [str(function.__globals__.get("__name__")) if text == "__name__" else text for text in texts]
    modules = [sys.modules.get(name) for name in named]
    return [module for module in modules if module is not None and is_own_module(module)]


def global_paths(function: types.FunctionType) -> list[Path]:
    """The dotted names in a function that may begin with a global: not with a parameter, a local or a captured name."""
    code = function.__code__
    own = {*code.co_freevars, *code.co_varnames, *code.co_cellvars}
    return [path for path in reading_of(function).paths if path[0] not in own]


def is_user_module(value: Any) -> bool:
    """Whether it is a module whose variables count among the globals that a kernel reads."""
    return isinstance(value, types.ModuleType) and not is_library_name(value.__name__)


def is_own_module(value: Any) -> bool:
    """Whether it is a module of the user that is not installed: all its variables count where it is used as a whole."""
    return is_user_module(value) and not is_installed_file(getattr(value, "__file__", None) or "")
