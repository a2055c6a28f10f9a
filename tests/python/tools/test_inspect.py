"""`python -m pypto.tools.inspect` and the golden program files."""

import json
from pathlib import Path

import pytest
import torch

from pypto import ir
from pypto.tools import inspect
from scripts import run_python

GOLDEN = sorted((Path(__file__).resolve().parents[2] / "data").glob("program_v*/*.pto"))


def test_there_are_golden_files():
    assert len(GOLDEN) >= 3


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden_files_are_read_and_written_the_same(path, tmp_path):
    program = ir.load(path)
    assert program.name == path.stem
    program.save(tmp_path / "again.pto")
    assert (tmp_path / "again.pto").read_bytes() == path.read_bytes()


def test_a_golden_file_still_computes(worker):
    program = ir.load(next(path for path in GOLDEN if path.stem == "add_rows"))
    x, y = torch.rand(40, 16), torch.rand(40, 16)
    assert torch.equal(worker.run(program, x, y), x + y)


def test_equal_input_gives_equal_bytes(add_program, tmp_path):
    add_program.save(tmp_path / "one.pto")
    add_program.save(tmp_path / "two.pto")
    assert (tmp_path / "one.pto").read_bytes() == (tmp_path / "two.pto").read_bytes()


SAVE = """
    import hashlib, pypto
    from pypto import ir

    ROWS = pypto.frontend.dynamic("rows")

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([ROWS, 32], pypto.DT_FP16), w: pypto.Tensor([32, 16], pypto.DT_FP16),
               out: pypto.Tensor([ROWS, 16], pypto.DT_FP32)):
        for i in pypto.loop(0, x.shape[0], 8):
            out[i : i + 8, :] = pypto.exp(pypto.matmul(x[i : i + 8, :], w, out_dtype=pypto.DT_FP32))

    path = "PATH"
    ir.compile(kernel).save(path)
    print(hashlib.sha256(open(path, "rb").read()).hexdigest())
"""


def test_other_processes_write_the_same_bytes(tmp_path):
    code = SAVE.replace("PATH", str(tmp_path / "one.pto"))
    hashes = {run_python(code, PYTHONHASHSEED=seed).stdout for seed in ("1", "2", "77")}
    assert len(hashes) == 1
    assert len(hashes.pop()) == 65


def test_the_report_names_everything(add_program, tmp_path, capsys):
    path = str(tmp_path / "add.pto")
    add_program.save(path)
    assert inspect.main([path, "rows=64"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("add_kernel for a2a3sim\n")
    for part in (
        add_program.fingerprint,
        f"source hash  {add_program.source_hash}",
        "conftest.py",
        "  x: [rows, 16] DT_FP32 in\n",
        "  out: [rows, 16] DT_FP32 out\n",
        "  total: ",
        "  plan: ",
        "  debug: ",
    ):
        assert part in text
    assert inspect.main([path, "--json", "--listing"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["name"] == "add_kernel"
    assert len(facts["source_hash"]) == 64
    assert [section["kind"] for section in facts["sections"]] == ["plan", "debug"]
    assert facts["parameters"][0] == {
        "name": "x", "kind": "tensor", "dtype": "DT_FP32", "dims": ["rows", 16], "direction": "in",
    }  # fmt: skip
    assert facts["workspace"]["items"]
    assert facts["listing"] == add_program.to_text()


def test_device_code_is_shown(capsys):
    path = next(path for path in GOLDEN if path.stem == "fused")
    assert inspect.main([str(path)]) == 0
    assert "device code 'fused': aicore, 20 blocks, 64 B, takes the synchronisation address" in capsys.readouterr().out


@pytest.mark.parametrize("cut", [0, 5, 40, 200, -1])
def test_damaged_files_are_said_so(cut, tmp_path, capsys):
    whole = GOLDEN[0].read_bytes()
    path = tmp_path / "damaged.pto"
    path.write_bytes(whole[:cut])
    assert inspect.main([str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"inspect: {path}: ")
    assert "program image" in told.err


def test_changed_newer_and_missing_files(tmp_path, capsys):
    whole = bytearray(GOLDEN[0].read_bytes())
    path = tmp_path / "changed.pto"
    whole[300] ^= 1
    path.write_bytes(whole)
    assert inspect.main([str(path)]) == 1
    assert "its checksum does not match its content" in capsys.readouterr().err
    whole[8] = 9
    path.write_bytes(whole)
    assert inspect.main([str(path)]) == 1
    assert "format version 9" in capsys.readouterr().err
    assert inspect.main([str(tmp_path / "absent.pto")]) == 1
    assert "No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        inspect.main([str(path), "rows"])
    assert "'rows' is not NAME=NUMBER" in capsys.readouterr().err
