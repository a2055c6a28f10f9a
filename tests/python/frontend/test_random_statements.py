"""Random statements whose order of evaluation matters give what Python gives, or are refused."""

import pytest
from eager_kernels import eager, module_of, run
from statement_programs import HEAD, Statements

import pypto

SEEDS_PER_TEST = 20
REFUSALS = (
    "changes in a", "Conflicted var", "has no value after it", "Not concrete value", "counts as true is known only",
    "combine conditions", "gives numbers or tensors", "may be the one of another name", "binds a name (:=)",
    "is read before it is bound", "was never bound", "change in a", "unhashable type", "cannot be given back",
)  # fmt: skip
NUMBERS = [(0, 0), (2, 3)]


def outcome(directory, body, numbers):
    """`as eager`, `refused`, or `both raise` where Python raises as well."""
    try:
        expected = eager(module_of(directory, body, HEAD), list(numbers))
    except (TypeError, IndexError):
        expected = None
    try:
        found = run(pypto.frontend.jit(module_of(directory, body, HEAD).kernel), numbers)
    except pypto.PyptoError as error:
        assert expected is None or any(text in str(error) for text in REFUSALS), f"{body}\n{error}"
        return "both raise" if expected is None else "refused"
    assert expected is not None, f"Python raises:\n{body}"
    same = all((a.double() - b).abs().max() <= 1e-5 * b.abs().max() for a, b in zip(found, expected, strict=True))
    assert same, f"{numbers}:\n{body}\n{found[1].tolist()}\n{expected[1].tolist()}"
    return "as eager"


@pytest.mark.parametrize("first", range(0, 60, SEEDS_PER_TEST))
def test_statements(first, tmp_path):
    seeds = range(first, first + SEEDS_PER_TEST)
    bodies = [Statements(seed).body() for seed in seeds]
    outcomes = [outcome(tmp_path, body, numbers) for body in bodies for numbers in NUMBERS]
    assert outcomes.count("as eager") > len(outcomes) // 2
