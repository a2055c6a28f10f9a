"""`and`, `or` and `:=` ask objects whether they count as true as often as Python does, and in its order."""

import random

import pytest
import torch
from eager_kernels import eager, module_of, run

import pypto

HEAD = """
class Asked:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.log = 0

    def __bool__(self):
        self.log = self.log * 2 + 1
        self.answers.append(self.answers.pop(0))
        return self.answers[0]
"""


def operand(choose, depth):
    if depth and choose.random() < 0.6:
        return combination(choose, depth - 1)
    kind = choose.random()
    if kind < 0.5:
        return choose.choice("abc")
    return f"(w := {choose.choice(['a', 'b', '0', '3'])})" if kind < 0.8 else choose.choice(["0", "2", "not a"])


def combination(choose, depth=2):
    word = choose.choice([" and ", " or "])
    return "(" + word.join(operand(choose, depth) for _ in range(choose.choice([2, 2, 3]))) + ")"


def body(seed):
    choose = random.Random(seed)
    lines = ["w = 1", "a, b, c = Asked(True, False, False), Asked(False, True), Asked(True, True, False)"]
    for at in range(3):
        lines.append(f"v = {combination(choose)}")
        lines.append(f"out[{at * 4}:{at * 4 + 4}] = x + float(a.log * 16 + b.log * 4 + c.log)")
        lines.append(f"if {combination(choose)}:")
        lines.append("    out[12:16] = x + float(a.log * 16 + b.log * 4 + c.log)")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(40))
def test_as_often_as_python(seed, tmp_path):
    text = body(seed)
    expected = eager(module_of(tmp_path, text, HEAD), [0, 0])
    found = run(pypto.frontend.jit(module_of(tmp_path, text, HEAD).kernel), (0, 0))
    assert torch.equal(found[1].double(), expected[1]), text
