"""The stub of the catalogue, made from the operations themselves: functions, and methods of tensors.

python tests/python/frontend/catalogue_stub.py > python/pypto/frontend/_catalogue.pyi
"""

import enum
import inspect
import sys

from pypto.frontend.catalogue.operations import CATALOGUE, METHODS

HEAD = '''"""What type checkers and editors see of the operations: made by tests/python/frontend/catalogue_stub.py."""

from typing import Any

from pypto.frontend.tensor import Tensor
'''


def _default(value: object) -> str:
    return "..." if isinstance(value, enum.Enum) else repr(value)


def _annotation(annotation: object) -> str:
    return str(annotation).replace("SymbolicScalar", "Any").replace("DataType", "Any")


def _parameters(operation) -> list[str]:
    texts, keyword_only = [], False
    for parameter in inspect.signature(operation).parameters.values():
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only and not any(t.startswith("*") for t in texts):
            texts.append("*")
            keyword_only = True
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        texts.append(f"{star}{parameter.name}: {_annotation(parameter.annotation)}{default}")
    return texts


def _function(name: str, operation) -> str:
    returned = _annotation(inspect.signature(operation).return_annotation)
    doc = inspect.getdoc(operation).splitlines()[0]
    return f'def {name}({", ".join(_parameters(operation))}) -> {returned}:\n    """{doc}"""\n'


def _method(name: str, operation) -> str:
    first, *others = _parameters(operation)
    others = [first, *others] if first.startswith("*") else others
    returned = _annotation(inspect.signature(operation).return_annotation)
    return f"    def {name}({', '.join(['self', *others])}) -> {returned}: ...\n"


def make_stub() -> str:
    """The text of the stub."""
    functions = [_function(name, CATALOGUE[name]) for name in sorted(CATALOGUE)]
    methods = [_method(name, CATALOGUE[name]) for name in sorted(METHODS)]
    types = "class CatalogueMethods:\n" + '    """Operations as methods of tensors."""\n\n    __slots__ = ()\n\n'
    return "\n".join([HEAD, *functions, types]) + "".join(methods)


if __name__ == "__main__":
    sys.stdout.write(make_stub())
