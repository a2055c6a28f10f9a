"""A statement evaluates what it holds in the order of Python, also where names change on its way."""

import pytest
from eager_kernels import check_afresh

HEAD = """
G = 1
L = [10, 20, 30, 40]


def bump():
    global G
    G = G + 1
    return 1


def swap():
    global F
    F = F2
    return 1


def swapl():
    global L
    L = [7, 8, 9, 6]
    return 1


def F(*a, **k):
    return sum(a) * 3 + sum(k.values())


def F2(*a, **k):
    return sum(a) * 5 + sum(k.values())


def Fp(a, b=0):
    return a * 3 + b


def Fq(a, b=0):
    return a * 5 + b


def dd(**k):
    return k['a'] * 100 + k['b']


class C:
    def __init__(self):
        self.u = [1, 2]

    @property
    def p(self):
        bump()
        return self


c = C()
"""
START = """
w, y, v, T = 0, 3, n[0] > 0, True
q = 0
M = [1, 2]
"""
END = """
out[0:4] = x * q + x * (w * 1000)
out[4:8] = x * L[0] + x * (L[1] * 10) + x * (L[2] * 100)
out[8:12] = x * (y * 10) + x * (M[0] * 100)
"""
STATEMENTS = [
    "L[G] += v * bump()",
    "q = y + (v and (y := 7))",
    "q = F(*M, v and (M := [5, 6]) and 1)",
    "q = sum([*M, (M := [7,7])[0] if v else 0])",
    "q = F(y, a=(v and (y := 9)))",
    "q = dd(a=y, b=(v and (y := 9)))",
    "q = dd(**{'a': y}, b=(y := 9) if v else 2)",
    "q = y < (1 if v else (y := 2)) < y + 3",
    "q = {y: y + 1, 2: (y := 8) if v else 1}[3]",
    "M[0] += (y := 4) if v else 1; q = M[0]",
    "M[y - 3] += (y := 4) if v else 1; q = M[0]",
    "y += (y := 4) if v else 1; q = y",
    "M[0] += G * (w := bump()) + G; q = M[0]",
    "q = G * bump() + G",
    "q = (y, (y := 6) if v else 1)[0] * 10 + y",
    "y, M[0] = 1, (y if v else (y := 10)); q = M[0]",
    "q = (lambda a, b: a * 10 + b)(y, (y := 6) if v else 1)",
    "q = M.__getitem__((M := [9, 9]) and 1 if True else (y := 1))",
    "q = [y, *M, (y := 5) if v else 2, y][3]",
    "q = y if v else (y := 2)",
    "q = (y if (y := y + 1) > n[0] else (y := 2)) + y",
    "q = [y for y2 in M if (y := y2) > 1][0] + y",
    "q = y + sum([(y := k) for k in M]) + y",
    "q = y - -y * (y := 2)",
    "q = not (v and (y := 0)); q = y",
    "q = y + (n[1] if v and (y := 5) > n[1] else (y := 6)) * y",
    "q = 1 if y < (y := 5 if v else 4) < 6 else 2",
    "x[0:1] += (y := 2.0) if v else 1.0; q = y",
    "q = (x * y)[0:1] * ((y := 2) if v else 1); out[12:13] = q; q = 1",
    "M[y - 3:] += [(y := 2) if v else 1]; q = M[-1]",
    "q = G + (T and (w := bump()))",
    "q = Fp(G, (v and (w := 1)) + bump() + G)",
    "q = F(T and (w := swap()))",
    "q = F(T and (w := swap()) and (y := 2), G)",
    "q = Fp(T and (Fp2 := Fq) and 1)",
    "Fl = Fp; q = Fl(T and (Fl := Fq) and 1)",
    "Fl = Fp; q = Fl(v and (Fl := Fq) and 1)",
    "L[G] += T * bump()",
    "L[G] += T and (w := bump())",
    "L[G] += swapl()",
    "L[0] += T and (w := swapl())",
    "L[G:G+1] += [swapl()]",
    "c.u[0] += c.p.u[0]; q = c.u[0]",
    "c.p.u[G - 2] += bump() + bump(); q = c.u[0] * 10 + c.u[1]",
    "L[G], q = q + 1, bump()",
    "q, L[G] = bump(), G",
    "q = L[G] = bump()",
    "L[G] = q = bump()",
    "L[bump()] = L[G] = bump()",
    "L[bump()], L[G] = G, bump()",
    "[L[G], *q] = [bump(), 3, 4]; q = q[0]",
    "for L[G] in [bump(), bump()]: q = q + G",
    "q = [bump() for L[G] in [1, bump()]][0]",
    "q = {G: bump(), G + 1: G}[1]",
    "q = {**{1: G}, 2: bump(), 3: G}; q = q[1] * 100 + q[3]",
    "q = [G, *[bump(), G], G][3]",
    "q = L[G:bump() + G][0]",
    "q = (G < bump() + G) + G * 10",
    "q = (G < bump() + G < bump() + G) + G * 10",
    "q = (G if bump() else 3) + (3 if G > 5 else G)",
    'q = len(f"{G}{bump()}{G:{G}}")',
    "q = max(G, bump(), key=lambda k: -k) + G",
    "q = F(G, *[bump()], G, a=G, **{'b': bump()}, c=G)",
    "q = -G + bump() ** G",
    "q = G in [bump(), G]",
    "q = (G, bump(), G)[0]",
    "q = (lambda a=bump(): a + G)() + G",
    "assert bump() and G == 2, bump(); q = G",
    "while G < 4: q += G * bump()",
    "while (G < 4) and (w := bump()): q += G",
    "del L[bump() + G]; q = L[1]",
    "q = any(bump() > k and G > 2 for k in range(3)) + G",
    "q = all(bump() > k for k in (0, 0, 2, 3)) + G",
    "if bump() > 1 or G > 1: q = G",
    "if bump() and n[1] > 0 or G > 1: q = q + G",
    "q = G + (n[1] > 0) * bump() + G",
    "q = y; q += (y := 2) * q + y",
    "M[0] += (M := [5, 6])[0]; q = M[0]",
    "M[0] = M[0] + (M := [5, 6])[0]; q = M[0]",
    "N = M; M[(M := [1, 7])[0]] += 3; q = N[1] * 10 + M[1]",
    "N = M; M[0] = (M := [4, 5])[1]; q = N[0] * 10 + M[0]",
    "i = 0; i, M[i] = 1, 9; q = M[1]",
    "i = 0; M[i], i = 9, 1; q = M[0]",
    "N = M; M, M[0] = [5, 6], 9; q = N[0] * 10 + M[0]",
    "N = M; M[0] = M = [5, 6]; q = N[0][1]; q = q + M[0]",
    "q = (y := 5) + y * (y := 6) - y",
    "q = M[y - 3] + M[(y := 4) - 3] * y",
    "q = [y, (y := y + 1), y, (y := y + v), y][4]",
    "q = Fp(b=y, a=(y := 8)) + Fp(*[y, (y := 9)])",
    "for i in pypto.loop(n[1]): q = (lambda p, q=(y := 7): p * 2 + q)(3)",
    "if n[1] > 0: q = (lambda p, q=(M := [7, 8])[0]: p + q)(3)",
    "for i in pypto.loop(3): y = (lambda y, z=y: y * 2 + z)(3)",
    "for i in pypto.loop(3): y = [y for y in [y, 5]][0] + 1",
    "q = (lambda p, r=(v and (y := 7)): p * 2 + r)(3)",
]
COMPOUND = ("for", "while", "if", "with")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_order(statement, tmp_path):
    text = statement if statement.startswith(COMPOUND) else statement.replace("; ", "\n")
    for numbers in ((0, 0), (1, 0), (2, 3)):
        check_afresh(tmp_path, START + text + END, numbers, HEAD)
