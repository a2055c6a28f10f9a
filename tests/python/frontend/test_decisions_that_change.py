"""Conditions and loop counts that a first trace takes for known, and that turn out to depend on the running kernel."""

import pytest
from container_programs import follows


@pytest.mark.parametrize(
    "lines",
    [
        """
        S = [x * 5.0, 0]
        y = x
        for t in pypto.loop(n[0]):
            S = [S[0] + 1.0, S[1] + 1]
        if S[1] > 2:
            y = S[0]
        else:
            for i in pypto.loop(n[0]):
                S = [S[0] * 2.0, S[1]]
                y = y + S[0]
        out[0:4] = y
        """,
        """
        S = [0, 0, 0]
        y = x
        for t in pypto.loop(n[0]):
            S = [S[0] + 1, S[1] + 2, S[2]]
        for k in range(3):
            if S[k] > 2:
                for i in pypto.loop(n[0]):
                    y = y * 2.0
            else:
                y = y + 1.0
                for i in pypto.loop(2):
                    z = y
                    z[0:2] = x[2:4]
                    y = z + 1.0
        out[0:4] = y
        """,
        """
        k = 0
        for t in pypto.loop(n[0]):
            k = k + 1
        y = x
        for i in pypto.loop(k):
            S = [y, i]
            for j in pypto.loop(2):
                S = [S[0] + 1.0, S[1] + 1]
            y = S[0] * S[1]
        out[0:4] = y
        m = 0.5
        for t in pypto.loop(n[0]):
            m = m + 0.5
        out[4:8] = x * m
        """,
        """
        S = [1, x]
        for t in pypto.loop(n[0]):
            S = [S[0] + 1, S[1]]
        a = x * 2.0 if S[0] > 2 else (x * 3.0 if n[0] > 0 else x)
        for t in pypto.loop(n[0]):
            a = a + 1.0
        out[0:4] = a
        """,
        """
        B, C = [x * 3.0, 2], [x * 5.0, 3]
        if n[0] > 2:
            C = B
        else:
            for r in range(2):
                for q in (B, C):
                    q[0] = q[0] + C[0]
                for i in pypto.loop(n[0]):
                    B = C
        for i in pypto.loop(0 if n[0] > 2 else 2):
            q[0] = q[0] + C[0]
        out[0:4] = C[0]
        """,
    ],
)
def test_what_an_earlier_trace_found_is_not_taken_for_something_else(tmp_path, lines):
    follows(tmp_path, lines)
