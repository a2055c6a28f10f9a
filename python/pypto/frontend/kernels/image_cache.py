"""Compiled images kept in the folder that PYPTO_CACHE_DIR names, for other processes; off by default.

A file's name is a hash of everything the image depends on, so files are never stale and never rewritten with other
content. They are written under another name and renamed: readers see whole files, whoever else writes. A file that is
damaged is compiled and written again. What was not used for longest is deleted when the folder grows above
PYPTO_CACHE_MB (default 1024); its files may be deleted at any time.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import hashlib
import os
import sys
import tempfile
import threading
import time
import types
from pathlib import Path
from typing import Any

from pypto import _core
from pypto.errors import ProgramFormatError
from pypto.frontend.kernels import captures
from pypto.frontend.objects.definitions import is_library_name
from pypto.frontend.rewriting.source import NoSourceError, read_source
from pypto.frontend.tracing import helpers

FORMAT = 1  # of the keys; a change of what they hold gives it another number
VARIABLE = "PYPTO_CACHE_DIR"
LIMIT_VARIABLE = "PYPTO_CACHE_MB"
DEFAULT_LIMIT_MB = 1024
_ABANDONED_SECONDS = 86400.0  # age of a file that its writer did not finish
_LOG_INFO, _LOG_WARNING = 1, 2


@dataclasses.dataclass
class ImageCacheInfo:
    """What this process did: images read, written and pruned, damaged files met, images it had to compile."""

    read: int = 0
    written: int = 0
    damaged: int = 0
    compiled: int = 0
    pruned: int = 0


_counts = ImageCacheInfo()
_lock = threading.Lock()


def image_cache_info() -> ImageCacheInfo:
    """The counts of this process; those of files stay 0 while the cache is off."""
    with _lock:
        return dataclasses.replace(_counts)


def count(name: str) -> None:
    """Adds one to a count."""
    with _lock:
        setattr(_counts, name, getattr(_counts, name) + 1)


class UnstableError(Exception):
    """A value has no content that another process could compare."""


@functools.cache
def package_digest() -> str:
    """A hash of the installed package: an image is never used by another build than the one that made it."""
    digest = hashlib.sha256()
    root = Path(_core.__file__).parent
    files = [path for path in root.rglob("*") if path.suffix == ".py" or ".so" in path.name]
    for path in sorted(files):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class _Digest:
    """Hashes values by content; what is reached twice is looked at once. Used by one thread."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[int, tuple[Any, int]] = {}

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def _put(self, *texts: str) -> None:
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def feed(self, value: Any) -> None:
        """Adds a value; UnstableError when it has no content."""
        if isinstance(value, enum.Enum):
            self._put("enum", type(value).__qualname__, value.name)
            self.feed(value.value)
        elif isinstance(value, int | float | complex | str | bytes | bytearray | range | slice | type(...) | None):
            self._put(type(value).__qualname__, repr(value))
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif id(value) in self._seen:
            self._put("again", str(self._seen[id(value)][1]))
        else:
            self._seen[id(value)] = (value, len(self._seen))
            self._content(value)

    def _content(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            self._put(type(value).__qualname__, str(len(value)))
            for element in value:
                self.feed(element)
        elif isinstance(value, dict):
            self._put("dict", str(len(value)))
            for key, held in value.items():
                self.feed(key)
                self.feed(held)
        elif isinstance(value, set | frozenset):
            self._put("set", *sorted(content_digest(element) for element in value))
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.BuiltinFunctionType):
            self._builtin(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, type):
            self._class(value)
        else:
            self._object(value)

    def _module(self, module: types.ModuleType) -> None:
        """Library modules by name, others by the content of their file."""
        self._put("module", module.__name__)
        if is_library_name(module.__name__):
            self._put(str(getattr(module, "__version__", "")))
            return
        try:
            self._put(hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest())
        except OSError:
            raise UnstableError(f"module {module.__name__} has no file") from None

    def _builtin(self, value: types.BuiltinFunctionType) -> None:
        if not isinstance(value.__self__, types.ModuleType | None):
            raise UnstableError(f"{value!r} is bound to an object")
        self._put("builtin", str(value.__module__), value.__qualname__)

    def _function(self, function: types.FunctionType) -> None:
        self._put("function", str(function.__module__), function.__qualname__)
        if helpers.is_library(function):
            return
        self._put(os.path.basename(function.__code__.co_filename), str(function.__code__.co_firstlineno))
        try:
            self._put(read_source(function).text)
        except NoSourceError:
            self._code(function.__code__)
        self.feed(function.__defaults__)
        self.feed(function.__kwdefaults__)
        for name, value in captures.captured_values(function):
            self._put(name)
            self.feed(value)

    def _code(self, code: types.CodeType) -> None:
        self._put("code", code.co_code.hex(), repr(code.co_names), repr(code.co_varnames), code.co_exceptiontable.hex())
        for constant in code.co_consts:
            self.feed(constant)

    def _class(self, value: type) -> None:
        """Library classes by name; of others the bases, functions and plain attributes."""
        self._put("class", value.__module__, value.__qualname__)
        if is_library_name(value.__module__):
            return
        for base in value.__bases__:
            self.feed(base)
        for name, attribute in sorted(vars(value).items()):
            held = _plain_function(attribute)
            if isinstance(held, types.FunctionType):
                generated = dataclasses.is_dataclass(value) and held.__code__.co_filename.startswith("<")
                self._put(name)
                if not generated:
                    self.feed(held)
            elif not name.startswith("_") and not isinstance(held, types.MemberDescriptorType):
                self._put(name)
                self.feed(held)
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                self._put(field.name, str(field.type))
                self.feed(None if field.default_factory is dataclasses.MISSING else field.default_factory)

    def _object(self, value: Any) -> None:
        kind = type(value)
        if kind.__module__ == "numpy" and hasattr(value, "tobytes") and not getattr(value.dtype, "hasobject", True):
            self._put("numpy", kind.__qualname__, str(value.dtype), str(value.shape), value.tobytes().hex())
        elif kind.__module__ == "torch" and kind.__qualname__ in {"dtype", "device", "Size"}:
            self._put("torch", repr(value))
        elif kind.__module__.startswith("pypto.") and kind.__qualname__ in {"Element", "StaticDim", "DynamicDim"}:
            self._put(kind.__qualname__, repr(value))
        elif is_library_name(kind.__module__) or not isinstance(getattr(value, "__dict__", None), dict):
            raise UnstableError(f"an object of type {kind.__module__}.{kind.__qualname__} has no content to compare")
        else:
            self.feed(kind)
            for name, held in sorted(vars(value).items()):
                self._put(name)
                self.feed(held)


def _plain_function(attribute: Any) -> Any:
    """The function inside a method or property of a class; anything else as it is."""
    if isinstance(attribute, staticmethod | classmethod):
        return attribute.__func__
    if isinstance(attribute, property):
        return attribute.fget
    return attribute.func if isinstance(attribute, functools.cached_property) else attribute


def content_digest(value: Any) -> str:
    """A hash of a value that is equal in every process; UnstableError when there is none."""
    digest = _Digest()
    digest.feed(value)
    return digest.hexdigest()


def limit_bytes() -> int:
    """Bytes that the folder may hold; a value that is no positive number is a warning, and the default."""
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT_MB)
    if not text.isdecimal() or int(text) < 1:
        _core.write_log(
            _LOG_WARNING, f"{LIMIT_VARIABLE}={text!r} is no positive number of MiB: {DEFAULT_LIMIT_MB} it is"
        )
        return DEFAULT_LIMIT_MB << 20
    return int(text) << 20


def _files(folder: Path) -> list[tuple[float, int, Path]]:
    """Time of last use, bytes and path of the images in a folder; unfinished files that are old are deleted."""
    found = []
    for path in folder.iterdir():
        if path.suffix not in (".pypto", ".part"):
            continue
        try:
            status = path.stat()
        except OSError:  # another process was faster
            continue
        if path.suffix == ".pypto":
            found.append((status.st_mtime, status.st_size, path))
        elif time.time() - status.st_mtime > _ABANDONED_SECONDS:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    return found


def prune(folder: Path, most: int, keep: Path) -> None:
    """Deletes the images that were not used for longest until at most `most` bytes are left, never `keep`.

    Processes may prune one folder at once: each reads whole files or none, and compiles what is gone.
    """
    try:
        files = sorted(_files(folder))
    except OSError:
        return
    held = sum(size for _, size, _ in files)
    for _, size, path in files:
        if held <= most:
            return
        if path == keep:
            continue
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            count("pruned")
        held -= size


class Entry:
    """The place of one image in the folder. Any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Any:
        """The image; None when there is none that can be used."""
        try:
            data = self.path.read_bytes()
        except OSError:
            return None
        try:
            image = _core.read_image(data)
        except ProgramFormatError as error:
            count("damaged")
            _core.write_log(_LOG_WARNING, f"{self.path} is damaged and is compiled again: {error}")
            return None
        with contextlib.suppress(OSError):
            os.utime(self.path)  # used now: the last to be pruned
        count("read")
        return image

    def write(self, image: Any) -> None:
        """Keeps an image; a folder that cannot be written is a warning in the log."""
        temporary = ""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(
                prefix=f".{self.path.stem[:16]}.", suffix=".part", dir=self.path.parent
            )
            with os.fdopen(handle, "wb") as file:
                file.write(image.bytes)
            os.replace(temporary, self.path)
        except OSError as error:
            if temporary:
                Path(temporary).unlink(missing_ok=True)
            _core.write_log(_LOG_WARNING, f"{VARIABLE}: the image of '{image.name}' is not kept: {error}")
            return
        count("written")
        prune(self.path.parent, limit_bytes(), keep=self.path)


def entry(function: types.FunctionType, signature: Any, request: tuple[Any, ...]) -> Entry | None:
    """The place of the image of a kernel for what is asked of it; None while the cache is off or cannot tell."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    annotations = [(parameter.name, str(parameter.annotation)) for parameter in signature.scalars]
    try:
        key = content_digest([FORMAT, package_digest(), sys.version, function, annotations, list(request)])
    except UnstableError as error:
        _core.write_log(_LOG_INFO, f"{VARIABLE}: the image of '{function.__name__}' is not kept: {error}")
        return None
    return Entry(Path(folder) / f"{key}.pypto")
