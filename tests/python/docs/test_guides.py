"""The Python examples of the guides run as they stand, in the order of the page."""

import re
from pathlib import Path

import pytest

from scripts import run_python

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "guides"


@pytest.mark.parametrize("page", ["kernels", "profiling", "serving", "workspace"])
def test_examples_run(page):
    text = (GUIDES / f"{page}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 2
    ended = run_python("\n\n".join(blocks))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
