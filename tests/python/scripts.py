"""Runs a script in a fresh interpreter; kernels need a file to read their source from. Finds lines in files."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

REMOVED = ("PYPTO_ACL_LIBRARY", "ASCEND_HOME_PATH")


def line_with(path: str | Path, text: str) -> int:
    """Number of the first line of a file that begins with the text."""
    lines = Path(path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(text))


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Output and return code of the script; the variables that name a vendor library are unset."""
    clean = {name: value for name, value in os.environ.items() if name not in REMOVED}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(textwrap.dedent(code))
        return subprocess.run(
            [sys.executable, str(path)],
            env={**clean, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
