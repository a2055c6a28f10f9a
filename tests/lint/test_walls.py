"""Every #include and every Python import stays inside what docs/architecture.md allows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()


def _rows(header: str) -> list[list[str]]:
    lines = TEXT[TEXT.index(header) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def _names(cell: str) -> set[str]:
    return {name.strip() for name in cell.split(",") if name.strip()}


LIBRARIES = {row[0]: (ROOT / row[1], _names(row[3])) for row in _rows("| library |")}
PACKAGES = {row[0]: _names(row[1]) for row in _rows("| package |")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"pypto/([^"/]+)(?:/[^"]+)?"', re.MULTILINE)
PUBLIC_HEADERS = {path.name for path in (ROOT / "cpp" / "include" / "pypto").iterdir()}


def test_the_tables_name_what_exists():
    assert len(LIBRARIES) == 13
    for name, (folder, _) in LIBRARIES.items():
        assert folder.is_dir(), name


@pytest.mark.parametrize("name", LIBRARIES)
def test_includes(name):
    folder, allowed = LIBRARIES[name]
    sources = [path for path in folder.rglob("*") if path.suffix in {".h", ".cpp", ".inc", ".c"}]
    assert sources
    for path in sources:
        for target in INCLUDE.findall(path.read_text()):
            if target in PUBLIC_HEADERS:
                continue
            assert target == name or target in allowed, f"{path.relative_to(ROOT)} includes pypto/{target}"


def _imports(path: Path, package: str) -> set[str]:
    """Names of pypto submodules that a file imports anywhere, relative imports resolved."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                base = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join(base + ([module] if module else []))
            modules = [module]
            if module == "pypto":
                modules = [f"pypto.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {module.split(".")[1] for module in modules if module.startswith("pypto.")}
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_python_imports(package):
    folder = ROOT / "python" / Path(*package.split("."))
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    own = package.split(".")[1]
    for path in paths:
        if not path.exists():
            continue
        relative = path.relative_to(ROOT / "python").with_suffix("")
        module_package = ".".join(relative.parts[:-1])
        for name in _imports(path, module_package):
            assert name in PACKAGES[package] | {own, "_core"}, f"{path.relative_to(ROOT)} imports pypto.{name}"


def test_the_core_names_no_python():
    for name, (folder, _) in LIBRARIES.items():
        if name == "bindings":
            continue
        for path in folder.rglob("*"):
            if path.suffix in {".h", ".cpp"}:
                text = path.read_text()
                assert "Python.h" not in text and "nanobind" not in text, path
