"""What cpp/acl_abi declares, and the C++ that compares it with the vendor's headers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ABI = ROOT / "cpp" / "acl_abi"


def _without_comments(text: str) -> str:
    return re.sub(r"//.*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


@dataclass
class Declarations:
    """Names out of types.h, error_codes.h and functions.inc."""

    enums: dict[str, list[str]] = field(default_factory=dict)
    records: dict[str, list[str]] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)


def read_declarations(folder: Path = ABI) -> Declarations:
    """Everything that has to agree with the vendor."""
    types = _without_comments((folder / "types.h").read_text())
    codes = _without_comments((folder / "error_codes.h").read_text())
    found = Declarations()
    for name, body in re.findall(r"enum (\w+) : \w+ \{([^}]*)\}", types):
        found.enums[name] = re.findall(r"\b(k\w+)\s*=", body)
    for name, body in re.findall(r"(?:struct|union) (\w+) \{([^}]*)\}", types):
        found.records[name] = re.findall(r"(\w+)(?:\[\d+\])?;", body)
    found.constants = re.findall(r"inline constexpr \w+ (k\w+) =", types + codes)
    listed = (folder / "functions.inc").read_text()
    found.functions = re.findall(r"PYPTO_ACL_FUNCTION\(\w+, [^,]+, (\w+)", listed)
    return found


def vendor_names() -> dict[str, str]:
    """The vendor's name of each of our constants; '-' where its headers have none."""
    lines = (HERE / "vendor_names.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def comparison_source(found: Declarations, absent: set[str] = frozenset()) -> str:
    """A C++ file that compiles only if everything agrees; `absent` functions are not looked at."""
    names = vendor_names()
    lines = [
        '#include "acl/acl.h"',
        '#include "pypto/acl_abi/error_codes.h"',
        '#include "pypto/acl_abi/function_types.h"',
        '#include "type_map.h"',
        "namespace ours = pypto::acl_abi;",
        "NAMED_TYPE(rtExceptionInfo, aclrtExceptionInfo);",
    ]
    named = [name for name in (*found.enums, *found.records) if name != "NpuArch"]
    lines += [f"NAMED_TYPE({name}, {name});" for name in named]
    lines.append("using conformance::OursT;")
    for enum in found.enums:
        if enum != "NpuArch":
            lines.append(f"static_assert(std::is_same_v<std::underlying_type_t<::{enum}>, uint32_t>);")
    for constant in (*(c for values in found.enums.values() for c in values), *found.constants):
        if names[constant] != "-":
            lines.append(
                f"static_assert(static_cast<long long>(ours::{constant}) == static_cast<long long>({names[constant]}));"
            )
    for record, members in found.records.items():
        lines.append(f"static_assert(sizeof(ours::{record}) == sizeof(::{record}));")
        lines.append(f"static_assert(alignof(ours::{record}) == alignof(::{record}));")
        for member in members:
            lines.append(f"static_assert(offsetof(ours::{record}, {member}) == offsetof(::{record}, {member}));")
            theirs = f"OursT<decltype(::{record}::{member})>"
            lines.append(f"static_assert(std::is_same_v<{theirs}, decltype(ours::{record}::{member})>);")
    for function in found.functions:
        if function not in absent:
            lines.append(
                f"static_assert(std::is_same_v<OursT<decltype(::{function})>, ours::function_types::{function}>);"
            )
    return "\n".join(lines) + "\n"
