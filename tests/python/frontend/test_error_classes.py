"""Status codes of the core become the exception classes of pypto.errors; texts carry the ErrCode."""

import pytest

import pypto
from pypto import _core, errors

CLASSES = {
    "invalid argument": (ValueError,),
    "type mismatch": (TypeError,),
    "out of range": (IndexError,),
    "not found": (KeyError,),
    "failed precondition": (RuntimeError,),
    "unsupported": (NotImplementedError,),
    "timeout": (TimeoutError,),
    "ACL error": (pypto.AclError, pypto.PyptoError),
    "out of device memory": (pypto.OutOfDeviceMemoryError, pypto.PyptoError, MemoryError),
    "compile error": (pypto.CompileError, pypto.PyptoError),
    "workspace error": (pypto.WorkspaceError, pypto.PyptoError, RuntimeError),
    "device unavailable": (pypto.DeviceUnavailableError, pypto.PyptoError, RuntimeError),
    "program format error": (pypto.ProgramFormatError, pypto.PyptoError, ValueError),
    "input/output error": (OSError,),
    "internal error": (pypto.PyptoError,),
}


def test_every_code_of_the_core_has_a_class():
    assert set(_core.STATUS_CODES) == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_status_becomes_exception(name):
    with pytest.raises(CLASSES[name][0]) as caught:
        _core.raise_status(_core.STATUS_CODES[name], "17 of 16 used: no room")
    assert all(isinstance(caught.value, kind) for kind in CLASSES[name])
    assert "17 of 16 used: no room" in str(caught.value)


def test_compile_error_has_the_place():
    with pytest.raises(pypto.CompileError) as caught:
        _core.raise_status(_core.STATUS_CODES["compile error"], "wrong", "kernel.py", 12)
    assert (caught.value.filename, caught.value.lineno) == ("kernel.py", 12)


def test_attributes_of_details():
    error = errors.from_status(
        "out of device memory", "no", {"asked": 8, "free": 4, "total": 6, "largest_holders": "a"}
    )
    assert (error.asked, error.free, error.total, error.largest_holders) == (8, 4, 6, "a")
    error = errors.from_status(
        "ACL error", "no", {"code": 507011, "call": "f", "text": "t", "failure_class": "timeout"}
    )
    assert (error.code, error.call, error.text, error.failure_class) == (507011, "f", "t", "timeout")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (TypeError, "F00001"),
        (ValueError, "F00002"),
        (RuntimeError, "F00003"),
        (NameError, "F00004"),
        (NotImplementedError, "F00005"),
        (KeyError, "F00006"),
        (IndexError, "F00008"),
        (UnboundLocalError, "F00004"),
        (ZeroDivisionError, "F0FFFF"),
        (SyntaxError, "F0FFFF"),
        (OSError, "F0FFFF"),
        (UnicodeDecodeError, "F00002"),
    ],
)
def test_fe_error_is_also_of_its_python_kind(kind, code):
    error = errors.fe_error(kind, "what and why")
    assert isinstance(error, pypto.FeError)
    assert isinstance(error, kind)
    assert str(error) == f"ErrCode: {code}, {kind.__name__}: what and why"
    assert error.err_code == code


def test_plain_constructors():
    assert str(pypto.PyptoError("text")) == "text"
    assert str(pypto.PyptoError("F00001", "text")) == "ErrCode: F00001, text"
    assert str(pypto.PyptoError(0xF00001, "text")) == "ErrCode: F00001, text"
    node = object()
    error = pypto.ParserError(node, "text")
    assert error.node is node
    assert str(error) == "text"
    assert issubclass(pypto.RenderedParserError, pypto.ParserError)
