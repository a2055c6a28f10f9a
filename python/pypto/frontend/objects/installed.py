"""Which files belong to packages that were installed: these do not change while the process runs."""

from __future__ import annotations

import functools
import os


@functools.lru_cache(4096)
def is_installed_file(filename: str) -> bool:
    """Whether a file belongs to a package that was installed."""
    if "-packages" in filename:
        return True
    return (
        filename != "" and not filename.startswith("<") and _holds_installed(os.path.dirname(os.path.abspath(filename)))
    )


@functools.lru_cache(4096)
def _holds_installed(folder: str) -> bool:
    parent = os.path.dirname(folder)
    try:
        is_here = any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        is_here = False
    return is_here or (parent != folder and os.path.exists(f"{folder}/__init__.py") and _holds_installed(parent))
