"""Golden data: outputs of direct calls against tensors of the user."""

import contextvars
import re

import pytest
import torch

import pypto
from pypto.runtime import log

FP32 = pypto.DT_FP32
SIM = {"run_mode": pypto.RunMode.SIM}
ON = {"enable_pass_verify": True}


@pypto.frontend.jit(runtime_options=SIM, verify_options=ON)
def two_outputs(x: pypto.Tensor([4, 8], FP32), twice: pypto.Tensor([4, 8], FP32), more: pypto.Tensor([4, 8], FP32)):
    twice[:] = x * 2.0
    more[:] = x + 1.0


@pytest.fixture(autouse=True)
def no_goldens_behind():
    yield
    pypto.set_verify_golden_data(None)


def arguments():
    return torch.arange(32.0).reshape(4, 8), torch.zeros(4, 8), torch.zeros(4, 8)


def test_right_outputs_pass():
    x, twice, more = arguments()
    for goldens in ([x * 2, x + 1], [None, x * 2, x + 1], [None, None, x + 1], (x * 2 + 1e-4, x + 1)):
        pypto.set_verify_golden_data(goldens)
        two_outputs(x, twice, more)
    assert torch.equal(twice, x * 2)


def test_a_difference_is_a_verify_error_with_figures():
    x, twice, more = arguments()
    wrong = x + 1
    wrong[1, 2] += 4
    wrong[3, 7] = float("nan")
    pypto.set_verify_golden_data([x * 2, wrong])
    for _ in range(2):
        with pytest.raises(pypto.VerifyError) as caught:
            two_outputs(x, twice, more)
        lines = str(caught.value).splitlines()
        assert lines[0] == "kernel 'two_outputs' differs from its golden data (rtol 0.001, atol 0.001):"
        assert lines[1].startswith("more: 2 of 32 elements differ, largest error inf absolute")
        assert lines[2] == "  (1, 2): got 11.0, expected 15.0"
        assert len(lines) == 4
    assert torch.equal(twice, x * 2)  # the call itself has ended


def test_tolerance_filter_and_switch():
    x, twice, more = arguments()
    pypto.set_verify_golden_data([x * 2 + 0.5, x + 1])
    loose = pypto.frontend.jit(runtime_options=SIM)(two_outputs.function)
    loose(x, twice, more)  # off by default
    with pypto.options(verify_options={**ON, "pass_verify_error_tol": [0.0, 1.0]}):
        loose(x, twice, more)
    with pypto.options(verify_options={**ON, "pass_verify_pass_filter": []}):
        loose(x, twice, more)
        assert pypto.get_verify_options()["pass_verify_pass_filter"] == []
    with pypto.options(verify_options=ON), pytest.raises(pypto.VerifyError):
        loose(x, twice, more)
    with (
        pypto.options(verify_options={**ON, "pass_verify_error_tol": [0.1]}),
        pytest.raises(ValueError, match=r"pass_verify_error_tol: expected \[rtol, atol\], got \[0\.1\]"),
    ):
        loose(x, twice, more)


def test_without_golden_data_nothing_is_compared():
    two_outputs(*arguments())
    contextvars.copy_context().run(pypto.set_verify_golden_data, [torch.zeros(3)])
    two_outputs(*arguments())


@pytest.mark.parametrize(
    ("goldens", "kind", "text"),
    [
        (torch.zeros(4, 8), TypeError, "expected a list of tensors, got Tensor"),
        ([torch.zeros(4, 8)], ValueError, r"1 golden tensors for 2 outputs: \['twice', 'more'\]"),
        ([torch.zeros(2), torch.zeros(4, 8)], ValueError, r"golden of 'twice' has shape \(2,\), the output \(4, 8\)"),
    ],
)
def test_wrong_golden_data(goldens, kind, text):
    def body():
        pypto.set_verify_golden_data(goldens)
        two_outputs(*arguments())

    with pytest.raises(kind, match=text) as caught:
        body()
    assert isinstance(caught.value, pypto.FeError)


def test_agreement_is_a_record_at_info(tmp_path):
    x, twice, more = arguments()
    pypto.set_verify_golden_data([None, x * 2, None])
    log("info", path=tmp_path)
    try:
        two_outputs(x, twice, more)
    finally:
        log("environment")
    (path,) = tmp_path.glob("debug/plog/*.log")
    (line,) = [line for line in path.read_text().splitlines() if "verified" in line]
    expected = "kernel=two_outputs, verified: twice: 0 of 32 elements differ, largest error 0.000e+00 absolute, "
    assert expected in line


def test_describe_names_what_has_an_effect():
    lines = {line.split(" = ")[0]: line for line in pypto.config.describe().splitlines()}
    for key in ("enable_pass_verify", "pass_verify_pass_filter", "pass_verify_error_tol"):
        assert "no effect" not in lines[f"verify.{key}"]
    assert "no effect" in lines["verify.pass_verify_save_tensor"]


def test_pass_verify_print_says_what_the_values_are(tmp_path):
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([pypto.DYN, 8], pypto.DT_FP32), n):
        pypto.pass_verify_print("before", x, n, x.shape[0] + 1)
        x[:] = x

    log("info", path=tmp_path)
    try:
        kernel.compile(None, 3)
        with pypto.options(verify_options={"enable_pass_verify": True}):
            kernel.compile(None, 3)
    finally:
        log("environment")
    (path,) = tmp_path.glob("debug/plog/*.log")
    lines = {line.partition("pass_verify_print ")[2] for line in path.read_text().splitlines()} - {""}
    assert len(lines) == 1
    assert re.match(r"at line \d+: before, \[.*, 8\] DT_FP32, 3, \(.*\+1\)", lines.pop())
    with pytest.raises(pypto.PyptoError, match=r"pass_verify_print\(\)"):
        pypto.pass_verify_print(1)
