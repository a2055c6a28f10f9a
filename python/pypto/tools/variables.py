"""The environment variables that pypto reads, and where the values in force come from."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["VARIABLES", "Variable", "VariableFacts", "read_variables"]


@dataclass(frozen=True)
class Variable:
    """A variable: what holds when it is not set, and what it is for."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True)
class VariableFacts:
    """A variable's value in force; `origin` is environment or default."""

    name: str
    value: str
    origin: str
    meaning: str


VARIABLES = (
    Variable("PYPTO_ACL_LIBRARY", "search", "ACL library of the hardware platforms"),
    Variable("PYPTO_ACL_LAYERS", "none", "layers over the ACL calls: validation, fault, log"),
    Variable("PYPTO_MOCK_DEVICES", "1", "devices of the mock"),
    Variable("PYPTO_MOCK_CORES", "processors", "cores per device of the mock"),
    Variable("PYPTO_MOCK_MEMORY_MB", "65536", "memory per device of the mock"),
    Variable("PYPTO_MOCK_SOC", "Ascend910B3", "chip name of the mock"),
    Variable("PYPTO_MOCK_STRICT", "0", "strict mode of the mock, or its seed"),
    Variable("PYPTO_STRACE", "off", "timing marks: stderr, plog or a path"),
    Variable("PYPTO_SIMD", "best", "set of tile kernels: plain, avx2, avx512, avx512_bf16, neon"),
    Variable("PYPTO_CACHE_DIR", "off", "folder of compiled images"),
    Variable("PYPTO_CACHE_MB", "1024", "MiB that the folder may hold"),
    Variable("TILEFWK_CONFIG_PATH", "packaged", "default options file"),
    Variable("ASCEND_HOME_PATH", "unset", "CANN's folder, from its set_env.sh"),
    Variable("ASCEND_RT_VISIBLE_DEVICES", "all", "devices that the vendor's library shows"),
    Variable("ASCEND_PROCESS_LOG_PATH", "unset", "folder of logs"),
    Variable("ASCEND_WORK_PATH", "unset", "its log folder holds logs"),
    Variable("ASCEND_GLOBAL_LOG_LEVEL", "3", "0 debug, 1 info, 2 warning, 3 error, 4 nothing"),
    Variable("ASCEND_MODULE_LOG_LEVEL", "unset", "levels per module"),
    Variable("ASCEND_LOG_PRINT_TO_STDOUT", "0", "logs to stdout in place of files"),
    Variable("ASCEND_SLOG_PRINT_TO_STDOUT", "0", "older name of the same"),
    Variable("ASCEND_HOST_LOG_FILE_NUM", "10", "log files kept per process"),
    Variable("LD_LIBRARY_PATH", "unset", "where libraries are looked for"),
)


def read_variables() -> list[VariableFacts]:
    """All variables with the value in force."""
    facts = []
    for variable in VARIABLES:
        value = os.environ.get(variable.name)
        origin = "default" if value is None else "environment"
        facts.append(VariableFacts(variable.name, value or variable.default, origin, variable.meaning))
    return facts
