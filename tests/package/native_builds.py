"""Building native consumers of the package, for the tests beside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pypto

PACKAGE = Path(pypto.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}


def run(command: list[str], **kwargs: object) -> str:
    """Standard output of a command; its whole output in the error when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **kwargs)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return str(done.stdout)


def compilers_missing(name: str) -> str:
    """Why the compiler cannot be used, or nothing."""
    missing = [program for program in COMPILERS[name] if shutil.which(program) is None]
    return f"{', '.join(missing)} is not installed" if missing else ""


def build(source: Path, build_folder: Path, compiler: str, *options: str) -> None:
    """Configures and builds a CMake project in `source` outside of the tree."""
    cc, cxx = COMPILERS[compiler]
    environment = {**os.environ, "CC": cc, "CXX": cxx}
    run(["cmake", "-S", str(source), "-B", str(build_folder), *options], env=environment)
    run(["cmake", "--build", str(build_folder)], env=environment)


def package_option() -> str:
    """What tells CMake where the package of the wheel is, asked the way a user asks."""
    folder = run([sys.executable, "-m", "pypto.config", "--cmake-dir"]).strip()
    return f"-Dpypto_ROOT={folder}"


def native_tree(target: Path) -> Path:
    """A copy of the native part of the package in another place."""
    for name in ("cmake", "include", "pkgconfig"):
        shutil.copytree(PACKAGE / name, target / name)
    for path in PACKAGE.glob("libpypto*"):
        shutil.copy2(path, target / path.name)
    return target
