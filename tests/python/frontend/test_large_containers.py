"""Large lists and dicts around branches and loops: changes in them are seen, what does not change is looked at once."""

import pytest
from container_programs import follows, load, run

import pypto
from pypto.frontend.objects import containers
from pypto.frontend.tracing import tracer

ROWS = "T = {k: [x + float(k), x] for k in range(100)}\nR = [[x, x * 2.0] for _ in range(100)]\n"
CHECK = "\nout[0:4] = T[3][0] + T[4][1]\nout[4:8] = R[5][0] + R[6][1]"


@pytest.mark.parametrize(
    "lines",
    [
        "if n[0] > 1:\n    T[3][0] = x * 7.0\n    R[6][1][:] = x * 3.0",
        "for i in pypto.loop(n[0]):\n    T[4][1] = T[4][1] + 1.0\n    R[5] = [R[5][1], R[5][0]]",
        "for i in range(3):\n    R[5], R[6] = R[6], [x * i, x]\n    if n[0] > i:\n        T[3] = [T[4][0], T[3][0]]",
        "for i in range(20):\n    R.append([x])\n    if n[0] == 1:\n        R[5][0] = R[5][0] + 1.0",
        "(n[0] > 1) and R[5].__setitem__(0, x * 9.0)",
        "R[5][0] = x * 5.0\nif n[0] > 1:\n    R.reverse()",
        "if n[0] > 0:\n    pass\nT[3], R[6] = R[6], T[3]\nif n[0] > 1:\n    T[3][0] = x * 0.5",
    ],
)
def test_as_python(tmp_path, lines):
    follows(tmp_path, ROWS + lines + CHECK)


@pytest.mark.parametrize(
    "lines",
    ["R[6].insert(0, R[5].pop())", "T[100] = T.pop(99)", "R.append(R[0])", "T[3] = (T[3][0], T[3][1])"],
)
def test_other_makes_are_refused(tmp_path, lines):
    kernel = load(tmp_path, f"{ROWS}if n[0] > 1:\n    {lines}{CHECK}")
    with pytest.raises(pypto.CompileError):
        run(kernel, 1)


@pytest.mark.parametrize("change", ["moved", "renamed", "replaced"])
def test_changes_behind_a_shared_look(change):
    first, second, table = [1, 2], [3], {"a": "value"}
    held = [first, second, table] * 30
    token = tracer.enter(tracer.Trace("kernel", tracer.Facts()))
    try:
        snapshots = [containers.Snapshot() for _ in range(3)]
        for snapshot in snapshots:
            snapshot.add(held, "held")
            assert not list(snapshot.changes())
        if change == "moved":  # the elements in a row are the same as before
            second.insert(0, first.pop())
        elif change == "renamed":
            table["b"] = table.pop("a")
        else:
            first[0] = 5
        counts = [len(list(snapshot.changes())) for snapshot in snapshots]
    finally:
        tracer.leave(token)
    assert counts == [2 if change == "moved" else 1] * 3


def looks(monkeypatch, tmp_path, branches):
    """How often the elements of a container are looked at while a kernel with that many branches is traced."""
    counted = [0]
    plain = containers.parts_of

    def counting(value):
        counted[0] += 1
        return plain(value)

    monkeypatch.setattr(containers, "parts_of", counting)
    lines = "".join(f"if n[0] > {k} and n[0] + T[{k}][0] > 0:\n    out[0:4] = x + T[{k}][0]\n" for k in range(branches))
    kernel = load(tmp_path, lines, "T = {k: (k, [k]) for k in range(3000)}")
    run(kernel, 1)
    return counted[0]


def test_many_branches_look_at_a_large_dict_as_often_as_few(monkeypatch, tmp_path):
    few, many = looks(monkeypatch, tmp_path, 4), looks(monkeypatch, tmp_path, 40)
    assert many < few + 40 * 300
