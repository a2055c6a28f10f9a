"""Sizes and offsets of the structs and numbers of the enums of the C ABI, as the tree records them.

After a deliberate change: `python tests/package/test_c_layout.py > tests/package/c_layout.txt`.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pypto

INCLUDES = Path(pypto.__file__).parent / "include"
RECORD = Path(__file__).parent / "c_layout.txt"


def structs(text: str) -> dict[str, list[str]]:
    """Fields of each struct, in order; a union counts as one field."""
    found = {}
    for body, name in re.findall(r"typedef struct \w+ \{\n(.*?)\n\} (\w+);", text, re.DOTALL):
        bare = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
        bare = re.sub(r"union \{.*?\}", "union", bare, flags=re.DOTALL)
        fields = []
        for declaration in bare.split(";"):
            pointer = re.search(r"\(\*(\w+)\)\(", declaration)
            plain = re.search(r"(\w+)(\[\w+\])?\s*$", declaration)
            if pointer or plain:
                fields.append((pointer or plain).group(1))  # type: ignore[union-attr]
        found[name] = fields
    return found


def layout() -> str:
    """One line per struct, field and enumerator."""
    text = (INCLUDES / "pypto" / "c_types.h").read_text()
    lines = ["#include <pypto/c_api.h>", "#include <stdio.h>", "int main(void) {"]
    for name, fields in structs(text).items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field in fields:
            lines.append(f'printf("  {field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));')
    for constant in sorted(set(re.findall(r"^\s+(PYPTO_[A-Z0-9_]+) = ", text, re.MULTILINE))):
        lines.append(f'printf("{constant} %d\\n", (int){constant});')
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "layout.c"
        source.write_text("\n".join(lines))
        subprocess.run(
            ["cc", "-std=c11", f"-I{INCLUDES}", str(source), "-o", f"{folder}/layout"], check=True, capture_output=True
        )
        return subprocess.run([f"{folder}/layout"], check=True, capture_output=True, text=True).stdout


def test_the_layout_is_the_recorded_one():
    assert layout() == RECORD.read_text()


def test_every_struct_is_seen():
    text = (INCLUDES / "pypto" / "c_types.h").read_text()
    assert len(structs(text)) == len(re.findall(r"^typedef struct \w+ \{", text, re.MULTILINE)) >= 17
    assert structs(text)["pypto_launch_options"] == ["struct_size", "reserved", "should_stop", "user", "times"]


if __name__ == "__main__":
    print(layout(), end="")
