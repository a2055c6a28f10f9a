"""Kernels of other compilers: a shared object of this host, built here, stands in for AI-core code."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import pypto
from pypto import ir
from pypto.runtime import ChipWorker, RunConfig, benchmark

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

AXPY = [
    ir.Parameter("x", "tensor", pypto.DT_FP32, ("n",)),
    ir.Parameter("y", "tensor", pypto.DT_FP32, ("n",), "inout"),
    ir.Parameter("a", "float"),
    ir.Parameter("count", "int", pypto.DT_INT32),
]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "kernels.o"
    source = ROOT / "tests" / "cpp" / "mock_acl" / "host_kernels.c"
    include = Path(pypto.__file__).parent / "include"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, f"-I{include}", "-o", path], check=True, timeout=60)
    return path


@pytest.fixture
def axpy(kernels) -> ir.CompiledProgram:
    return ir.load_kernel(kernels, entry="axpy", parameters=AXPY, blocks=4, magic="vector")


def test_right_numbers_from_host_and_resident_arguments(worker, axpy):
    x, y = torch.arange(1000.0), torch.ones(1000)
    worker.run(axpy, x, y, 2.0, 1000)
    assert torch.equal(y, 1 + 2 * x)
    with worker.register(axpy) as handle:
        resident = worker.alloc_tensor((1000,), torch.float32, init=x)
        handle(resident, y, -2.0, 1000)
        assert torch.equal(y, torch.ones(1000))
        handle.submit(resident, y, 1.0, 1000).result()
        assert torch.equal(y, 1 + x)
    assert worker.counters()["program_loads"] == 1


def test_what_the_program_says_of_itself(axpy):
    assert axpy.name == "axpy"
    assert axpy.platform == "a2a3sim"
    assert [parameter.direction for parameter in axpy.parameters] == ["in", "inout", "in", "in"]
    (binary,) = axpy.binaries
    assert (binary.entry, binary.core, binary.blocks, binary.takes_sync_address) == ("axpy", "vector", 4, False)
    assert [kind for kind, _ in axpy.sections] == ["plan", "debug", "binary"]


def test_saved_and_loaded(worker, axpy, tmp_path):
    axpy.save(tmp_path / "one.pto")
    loaded = ir.load(tmp_path / "one.pto")
    assert loaded.fingerprint == axpy.fingerprint
    loaded.save(tmp_path / "two.pto")
    assert (tmp_path / "one.pto").read_bytes() == (tmp_path / "two.pto").read_bytes()
    y = torch.zeros(10)
    worker.run(loaded, torch.ones(10), y, 3.0, 10)
    assert torch.equal(y, torch.full((10,), 3.0))


def test_bytes_are_taken_as_well(worker, kernels):
    program = ir.load_kernel(kernels.read_bytes(), entry="axpy", parameters=AXPY)
    assert program.binaries[0].blocks == 1
    y = torch.zeros(10)
    worker.run(program, torch.ones(10), y, 3.0, 10)
    assert y.sum() == 30


def test_a_mix_kernel_gets_the_synchronisation_address_and_runs_both_parts(worker, kernels):
    out = ir.Parameter("out", "tensor", pypto.DT_INT64, (3,), "out")
    program = ir.load_kernel(kernels, entry="mixed", parameters=[out], blocks=6, magic="mix")
    assert program.binaries[0].takes_sync_address
    address, vector_blocks, blocks = worker.run(program).tolist()
    assert address != 0
    assert (vector_blocks, blocks) == (6, 6)


def test_benchmark_times_it_with_events(worker, axpy):
    x, y = torch.ones(100_000), torch.zeros(100_000)
    stats = benchmark(axpy, (x, y, 1.0, 100_000), rounds=5, warmup=1, worker=worker)
    assert stats.device_wall_us_min > 0
    assert stats.device_wall_us_min < stats.host_wall_us_max
    assert torch.equal(y, torch.full((100_000,), 11.0))  # the rounds, the warm-up, the rounds that time copies


def test_wrong_arguments(worker, axpy):
    x, y = torch.ones(10), torch.ones(10)
    with pytest.raises(TypeError, match="argument 'count' of axpy is missing: it is a number of each launch; pass"):
        worker.run(axpy, x, y, 1.0)
    with pytest.raises(TypeError, match="kernel 'axpy' takes 4 arguments, got 5"):
        worker.run(axpy, x, y, 1.0, 10, 10)
    with pytest.raises(ValueError, match="argument 'count' of axpy is 4294967296, which does not fit 32 bits"):
        worker.run(axpy, x, y, 1.0, 1 << 32)
    with pytest.raises(ValueError, match="dim 0 is 9, but n is 10"):
        worker.run(axpy, x, torch.ones(9), 1.0, 9)
    with pytest.raises(TypeError, match="argument 'count' must be an int, got float"):
        worker.run(axpy, x, y, 1.0, 1.5)
    assert torch.equal(y, torch.ones(10))


def test_a_fault_from_map(kernels):
    x = ir.Parameter("x", "tensor", pypto.DT_FP32, (4,), "inout")
    program = ir.load_kernel(kernels, entry="stray", parameters=[x], blocks=2)
    with ChipWorker(config=RunConfig(platform="a2a3sim")) as worker:
        with pytest.raises(pypto.AclError, match="kernel 'stray', block 1 of 2: reads") as caught:
            worker.run(program, torch.zeros(4))
        assert caught.value.code == 507015
        with pytest.raises(RuntimeError):
            worker.run(program, torch.zeros(4))


def test_a_missing_entry(worker, kernels):
    program = ir.load_kernel(kernels, entry="absent", parameters=AXPY)
    with pytest.raises(pypto.AclError, match="the binary holds no kernel 'absent'"):
        worker.register(program)


def test_code_of_another_machine_needs_hardware(worker, kernels):
    code = bytearray(kernels.read_bytes())
    code[18:20] = (4137).to_bytes(2, "little")
    program = ir.load_kernel(code, entry="axpy", parameters=AXPY)
    assert program.platform == "a2a3"
    with pytest.raises(ValueError, match="compiled for platform 'a2a3', this worker is on 'a2a3sim'"):
        worker.register(program)
    program = ir.load_kernel(code, entry="axpy", parameters=AXPY, platform="a2a3sim")
    with pytest.raises(pypto.AclError, match="the ELF holds code for machine 4137"):
        worker.register(program)


BAD = {
    "magic": ({"magic": 0x41415243}, ValueError, r"magic=1094799939 is unknown: aicore, vector, cube, mix"),
    "magic name": ({"magic": "aicpu"}, ValueError, "magic='aicpu' is unknown"),
    "blocks": ({"blocks": 0}, ValueError, "blocks=0 is outside 1 to 65535"),
    "many blocks": ({"blocks": 65536}, ValueError, "blocks=65536"),
    "blocks type": ({"blocks": True}, TypeError, "blocks must be an int"),
    "entry": ({"entry": ""}, ValueError, "entry is 0 bytes long"),
    "no parameters": ({"parameters": []}, ValueError, "0 parameters"),
    "parameter type": ({"parameters": ["x"]}, TypeError, "must be ir.Parameter, got str"),
    "no dtype": ({"parameters": [ir.Parameter("x", "tensor")]}, ValueError, "'x' is a tensor and needs a dtype"),
    "kind": ({"parameters": [ir.Parameter("x", "pointer")]}, ValueError, "kind 'pointer'"),
    "scalar dtype": (
        {"parameters": [ir.Parameter("x", "float", pypto.DT_INT32)]},
        ValueError,
        "'x' of kind 'float' cannot travel as DT_INT32",
    ),
    "half scalar": (
        {"parameters": [ir.Parameter("x", "int", pypto.DT_FP16)]},
        ValueError,
        "scalar 'x' has dtype DT_FP16: scalars travel as",
    ),
    "direction": (
        {"parameters": [ir.Parameter("x", "tensor", pypto.DT_FP32, (4,), "up")]},
        ValueError,
        "direction 'up' is none of in, out, inout",
    ),
    "dim": ({"parameters": [ir.Parameter("x", "tensor", pypto.DT_FP32, (0,))]}, ValueError, "a dim of 0"),
    "platform": ({"platform": "a9"}, ValueError, "unknown platform 'a9'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_specifications(kernels, name):
    change, kind, text = BAD[name]
    with pytest.raises(kind, match=text):
        ir.load_kernel(kernels, **({"entry": "axpy", "parameters": AXPY} | change))


def test_what_is_no_elf_file_is_refused():
    with pytest.raises(ValueError, match="the kernel 'k' is no ELF file: it begins with b'abc'"):
        ir.load_kernel(b"abc", entry="k", parameters=AXPY)
    with pytest.raises(FileNotFoundError):
        ir.load_kernel("/nonexistent.o", entry="k", parameters=AXPY)
