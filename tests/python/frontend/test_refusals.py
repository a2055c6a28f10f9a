"""What kernels cannot hold: the text, and the file, line, column and source line it points at."""

import linecache

import pytest
import torch
from frontend_samples import line_of, refuse

import pypto
from pypto import ir

FP32 = pypto.DT_FP32
T = pypto.Tensor


def test_for_else():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        for _ in range(2):
            x[:] = x + 1
        else:  # noqa: PLW0120
            x[:] = x + 2

    refuse(kernel, "x[:] = x + 2", "Unsupported syntax: for … else", kind=SyntaxError)


def test_while_else():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        while False:
            x[:] = x + 1
        else:  # noqa: PLW0120
            x[:] = x + 2

    refuse(kernel, "x[:] = x + 2", "Unsupported syntax: while … else", kind=SyntaxError)


def test_variable_arguments():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), *rest):
        x[:] = x + 1

    refuse(kernel, "rest):", "Unsupported syntax: *rest in the kernel", "name the parameters", kind=SyntaxError)

    @pypto.frontend.jit
    def other(x: T([4], FP32), **rest):
        x[:] = x + 1

    refuse(other, "rest):", "Unsupported syntax: **rest in the kernel", kind=SyntaxError)


def test_return_in_the_kernel():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        return x + 1

    error = refuse(
        kernel, "return x + 1", "Unsupported syntax: return in the kernel", "out[:] = value", kind=SyntaxError
    )
    assert error.column == 8
    assert isinstance(error, pypto.RenderedParserError)


@pytest.mark.parametrize("word", ["break", "continue", "return"])
def test_jumps_out_of_a_loop(word, tmp_path):
    path = tmp_path / "jumps.py"
    path.write_text(
        "import pypto\n"
        "def helper(x):\n"
        "    for i in pypto.loop(4):\n"
        "        if i > 2:\n"
        f"            {word}\n"
        "        x[i : i + 1] = x[0:1]\n"
        "@pypto.frontend.jit\n"
        "def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):\n"
        "    helper(x)\n"
    )
    scope: dict = {"__name__": "jumps"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(SyntaxError, match=f"Unsupported syntax: {word} in a pypto.loop") as caught:
        scope["kernel"].compile()
    assert (caught.value.filename, caught.value.lineno) == (str(path), 5)


def test_break_in_a_symbolic_branch():
    @pypto.frontend.jit
    def kernel(x: T([pypto.DYN], FP32), y: T([4], FP32)):
        for k in range(3):
            if x.shape[0] > k:
                break
            y[:] = y + 1

    refuse(kernel, "break", "Unsupported syntax: break in an if on a symbolic condition", kind=SyntaxError)


def test_bare_raise():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        raise

    refuse(kernel, "raise", "Unsupported syntax: bare raise", kind=SyntaxError)


def test_try_global_class_yield():
    @pypto.frontend.jit
    def with_try(x: T([4], FP32)):
        try:
            x[:] = x
        finally:
            pass

    @pypto.frontend.jit
    def with_global(x: T([4], FP32)):
        global FP33
        FP33 = 3

    @pypto.frontend.jit
    def with_class(x: T([4], FP32)):
        class Inner:
            pass

    @pypto.frontend.jit
    def with_yield(x: T([4], FP32)):
        yield x

    refuse(with_try, "try:", "Unsupported syntax: try", kind=SyntaxError)
    refuse(with_global, "global FP33", "Unsupported syntax: global", kind=SyntaxError)
    refuse(with_class, "class Inner", "Unsupported syntax: class", kind=SyntaxError)
    refuse(with_yield, "yield x", "Unsupported syntax: yield", kind=SyntaxError)


def test_while_and_assert_on_symbolic_conditions():
    @pypto.frontend.jit
    def looping(x: T([pypto.DYN, 4], FP32)):
        n = x.shape[0]
        while n > 0:
            n = n - 1

    @pypto.frontend.jit
    def asserting(x: T([pypto.DYN, 4], FP32)):
        assert x.shape[0] > 3

    refuse(looping, "n > 0:", "while on a symbolic condition", "pypto.loop")
    refuse(asserting, "x.shape[0] > 3", "assert on a symbolic condition", "pypto.loop")


def test_symbolic_values_where_python_needs_numbers():
    @pypto.frontend.jit
    def ranged(x: T([pypto.DYN, 4], FP32)):
        for _ in range(x.shape[0]):
            x[0:1] = x[0:1]

    @pypto.frontend.jit
    def converted(x: T([pypto.DYN, 4], FP32)):
        x[0:1] = x[0:1] * int(x.shape[0])

    refuse(ranged, "range(x.shape[0])", "Not concrete value.")
    refuse(converted, "int(x.shape[0])", "Not concrete value.")


def test_loop_in_a_comprehension():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        parts = [x[i : i + 1] for i in pypto.loop(4)]
        x[:] = x + len(parts)

    refuse(kernel, "[x[i : i + 1] for", "pypto.loop runs only as `for i in pypto.loop(...)`", kind=TypeError)


def test_targets_of_loops():
    @pypto.frontend.jit
    def single(x: T([4], FP32)):
        for i in pypto.loop_unroll(4):
            x[:] = x

    @pypto.frontend.jit
    def pair(x: T([4], FP32)):
        for i, k in pypto.loop(4):
            x[:] = x

    refuse(single, "i in pypto.loop_unroll(4)", "The target of pypto.loop_unroll must be a pair", kind=SyntaxError)
    refuse(pair, "i, k in pypto.loop(4)", "The target of pypto.loop must be one name", kind=SyntaxError)


def test_tensors_have_no_value():
    @pypto.frontend.jit
    def condition(x: T([4], FP32)):
        if x:
            x[:] = x + 1

    @pypto.frontend.jit
    def iterated(x: T([4], FP32)):
        for row in x:
            x[:] = row

    @pypto.frontend.jit
    def compared(x: T([4], FP32)):
        x[:] = x > 3

    @pypto.frontend.jit
    def length(x: T([4], FP32)):
        x[:] = x * len(x)

    refuse(condition, "if «x:", "a tensor has no value while the kernel is traced", kind=TypeError)
    refuse(iterated, "for row in «x:", "Tensors are not iterable", kind=TypeError)
    refuse(compared, "x[:] = x > 3", "got [4] DT_BOOL", kind=TypeError)
    refuse(length, "len(x)", "a tensor has no len()", kind=TypeError)


def test_kernel_in_a_kernel():
    @pypto.frontend.jit
    def inner(x: T([4], FP32)):
        x[:] = x + 1

    @pypto.frontend.jit
    def outer(x: T([4], FP32)):
        inner(x)

    refuse(outer, "inner(x)", "kernel 'inner' is called from a kernel", kind=TypeError)


def calls_itself(n, x):
    return x if n == 0 else calls_itself(n - 1, x + 1)


def calls_the_other(x):
    return calls_back(x)


def calls_back(x):
    return calls_the_other(x)


@pytest.mark.parametrize("form", ["named", "mutual", "nested"])
def test_recursion(form):
    def calls_itself_inside(n, x):
        return x if n == 0 else calls_itself_inside(n - 1, x + 1)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        if form == "named":
            x[:] = calls_itself(2, x)
        elif form == "mutual":
            x[:] = calls_the_other(x)
        else:
            x[:] = calls_itself_inside(2, x)

    name = {"named": "calls_itself", "mutual": "calls_the_other", "nested": "calls_itself_inside"}[form]
    with pytest.raises(pypto.CompileError, match=f"'{name}' calls itself.*Instead: write a Python loop") as caught:
        ir.compile(kernel)
    error = caught.value
    called = {"named": "calls_itself(n - 1", "mutual": "calls_the_other(x)\n", "nested": "calls_itself_inside(n - 1"}[
        form
    ]
    text = linecache.getline(__file__, error.lineno)
    assert isinstance(error, RecursionError)
    assert error.filename == __file__
    assert text.index(called) == error.column


def test_composed_helpers_of_one_source_are_no_recursion():
    def composed(f, g):
        def inner(x):
            return f(g(x))

        return inner

    def plus_one(x):
        return x + 1

    twice = composed(composed(plus_one, plus_one), plus_one)

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        x[:] = twice(x)

    x = torch.zeros(4)
    kernel(x)
    assert x.tolist() == [3.0] * 4


def test_foreign_errors_are_wrapped_with_their_place():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        assert x.shape[0] == 5, "expected five"

    with pytest.raises(pypto.PyptoGeneralError) as caught:
        ir.compile(kernel)
    message = str(caught.value)
    assert isinstance(caught.value, AssertionError)
    assert message.startswith(
        "ErrCode: F0FFFF, AssertionError: Failed to call JIT function 'kernel'. AssertionError: expected five"
    )
    assert f"line {line_of(kernel, 'assert x.shape')}" in message

    @pypto.frontend.jit
    def unknown(x: T([4], FP32)):
        x[:] = x + no_such_name  # noqa: F821

    with pytest.raises(NameError, match="Failed to call JIT function 'unknown'"):
        ir.compile(unknown)


def test_errors_of_operations_have_the_place_of_the_call():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), y: T([4], pypto.DT_INT32)):
        z = x * 2
        x[:] = (
            z
            + y
        )  # fmt: skip

    with pytest.raises(TypeError, match="operand dtypes must match") as caught:
        ir.compile(kernel)
    error = caught.value
    assert isinstance(error, pypto.CompileError)
    assert line_of(kernel, "            z") <= error.lineno <= line_of(kernel, "            + y")


def test_error_inside_a_helper_points_into_the_helper():
    def helper(value):
        return pypto.reshape(value, [5])

    @pypto.frontend.jit
    def kernel(x: T([4], FP32)):
        x[:] = helper(x)

    with pytest.raises(ValueError, match="element counts differ") as caught:
        ir.compile(kernel)
    assert caught.value.lineno == helper.__code__.co_firstlineno + 1


def test_symbolic_error_texts():
    @pypto.frontend.jit
    def mixed(x: T([pypto.DYN, 4], FP32)):
        n = x.shape[0] + 0.5
        x[0:1] = x[0:1] * n

    @pypto.frontend.jit
    def divided(x: T([pypto.DYN, 4], FP32)):
        n = x.shape[0] // 0
        x[0:1] = x[0:1] * n

    refuse(mixed, "x.shape[0] + 0.5", "Invalid type.", kind=TypeError)
    refuse(divided, "x.shape[0] // 0", kind=ValueError)


def test_outside_of_kernels():
    with pytest.raises(RuntimeError, match=r"loop\(\) must be called in a kernel"):
        pypto.loop(3)
    with pytest.raises(RuntimeError, match=r"zeros\(\)|full\(\)"):
        pypto.zeros(3)
    with pytest.raises(TypeError, match="expected a tensor"):
        pypto.exp(3)
