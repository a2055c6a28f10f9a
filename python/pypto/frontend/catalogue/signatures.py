"""Parameters of operations, as the core's table of operations says, and the errors for calls that do not fit them."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping
from typing import Any

from pypto import _core
from pypto.frontend.places import trace_error

# By the user's name of an operation; the front end names it without the underscore of its row.
PARAMETERS: dict[str, str] = {row[1].removeprefix("_"): row[9] for row in _core.OPERATIONS} | {
    row[0]: row[3] for row in _core.COMPOSED
}


class PrecisionType(enum.IntEnum):
    """How an operation may be computed; here every one is computed in the higher precision."""

    INTRINSIC = 0
    HIGH_PRECISION = 1


def signature_of(name: str) -> inspect.Signature:
    """The signature of an element-wise operation: tensors or numbers, and a precision where the table has one."""
    parameters = []
    for text in PARAMETERS[name].split(", "):
        parameter, _, default = text.partition("=")
        value = PrecisionType[default] if default else inspect.Parameter.empty
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(parameter, kind, default=value, annotation="Any"))
    return inspect.Signature(parameters, return_annotation="Tensor")


def check_precision(name: str, value: Any) -> None:
    """A precision is named by its enum, or by the name or number of a member."""
    known = value in PrecisionType.__members__ if isinstance(value, str) else isinstance(value, int)
    if value is not None and not known:
        names = " or ".join(PrecisionType.__members__)
        raise trace_error(TypeError, f"{name}(): precision_type is {names}, got {type(value).__name__}")


class Arity:
    """What arguments an operation takes."""

    def __init__(self, name: str, signature: inspect.Signature) -> None:
        """The operation by its user's name."""
        self._name, self._signature = name, signature
        places = [each for each in signature.parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
        rest = any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())
        self.least = sum(each.default is each.empty for each in places)
        self.most = 1 << 30 if rest else len(places)

    def bind(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> inspect.BoundArguments:
        """The arguments in their places; an error that shows the parameters when they do not fit."""
        try:
            return self._signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise trace_error(
                TypeError, f"{self._name}(): {error}; it is {self._name}({PARAMETERS[self._name]})"
            ) from None
