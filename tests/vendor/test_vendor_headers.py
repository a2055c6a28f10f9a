"""Our ACL declarations against the vendor's own headers, and calls between code built from the one and the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from declarations import ABI, HERE, ROOT, comparison_source, read_declarations, vendor_names
from vendor_headers import Unreachable, vendor_include_folder

import pypto

PACKAGE = Path(pypto.__file__).parent

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def vendor() -> Path:
    """Skips without a registry: the headers are not ours to keep in the tree."""
    try:
        return vendor_include_folder()
    except Unreachable as why:
        pytest.skip(f"the vendor's headers are not at hand: {why}")


def compile_cpp(source: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = ["g++", "-std=c++20", "-w", str(source), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def include_root(folder: Path, abi: Path = ABI) -> str:
    """A folder in which <pypto/acl_abi/...> is `abi`."""
    root = folder / "include"
    (root / "pypto").mkdir(parents=True)
    (root / "pypto" / "acl_abi").symlink_to(abi)
    return f"-I{root}"


def compare(folder: Path, vendor: Path, abi: Path = ABI) -> subprocess.CompletedProcess:
    source = folder / "comparison.cpp"
    source.write_text(comparison_source(read_declarations(abi)))
    return compile_cpp(source, "-fsyntax-only", "-isystem", str(vendor), include_root(folder, abi), f"-I{HERE}")


def test_everything_is_compared():
    found = read_declarations()
    constants = {c for values in found.enums.values() for c in values} | set(found.constants)
    assert constants == set(vendor_names()), "vendor_names.txt lists every constant of cpp/acl_abi"
    assert len(found.functions) >= 100
    assert len(found.enums) >= 20
    assert len(constants) >= 200
    assert sum(map(len, found.records.values())) >= 45
    nameless = [ours for ours, theirs in vendor_names().items() if theirs == "-"]
    assert len(nameless) == 8


def test_declarations_agree(vendor, tmp_path):
    result = compare(tmp_path, vendor)
    assert result.returncode == 0, result.stderr[:4000]


MUTATIONS = [
    ("functions.inc", "aclrtMallocHost, void**, size_t", "aclrtMallocHost, void**, uint32_t"),
    ("functions.inc", "aclrtPointerGetAttributes, const void*", "aclrtPointerGetAttributes, void*"),
    ("functions.inc", "aclrtStreamQuery, aclrtStream, aclrtStreamStatus*", "aclrtStreamQuery, aclrtStream, uint32_t*"),
    ("functions.inc", "Optional, const char*, aclrtGetSocName", "Optional, aclError, aclrtGetSocName"),
    ("functions.inc", "uint32_t, const char*, ...)", "uint32_t, const char*)"),
    ("functions.inc", "aclrtSynchronizeEvent, aclrtEvent)", "aclrtSynchronizeEvents, aclrtEvent)"),
    ("types.h", "kEventRecordedComplete = 1", "kEventRecordedComplete = 2"),
    ("types.h", "enum aclrtEngineType : uint32_t", "enum aclrtEngineType : uint64_t"),
    ("types.h", "  uint32_t timeoutLow;\n  uint32_t timeoutHigh;", "  uint32_t timeoutHigh;\n  uint32_t timeoutLow;"),
    ("types.h", "uint16_t moduleId;", "uint32_t moduleId;"),
    ("types.h", "kBinaryMagicVector = 0x41415246", "kBinaryMagicVector = 0x41415245"),
    ("error_codes.h", "kErrorRtStreamSyncTimeout = 507046", "kErrorRtStreamSyncTimeout = 507047"),
]


REFUSALS = ["static assertion failed", "has not been declared", "incomplete type"]


@pytest.mark.parametrize(("file", "right", "wrong"), MUTATIONS)
def test_a_wrong_declaration_is_refused(vendor, tmp_path, file, right, wrong):
    abi = tmp_path / "acl_abi"
    shutil.copytree(ABI, abi)
    text = (abi / file).read_text()
    assert right in text
    (abi / file).write_text(text.replace(right, wrong))
    result = compare(tmp_path, vendor, abi)
    assert result.returncode != 0
    assert any(text in result.stderr for text in REFUSALS), result.stderr[:2000]


@pytest.fixture(scope="module")
def recording_library(vendor, tmp_path_factory) -> Path:
    """A library from the vendor's headers alone, with their soname."""
    folder = tmp_path_factory.mktemp("recording")
    names = read_declarations().functions
    (folder / "recorded_functions.inc").write_text("".join(f"RECORDED_FUNCTION({name})\n" for name in names))
    library = folder / "libascendcl.so"
    built = compile_cpp(
        HERE / "recording_library.cpp", "-O1", "-fPIC", "-shared", "-Wl,-soname,libascendcl.so",
        "-isystem", str(vendor), f"-I{folder}", "-o", str(library),
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[:4000]
    return library


def test_arguments_arrive_as_sent(recording_library, tmp_path):
    program = tmp_path / "client"
    core = next(PACKAGE.glob("libpypto.so.*"))
    built = compile_cpp(
        HERE / "recording_client.cpp", "-O1", f"-I{ROOT / 'cpp' / 'src'}", include_root(tmp_path), f"-I{HERE}",
        str(core), f"-Wl,-rpath,{PACKAGE}", "-o", str(program),
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[:4000]
    run = subprocess.run([program, recording_library], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout
    functions = len(read_declarations().functions)
    # Arguments of each, results of all but the one that returns nothing.
    assert run.stdout.splitlines()[-1] == f"{2 * functions - 1} comparisons, 0 mismatches"


def test_a_vendor_program_runs_on_the_mock(vendor, recording_library, tmp_path):
    """Linked against a library of the vendor's name that is not the mock; LD_LIBRARY_PATH alone decides."""
    kernels = tmp_path / "kernels.o"
    source = ROOT / "tests" / "cpp" / "mock_acl" / "host_kernels.c"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", source, f"-I{PACKAGE / 'include'}", "-o", kernels], check=True, timeout=60
    )
    program = tmp_path / "program"
    built = compile_cpp(
        HERE / "vendor_program.cpp", "-O1", "-isystem", str(vendor), str(recording_library), "-o", str(program)
    )
    assert built.returncode == 0, built.stderr[:4000]
    links = tmp_path / "links"
    made = subprocess.run(
        [sys.executable, "-m", "pypto.tools.mock_acl", links], capture_output=True, text=True, timeout=60, check=False
    )
    assert made.returncode == 0, made.stderr
    environment = {**os.environ, "LD_LIBRARY_PATH": str(links), "PYPTO_MOCK_SOC": "Ascend910B4"}
    command = [program, kernels]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "on Ascend910B4: right\n", run.stdout + run.stderr
    assert run.returncode == 0
    strict = {**environment, "PYPTO_MOCK_STRICT": "7"}
    run = subprocess.run(command, env=strict, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    # Against the library it was linked with it gets nowhere: the run above was the mock's.
    bare = {**environment, "LD_LIBRARY_PATH": str(recording_library.parent)}
    assert subprocess.run(command, env=bare, capture_output=True, timeout=60, check=False).returncode != 0
