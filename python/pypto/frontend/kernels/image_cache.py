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
from pypto.frontend.kernels.content import UnstableError, content_digest

FORMAT = 3  # of the keys; a change of what they hold gives it another number
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
