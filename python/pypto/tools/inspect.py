"""Prints what a program file holds: name, source, parameters, workspace, sections."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from pypto import ir
from pypto.errors import PyptoError

__all__ = ["describe", "main", "render"]


def _parameter(parameter: ir.Parameter) -> dict[str, Any]:
    row: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind}
    if parameter.kind == "tensor":
        assert parameter.dtype is not None
        row |= {"dtype": parameter.dtype.name, "dims": list(parameter.dims), "direction": parameter.direction}
    return row


def _workspace(program: ir.CompiledProgram, values: dict[str, int]) -> dict[str, Any]:
    """Line items for the given sizes; what is missing is said in their place."""
    try:
        budget = program.workspace_budget(**values)
    except (ValueError, PyptoError) as error:
        return {"items": [], "total_bytes": None, "note": str(error)}
    items = [{"name": item.name, "bytes": item.bytes, "text": item.text} for item in budget.items]
    return {"items": items, "total_bytes": budget.total_bytes, "note": ""}


def describe(path: str, values: dict[str, int]) -> dict[str, Any]:
    """Everything about a program file as plain data. ProgramFormatError when it is damaged."""
    program = ir.load(path)
    return {
        "file": path,
        "name": program.name,
        "platform": program.platform,
        "fingerprint": program.fingerprint,
        "source_hash": program.source_hash,
        "source_files": list(program.source_files),
        "parameters": [_parameter(parameter) for parameter in program.parameters],
        "workspace": _workspace(program, values),
        "sections": [{"kind": kind, "bytes": size} for kind, size in program.sections],
        "binaries": [vars(binary) for binary in program.binaries],
    }


def _parameter_line(row: dict[str, Any]) -> str:
    if row["kind"] != "tensor":
        return f"  {row['name']}: {row['kind']}"
    dims = ", ".join(str(dim) for dim in row["dims"])
    return f"  {row['name']}: [{dims}] {row['dtype']} {row['direction']}"


def render(facts: dict[str, Any]) -> str:
    """The facts of `describe` for people."""
    workspace = facts["workspace"]
    lines = [
        f"{facts['name']} for {facts['platform']}",
        f"fingerprint  {facts['fingerprint']}",
        f"source       {', '.join(facts['source_files']) or 'unknown'}",
        f"source hash  {facts['source_hash'] or 'none: the file holds no source'}",
        "parameters",
        *(_parameter_line(row) for row in facts["parameters"]),
        "workspace",
        *(f"  {item['text']}" for item in workspace["items"]),
    ]
    lines.append(f"  {workspace['note']}" if workspace["note"] else f"  total: {workspace['total_bytes']} B")
    lines.append("sections")
    lines += [f"  {section['kind']}: {section['bytes']} B" for section in facts["sections"]]
    for row in facts["binaries"]:
        sync = ", takes the synchronisation address" if row["takes_sync_address"] else ""
        lines.append(f"  device code '{row['entry']}': {row['core']}, {row['blocks']} blocks, {row['bytes']} B{sync}")
    return "\n".join(lines)


def _value(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.lstrip("-").isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=NUMBER")
    return name, int(number)


def main(arguments: list[str] | None = None) -> int:
    """Returns 0, or 1 with a message for a file that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m pypto.tools.inspect", description=__doc__)
    parser.add_argument("file", help="a program file, from compiled.save(path)")
    parser.add_argument("sizes", nargs="*", type=_value, metavar="NAME=NUMBER", help="dynamic dims, for the workspace")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--listing", action="store_true", help="the listing of the program as well")
    given = parser.parse_args(arguments)
    try:
        facts = describe(given.file, dict(given.sizes))
        listing = ir.load(given.file).to_text() if given.listing else ""
    except (OSError, PyptoError) as error:
        print(f"inspect: {given.file}: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(facts | ({"listing": listing} if listing else {}), indent=2))
    else:
        print(render(facts) + (f"\n{listing}" if listing else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
