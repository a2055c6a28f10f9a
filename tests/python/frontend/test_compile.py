"""Compiled programs: parameters, classes and units of the three-loop kernel, files, places of compiler errors."""

import re

import pytest
from frontend_samples import Sample
from worked_example import three_loops

import pypto
from pypto import ir

FP32 = pypto.DT_FP32
T = pypto.Tensor


def test_classes_of_the_three_loop_kernel():
    text = ir.compile(three_loops).to_text()
    classes = dict(re.findall(r"storage s\d+:(\S+): (\w+) ", text))
    inner = [name for name, kind in classes.items() if kind == "root_inner"]
    assert len(inner) == 1
    assert {name: kind for name, kind in classes.items() if kind != "root_inner"} == {
        "dy": "parameter",
        "weight": "parameter",
        "output1": "parameter",
        "output2": "parameter",
        "tmp_assemble": "assemble_outcast",
        "tmp_exclusive": "exclusive_outcast",
    }


@pytest.mark.parametrize(
    ("options", "depths", "total"),
    [
        ({}, (128, 128, 128), 1_146_880),
        ({"stitch_function_num_per_pool": [64, 1, 1]}, (64, 1, 1), 65_536),
        ({"stitch_function_num_per_pool": [1, 1, 1]}, (1, 1, 1), 32_768),
        ({"stitch_function_max_num": 64}, (64, 64, 64), None),
    ],
)
def test_workspace_of_the_three_loop_kernel(options, depths, total):
    with pypto.options(runtime_options=options):
        budget = ir.compile(three_loops).workspace_budget()
    assert tuple(pool.unit for pool in budget.pools) == (512, 4096, 4096)
    assert tuple(pool.depth for pool in budget.pools) == depths
    assert budget.boundary_bytes == 8192
    assert sum(item.bytes for item in budget.items) == budget.total_bytes
    if total is not None:
        assert budget.total_bytes == total
    assert f"total: {budget.total_bytes} B" in str(budget)


def test_a_needed_pool_of_depth_0():
    with pypto.options(runtime_options={"stitch_function_num_per_pool": [64, 0, 1]}):
        with pytest.raises(pypto.WorkspaceError, match="assemble_outcast"):
            ir.compile(three_loops)
        with pytest.raises(RuntimeError):
            ir.compile(three_loops)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"stitch_function_max_num": 0}, ValueError, "doesn't within the value range"),
        ({"stitch_function_max_num": "8"}, TypeError, "Option 'runtime.stitch_function_max_num' has invalid type"),
        ({"max_workspace_kb": -1}, ValueError, "doesn't within the value range"),
        ({"device_sched_parallelism": 9}, ValueError, "doesn't within the value range"),
    ],
)
def test_wrong_options(options, kind, text):
    kernel = pypto.frontend.jit(runtime_options=options)(three_loops.function)
    with pytest.raises(kind, match=text):
        ir.compile(kernel)


def test_parameters_and_directions():
    compiled = ir.compile(three_loops)
    assert [(p.name, p.kind, p.dtype, p.dims, p.direction) for p in compiled.parameters] == [
        ("dy", "tensor", FP32, (1, 64, 1, 16), "in"),
        ("weight", "tensor", FP32, (1, 16, 16), "in"),
        ("output1", "tensor", FP32, (1, 64, 16), "out"),
        ("output2", "tensor", FP32, (1, 64, 16), "out"),
    ]
    assert compiled.name == compiled.__name__ == "three_loops"
    assert compiled.platform == "a2a3sim"
    assert re.fullmatch("[0-9a-f]{64}", compiled.fingerprint)
    assert compiled.fingerprint[:12] in repr(compiled)


def test_partial_writes_say_why():
    @pypto.frontend.jit
    def kernel(x: T([8, 4], FP32), out: T([8, 4], FP32)):
        out[0:3] = x[0:3]

    parameter = ir.compile(kernel).parameters[1]
    assert parameter.direction == "inout"
    assert parameter.partial_reason == "line 2 writes only part of it"


def test_fingerprints_follow_the_content():
    def make(scale):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32)):
            x[:] = x * scale

        return kernel

    first = ir.compile(make(2.0))
    assert ir.compile(make(2.0)).fingerprint == first.fingerprint
    assert ir.compile(make(3.0)).fingerprint != first.fingerprint
    assert ir.compile(make(2.0), platform="a5sim").fingerprint != first.fingerprint


def test_places_do_not_take_part_in_the_fingerprint():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        x[:] = x * 2

    first = ir.compile(kernel).fingerprint

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        # A line more.

        x[:] = x * 2

    assert ir.compile(kernel).fingerprint == first


def test_files(tmp_path):
    compiled = ir.compile(three_loops)
    path = tmp_path / "program.pypto"
    compiled.save(path)
    assert list(tmp_path.iterdir()) == [path]
    loaded = ir.load(path)
    assert loaded.fingerprint == compiled.fingerprint
    assert loaded.parameters == compiled.parameters
    assert loaded.to_text() == compiled.to_text()
    assert str(loaded.workspace_budget()) == str(compiled.workspace_budget())


@pytest.mark.parametrize("damage", [b"", b"PYPTOIMG", "cut", "flip"])
def test_damaged_files(tmp_path, damage):
    compiled = ir.compile(three_loops)
    path = tmp_path / "program.pypto"
    compiled.save(path)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-5:]
    elif damage == "flip":
        data[len(data) // 2] ^= 0x40
    path.write_bytes(damage if isinstance(damage, bytes) else data)
    with pytest.raises(pypto.ProgramFormatError) as caught:
        ir.load(path)
    assert isinstance(caught.value, ValueError)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        ir.load(tmp_path / "none")
    with pytest.raises(OSError, match="none"):
        ir.compile(three_loops).save(tmp_path / "none" / "file")


def test_workspace_of_dynamic_dims():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN, 16], FP32), w: T([16, 16], FP32), out: T([pypto.DYN, 16], FP32)):
        tmp = pypto.tensor([x.shape[0], 16], FP32, "tmp")
        for i in pypto.loop(0, x.shape[0], 8):
            tmp[i : i + 8] = pypto.matmul(x[i : i + 8], w, FP32)
        for i in pypto.loop(0, x.shape[0], 8):
            out[i : i + 8] = tmp[i : i + 8] * 2

    compiled = ir.compile(kernel)
    with pytest.raises(ValueError, match="depends on the dim 'x_0'; give its value"):
        compiled.workspace_budget()
    budget = compiled.workspace_budget(x_0=100, out_0=100)
    assert budget.pools[1].unit == -(-100 * 16 * 4 // 512) * 512


def test_samples_fill_open_shapes():
    @pypto.frontend.jit
    def kernel(x: T([pypto.STATIC, ...]), y: T()):
        y[:] = x * 2

    compiled = kernel.compile(Sample((3, 5), "float16"), Sample((3, 5), "float16"), platform="a5sim")
    assert [(p.dtype, p.dims) for p in compiled.parameters] == [(pypto.DT_FP16, (3, 5))] * 2
    assert compiled.platform == "a5sim"
    with pytest.raises(pypto.FeError, match=r"Input x \(index 0\) must be a torch.Tensor, got int"):
        kernel.compile(3)
