"""Random statements in which names, elements and attributes change while they are evaluated."""

import random

HEAD = """
G, H = 1, 2
GL = [3, 4]


def bump():
    global G
    G = G + 1
    return G


def swap():
    global G, H
    G, H = H, G
    return 1


def rebind():
    global GL
    GL = [GL[1], GL[0] + 1]
    return 0


def look():
    return G + H * 3 + GL[0] * 5 + GL[1] * 7


def read(*values, a=0, b=0):
    return sum(values) * 3 + a * 5 + b * 7


def put(container, key, value):
    container[key] = value
    return value


def add(container, value):
    container[0] = container[0] + value
    return container[1]


def choose(c, a, b):
    if c:
        return a
    return b


def search(values, limit):
    for value in values:
        if value > limit:
            return value
        values[1] = values[1] + 1
    return limit


class Thing:
    def __init__(self, u, w):
        self.u, self.w = u, w

    def more(self, k):
        self.u = self.u + k
        return self.w

    @property
    def both(self):
        self.w = self.w + 1
        return self.u + self.w

    @both.setter
    def both(self, value):
        self.u = value - 1

    def __getattr__(self, name):
        self.u = self.u + len(name)
        return self.w

    def __getitem__(self, k):
        self.u = self.u + 1
        return self.w + k

    def __setitem__(self, k, v):
        self.w = v + k

    def __add__(self, o):
        self.u = self.u + 1
        return self.w + o

    def __rmul__(self, o):
        self.w = self.w + o
        return self.u

    def __isub__(self, o):
        self.u = self.u - o
        return self

    def __lt__(self, o):
        self.u = self.u + 1
        return self.w < o

    def __eq__(self, o):
        self.w = self.w + 1
        return self.u == o

    def __contains__(self, o):
        self.u = self.u + o
        return self.w > o

    def __iter__(self):
        self.w = self.w + 1
        return iter([self.u, self.w])

    def __bool__(self):
        self.w = self.w + 1
        return self.w > 3


def one(v):
    return v + 1


def other(v):
    return v * 2
"""
START = """
a, b, c, i = 1, 2, 3, 0
L, M, K = [1, 2, 3], [4, 5, 6], [7, 8, 9]
D = {'p': 1, 'q': 2}
B = Thing(1, 2)
F = one
t = x * 1.0
"""
END = """
out[0:4] = t + x * (a + b * 3 + c * 11)
out[4:8] = x * (L[0] + L[1] * 3 + L[2] * 5 + M[0] * 7 + M[1] * 11 + M[2] * 13 + K[0] * 17 + K[1] * 19)
out[8:12] = x * (D['p'] + D['q'] * 3 + B.u * 5 + B.w * 7)
out[12:16] = x * look()
"""


class Statements:
    """The statements of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.of_the_kernel = self.random.random() < 0.75  # whether conditions of the running kernel occur
        self.inside = 0  # such conditions around: globals may not change there

    def _pick(self, forms):
        """One of some forms, with E, C and the like in them replaced."""
        weights = [weight for weight, _ in forms]
        return self.random.choices([form for _, form in forms], weights)[0]

    def _filled(self, form, depth):
        made = ""
        for at, piece in enumerate(form.replace("}", "{").split("{")):
            made += piece if at % 2 == 0 else {
                "E": lambda: self.expression(depth - 1), "C": lambda: self.condition(depth - 1), "A": self._name,
                "L": self._list, "I": lambda: self._index(depth), "N": lambda: str(self.random.randrange(6)),
                "T": lambda: self._target(depth - 1), "P": lambda: self.random.choice("pq"),
                "+": lambda: self.random.choice("+-*"), "<": lambda: self.random.choice(["<", ">", "<=", "==", "!="]),
                "&": lambda: self.random.choice(["and", "or"]), "[": lambda: "{", "]": lambda: "}",
            }[piece]()  # fmt: skip
        return made

    def _name(self):
        return self.random.choice("abc")

    def _list(self):
        return self.random.choice("LLMMK" if self.inside else ["L", "M", "K", "GL"])

    def _index(self, depth):
        k = self.random.randrange(2)
        return str(k) if depth <= 0 or self.random.random() < 0.7 else f"(j := {k})"

    def _target(self, depth):
        forms = [(7, "{A}"), (8, "{L}[{I}]"), (2, "D['{P}']"), (1, "B.u"), (1, "B.w"), (1, "B.both"), (1, "B[{I}]")]
        return self._filled(self._pick(forms), depth)

    def condition(self, depth):
        """One that is known while tracing, or to the running kernel only."""
        forms = [(4, "{E} {<} {E}"), (1, "{E} < {E} <= {E}"), (1, "True"), (1, "B"), (1, "B < {E}"), (1, "{E} in B")]
        if self.of_the_kernel:
            forms += [(4, "n[0] > {N}"), (2, "n[1] > {N}"), (1, "i < n[1]"), (1, "n[0] == n[1]")]
        if depth > 0:
            forms += [(5, "({C} {&} {C})"), (2, "not {C}"), (1, "any([{E} > {N}, {C}])"), (1, "({A} := {E}) > {N}")]
        return self._filled(self._pick(forms), depth)

    def expression(self, depth):
        """A number."""
        forms = [
            (8, "{A}"), (5, "{L}[{I}]"), (2, "i"), (4, "{N}"), (1, "D['p']"), (1, "B.u"), (1, "B.w"), (1, "B.both"),
        ]  # fmt: skip
        if not self.inside:
            forms += [(2, "G"), (1, "H"), (1, "bump()"), (1, "swap()"), (1, "rebind()")]
        if depth > 0:
            forms += [
                (6, "({E} {+} {E})"), (8, "({A} := {E})"), (5, "({E} if {C} else {E})"),
                (3, "(1 if {C} {&} {E} > {N} else 0)"),
                (3, "put({L}, {I}, {E})"), (2, "add({L}, {E})"), (3, "read({E}, {E}, a={E})"), (2, "read(*{L}, {E})"),
                (2, "read({E}, *[{E}, {E}], b={E}, a={E})"), (2, "[{E}, {E}, *{L}][{I}]"), (1, "B.more({E})"),
                (2, "{[}'p': {E}, 'q': {E}{]}['{P}']"), (1, "B[{I}]"), (1, "(B + {E})"), (1, "({E} * B)"),
                (2, "(lambda p, q={E}: p * 2 + q)({E})"), (1, "sum([{E} + z for z in {L}[:2]])"), (2, "F({E})"),
                (2, "choose({C}, {E}, {E})"), (2, "max({E}, {E})"), (1, "[{E}, {E}][1:][0]"), (1, "sum([*B])"),
                (1, "search([{E}, {E}], {E})"), (1, "search({L}, {E})"), (1, "B.missing"), (1, "(B == {E}) * 1"),
                (1, "(L := [{E}, {E}, {N}])[{I}]"), (1, "sum([z for z in {L} if {C}])"), (1, "-{E}"),
            ]  # fmt: skip
        return self._filled(self._pick(forms), depth)

    def statement(self, depth, indent):
        """Lines of one statement."""
        forms = [
            (9, "{T} = {E}"), (9, "{T} {+}= {E}"), (3, "{T}, {T} = {E}, {E}"), (2, "{T} = {T} = {E}"), (1, "L = M"),
            (1, "{T}, *_ = [{E}, {E}]"), (1, "t = t + x * ({E})"), (1, "t[0:1] += {E}"), (1, "{C} {&} {E}"),
            (1, "B -= {E}"), (1, "M = K"), (1, "M = [{E}, *{L}, {E}]"), (1, "for {T} in [{E}, {E}]: pass"),
        ]  # fmt: skip
        if not self.inside:
            forms += [(1, "F = other")]
        if depth > 0:
            forms += [(6, "if"), (2, "for"), (3, "loop")]
        form = self._pick(forms)
        if form == "for":
            return [f"{indent}for i in range({self.random.randrange(1, 3)}):", *self._block(depth, indent)]
        if form not in ("if", "loop"):
            return [indent + self._filled(form, 3)]
        self.inside += self.of_the_kernel
        count = self.random.choice(["n[0]", "n[1]", "2"]) if self.of_the_kernel else "2"
        opening = f"if {self.condition(2)}:" if form == "if" else f"for i in pypto.loop({count}):"
        made = [indent + opening, *self._block(depth, indent)]
        if form == "if" and self.random.random() < 0.5:
            made += [f"{indent}else:", *self._block(depth, indent)]
        self.inside -= self.of_the_kernel
        return made

    def _block(self, depth, indent):
        statements = [self.statement(depth - 1, indent + "    ") for _ in range(self.random.randrange(1, 3))]
        return [line for each in statements for line in each]

    def body(self):
        """The lines of a kernel."""
        statements = [self.statement(2, "") for _ in range(self.random.randrange(1, 5))]
        return START + "\n".join(line for each in statements for line in each) + END
