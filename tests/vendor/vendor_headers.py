"""The vendor's ACL headers, out of the `torch-npu` wheel, kept under build/."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "torch-npu==2.14.0"  # ACL interface 1.17; about 44 MB, of which the headers are 0.5 MB
CACHE = ROOT / "build" / "vendor_headers" / WHEEL.partition("==")[2]
INSIDE = "torch_npu/include/third_party/acl/inc/"


class Unreachable(RuntimeError):
    """No registry gave the wheel."""


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    try:
        run = subprocess.run([*command, WHEEL], capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"{WHEEL} did not come within 300 s") from error
    wheels = list(folder.glob("*.whl"))
    if run.returncode != 0 or not wheels:
        raise Unreachable(f"{WHEEL}: {run.stderr.strip().splitlines()[-1:]}")
    return wheels[0]


def vendor_include_folder() -> Path:
    """The folder above `acl/`; downloads the wheel once. Raises Unreachable."""
    if (CACHE / "acl" / "acl.h").is_file():
        return CACHE
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(_download(Path(temporary))) as wheel:
        names = [name for name in wheel.namelist() if name.startswith(INSIDE + "acl/") and name.endswith(".h")]
        # acl.h comes last: its presence says that the folder is complete.
        for name in sorted(names, key=lambda name: name.endswith("/acl/acl.h")):
            target = CACHE / name.removeprefix(INSIDE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel.read(name))
    return CACHE
