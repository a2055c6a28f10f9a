"""Parameters that a kernel binds anew: reference/frontend.md §1.4."""

from frontend_samples import refuse, statements

import pypto
from pypto import ir

FP32 = pypto.DT_FP32
T = pypto.Tensor


class TestParameters:
    """The exception of reference/frontend.md §1.4: a parameter that is only bound anew is an output."""

    def test_final_binding_reaches_the_caller(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), out: T([4], FP32)):
            out = x + 1
            out = out * 2

        assert statements(kernel) == ["  %2 = add(%0:x, 1)", "  %3 = mul(%2, 2)", "  %1:out[:] = %3"]
        assert [p.direction for p in ir.compile(kernel).parameters] == ["in", "out"]

    def test_in_loops_and_branches(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), out: T([4], FP32)):
            for i in pypto.loop(3):
                out = x * i

        assert statements(kernel)[-1] == "    %1:out[:] = %2"

        @pypto.frontend.jit
        def branched(x: T([pypto.DYN], FP32), y: T([4], FP32), out: T([4], FP32)):
            if x.shape[0] > 3:
                out = y + 1
            else:
                out = y + 2

        assert statements(branched)[-1] == "  %2:out[:] = %3:out"

    def test_every_other_rebinding_is_local(self):
        @pypto.frontend.jit
        def read_before(x: T([4], FP32), out: T([4], FP32)):
            y = out + 1
            out = x + y

        @pypto.frontend.jit
        def other_shape(x: T([4], FP32), out: T([2], FP32)):
            out = x + 1

        def helper(out, x):
            out = x + 1
            return out

        @pypto.frontend.jit
        def in_helper(x: T([4], FP32), out: T([4], FP32)):
            helper(out, x)

        for kernel in (read_before, other_shape, in_helper):
            assert "out[:]" not in kernel.to_text()

    def test_other_names_of_a_loop_bound_parameter(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), out: T([4], FP32), other: T([4], FP32)):
            alias = out
            for i in pypto.loop(3):
                out = x * i
            other[:] = alias

        refuse(kernel, "other[:] = alias", "the parameter 'out' is bound anew in a loop, so its old contents are gone")
