"""Parameters that a kernel binds anew: reference/frontend.md §1.4."""

import torch
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

    def test_loops_that_read_a_parameter_before_they_bind_it_are_local(self):
        def helper(x, factor):
            for _ in pypto.loop(2):
                x = x * factor
            return x

        @pypto.frontend.jit
        def in_helpers(x: T([4], FP32), out: T([4], FP32)):
            out[:] = helper(x, 2.0) + helper(x, 3.0)

        @pypto.frontend.jit
        def own(x: T([4], FP32), out: T([4], FP32)):
            for _ in pypto.loop(2):
                x = x * 3.0
            out[:] = x

        @pypto.frontend.jit
        def later_iterations(x: T([4], FP32), out: T([4], FP32), other: T([4], FP32)):
            for i in pypto.loop(2):
                for _ in pypto.loop(2):
                    other[:] = x + i
                    x = x * 2.0
            out[:] = x

        x = torch.randn(4)
        for kernel, factor in ((in_helpers, 13.0), (own, 9.0), (later_iterations, 16.0)):
            given, out = x.clone(), torch.zeros(4)
            kernel(given, out, *[torch.zeros(4)] * (kernel is later_iterations))
            torch.testing.assert_close(out, x * factor)
            assert torch.equal(given, x)

    def test_a_branch_of_a_helper_binds_its_own_name(self):
        def helper(x, n):
            if n > 1:
                x = pypto.zeros(4)
            return x + 1

        @pypto.frontend.jit
        def kernel(x: T([4], FP32), out: T([4], FP32), n: T([1], pypto.DT_INT32)):
            out[:] = helper(x, n[0])

        x, out = torch.ones(4), torch.zeros(4)
        kernel(x, out, torch.tensor([5], dtype=torch.int32))
        assert x.tolist() == [1.0] * 4 and out.tolist() == [1.0] * 4

    def test_other_names_of_a_loop_bound_parameter(self):
        @pypto.frontend.jit
        def kernel(x: T([4], FP32), out: T([4], FP32), other: T([4], FP32)):
            alias = out
            for i in pypto.loop(3):
                out = x * i
            other[:] = alias

        refuse(kernel, "other[:] = alias", "the parameter 'out' is bound anew in a loop, so its old contents are gone")
