"""Setters, getters, checks of values and their messages, scopes as text."""

import contextvars
import inspect
import json
import subprocess
import sys

import pytest

import pypto
from pypto import _core

GROUPS = ("runtime", "host", "pass", "codegen", "verify", "debug", "operation")


@pytest.fixture(autouse=True)
def own_scope():
    """What a test sets ends with it."""
    with pypto.options("test"):
        yield


def setter(group):
    return getattr(pypto, f"set_{group}_options")


def getter(group):
    return getattr(pypto, f"get_{group}_options")


def run_python(code, **environment):
    import os

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def test_defaults():
    assert pypto.get_runtime_options() == {
        "device_sched_mode": 0,
        "run_mode": 0,
        "stitch_function_num_per_pool": [0, 0, 0],
        "stitch_function_max_num": 128,
        "max_workspace_kb": 0,
        "valid_shape_optimize": 0,
        "ready_on_host_tensors": [],
        "device_sched_parallelism": 1,
        "launch_sched_aicpu_num": 7,
        "launch_early_mode": 0,
    }
    assert pypto.get_pass_options()["cube_nbuffer_setting"] == {-1: 1}
    assert pypto.get_pass_options()["sg_set_scope"] == [-1, 0, 0]
    assert pypto.get_verify_options()["pass_verify_error_tol"] == [1e-3, 1e-3]


def test_the_packaged_file_gives_the_defaults_of_the_schema():
    rows = {row["name"]: row["default"] for row in _core.option_schema() if not row["internal"]}
    node = pypto.config.scopes.ensure_defaults()
    for name, value in rows.items():
        if node.has(name):
            assert node.get(name) == value, name


@pytest.mark.parametrize("group", GROUPS)
def test_setting_what_is_read_changes_nothing(group):
    if group == "pass":
        pypto.set_pass_options(cube_l1_reuse_setting={3: (4, "left"), 4: 5}, sg_set_scope=(7, True, False))
    before = pypto.get_options_tree()
    setter(group)(**getter(group)())
    pypto.set_options(**{f"{group}_options": getter(group)()})
    assert pypto.get_options_tree() == before


@pytest.mark.parametrize("group", GROUPS)
def test_keywords_of_a_setter_are_the_keys_of_its_getter(group):
    assert list(inspect.signature(setter(group)).parameters) == list(getter(group)())
    with pytest.raises(TypeError):
        setter(group)(1)


def test_getters_give_copies():
    pypto.get_runtime_options()["stitch_function_num_per_pool"].append(3)
    pypto.get_pass_options()["cube_nbuffer_setting"][3] = 3
    assert pypto.get_runtime_options()["stitch_function_num_per_pool"] == [0, 0, 0]
    assert pypto.get_pass_options()["cube_nbuffer_setting"] == {-1: 1}


def test_setters_leave_other_keys_alone():
    pypto.set_host_options(compile_timeout=5)
    pypto.set_host_options(compile_stage=2, compile_timeout=None)
    assert pypto.get_host_options()["compile_timeout"] == 5
    assert pypto.get_host_options()["compile_stage"] == 2
    pypto.set_verify_options(pass_verify_pass_filter=[])
    assert pypto.get_verify_options()["pass_verify_pass_filter"] == []


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"runtime": {"not_exist": 1}}, KeyError, r"key: runtime.not_exist does not exist\."),
        ({"runtime": {"run_mod": 1}}, KeyError, r"Did you mean runtime.run_mode\?"),
        ({"runtime": {"max_workspace_kb": "8"}}, TypeError, "Option 'runtime.max_workspace_kb' has invalid type. "
         "Expected int64, but got string"),
        ({"runtime": {"max_workspace_kb": True}}, TypeError, "Expected int64, but got bool"),
        ({"runtime": {"max_workspace_kb": None}}, TypeError, "Expected int64, but got None"),
        ({"runtime": {"max_workspace_kb": {1, 2}}}, TypeError, "Expected int64, but got set"),
        ({"runtime": {"max_workspace_kb": 1 << 70}}, ValueError, "doesn't within the value range"),
        ({"runtime": {"ready_on_host_tensors": ["x", 3]}}, TypeError, "has invalid list element type at index 1. "
         "Expected str, but got int"),
        ({"runtime": {"stitch_function_max_num": 0}}, ValueError, "doesn't within the value range"),
        ({"runtime": {"stitch_function_max_num": 1025}}, ValueError, "doesn't within the value range"),
        ({"runtime": {3: 1}}, TypeError, "keys are strings"),
        ({"runtime": [1]}, TypeError, "runtime_options: expected a dict, got list"),
        ({"verify": {"enable_pass_verify": 1}}, TypeError, "Expected bool, but got int64"),
        ({"pass": {"pg_partition_algorithm": "Best"}}, ValueError, "doesn't within the value range"),
        ({"pass": {"cube_nbuffer_setting": 3}}, TypeError, r"Expected dict\[int64, int64\], but got int64"),
        ({"pass": {"sg_set_scope": -2}}, ValueError, r"scope_id -2 is out of range. Expected -1~2147483647\."),
        ({"pass": {"sg_set_scope": (1, True)}}, ValueError, "Expected 3"),
        ({"pass": {"sg_set_scope": (1, True, 4)}}, TypeError, "Expected bool"),
        ({"pass": {"sg_set_scope": "a"}}, TypeError, r"Expected int64 or tuple, but got str\."),
        ({"pass": {"sg_set_ooo_scope": 0}}, ValueError, r"Expected -1 or an integer in \[1, 100000\]"),
        ({"pass": {"vec_nbuffer_setting": {1: 1, "func1_2": 2}}}, ValueError, "cannot mix"),
    ],
)  # fmt: skip
def test_refused_values(options, kind, text):
    before = pypto.get_options_tree()
    groups = {f"{group}_options": values for group, values in options.items()}
    for call in (pypto.set_options, pypto.options):
        with pytest.raises(kind, match=text) as caught:
            call(**groups)
        assert isinstance(caught.value, pypto.FeError)
    assert pypto.get_options_tree() == before


def test_a_wrong_value_changes_nothing_of_the_call():
    with pytest.raises(ValueError):
        pypto.set_options(host_options={"compile_timeout": 5}, runtime_options={"stitch_function_max_num": 0})
    assert pypto.get_host_options()["compile_timeout"] == 600


def test_error_codes():
    with pytest.raises(pypto.FeError, match="ErrCode: F00001, TypeError: Option"):
        pypto.set_host_options(compile_timeout="a")
    with pytest.raises(pypto.FeError, match="ErrCode: F00002, ValueError: Option"):
        pypto.set_host_options(compile_timeout=-1)
    with pytest.raises(pypto.FeError, match="ErrCode: F00006, KeyError: key: host.x"):
        pypto.set_host_options(x=-1)


def test_unknown_keywords():
    with pytest.raises(TypeError, match="unknown keyword argument 'runtime'; known: runtime_options"):
        pypto.set_options(runtime={})
    with pytest.raises(TypeError, match="name is a str, got int"):
        pypto.options(3)


def test_numbers_that_are_no_int_of_python():
    import numpy

    pypto.set_options(runtime_options={"max_workspace_kb": numpy.int64(7), "run_mode": pypto.RunMode.SIM})
    assert pypto.get_runtime_options()["max_workspace_kb"] == 7
    assert pypto.get_runtime_options()["run_mode"] == 1
    with pytest.raises(TypeError, match="but got numpy"):
        pypto.set_options(runtime_options={"max_workspace_kb": numpy.bool_(True)})


def test_depths_per_pool():
    pypto.experimental.set_runtime_options(stitch_function_num_per_pool=(1, 2, 1024))
    assert pypto.experimental.get_runtime_options()["stitch_function_num_per_pool"] == [1, 2, 1024]
    pypto.experimental.set_runtime_options()
    pypto.experimental.set_runtime_options(stitch_function_num_per_pool=None)
    assert pypto.get_runtime_options()["stitch_function_num_per_pool"] == [1, 2, 1024]
    with pytest.raises(TypeError):
        pypto.experimental.set_runtime_options([1, 1, 1])
    assert "stitch_function_num_per_pool" not in pypto.experimental.get_operation_options()
    pypto.reset_options()
    assert pypto.get_runtime_options()["stitch_function_num_per_pool"] == [0, 0, 0]


@pytest.mark.parametrize("depths", [[], [1, 1], [1] * 4, [1, 1, -1], [1, 1, 1025], [1, 1, True], [1, 1, 1.0], 3, "abc",
                                    {1, 2, 3}, {1: 1, 2: 2, 3: 3}, iter([1, 1, 1])])  # fmt: skip
def test_refused_depths_per_pool(depths):
    pypto.experimental.set_runtime_options(stitch_function_num_per_pool=[4, 5, 6])
    with pytest.raises(ValueError, match="Invalid stitch_function_num_per_pool") as caught:
        pypto.experimental.set_runtime_options(stitch_function_num_per_pool=depths)
    assert isinstance(caught.value, pypto.FeError)
    assert pypto.get_runtime_options()["stitch_function_num_per_pool"] == [4, 5, 6]


def test_operation_options():
    pypto.experimental.set_operation_options(combine_axis=False)
    assert pypto.experimental.get_operation_options() == {"combine_axis": False}
    with pytest.raises(TypeError, match="Expected bool"):
        pypto.experimental.set_operation_options(combine_axis=1)


def test_tile_shapes():
    scope = pypto.get_current_scope()
    with pytest.raises(KeyError, match="Option not found: cube_tile_shapes"):
        scope.get_cube_tile_shapes()
    assert pypto.get_vec_tile_shapes() == []
    pypto.set_cube_tile_shapes([16, 16], [256, 512], [128, 128])
    pypto.set_vec_tile_shapes(4, 8)
    pypto.set_conv_tile_shapes(1, 2)
    pypto.set_matrix_size([64, 32, 16])
    assert pypto.get_cube_tile_shapes() == ([16, 16], [256, 512, 512], [128, 128], False)
    assert pypto.get_vec_tile_shapes() == [4, 8]
    assert pypto.get_conv_tile_shapes() == [1, 2]
    assert pypto.get_matrix_size() == [64, 32, 16]
    before = pypto.get_options_tree()
    pypto.set_options(
        vec_tile_shapes=pypto.get_vec_tile_shapes(),
        cube_tile_shapes=pypto.get_cube_tile_shapes(),
        conv_tile_shapes=pypto.get_conv_tile_shapes(),
        matrix_size=pypto.get_matrix_size(),
    )
    assert pypto.get_options_tree() == before
    assert not scope.has("matrix_size")  # it was taken earlier
    pypto.set_options(vec_tile_shapes=[])
    assert pypto.get_vec_tile_shapes() == []


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"vec_tile_shapes": [1] * 6}, ValueError, "expected 1 to 5 extents, got 6"),
        ({"vec_tile_shapes": [0]}, ValueError, "doesn't within the value range"),
        ({"vec_tile_shapes": 3}, TypeError, r"Expected list\[int64\]"),
        ({"cube_tile_shapes": [[1, 1], [1, 1]]}, ValueError, "but got 2 elements"),
        ({"cube_tile_shapes": [[1, 1], [1, 1], [1, 1], 1]}, TypeError, "index 3. Expected bool, but got int"),
    ],
)
def test_refused_tile_shapes(options, kind, text):
    with pytest.raises(kind, match=text):
        pypto.set_options(**options)


def test_split_k_is_kept_and_goes_back_into_the_setters():
    tile = ([16, 16], [256, 512, 512], [128, 128], True)
    with pypto.options():
        pypto.set_cube_tile_shapes([16, 16], [256, 512], [128, 128], enable_split_k=True)
        assert pypto.get_cube_tile_shapes() == tile
        pypto.set_options(cube_tile_shapes=pypto.get_cube_tile_shapes())
        pypto.set_cube_tile_shapes(*pypto.get_cube_tile_shapes())
        assert pypto.get_cube_tile_shapes() == tile


@pytest.mark.parametrize(("function", "first"), [(pypto.set_options, []), (pypto.options, ["name"])])
def test_signatures_name_every_keyword(function, first):
    parameters = inspect.signature(function).parameters
    keywords = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    groups = ("codegen", "host", "pass", "runtime", "verify", "debug", "operation")
    tiles = {"vec_tile_shapes", "cube_tile_shapes", "conv_tile_shapes", "matrix_size"}
    assert [name for name in parameters if name not in keywords] == first
    assert set(keywords) == {f"{group}_options" for group in groups} | tiles
    assert all(parameters[name].default is None for name in keywords)


def test_matrix_size_has_three_elements():
    with pytest.raises(ValueError, match="got 2 elements"):
        pypto.set_matrix_size([1, 2])


def test_semantic_label():
    pypto.set_semantic_label("attention")
    assert pypto.get_current_scope().get_options("semantic_label") == "attention"
    with pytest.raises(ValueError, match="conflicts with function-granularity hashOrder"):
        pypto.set_semantic_label("func1_0")
    with pytest.raises(TypeError, match="expected a str, got None"):
        pypto.set_semantic_label(None)


def test_current_scope():
    pypto.set_pass_options(pg_lower_bound=7)
    scope = pypto.get_current_scope()
    assert scope.name == "test"
    assert scope.get_options("pass") == scope.get_options("pass.") == scope.get_pass_options()
    assert scope.get_options("pass.pg_lower_bound") == scope.get_all()["pass.pg_lower_bound"] == 7
    for group in GROUPS:
        assert getattr(scope, f"get_{group}_options")() == getter(group)()
    assert scope.has("pass.pg_lower_bound")
    assert not scope.has("pass.nothing")
    assert not scope.has("vec_tile_shapes")
    with pytest.raises(KeyError, match="Option not found: nothing") as caught:
        scope.get_options("nothing")
    assert isinstance(caught.value, pypto.FeError)
    pypto.set_pass_options(pg_lower_bound=8)
    assert scope.get_pass_options()["pg_lower_bound"] == 7


def test_the_tree_and_the_description():
    with pypto.options("outer", host_options={"compile_stage": 1}), pypto.options("inner", vec_tile_shapes=[4]):
        pypto.set_options(host_options={"compile_timeout": 4})
        tree = pypto.get_options_tree()
        text = pypto.config.describe()
    names = [line.strip() for line in tree.splitlines() if "=" not in line]
    assert names[:2] == ["default", "global"]
    assert names[-2:] == ["outer", "inner"]
    assert "host.compile_timeout = 4 (scope)" in tree
    assert "host.compile_timeout = 4 (scope, no effect in this version)\n" in text
    assert "runtime.stitch_function_max_num = 128 (file)\n" in text
    assert "vec_tile_shapes = [4] (scope)\n" in text


def test_global_config():
    def body():
        pypto.set_print_options()
        pypto.set_global_config("codegen.anything", ["a", 1, {"b": None}])
        pypto.reset_options()
        values = [pypto.get_global_config(f"tensor_print.{name}") for name in ("edgeitems", "precision", "linewidth")]
        return values, pypto.get_global_config("global.codegen.anything")

    try:
        assert contextvars.copy_context().run(body) == ([3, 4, 10], ["a", 1, {"b": None}])
    finally:
        pypto.set_print_options(3, 4, 1000, 80)
    assert pypto.get_global_config("tensor_print.linewidth") == 80
    with pytest.raises(KeyError, match=r"Option not found: global\.nothing"):
        pypto.get_global_config("nothing")
    with pytest.raises(TypeError, match="cannot hold a value of type object"):
        pypto.set_global_config("x", object())
    with pytest.raises(TypeError, match="the key is a str"):
        pypto.set_global_config(3, 3)
    with pytest.raises(TypeError, match="edgeitems is an int"):
        pypto.set_print_options(True)
    with pytest.raises(ValueError, match="precision is not negative"):
        pypto.set_print_options(precision=-1)


def test_a_defaults_file_of_the_user(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"runtime": {"stitch_function_max_num": 9, "run_mode": 1}, "global": {"a": {"b": 4}}}))
    code = (
        "import pypto\n"
        "pypto.set_global_config('c', 5)\n"
        "print(pypto.config.describe().splitlines()[3], pypto.get_global_config('a.b'), pypto.get_global_config('c'))\n"
        "@pypto.jit\ndef kernel(x: pypto.Tensor([4], pypto.DT_FP32)):\n    x[:] = x + 1\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code + "print(pypto.ir.compile(kernel)._image.options, kernel.options.platform())\n")
    status, out, err = run_python(f"exec(compile(open({str(script)!r}).read(), {str(script)!r}, 'exec'))",
                                  TILEFWK_CONFIG_PATH=str(path))  # fmt: skip
    assert status == 0, err
    assert "runtime.stitch_function_max_num = 9 (environment) 4 5" in out
    assert "'stitch_function_max_num': 9" in out
    assert out.strip().endswith("None")  # a run_mode of the file does not count as given


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (None, "OSError", "cannot read the options file"),
        ("{", "ValueError", "mine.json"),
        ('{"runtime": {"x": 1}}', "KeyError", "key: runtime.x does not exist"),
        ('{"runtime": {"run_mode": "a"}}', "TypeError", "invalid type"),
    ],
)
def test_a_defaults_file_that_cannot_be_used(tmp_path, text, kind, message):
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_text(text)
    code = (
        "import pypto\n"
        "for _ in range(2):\n"
        "    try:\n        pypto.get_runtime_options()\n"
        f"    except pypto.FeError as error:\n        print(isinstance(error, {kind}), error)\n"
    )
    status, out, err = run_python(code, TILEFWK_CONFIG_PATH=str(path))
    assert status == 0, err
    lines = [line for line in out.splitlines() if line.startswith("True ")]
    assert len(lines) == 2
    assert message in out


def test_names_are_loaded_when_first_used():
    code = (
        "import sys, pypto\n"
        "print([m for m in sys.modules if m.startswith(('pypto.config', 'pypto.experimental', 'inspect', 'json'))])\n"
        "pypto.set_options(runtime_options={'run_mode': 1})\n"
        "print(pypto.options is pypto.config.options, 'pypto.frontend' in sys.modules, 'torch' in sys.modules)\n"
        "print(sorted(set(pypto.config.__all__) - set(dir(pypto))))\n"
    )
    status, out, err = run_python(code)
    assert status == 0, err
    assert out.splitlines() == ["[]", "True False False", "['describe']"]
