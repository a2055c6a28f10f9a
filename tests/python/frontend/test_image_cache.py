"""PYPTO_CACHE_DIR: compiled images that other processes take from a folder."""

import dataclasses
import importlib
import json
import linecache
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import torch
from frontend_samples import Sample

import pypto
from pypto import ir
from pypto.frontend.kernels import image_cache
from pypto.frontend.kernels.content import UnstableError, content_digest

FP32 = pypto.DT_FP32
T = pypto.Tensor

SCRIPT = """
    import json
    import torch
    import pypto
    from scales import scale, Tile

    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([8], pypto.DT_FP32), out: pypto.Tensor([8], pypto.DT_FP32), n):
        pypto.set_vec_tile_shapes(Tile().width)
        out[:] = scale(x) + n

    x, out = torch.arange(8.0), torch.zeros(8)
    kernel(x, out, 1)
    kernel(x, out, 1)
    print(json.dumps([out[1].item(), vars(pypto.frontend.image_cache_info()), kernel.cache_info().misses]))
"""
SCALES = """
    import dataclasses
    FACTOR = 2.0

    @dataclasses.dataclass
    class Tile:
        width: int = 8

    def scale(x):
        return x * FACTOR
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "images"))
    return tmp_path / "images"


@pytest.fixture
def script(tmp_path, folder):
    """Runs the script with these scales in a process of its own: what it printed."""

    def run(scales: str = SCALES, text: str = SCRIPT):
        (tmp_path / "scales.py").write_text(textwrap.dedent(scales))
        (tmp_path / "script.py").write_text(textwrap.dedent(text))
        done = subprocess.run(
            [sys.executable, "-B", str(tmp_path / "script.py")],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def new_counts(before):
    """What was read, written, met damaged and compiled since."""
    now = image_cache.image_cache_info()
    return tuple(getattr(now, f.name) - getattr(before, f.name) for f in dataclasses.fields(now)[:4])


def make_kernel(factor=2.0):
    @pypto.frontend.jit
    def kernel(x: T([pypto.STATIC], FP32), out: T([pypto.STATIC], FP32)):
        out[:] = x * factor

    return kernel


def test_another_process_compiles_nothing(script, folder):
    first = {"read": 0, "written": 1, "damaged": 0, "compiled": 1, "pruned": 0}
    again = {"read": 1, "written": 0, "damaged": 0, "compiled": 0, "pruned": 0}
    assert script() == [3.0, first, 1]
    assert script() == [3.0, again, 1]
    assert len(list(folder.glob("*.pypto"))) == 1
    assert script(SCALES.replace("FACTOR = 2.0", "FACTOR = 3.0")) == [4.0, first, 1]
    assert script(SCALES.replace("x * FACTOR", "x * FACTOR * 2")) == [5.0, first, 1]
    assert script(SCALES.replace("width: int = 8", "width: int = 4")) == [3.0, first, 1]
    assert script(text=SCRIPT.replace("+ n", "- n")) == [1.0, first, 1]
    assert script(text=SCRIPT.replace("out, 1)", "out, 2)")) == [4.0, first, 1]
    assert script() == [3.0, again, 1]


def test_off_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("PYPTO_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    before = image_cache.image_cache_info()
    make_kernel().compile(Sample((8,)), Sample((8,)))
    assert new_counts(before) == (0, 0, 0, 1)
    assert list(tmp_path.iterdir()) == []


def test_what_is_asked_takes_part(folder):
    samples = Sample((8,)), Sample((8,))
    before = image_cache.image_cache_info()
    programs = [make_kernel().compile(*samples), make_kernel().compile(*samples)]
    assert new_counts(before) == (1, 1, 0, 1)
    assert programs[0].fingerprint == programs[1].fingerprint
    assert programs[0].to_text() == programs[1].to_text()
    make_kernel(3.0).compile(*samples)
    make_kernel().compile(Sample((9,)), Sample((9,)))
    make_kernel().compile(*samples, platform="a5sim")
    with pypto.options(runtime_options={"device_sched_parallelism": 2}):
        make_kernel().compile(*samples)
    assert new_counts(before) == (1, 5, 0, 5)
    assert len(list(folder.iterdir())) == 5


def test_files_are_programs(folder):
    program = make_kernel().compile(Sample((8,)), Sample((8,)))
    (path,) = folder.iterdir()
    assert ir.load(path).fingerprint == program.fingerprint


def test_damaged_files_are_written_again(folder):
    samples = Sample((8,)), Sample((8,))
    make_kernel().compile(*samples)
    (path,) = folder.iterdir()
    good = path.read_bytes()
    damages = [b"", b"junk", good[: len(good) // 2], good[:-1]]
    damages += [good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1 :] for at in range(0, len(good), len(good) // 40)]
    for data in damages:
        path.write_bytes(data)
        before = image_cache.image_cache_info()
        make_kernel().compile(*samples)
        assert new_counts(before) == (0, 1, 1, 1)
        assert path.read_bytes() == good


def test_many_writers_leave_whole_files(folder):
    failures = []

    def write():
        try:
            for size in range(1, 9):
                make_kernel().compile(Sample((size,)), Sample((size,)))
        except Exception as error:  # noqa: BLE001  said by the test
            failures.append(error)

    before = image_cache.image_cache_info()
    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    files = list(folder.iterdir())
    assert len(files) == 8 and all(file.suffix == ".pypto" for file in files)
    read, written, damaged, compiled = new_counts(before)
    assert damaged == 0 and written == compiled and read + compiled == 32
    for file in files:
        ir.load(file)


def test_a_folder_that_cannot_be_written_stops_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "file"))
    x, out = torch.ones(8), torch.zeros(8)
    before = image_cache.image_cache_info()
    make_kernel()(x, out)
    assert out.tolist() == [2.0] * 8
    assert new_counts(before) == (0, 0, 0, 1)


def test_kernels_that_depend_on_objects_without_content_are_not_kept(folder):
    weight = torch.ones(1)

    @pypto.frontend.jit
    def kernel(x: T([8], FP32)):
        x[:] = x * weight.item()

    before = image_cache.image_cache_info()
    kernel.compile()
    assert new_counts(before) == (0, 0, 0, 1)
    assert not folder.exists()


class Config:
    step = 2

    def __init__(self, rows):
        self.rows = rows

    def twice(self):
        return self.rows * 2


def test_content():
    assert content_digest([1, {"a": (2.0, None)}]) == content_digest([1, {"a": (2.0, None)}])
    different = [1, 1.0, True, "1", b"1", -0.0, 0.0, [1], (1,), {1}, {1: 1}, float("nan"), pypto.DT_FP32, torch.float32,
                 range(1), pypto.Element(FP32, 1), pypto.Element(FP32, 2), Config, Config(1), Config(2),
                 (lambda x: x), (lambda x: x + 1), len, max, torch, json]  # fmt: skip
    assert len({content_digest(value) for value in different}) == len(different)
    assert content_digest({"b", "a", "c"}) == content_digest({"c", "b", "a"})
    assert content_digest(Config(1)) == content_digest(Config(1))
    cycle = [1]
    cycle.append(cycle)
    assert content_digest(cycle) == content_digest(cycle)


OF_THE_USER = {  # where a class of the user keeps the number $
    "enum": "class Act(enum.Enum):\n    A = 1\n    def apply(self, x): return x * $\nvalue = Act.A",
    "named tuple": "class T(typing.NamedTuple):\n    a: int = 1\n    @property\n    def b(self): return $\nvalue = T()",
    "int": "class Size(int):\n    def apply(self, x): return x * $\nvalue = Size(3)",
    "int's attribute": "class Size(int): pass\nvalue = Size(3)\nvalue.other = $",
    "str": "class Text(str):\n    def apply(self, x): return x * $\nvalue = Text('a')",
    "dict": "class Table(dict):\n    def __missing__(self, key): return $\nvalue = Table()",
    "list": "class Row(list):\n    def apply(self, x): return x * $\nvalue = Row([1])",
    "metaclass": "class Meta(type):\n    def apply(cls, x): return x * $\nclass value(metaclass=Meta): pass",
    "slots": "class Op:\n    __slots__ = ('n',)\n    def __init__(self): self.n = $\nvalue = Op()",
    "slots of a dataclass": "@dataclasses.dataclass(slots=True)\nclass D:\n    n: int = $\nvalue = D()",
    "private attribute": "class P:\n    __k = $\n    def apply(self, x): return x * self.__k\nvalue = P()",
    "inner class": "class P:\n    class _Hidden:\n        k = $\nvalue = P()",
    "setter": "class P:\n    a = property(len, lambda self, v: v * $)\nvalue = P()",
    "default of a dict": "value = collections.defaultdict(lambda: $)",
    "deque": "value = collections.deque([1, $], maxlen=4)",
    "partial": "value = functools.partial(max, $)",
    "partial of a method": "class P:\n    def f(self, n): return n\n    g = functools.partialmethod(f, $)\nvalue = P()",
    "bound method": "class P:\n    def f(self, x): return x * $\nvalue = P().f",
    "getter": "value = operator.itemgetter($)",
    "abstract class": "class A(abc.ABC):\n    def f(self): return $\nclass B(A): pass\nvalue = B()",
    "context manager": "@contextlib.contextmanager\ndef value():\n    yield $",
    "chosen by type": "class P:\n    @functools.singledispatchmethod\n    def f(self, x): return $\nvalue = P()",
    "kept results": "@functools.cache\ndef value(): return $",
    "read-only dict": "value = types.MappingProxyType({'a': $})",
}


@pytest.mark.parametrize("text", OF_THE_USER.values(), ids=OF_THE_USER.keys())
def test_what_runs_code_of_the_user_counts_with_it(text, tmp_path, monkeypatch):
    imports = "import abc, collections, contextlib, dataclasses, enum, functools, operator, types, typing\n"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digest(number):
        (tmp_path / "code_of_the_user.py").write_text(imports + text.replace("$", str(number)))
        linecache.clearcache()
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "code_of_the_user", raising=False)
        return content_digest(importlib.import_module("code_of_the_user").value)

    assert digest(2) == digest(2)
    assert digest(2) != digest(3)


def test_modules_count_with_all_that_they_hold(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digest(number):
        (tmp_path / "held_elsewhere.py").write_text(f"import holds_it\ndef scale(x): return x * {number}\n")
        (tmp_path / "holds_it.py").write_text(
            "import held_elsewhere\ndef of(name): return getattr(held_elsewhere, name)\n"
        )
        linecache.clearcache()
        importlib.invalidate_caches()
        for name in ("held_elsewhere", "holds_it"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        return content_digest(importlib.import_module("holds_it"))

    assert digest(2) == digest(2)
    assert digest(2) != digest(3)


@pytest.mark.parametrize(
    "function",
    [lambda x: x * float(os.environ["SCALE"]), lambda x: x * time.time(), os.getenv, importlib.import_module],
    ids=["variables", "clock", "function", "modules by name"],
)
def test_what_another_process_may_see_otherwise_has_no_content(function):
    with pytest.raises(UnstableError, match="of this process, such as variables of the environment"):
        content_digest(function)


def test_objects_with_hidden_state_have_no_content():
    class Local(threading.local):
        pass

    with pytest.raises(UnstableError, match="Local has no content to compare"):
        content_digest(Local())


@pytest.mark.parametrize("value", [object(), torch.ones(1), threading.Lock(), [1].append])
def test_no_content(value):
    with pytest.raises(UnstableError):
        content_digest(value)


def put(folder, name, size, age):
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_what_was_not_used_for_longest_is_pruned(folder):
    folder.mkdir()
    oldest, older, newer = (put(folder, f"{n}.pypto", 100, 300 - n) for n in range(3))
    kept = put(folder, "written.pypto", 100, 1000)  # whatever its time says
    abandoned, begun = put(folder, ".a.part", 100, 1e6), put(folder, ".b.part", 100, 0)
    other = put(folder, "notes.txt", 1000, 1e6)
    before = image_cache.image_cache_info().pruned
    image_cache.prune(folder, 400, kept)
    assert oldest.exists()
    image_cache.prune(folder, 250, kept)
    assert [path.exists() for path in (oldest, older, newer, kept)] == [False, False, True, True]
    assert [path.exists() for path in (abandoned, begun, other)] == [False, True, True]
    assert image_cache.image_cache_info().pruned == before + 2
    image_cache.prune(folder / "none", 0, kept)  # deleted by another process


def test_writing_prunes_and_reading_counts_as_use(folder, monkeypatch):
    monkeypatch.setenv("PYPTO_CACHE_MB", "1")
    folder.mkdir()
    large = put(folder, "large.pypto", 1 << 20, 1000)
    ir.compile(make_kernel(), torch.zeros(8), torch.zeros(8))
    (written,) = folder.glob("*.pypto")
    assert not large.exists()
    os.utime(written, (1, 1))
    ir.compile(make_kernel(), torch.zeros(8), torch.zeros(8))
    assert written.stat().st_mtime > 1


@pytest.mark.parametrize(("text", "mega"), [("", 1024), ("7", 7), ("0", 1024), ("-3", 1024), ("much", 1024)])
def test_limits(monkeypatch, text, mega):
    monkeypatch.setenv("PYPTO_CACHE_MB", text)
    assert image_cache.limit_bytes() == mega << 20


def test_many_shapes_stay_bounded():
    kernel = make_kernel()
    for size in range(1, 601):
        kernel.compile(Sample((size,)), Sample((size,)))
    assert kernel.cache_info() == (0, 600, 512, 512)
    kernel.compile(Sample((600,)), Sample((600,)))
    assert kernel.cache_info().hits == 1
    kernel.compile(Sample((1,)), Sample((1,)))  # the least recently used is gone
    assert kernel.cache_info().misses == 601
