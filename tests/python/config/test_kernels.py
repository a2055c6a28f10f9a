"""Options as kernels see them: in force when compiled, overridden by jit, scoped by loops, refused inside."""

import queue
import re
import threading

import pytest
import torch

import pypto
from pypto import ir

FP32 = pypto.DT_FP32
T = pypto.Tensor


@pypto.frontend.jit
def plain(x: T([64, 64], FP32)):
    x[:] = x + 1


def options_of(compiled):
    """The options in the plan of a compiled program."""
    options = compiled._image.options
    return {name: list(value) if isinstance(value, list | tuple) else value for name, value in options.items()}


def jitted(**groups):
    return pypto.frontend.jit(**groups)(plain.function)


def test_options_in_force_belong_to_the_program():
    first = ir.compile(plain)
    runtime = {
        "stitch_function_max_num": 16,
        "max_workspace_kb": 4096,
        "stitch_function_num_per_pool": [1, 2, 3],
        "device_sched_parallelism": 4,
    }
    with pypto.options(runtime_options=runtime):
        second = ir.compile(plain)
        second_options = options_of(second)
        assert ir.compile(plain).fingerprint == second.fingerprint
    assert second_options == runtime
    assert options_of(first)["stitch_function_max_num"] == 128
    assert first.fingerprint != second.fingerprint
    assert ir.compile(plain).fingerprint == first.fingerprint


def test_any_option_makes_another_compilation_and_equal_values_do_not():
    kernel = jitted()
    ir.compile(kernel)
    with pypto.options(pass_options={"pg_lower_bound": 3}):
        ir.compile(kernel)
    assert kernel.cache_info().misses == 2
    with pypto.options("other", pass_options={"pg_lower_bound": 3}), pypto.options():
        ir.compile(kernel)
    with pypto.options(pass_options={"pg_lower_bound": 512}):  # the value in force
        ir.compile(kernel)
    assert kernel.cache_info()[:2] == (2, 2)


def test_jit_overrides_the_scope():
    group = {"stitch_function_max_num": 8}
    kernel = jitted(runtime_options=group, host_options={})
    with pypto.options(runtime_options={"stitch_function_max_num": 16, "device_sched_parallelism": 2}):
        options = options_of(ir.compile(kernel))
        assert (options["stitch_function_max_num"], options["device_sched_parallelism"]) == (8, 2)
        del group["stitch_function_max_num"]  # the dict is kept by reference
        assert options_of(ir.compile(kernel))["stitch_function_max_num"] == 16
        assert pypto.get_runtime_options()["stitch_function_max_num"] == 16


def test_a_decorated_function_compiles_under_its_options():
    @pypto.options(runtime_options={"stitch_function_max_num": 4})
    def compile_it():
        return options_of(ir.compile(plain))["stitch_function_max_num"]

    assert compile_it() == 4
    assert options_of(ir.compile(plain))["stitch_function_max_num"] == 128


def test_depths_per_pool_are_no_option_of_jit():
    with pytest.raises(ValueError, match=r"pypto\.experimental\.set_runtime_options") as caught:
        jitted(runtime_options={"stitch_function_num_per_pool": [1, 1, 1]})
    assert isinstance(caught.value, pypto.FeError)
    group = {}
    kernel = jitted(runtime_options=group)
    group["stitch_function_num_per_pool"] = [1, 1, 1]
    with pytest.raises(ValueError, match=r"pypto\.experimental\.set_runtime_options"):
        ir.compile(kernel)


@pytest.mark.parametrize(
    ("groups", "kind", "text"),
    [
        ({"runtime_options": {"not_exist": 1}}, KeyError, "key: runtime.not_exist does not exist."),
        ({"pass_options": {"pg_lower_bound": "a"}}, TypeError, "Option 'pass.pg_lower_bound' has invalid type"),
        ({"host_options": {"compile_stage": 6}}, ValueError, "doesn't within the value range"),
        ({"debug_options": {1: 6}}, TypeError, "debug_options: keys are strings, got int"),
        ({"runtime_options": {"run_mode": 2}}, ValueError, "Invalid run mode 2"),
        ({"runtime_options": {"run_mode": True}}, ValueError, "Invalid run mode True"),
    ],
)
def test_wrong_options_of_jit(groups, kind, text):
    with pytest.raises(kind, match=text) as caught:
        ir.compile(jitted(**groups))
    assert isinstance(caught.value, pypto.FeError)


def test_run_mode_of_a_scope():
    kernel = jitted()
    assert kernel.options.platform() is None
    pypto.set_options(runtime_options=pypto.get_runtime_options())
    assert kernel.options.platform() is None  # a value that is in force already is not given by this
    with pypto.options(runtime_options={"run_mode": pypto.RunMode.SIM}):
        assert kernel.platform == "a2a3sim"
        assert jitted(runtime_options={"run_mode": 0}).platform == "a2a3"
        with pypto.options(runtime_options={"run_mode": 0}):
            assert kernel.platform == "a2a3"
    assert jitted(runtime_options={"run_mode": 0}).platform == "a2a3"


def test_what_a_kernel_sets_does_not_leak_out():
    seen = queue.SimpleQueue()  # no container that the tracer watches

    def look():
        seen.put(pypto.get_pass_options()["pg_lower_bound"])

    @pypto.frontend.jit(pass_options={"pg_lower_bound": 1})
    def kernel(x: T([64, 64], FP32), n: int):
        look()
        for _ in pypto.loop(4):
            look()
            pypto.set_pass_options(pg_lower_bound=2)
            if n > 3:
                pypto.set_pass_options(pg_lower_bound=3)
                look()
            else:
                look()
                pypto.set_options(pass_options={"pg_lower_bound": 4})
            look()
            x[:] = x + 1
        look()
        if n is not None:
            pypto.set_pass_options(pg_lower_bound=5)
        look()

    before = pypto.get_options_tree()
    ir.compile(kernel)
    values = [seen.get_nowait() for _ in range(seen.qsize())]
    assert values[-7:] == [1, 1, 3, 2, 2, 1, 5]
    assert pypto.get_options_tree() == before


def test_a_block_inside_a_kernel():
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        with pypto.options(vec_tile_shapes=[8, 8]):
            x[:] = x + 1
            for _ in pypto.loop(2):
                x[:] = x + 2
                pypto.set_vec_tile_shapes(16, 16)
                x[:] = x + 3
        x[:] = x + 4

    text = kernel.to_text()
    assert re.findall(r"add\(%\d+\S*, (\d)\).*?(?:vec_tile \[(\d+)|$)", text, re.MULTILINE) == [
        ("1", "8"), ("2", "8"), ("3", "16"), ("4", ""),
    ]  # fmt: skip


def test_scopes_of_a_kernel(capsys):
    @pypto.frontend.jit(pass_options={"pg_lower_bound": 1})
    def kernel(x: T([64, 64], FP32)):
        for i in pypto.loop(4):
            if i > 1:
                print(pypto.get_options_tree())  # a list would be the state of the branch
            x[:] = x + 1

    with pypto.options("mine"):
        ir.compile(kernel)
    told = capsys.readouterr().out
    names = [line.strip() for line in told.splitlines() if line.strip() and "=" not in line]
    assert names[-4:] == ["mine", "jit_scope", "loop", "then"]
    assert "pass.pg_lower_bound = 1 (jit)" in told


@pytest.mark.parametrize(
    "call",
    [
        lambda: pypto.set_runtime_options(run_mode=1),
        lambda: pypto.set_host_options(compile_stage=1),
        lambda: pypto.set_codegen_options(vf_compiler=True),
        lambda: pypto.set_verify_options(enable_pass_verify=True),
        lambda: pypto.set_debug_options(compile_debug_mode=1),
        lambda: pypto.experimental.set_runtime_options(stitch_function_num_per_pool=[0, 0, 0]),
        lambda: pypto.set_options(pass_options={"pg_lower_bound": 1}, runtime_options={"run_mode": 0}),
        lambda: pypto.options(host_options={"compile_stage": 1}),
        pypto.reset_options,
    ],
)
def test_setters_that_raise_inside_a_kernel(call):
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        x[:] = x + 1
        call()

    with pytest.raises(RuntimeError, match="inside a kernel") as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, pypto.FeError)
    assert f'File "{__file__}"' in str(caught.value)
    pypto.set_options(runtime_options={"run_mode": 0})  # nothing of the kernel is left


def test_a_block_made_outside_and_entered_inside_a_kernel():
    block = pypto.options(host_options={"compile_stage": 1})

    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        with block:
            x[:] = x + 1

    with pytest.raises(RuntimeError, match="host options cannot be set inside a kernel"):
        ir.compile(kernel)


def test_settings_allowed_inside_a_kernel():
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        pypto.set_pass_options(pg_lower_bound=2)
        pypto.experimental.set_operation_options(combine_axis=False)
        pypto.set_semantic_label("label")
        pypto.set_matrix_size([64, 64, 64])
        pypto.set_conv_tile_shapes([1, 1])
        pypto.set_cube_tile_shapes([64, 64], [64, 64], [64, 64])
        x[:] = x + 1

    before = pypto.get_options_tree()
    ir.compile(kernel)
    assert pypto.get_options_tree() == before


def test_a_wrong_option_inside_a_kernel_points_at_its_line():
    @pypto.frontend.jit
    def kernel(x: T([64, 64], FP32)):
        pypto.set_pass_options(pg_lower_bound="a")
        x[:] = x + 1

    with pytest.raises(TypeError, match="has invalid type. Expected int64, but got string") as caught:
        ir.compile(kernel)
    assert isinstance(caught.value, pypto.FeError)
    assert 'pypto.set_pass_options(pg_lower_bound="a")' in str(caught.value)
    assert str(caught.value).count("ErrCode") == 1


def test_a_compiled_program_never_changes(worker):
    x = torch.zeros(64, 64)
    with pypto.options(runtime_options={"stitch_function_max_num": 4}):
        program = ir.compile(plain)
        handle = worker.register(program)
    fingerprint, options = program.fingerprint, options_of(program)
    with pypto.options(runtime_options={"stitch_function_max_num": 8}):
        handle(x)
    assert torch.equal(x, torch.ones(64, 64))
    assert (program.fingerprint, options_of(program)) == (fingerprint, options)
    handle.unregister()


def test_a_direct_call_compiles_for_the_scope():
    kernel = jitted(runtime_options={"run_mode": pypto.RunMode.SIM})
    x = torch.zeros(64, 64)
    kernel(x)
    with pypto.options(runtime_options={"stitch_function_max_num": 8}):
        kernel(x)
        kernel(x)
    kernel(x)
    assert kernel.cache_info()[:2] == (2, 2)
    assert torch.equal(x, torch.full((64, 64), 4.0))


def test_threads_compile_under_their_own_options():
    kernel = jitted()
    results = {}
    together = threading.Barrier(8)

    def body(number):
        with pypto.options(
            runtime_options={"stitch_function_max_num": number + 1}, vec_tile_shapes=[8 * (number + 1)] * 2
        ):
            together.wait()
            for _ in range(3):
                compiled = ir.compile(kernel)
            text = re.search(r"vec_tile \[(\d+)", kernel.to_text())[1]
            results[number] = (options_of(compiled)["stitch_function_max_num"], int(text))

    threads = [threading.Thread(target=body, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: (number + 1, 8 * (number + 1)) for number in range(8)}
    assert kernel.cache_info().misses == 8
