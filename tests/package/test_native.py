"""Native programs against the wheel and against the CMake install: CMake, pkg-config, gcc, clang, C11, C++17."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import native_builds
import pytest
from native_builds import COMPILERS, PACKAGE, ROOT, run

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
EXAMPLES = ROOT / "examples" / "native"


@pytest.fixture(scope="session")
def saved_program(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "linear program.pto"
    run([sys.executable, str(EXAMPLES / "make_program.py"), str(path)])
    return path


BUILT = ("cpp/core/libpypto.so.0", "cpp/mock_acl/libpypto_mock_acl.so")


@pytest.fixture(scope="session")
def development_build():
    tree = ROOT / "build" / "dev"
    if not all((tree / library).exists() for library in BUILT):
        pytest.skip("the development build is not there: cmake --preset dev && cmake --build --preset dev")
    return tree


@pytest.fixture(scope="session")
def installed_prefix(tmp_path_factory, development_build):
    """What `cmake --install` of the development build puts down, moved to a path with spaces behind that."""
    tree = development_build
    folder = tmp_path_factory.mktemp("install")
    run(["cmake", "--install", str(tree), "--prefix", str(folder / "first")])
    return shutil.move(folder / "first", folder / "moved prefix")


def expect_request_loops(build: Path, saved_program: Path) -> None:
    for name in ("request_loop_c", "request_loop_cpp"):
        printed = run([str(build / name), str(saved_program)])
        assert printed.count("host") == 12 and printed.count("device") == 12
        assert "12 launches, 1 program load" in printed
        missing = subprocess.run([str(build / name), "/nowhere.pto"], capture_output=True, text=True, check=False)
        assert missing.returncode == 1
        assert "cannot open the program file /nowhere.pto" in missing.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("origin", ["wheel", "install"])
def test_examples_as_a_project_of_their_own(tmp_path, saved_program, request, compiler, origin):
    if reason := native_builds.compilers_missing(compiler):
        pytest.skip(reason)
    source = shutil.copytree(EXAMPLES, tmp_path / "a consumer")
    if origin == "wheel":
        option = native_builds.package_option()
    else:
        option = f"-DCMAKE_PREFIX_PATH={request.getfixturevalue('installed_prefix')}"
    native_builds.build(source, source / "build", compiler, option)
    expect_request_loops(source / "build", saved_program)


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="needs pkg-config")
@pytest.mark.parametrize("origin", ["wheel", "install"])
def test_pkg_config_finds_a_moved_tree(tmp_path, saved_program, request, origin):
    if origin == "wheel":
        folder = native_builds.native_tree(tmp_path / "moved here") / "pkgconfig"
    else:
        folder = next(Path(request.getfixturevalue("installed_prefix")).glob("**/pkgconfig"))
    environment = {"PKG_CONFIG_PATH": str(folder), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    flags = shlex.split(run(["pkg-config", "--cflags", "--libs", "pypto"], env=environment))
    run(["cc", "-std=c11", str(EXAMPLES / "request_loop.c"), "-o", str(tmp_path / "request_loop_c"), *flags])
    run(["c++", "-std=c++17", str(EXAMPLES / "request_loop.cpp"), "-o", str(tmp_path / "request_loop_cpp"), *flags])
    expect_request_loops(tmp_path, saved_program)
    version = run(["pkg-config", "--modversion", "pypto"], env=environment).strip()
    assert (ROOT / "CMakeLists.txt").read_text().count(f"project(pypto VERSION {version} ") == 1


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="needs pkg-config")
@pytest.mark.parametrize("name", ["folders", "with spaces"])
def test_absolute_install_folders(tmp_path, saved_program, development_build, name):
    """Library and headers in folders given as absolute paths, outside of the prefix."""
    build, prefix, elsewhere = (tmp_path / part for part in ("build", "prefix", name))
    absolute = [f"-DCMAKE_INSTALL_{kind}DIR={elsewhere / kind.lower()}" for kind in ("LIB", "INCLUDE")]
    run(["cmake", "-S", str(ROOT), "-B", str(build), f"-DCMAKE_INSTALL_PREFIX={prefix}", *absolute])
    for library in BUILT:  # what was built for another install folder serves this one as well
        shutil.copy2(development_build / library, build / library)
    run(["cmake", "--install", str(build)])
    environment = {"PKG_CONFIG_PATH": str(elsewhere / "lib" / "pkgconfig"), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    flags = shlex.split(run(["pkg-config", "--cflags", "--libs", "pypto"], env=environment))
    assert f"-I{elsewhere / 'include'}" in flags
    assert f"-L{elsewhere / 'lib'}" in flags
    assert not list(prefix.glob("**/*.so*"))
    run(["cc", "-std=c11", str(EXAMPLES / "request_loop.c"), "-o", str(tmp_path / "request_loop_c"), *flags])
    run(["c++", "-std=c++17", str(EXAMPLES / "request_loop.cpp"), "-o", str(tmp_path / "request_loop_cpp"), *flags])
    expect_request_loops(tmp_path, saved_program)


def test_folders_on_the_command_line():
    names = ("cmake", "include", "library", "pkgconfig")
    printed = run([sys.executable, "-m", "pypto.config", *(f"--{name}-dir" for name in names)])
    folders = [Path(line) for line in printed.splitlines()]
    assert (folders[0] / "pypto-config.cmake").is_file()
    assert (folders[1] / "pypto" / "c_api.h").is_file()
    assert (folders[1] / "pypto" / "pypto.hpp").is_file()
    assert (folders[2] / "libpypto.so.0").is_file()
    assert (folders[3] / "pypto.pc").is_file()
    nothing = subprocess.run([sys.executable, "-m", "pypto.config"], capture_output=True, text=True, check=False)
    assert nothing.returncode == 2
    assert "say which folder: --cmake-dir, --include-dir, --library-dir, --pkgconfig-dir" in nothing.stderr


@pytest.fixture(scope="session")
def framework(tmp_path_factory):
    """The foreign framework, with an interpreter in a second program, and its two programs files."""
    folder = tmp_path_factory.mktemp("a foreign framework")
    source = shutil.copytree(Path(__file__).parent / "foreign", folder / "source")
    programs = [str(folder / "add.pto"), str(folder / "scale.pto")]
    run([sys.executable, str(source / "make_programs.py"), *programs])
    native_builds.build(
        source, folder / "build", "gcc", native_builds.package_option(), f"-DPython_EXECUTABLE={sys.executable}"
    )
    return folder / "build", programs, source


def test_a_framework_with_threads_of_its_own(framework):
    build, programs, _ = framework
    assert run([str(build / "framework"), *programs]) == "0 failures, 2 arguments\n"


def test_a_framework_that_embeds_python(framework):
    build, programs, source = framework
    printed = run([str(build / "embedding"), *programs, sys.executable, str(source / "inside.py")])
    assert printed.splitlines() == ["Python is done", "0 failures, 4 arguments"]


def test_the_interpreter_takes_the_library_that_is_loaded(framework, installed_prefix):
    """A program that runs on the library of an install prefix and imports the wheel still has one runtime."""
    build, programs, source = framework
    library = next(Path(installed_prefix).glob("**/libpypto.so.0"))
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent), "EXPECTED_LIBRARY": str(library)}
    command = [str(build / "embedding"), *programs, sys.executable, str(source / "inside.py")]
    assert run(command, env=environment).splitlines() == ["Python is done", "0 failures, 4 arguments"]


def test_one_header_at_a_time(tmp_path):
    includes = PACKAGE / "include"
    for header in sorted((includes / "pypto").iterdir()):
        languages = {"c": ["cc", "-std=c11"], "c++": ["c++", "-std=c++17"]}
        if header.suffix == ".hpp":
            languages.pop("c")
        for language, command in languages.items():
            flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
            source = tmp_path / f"alone.{'c' if language == 'c' else 'cpp'}"
            source.write_text(f"#include <pypto/{header.name}>\n#include <pypto/{header.name}>\n")
            run([*command, *flags, f"-I{includes}", str(source)])
