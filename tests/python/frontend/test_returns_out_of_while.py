"""`return` out of a `while` on plain numbers: what the returning path would leave behind is not read."""

import pytest
from container_programs import follows

HELPERS = {
    "counts": """
def f(a, m):
    k = 0
    while k < 3:
        if m == k:
            return a * float(k)
        k += 1
        a = a * 2.0
    return a + k
""",
    "two numbers and a text": """
def f(a, m):
    k, way = 0, "up"
    while way == "up":
        if m == k:
            k = 17
            way = "down"
            return a * float(k)
        k += 1
        if k > 2:
            way = "down"
    return a * k
""",
    "loops in one another": """
def f(a, m):
    t = 0
    for k in range(3):
        if m == k:
            return a * t
        t += k
        j = 0
        while j < 2:
            if m + 1 == t:
                return a + t
            t = t + j
            j += 1
    return a * 100.0
""",
    "both branches": """
def f(a, m):
    k = 0
    while k < 3:
        if m > 2:
            k = 5
            return a * float(k)
        elif m == k:
            return a + float(k)
        k = k + 1
    return a
""",
}


@pytest.mark.parametrize("helper", HELPERS)
def test_as_python(helper, tmp_path):
    follows(tmp_path, "out[0:4] = f(x, n[0])\nout[4:8] = f(x * 2.0, n[0] + 1)", more=HELPERS[helper])
