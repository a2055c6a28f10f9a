"""The installed package: files, exported symbols, stub, CMake package, versions."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pypto
from pypto import testing

PACKAGE = Path(pypto.__file__).parent
ROOT = Path(__file__).resolve().parents[2]


def symbols(path: Path) -> list[str]:
    """Names of defined dynamic symbols, with their versions."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return [line.split()[-1] for line in listed.splitlines()]


def test_libraries_lie_beside_the_extension():
    names = {path.name for path in PACKAGE.iterdir()}
    assert "libpypto.so.0" in names
    assert "libpypto_mock_acl.so" in names
    assert "libpypto.so" not in names
    assert not any(path.is_symlink() for path in PACKAGE.rglob("*"))
    for header in ("c_api.h", "mock_acl.h"):
        assert (PACKAGE / "include" / "pypto" / header).is_file()
    assert (PACKAGE / "py.typed").is_file()
    assert Path(testing.mock_library_path()) == PACKAGE / "libpypto_mock_acl.so"


def test_sonames():
    for name in ("libpypto.so.0", "libpypto_mock_acl.so"):
        dynamic = subprocess.run(
            ["readelf", "-d", str(PACKAGE / name)], capture_output=True, text=True, check=True
        ).stdout
        assert f"Library soname: [{name}]" in dynamic
        assert "torch" not in dynamic


def test_public_symbols_are_the_listed_ones():
    public = sorted(name.split("@@")[0] for name in symbols(PACKAGE / "libpypto.so.0") if "@@PYPTO_0" in name)
    assert public == (ROOT / "tests" / "package" / "public_symbols.txt").read_text().split()


def test_everything_else_is_private_to_the_version():
    version = importlib.metadata.version("pypto")
    assert pypto.__version__ == version
    for name in symbols(PACKAGE / "libpypto.so.0"):
        assert "@@PYPTO_0" in name or f"@@PYPTO_PRIVATE_{version}" in name or name.startswith("PYPTO_"), name


def test_the_mock_exports_acl_and_its_side_door_only():
    names = symbols(PACKAGE / "libpypto_mock_acl.so")
    assert "aclInit" in names
    assert "pypto_mock_version" in names
    assert [name for name in names if not re.match(r"(acl|mock_|pypto_mock_)", name)] == []


def test_the_stub_in_the_tree_is_the_built_one():
    built = (PACKAGE / "_core.pyi").read_text()
    assert (ROOT / "python" / "pypto" / "_core.pyi").read_text() == built, "copy the built _core.pyi into python/pypto"


CONSUMER = """
cmake_minimum_required(VERSION 3.24)
project(consumer C CXX)
find_package(pypto CONFIG REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE pypto::pypto)
add_executable(side_door side_door.cpp)
target_link_libraries(side_door PRIVATE pypto::mock_acl)
"""

MAIN = """
#include <pypto/c_api.h>
#include <stdio.h>
int main(void) { puts(pypto_version()); return pypto_abi_version() == PYPTO_ABI_VERSION ? 0 : 1; }
"""

SIDE_DOOR = """
#include <pypto/mock_acl.h>
#include <cstdio>
int main() { std::printf("%d %d\\n", pypto_mock_version(), static_cast<int>(mock_live_bytes(-1))); return 0; }
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_package_of_the_wheel(tmp_path):
    source = tmp_path / "a consumer"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CONSUMER)
    (source / "main.c").write_text(MAIN)
    (source / "side_door.cpp").write_text(SIDE_DOOR)
    build = source / "build"
    configure = ["cmake", "-S", str(source), "-B", str(build), f"-Dpypto_ROOT={PACKAGE / 'cmake'}"]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(build)], check=True, capture_output=True)
    version = subprocess.run([str(build / "consumer")], check=True, capture_output=True, text=True).stdout
    assert version.strip() == pypto.__version__
    assert subprocess.run([str(build / "side_door")], check=True, capture_output=True, text=True).stdout == "1 0\n"


def test_no_file_of_the_build_is_shipped():
    files = importlib.metadata.files("pypto")
    assert files is not None
    names = [str(file) for file in files]
    assert not [name for name in names if name.endswith((".a", ".o", ".cpp")) or "gtest" in name]


def test_versions_agree():
    text = (ROOT / "CMakeLists.txt").read_text()
    assert f"project(pypto VERSION {pypto.__version__} " in text
    assert f"## {pypto.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert sys.version_info >= (3, 10)
