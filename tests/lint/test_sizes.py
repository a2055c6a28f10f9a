"""Limits of files and functions, and words that do not belong in the tree."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines() if line.endswith(suffixes) and (ROOT / line).exists()]


def test_cpp_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in _tracked(".cpp", ".h", ".hpp", ".inc")}
    assert lengths
    too_long = {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > 500}
    assert not too_long
    ordered = sorted(lengths.values())
    assert ordered[int(len(ordered) * 0.95)] <= 350


def test_python_files_and_functions_are_short():
    paths = _tracked(".py")
    assert paths
    for path in paths:
        text = path.read_text()
        assert len(text.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno + 1 <= 60, f"{path}:{node.lineno} {node.name}"


@pytest.mark.parametrize("path", _tracked(".cpp", ".h", ".hpp"), ids=lambda path: str(path.relative_to(ROOT)))
def test_cpp_files_say_what_they_are_for(path):
    assert path.read_text().lstrip().startswith(("//", "/*"))


def test_no_open_ends():
    marks = re.compile(r"\b(TO" + "DO|FIX" + "ME|XX" + r"X)\b")
    for path in _tracked(".cpp", ".h", ".py", ".md", ".cmake", ".txt", ".sh"):
        text = path.read_text()
        assert not marks.search(text), path
