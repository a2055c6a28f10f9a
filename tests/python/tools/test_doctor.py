"""`python -m pypto.tools.doctor` and `.mock_acl`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pypto
from pypto import testing
from pypto.tools import doctor, mock_acl
from pypto.tools.variables import VARIABLES, read_variables

UNSET = ("PYPTO_ACL_LIBRARY", "ASCEND_HOME_PATH", "LD_LIBRARY_PATH", "PYPTO_SIMD")


def run_doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if name not in UNSET}
    command = [sys.executable, "-m", "pypto.tools.doctor", *arguments]
    return subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def checks_of(run: subprocess.CompletedProcess) -> dict[str, dict]:
    return {check["name"]: check for check in json.loads(run.stdout)["checks"]}


def test_without_cann_nothing_is_wrong(tmp_path):
    run = run_doctor(ASCEND_PROCESS_LOG_PATH=str(tmp_path / "new" / "logs"), PYPTO_MOCK_DEVICES="2")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    assert f"pypto {pypto.__version__}" in run.stdout
    assert "[ note ] hardware library: no ACL library on this machine" in run.stdout
    assert "libascendcl.so: not in the loader's path" in run.stdout
    assert "-> install CANN 8.5 or newer" in run.stdout
    assert "2 devices, ACL interface 1.17.0" in run.stdout
    assert "device 1: Ascend910B3, 65536 of 65536 MiB free" in run.stdout
    assert "PYPTO_MOCK_DEVICES=2 (environment)" in run.stdout
    assert "PYPTO_MOCK_CORES=processors (default)" in run.stdout
    assert run.stdout.endswith("nothing is wrong\n")
    assert not (tmp_path / "new").exists()


def test_json_says_the_same():
    run = run_doctor("--json", PYPTO_SIMD="plain")
    assert run.returncode == 0, run.stdout
    report = json.loads(run.stdout)
    assert report["ok"] is True
    assert checks_of(run)["SIMD set"]["text"] == "plain"
    assert {row["name"] for row in report["variables"]} == {variable.name for variable in VARIABLES}
    assert next(row for row in report["variables"] if row["name"] == "PYPTO_SIMD")["origin"] == "environment"


def test_a_named_library_is_taken_and_its_devices_are_shown():
    run = run_doctor("--json", PYPTO_ACL_LIBRARY=testing.mock_library_path())
    assert run.returncode == 0, run.stdout
    checks = checks_of(run)
    assert checks["hardware library"]["text"] == testing.mock_library_path()
    assert any(
        "taken (the mock), launches with host arguments" in line for line in checks["hardware library"]["details"]
    )
    assert checks["hardware devices"]["text"].startswith("1 device")


FAILURES = {
    "library": (
        {"PYPTO_ACL_LIBRARY": "/nonexistent.so"},
        "hardware library",
        "/nonexistent.so: no such file",
        "correct",
    ),
    "wrong library": ({"PYPTO_ACL_LIBRARY": "libm.so.6"}, "hardware library", "is not an ACL library", "correct"),
    "simd": ({"PYPTO_SIMD": "sse9"}, "SIMD set", "PYPTO_SIMD=sse9 names no set", "unset PYPTO_SIMD"),
    "logs": ({"ASCEND_PROCESS_LOG_PATH": "/dev/null/logs"}, "log folder", "is no folder", "ASCEND_PROCESS_LOG_PATH"),
    "variable": ({"PYPTO_MOCK_CORE": "4"}, "environment", "not known: PYPTO_MOCK_CORE", "correct the names"),
    "no device": ({"PYPTO_MOCK_DEVICES": "0"}, "mock devices", "no device", "PYPTO_MOCK_"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failed_checks_come_with_their_fix(name):
    environment, check, text, fix = FAILURES[name]
    run = run_doctor("--json", **environment)
    assert run.returncode == 1
    failed = checks_of(run)[check]
    assert failed["state"] == "failed"
    assert text in "\n".join([failed["text"], *failed["details"]])
    assert fix in failed["fix"]
    shown = run_doctor(**environment).stdout
    assert f"[failed] {check}: " in shown
    assert "failed\n" in shown.splitlines(keepends=True)[-1]


def test_a_check_that_breaks_is_a_failed_check(monkeypatch, capsys):
    def broken():
        raise OSError("out of paper")

    monkeypatch.setattr(doctor, "CHECKS", (("printer", broken),))
    assert doctor.main([]) == 1
    assert "[failed] printer: OSError: out of paper" in capsys.readouterr().out


def test_every_variable_of_the_core_is_listed():
    text = (Path(__file__).resolve().parents[3] / "cpp/src/pypto/base/environment.cpp").read_text()
    known = {part.split('"')[0] for part in text.split('"') if part.startswith("PYPTO_") and part != "PYPTO_"}
    assert len(known) >= 10
    assert known <= {variable.name for variable in VARIABLES}
    assert all(fact.origin in {"environment", "default"} for fact in read_variables())


def test_links_with_the_vendors_names(tmp_path, capsys):
    folder = tmp_path / "a folder" / "links"
    for _ in range(2):
        assert mock_acl.main([str(folder)]) == 0
        assert f"LD_LIBRARY_PATH={folder}" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == sorted(mock_acl.LIBRARY_NAMES)
    assert all(path.resolve() == Path(testing.mock_library_path()).resolve() for path in folder.iterdir())


def test_a_library_that_is_there_is_not_replaced(tmp_path, capsys):
    (tmp_path / "libascendcl.so").write_text("the vendor's")
    assert mock_acl.main([str(tmp_path)]) == 1
    assert "is a file and no link" in capsys.readouterr().err
    assert (tmp_path / "libascendcl.so").read_text() == "the vendor's"
    assert not (tmp_path / "libacl_rt.so").exists()


def test_the_links_do_not_serve_pypto_itself(tmp_path):
    mock_acl.make_links(tmp_path)
    run = run_doctor("--json", LD_LIBRARY_PATH=str(tmp_path))
    assert run.returncode == 0, run.stdout
    library = checks_of(run)["hardware library"]
    assert library["state"] == "note"
    assert any("is pypto's mock" in line for line in library["details"])
