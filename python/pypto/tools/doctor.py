"""Checks what pypto needs on this machine and says how to mend what is missing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pypto
from pypto import _core, testing
from pypto.tools.variables import read_variables

__all__ = ["Check", "examine", "main", "render"]

CANN_FIX = "install CANN 8.5 or newer and source its set_env.sh, or name the library with PYPTO_ACL_LIBRARY"


@dataclass
class Check:
    """One question: `state` is ok, note (nothing is wrong, something is not there) or failed."""

    name: str
    state: str
    text: str
    fix: str = ""
    details: list[str] = field(default_factory=list)


def _ok(name: str, text: str, details: list[str] | None = None) -> Check:
    return Check(name, "ok", text, details=details or [])


def _versions() -> Check:
    try:
        import torch

        torch_version = str(torch.__version__)
    except ImportError as error:
        return Check("versions", "failed", f"torch cannot be imported: {error}", "pip install 'torch>=2.10'")
    own = f"pypto {pypto.__version__}, core {vars(_core)['__version__']}"
    return _ok(
        "versions",
        f"{own}, Python {platform.python_version()}, torch {torch_version}",
        [f"{platform.system()} {platform.release()} on {platform.machine()}", f"package {Path(pypto.__file__).parent}"],
    )


def _library_lines(rows: list[dict[str, Any]]) -> tuple[dict[str, Any] | None, list[str]]:
    """The library that is taken, and a line about each that was looked at."""
    taken = next((row for row in rows if row["usable"]), None)
    lines = []
    for row in rows:
        if row is taken:
            route = "host arguments" if row["host_args"] else "argument lists (an older interface)"
            lines.append(f"{row['path']}: taken{' (the mock)' if row['is_mock'] else ''}, launches with {route}")
            if row["missing_optional"]:
                lines.append(f"optional functions that it lacks: {', '.join(row['missing_optional'])}")
        elif row["usable"]:
            lines.append(f"{row['path']}: usable too, but found later")
        else:
            lines.append(row["reason"])
    return taken, lines


def _hardware_library() -> Check:
    named = os.environ.get("PYPTO_ACL_LIBRARY", "")
    rows = _core.probe_libraries("a2a3")
    taken, lines = _library_lines(rows)
    if taken is not None:
        return _ok("hardware library", taken["path"], lines)
    # The links of pypto.tools.mock_acl are for other programs.
    if not named and all(row["absent"] or "is pypto's mock" in row["reason"] for row in rows):
        text = "no ACL library on this machine: kernels run on the mock (a2a3sim, a5sim)"
        return Check("hardware library", "note", text, CANN_FIX, lines)
    fix = "correct PYPTO_ACL_LIBRARY or unset it" if named else CANN_FIX
    return Check("hardware library", "failed", "there is an ACL library, but none is usable", fix, lines)


def _device_lines(facts: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Lines about the devices, and the errors among them."""
    lines, errors = [], []
    for index, row in enumerate(facts["devices"]):
        if row["error"]:
            errors.append(f"device {index}: {row['error']}")
            continue
        free, total = row["free_bytes"] >> 20, row["total_bytes"] >> 20
        lines.append(f"device {index}: {row['soc_name'] or 'chip unknown'}, {free} of {total} MiB free")
    return lines, errors


def _devices(name: str, target: str, fix: str) -> Check:
    try:
        facts = _core.probe_devices(target)
    except Exception as error:  # a library may fail in any way; the report goes on
        return Check(name, "failed", str(error), fix)
    lines, errors = _device_lines(facts)
    version = f", ACL interface {facts['interface_version']}" if facts["interface_version"] else ""
    if errors:
        return Check(
            name, "failed", f"{len(errors)} of {len(facts['devices'])} devices cannot be opened", fix, errors + lines
        )
    if not lines:
        return Check(name, "failed", "the library shows no device", fix)
    return _ok(name, f"{len(lines)} device{'s' if len(lines) > 1 else ''}{version}", lines)


def _hardware_devices() -> Check | None:
    if not any(row["usable"] for row in _core.probe_libraries("a2a3")):
        return None
    fix = "look at npu-smi info, the driver, and ASCEND_RT_VISIBLE_DEVICES"
    return _devices("hardware devices", "a2a3", fix)


def _mock_devices() -> Check:
    return _devices("mock devices", "a2a3sim", "install the package again; look at the PYPTO_MOCK_* variables")


def _simd() -> Check:
    name = _core.MockControl(testing.mock_library_path()).simd
    if name is None:
        wanted = os.environ.get("PYPTO_SIMD", "")
        text = f"PYPTO_SIMD={wanted} names no set that this processor runs"
        return Check("SIMD set", "failed", text, "unset PYPTO_SIMD, or name plain, avx2, avx512, avx512_bf16 or neon")
    return _ok("SIMD set", name)


def _log_folder() -> Check:
    folder = Path(_core.log_root())
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    fix = "set ASCEND_PROCESS_LOG_PATH to a folder that you may write to"
    if not nearest.is_dir():
        return Check("log folder", "failed", f"{folder}: {nearest} is no folder", fix)
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        return Check("log folder", "failed", f"{folder} cannot be written to: {error}", fix)
    return _ok("log folder", f"{folder} can be written to")


def _environment() -> Check:
    facts = read_variables()
    lines = [f"{fact.name}={fact.value} ({fact.origin}): {fact.meaning}" for fact in facts]
    unknown = _core.unknown_variables()
    if unknown:
        return Check(
            "environment", "failed", f"not known: {', '.join(unknown)}", "correct the names or unset them", lines
        )
    return _ok("environment", f"{sum(fact.origin == 'environment' for fact in facts)} variables are set", lines)


CHECKS: tuple[tuple[str, Callable[[], Check | None]], ...] = (
    ("versions", _versions),
    ("hardware library", _hardware_library),
    ("hardware devices", _hardware_devices),
    ("mock devices", _mock_devices),
    ("SIMD set", _simd),
    ("log folder", _log_folder),
    ("environment", _environment),
)


def examine() -> list[Check]:
    """All checks in order; one that itself breaks is a failed check."""
    checks = []
    for name, ask in CHECKS:
        try:
            check = ask()
        except Exception as error:  # the report is for machines on which something is wrong
            check = Check(name, "failed", f"{type(error).__name__}: {error}", "install the package again")
        if check is not None:
            checks.append(check)
    return checks


def render(checks: list[Check]) -> str:
    """The report for people."""
    lines = []
    for check in checks:
        lines.append(f"[{check.state:^6}] {check.name}: {check.text}")
        lines += [f"         {detail}" for detail in check.details]
        if check.fix:
            lines.append(f"         -> {check.fix}")
    failed = sum(check.state == "failed" for check in checks)
    lines.append("nothing is wrong" if failed == 0 else f"{failed} check{'s' if failed > 1 else ''} failed")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Returns 0, or 1 when a check failed."""
    parser = argparse.ArgumentParser(prog="python -m pypto.tools.doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="as JSON")
    given = parser.parse_args(arguments)
    checks = examine()
    failed = any(check.state == "failed" for check in checks)
    if given.json:
        variables = [asdict(fact) for fact in read_variables()]
        print(json.dumps({"ok": not failed, "checks": [asdict(c) for c in checks], "variables": variables}, indent=2))
    else:
        print(render(checks))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
