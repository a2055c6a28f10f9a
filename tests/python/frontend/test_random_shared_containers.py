"""Random programs on lists, dicts and boxes that names have in common, change places and are set, against Python."""

import random

import pytest
from container_programs import follows

START = """L = [x * 2.0, 1]
M = [x * 3.0, 2]
O = [x * 5.0, 3]
D = {'k': L, 'm': O}
N = [M, [x + 7.0, 4]]
X = Box(L)
def put_first(value):
    L[0] = value
def walk(count, one, other, value):
    for step in pypto.loop(count):
        one[0] = one[0] + value
        one, other = other, one
    return one"""
LISTS = ("L", "M", "O", "D['k']", "D['m']", "N[0]", "N[1]", "X.t")
CONDITIONS = ("n[0] > 0", "n[0] > 1", "n[0] == 1", "n[0] < 2")


class Program:
    """The lines of one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lists = self.random.sample(LISTS, self.random.randint(3, 6))
        self.lines = START.split("\n")
        for _ in range(self.random.randint(2, 4)):
            self.statement(0, ())
        self.lines.append("out[0:4] = L[0] * L[1] + M[0] * 3.0 + O[0] * O[1] + X.t[0] * 7.0")
        self.lines.append("out[4:8] = D['k'][0] + D['m'][0] * 3.0 + N[0][0] * N[0][1] + N[1][0] * 7.0 + X.t[1]")

    def one(self):
        return self.random.choice(self.lists)

    def tensor(self):
        return self.random.choice([f"{self.one()}[0]", f"{self.one()}[0]", "x"])

    def condition(self, indices):
        return self.random.choice(CONDITIONS + tuple(f"{i} {test}" for i in indices for test in ("> 0", "== n[0] - 1")))

    def change(self):
        number = self.random.randint(1, 9)
        return self.random.choice(
            [
                f"{self.one()} = {self.one()}",
                f"{self.one()} = {self.one()}",
                "{0}, {1} = {1}, {0}".format(self.one(), self.one()),
                f"{self.one()} = [{self.tensor()}, {number}]",
                f"{self.one()}[0] = {self.tensor()} + {number}.0",
                f"{self.one()}[0] = {self.tensor()} + {number}.0",
                f"{self.one()}[1] = {self.one()}[1] + {number % 3}",
                f"{self.one()}[0][1:2] = {self.tensor()}[2:3]",
                "{0}[0], {1}[0] = {1}[0], {0}[0]".format(self.one(), self.one()),
                f"put({self.one()}, {self.tensor()})",
                f"put_first({self.tensor()} + {number}.0)",
                f"{self.one()} = choose(n[0] - 1, {self.one()}, {self.one()})",
                f"{self.one()} = walk(n[0], {self.one()}, {self.one()}, {self.tensor()})",
                f"for each in ({self.one()}, {self.one()}): each[0] = {self.tensor()}",
                f"D = {{'k': {self.one()}, 'm': {self.one()}}}",
                f"N = [N[1], {self.one()}]",
                f"X = Box({self.one()})",
            ]
        )

    def statement(self, depth, indices):
        pad, kind = "    " * depth, self.random.random()
        if kind < 0.25 and depth < 2:
            self.lines.append(f"{pad}if {self.condition(indices)}:")
            self.block(depth + 1, indices)
            if self.random.random() < 0.4:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, indices)
        elif kind < 0.45 and depth < 2:
            self.lines.append(f"{pad}for i{depth} in pypto.loop(n[0]):")
            self.block(depth + 1, (*indices, f"i{depth}"))
        else:
            self.lines.append(pad + self.change())

    def block(self, depth, indices):
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, indices)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program_computes_what_python_does(tmp_path, seed):
    follows(tmp_path, "\n".join(Program(seed).lines), (0, 1, 2, 3))
