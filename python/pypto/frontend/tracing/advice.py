"""What to write instead, behind errors of Python itself and of libraries that name a value of the running kernel."""

from __future__ import annotations

import re

_NUMBERS = "SymbolicScalar|FloatScalar"
_VALUES = rf"\b(?:{_NUMBERS}|Tensor)\b"
_ADVICE: tuple[tuple[str, str], ...] = (
    (rf"argument of type '(?:{_NUMBERS})' is not iterable", "compare with == or !="),
    (
        rf"(?:{_NUMBERS}).*(?:iter|mapping|revers|has no len)|(?:iter|after \*).*(?:{_NUMBERS})",
        "`for i in pypto.loop(n)` repeats n times; a list of numbers is written out, such as [n, m]",
    ),
    (rf"(?:{_NUMBERS}).*(?:not subscriptable|support item)", "take the element of the tensor, x[i, j]"),
    (rf"(?:{_NUMBERS}|Tensor).*not callable", "write the operator between them, such as n * (a + b)"),
    (
        r"invalid combination of arguments|must be (?:Tensor|Number|tuple of ints)|infer dtype|only supports Tensor",
        "the operation of pypto of that name; tensors of the host are parameters of the kernel",
    ),
    (
        r"indices|interpreted as an integer|integer is required|string index",
        "choose with if statements on its values, or put the elements into a tensor and read it, x[n : n + 1]",
    ),
    (
        r"format|serializ|bytes|string|str\b",
        "f'{x}' shows it while the kernel is traced, pypto.pass_verify_print(x) when the kernel runs",
    ),
    (r"context manager", "call it in a statement of its own"),
    (r"attribute", "keep it in an object beside it"),
)
_PLAIN = (  # errors that need not name a value of the kernel
    (r"of 'Tensor' object has no setter", "bind a new one, pypto.reshape(x, shape) or pypto.cast(x, dtype)"),
    (r"__init__\(\) should return None", "return nothing"),
    (r"only integers, slices .* valid indices", "pass the array as a tensor parameter and read it, x[n : n + 1]"),
    (
        r"an? int(?:eger)?\b.*(?:required|argument|: 0 <=)|Rational instance|__index__ method|element with a sequence",
        "a number that is known while the kernel is traced, or operations of pypto on those of the running kernel",
    ),
)
_OTHERWISE = (
    "compute with its operators and with the operations of pypto; what Python has to know is a constant of the kernel, "
    "such as a static dim or a parameter that is compiled in"
)


def advice(text: str) -> str:
    """A sentence for the text of an error; nothing where it has one, or speaks of no value of the kernel."""
    first = text.partition("\n")[0]
    if "Instead:" in text:
        return ""
    plain = next((instead for pattern, instead in _PLAIN if re.search(pattern, first)), "")
    if plain or not re.search(_VALUES, first):
        return f". Instead: {plain}" if plain else ""
    instead = next((instead for pattern, instead in _ADVICE if re.search(pattern, first)), _OTHERWISE)
    return f" (it is known only when the kernel runs). Instead: {instead}"
