"""Shared objects that are cut off, altered or of another machine are refused with what is wrong, and nothing else."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import torch

import pypto
from pypto import ir, testing

ROOT = Path(__file__).resolve().parents[3]
OUT = [ir.Parameter("out", "tensor", pypto.DT_INT64, (3,), "out")]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.fixture(scope="module")
def code(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("kernels") / "kernels.so"
    source = ROOT / "tests" / "cpp" / "mock_acl" / "host_kernels.c"
    include = Path(pypto.__file__).parent / "include"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, f"-I{include}", "-o", path], check=True, timeout=60)
    return path.read_bytes()


@pytest.fixture
def expect_refusal(worker):
    """Registers what was loaded from odd bytes; afterwards the worker runs the sound object."""

    def check(data: bytes, sound: bytes, text: str) -> None:
        program = ir.load_kernel(data, entry="mixed", parameters=OUT, magic="mix", platform="a2a3sim")
        before = testing.live_handles()["binary"]  # workers of other tests may have some
        with pytest.raises(pypto.AclError, match=text):
            worker.register(program)
        assert worker.is_usable
        assert testing.live_handles()["binary"] == before
        program = ir.load_kernel(sound, entry="mixed", parameters=OUT, magic="mix", blocks=2)
        with worker.register(program) as handle:
            assert handle().tolist()[1:] == [2, 2]

    return check


@pytest.mark.parametrize("bytes_left", [4, 20, 63])
def test_a_header_that_is_cut_off(code, expect_refusal, bytes_left):
    expect_refusal(code[:bytes_left], code, "the ELF header is cut off")


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.7])
def test_an_object_that_is_cut_off(code, expect_refusal, share):
    expect_refusal(code[: max(64, int(len(code) * share))], code, "the ELF is cut off")


def end_of_segments(code: bytes) -> int:
    """Where the last byte lies that the loader maps."""
    table, count = struct.unpack_from("<Q", code, 32)[0], struct.unpack_from("<H", code, 56)[0]
    ends = []
    for number in range(count):
        offset, size = struct.unpack_from("<8xQ16xQ", code, table + 56 * number)
        ends.append(offset + size)
    return max(ends)


def test_one_byte_of_a_segment_is_missing(code, expect_refusal):
    expect_refusal(code[: end_of_segments(code) - 1], code, "the ELF is cut off")


def test_the_section_table_is_not_needed(code, worker):
    """What lies behind the last segment is for linkers and debuggers."""
    program = ir.load_kernel(code[: end_of_segments(code)], entry="mixed", parameters=OUT, magic="mix", blocks=1)
    assert worker.run(program).tolist()[1:] == [1, 1]


ALTERED = {
    "32 bits": (4, b"\x01", "holds code for machine"),
    "big-endian": (5, b"\x02", "holds code for machine"),
    "another machine": (18, (8).to_bytes(2, "little"), "holds code for machine 8"),
    "a relocatable object": (16, b"\x01\x00", r"is no shared object \(type 1\)"),
    "an executable": (16, b"\x02\x00", r"is no shared object \(type 2\)"),
    "headers far away": (32, (1 << 40).to_bytes(8, "little"), "the ELF is cut off"),
    "headers of an odd size": (54, b"\x07\x00", "the ELF is cut off"),
    "too many headers": (56, b"\xff\xff", "the ELF is cut off"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_headers(code, expect_refusal, name):
    at, value, text = ALTERED[name]
    expect_refusal(code[:at] + value + code[at + len(value) :], code, text)


def test_an_object_without_headers_to_load(code, expect_refusal):
    expect_refusal(code[:56] + b"\x00\x00" + code[58:], code, "the shared object cannot be loaded")


def test_an_object_without_the_entry(tmp_path, code, expect_refusal):
    source, path = tmp_path / "empty.c", tmp_path / "empty.so"
    source.write_text("static int nothing __attribute__((unused));\n")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", path], check=True, timeout=60)
    expect_refusal(path.read_bytes(), code, "the binary holds no kernel 'mixed'")


def test_an_object_that_needs_what_nobody_has(tmp_path, code, expect_refusal):
    source, path = tmp_path / "needy.c", tmp_path / "needy.so"
    source.write_text("extern int pypto_nobody_has_this; int *mixed_mix_aic(void) { return &pypto_nobody_has_this; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", path], check=True, timeout=60)
    expect_refusal(path.read_bytes(), code, "the shared object cannot be loaded: .*pypto_nobody_has_this")


def test_empty_files_and_bytes(tmp_path):
    path = tmp_path / "empty.o"
    path.write_bytes(b"")
    for empty in (b"", bytearray(), path, str(path)):
        with pytest.raises(ValueError, match="the kernel 'k' is no ELF file: it is empty|it begins with b''"):
            ir.load_kernel(empty, entry="k", parameters=OUT)
    with pytest.raises(OSError):
        ir.load_kernel(tmp_path, entry="k", parameters=OUT)


def test_a_saved_object_that_was_altered_is_no_program_file(code, tmp_path):
    program = ir.load_kernel(code, entry="mixed", parameters=OUT, magic="mix")
    program.save(tmp_path / "kernel.pto")
    data = bytearray((tmp_path / "kernel.pto").read_bytes())
    data[data.index(b"\x7fELF") + 300] ^= 1
    (tmp_path / "kernel.pto").write_bytes(data)
    with pytest.raises(pypto.ProgramFormatError):
        ir.load(tmp_path / "kernel.pto")


def test_many_loads_leave_nothing(worker, code):
    program = ir.load_kernel(code, entry="mixed", parameters=OUT, magic="mix", blocks=2)
    out = torch.empty(3, dtype=torch.int64)
    descriptors, binaries = len(list(Path("/proc/self/fd").iterdir())), testing.live_handles()["binary"]
    for _ in range(50):
        with worker.register(program) as handle:
            handle(out)
            assert out.tolist()[1:] == [2, 2]
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert testing.live_handles()["binary"] == binaries
