"""The exception classes of pypto, and the one function that builds them from a status of the core."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AclError",
    "CompileError",
    "DeviceUnavailableError",
    "FeError",
    "OutOfDeviceMemoryError",
    "ParserError",
    "PassError",
    "ProgramFormatError",
    "PyptoError",
    "PyptoGeneralError",
    "PyptoRtError",
    "RenderedParserError",
    "VerifyError",
    "WorkspaceError",
]

UNKNOWN_CODE = "F0FFFF"
ERROR_CODES: dict[type[BaseException], str] = {
    TypeError: "F00001",
    ValueError: "F00002",
    RuntimeError: "F00003",
    NameError: "F00004",
    NotImplementedError: "F00005",
    KeyError: "F00006",
    IndexError: "F00008",
}


def error_code(kind: type[BaseException]) -> str:
    """The ErrCode of a Python exception class, by its nearest base that has one."""
    for base in kind.__mro__:
        if base in ERROR_CODES:
            return ERROR_CODES[base]
    return UNKNOWN_CODE


def _code_text(code: Any) -> str:
    """An error code as texts show it: 0xF00001 is F00001."""
    return f"{code:06X}" if isinstance(code, int) else str(code)


class PyptoError(Exception):
    """Base of all errors of pypto: `PyptoError(msg)` or `PyptoError(err_code, msg)`."""

    err_code: str = UNKNOWN_CODE
    msg: str = ""

    def __init__(self, *args: Any) -> None:
        """Keeps code and message; the text is the message, behind its code when one was given."""
        BaseException.__init__(self, *args)  # not super(): a SyntaxError would read the arguments
        if len(args) == 2:
            self.err_code, self.msg = _code_text(args[0]), str(args[1])
        else:
            self.msg = str(args[0]) if args else ""

    def __str__(self) -> str:
        """The message, behind its code when one was given."""
        return f"ErrCode: {self.err_code}, {self.msg}" if len(self.args) == 2 else self.msg


class PyptoGeneralError(PyptoError):
    """Something else than a pypto error escaped from a kernel."""


class FeError(PyptoError):
    """A mistake in a kernel, its declaration or its call. Also an instance of the Python error it stands for."""


class ParserError(FeError):
    """A construct of the source that kernels cannot hold: `ParserError(node, msg)`."""

    def __init__(self, *args: Any) -> None:
        """`node` is the syntax tree node, or an error code."""
        if len(args) == 2 and not isinstance(args[0], str):
            self.node = args[0]
            args = (args[1],)
        super().__init__(*args)


class RenderedParserError(ParserError):
    """A ParserError with the place and the source line in its text."""


class PyptoRtError(PyptoError):
    """An error at run time of a kernel."""


class PassError(PyptoError):
    """An error inside a pass of the compiler."""


class VerifyError(PyptoError):
    """A result differs from its golden value."""


class CompileError(PyptoError):
    """A kernel cannot be compiled; `filename`, `lineno` and `column` give the place, `lineno` 0 when unknown."""

    filename: str | None = None
    lineno: int | None = 0
    column: int | None = None


class AclError(PyptoError):
    """A call of the ACL library failed: `code`, `call`, `text` of the library, `failure_class`."""

    code: int = 0
    call: str = ""
    text: str = ""
    failure_class: str = ""


class OutOfDeviceMemoryError(PyptoError, MemoryError):
    """No room on the device: bytes `asked`, `free`, `total`, and the `largest_holders`."""

    asked: int = 0
    free: int = 0
    total: int = 0
    largest_holders: str = ""


class WorkspaceError(PyptoError, RuntimeError):
    """The options leave a kernel too little workspace."""


class DeviceUnavailableError(PyptoError, RuntimeError):
    """There is no device or no ACL library for the platform."""


class ProgramFormatError(PyptoError, ValueError):
    """A program file is damaged, truncated, or of a newer version."""


# Names as StatusCodeName of the core gives them.
_STATUS_CLASSES: dict[str, type[PyptoError]] = {
    "ACL error": AclError,
    "out of device memory": OutOfDeviceMemoryError,
    "compile error": CompileError,
    "workspace error": WorkspaceError,
    "device unavailable": DeviceUnavailableError,
    "program format error": ProgramFormatError,
}


def from_status(code: str, message: str, details: dict[str, Any]) -> PyptoError:
    """The exception for a status of the core; called by the bindings only."""
    error = _STATUS_CLASSES.get(code, PyptoError)(message)
    for name, value in details.items():
        setattr(error, name, value)
    return error


_variants: dict[tuple[tuple[type, ...], type[BaseException]], type[Exception]] = {}


def typed(bases: tuple[type[PyptoError], ...], kind: type[BaseException], message: str) -> PyptoError:
    """An instance of `bases` that is also a `kind`, with the text `ErrCode: F0000X, <PyType>: <message>`."""
    key = (bases, kind)
    variant = _variants.get(key)
    if variant is None:
        wanted: tuple[type, ...] = bases if issubclass(bases[0], kind) else (*bases, kind)
        namespace = {"__module__": bases[0].__module__, "__str__": PyptoError.__str__, "__init__": PyptoError.__init__}
        try:
            variant = type(bases[0].__name__, wanted, namespace)
        except TypeError:  # a kind whose memory layout does not mix
            variant = type(bases[0].__name__, bases, namespace)
        _variants[key] = variant
    error = variant(error_code(kind), f"{kind.__name__}: {message}")
    assert isinstance(error, PyptoError)
    return error


def fe_error(kind: type[BaseException], message: str) -> PyptoError:
    """An FeError that is also a `kind`."""
    return typed((FeError,), kind, message)


def escaped(name: str, error: Exception) -> PyptoError:
    """What a direct call of kernel `name` raises for an error: an error of pypto, which passes as it is.

    What the runtime finds wrong with arguments is an FeError; anything else is a PyptoGeneralError. Called by the
    bindings only.
    """
    if isinstance(error, PyptoError):
        return error
    if type(error) in (TypeError, ValueError):
        return fe_error(type(error), str(error))
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return typed((PyptoGeneralError,), type(error), f"Failed to call JIT function '{name}'. {text}")
