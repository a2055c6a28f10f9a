"""A kernel never runs with what its surroundings held before: every kind of thing that a kernel can read its numbers
from, changed between calls."""

import array
import builtins
import collections
import contextvars
import dataclasses
import enum
import functools
import sys
import types
import weakref

import numpy as np
import pytest
import torch

import pypto

FP32, T = pypto.DT_FP32, pypto.Tensor
FACTOR = 1


def by_factor(x):
    return x * FACTOR


def by_own_attribute(x):
    return x * by_own_attribute.K


class WithAttribute:
    K = 1


class Derived(WithAttribute):
    pass


class Other(WithAttribute):
    K = 5


class Reparented(Derived):
    pass


class Private:
    __slots__ = ("__k",)

    def set(self, value):
        self.__k = value

    def get(self):
        return self.__k


def with_keyword(x, *, k=1):
    return x * k


class Meta(type):
    K = 1


class OfMeta(metaclass=Meta):
    pass


class Slotted:
    __slots__ = ("K",)


@dataclasses.dataclass
class Extended:
    a: int = 1


class Methods:
    def __call__(self, x):
        return x * FACTOR

    def plain(self, x):
        return x * FACTOR

    @staticmethod
    def static(x):
        return x * FACTOR

    @classmethod
    def of_class(cls, x):
        return x * FACTOR

    @property
    def number(self):
        return FACTOR


class Colour(enum.Enum):
    RED = 1

    @property
    def number(self):
        return FACTOR


class Held:
    def __init__(self):
        self.v = 1

    def scaled(self, x):
        return x * self.v


class List(list):
    pass


class Dict(dict):
    pass


class Refused(Exception):
    pass


class Float(float):
    pass


def wide(k, x):
    return x * k


inherited, derived, slotted, extended, methods, held = (
    WithAttribute(),
    Derived(),
    Slotted(),
    Extended(),
    Methods(),
    Held(),
)
private, reclassed, redicted, reparented = Private(), WithAttribute(), WithAttribute(), Reparented()
namespace, numbered, resized = types.SimpleNamespace(K=1), [1] * 5000, torch.ones(4)
bound, numbers, under = held.scaled, array.array("i", [1]), {"K": 1}
view, proxy, factory = memoryview(bytearray(1)), types.MappingProxyType(under), collections.defaultdict(int)
listed, mapped, floating, objects = List(), Dict(), Float(1), np.array([[1]], dtype=object)
values, item, failed, refused = under.values(), under.__getitem__, ValueError(1), Refused(1)
masked, module, variable = np.ma.array([1.0]), torch.nn.Module(), contextvars.ContextVar("variable", default=1)
on_host, large, whole_array = torch.ones(2), torch.ones(5000), np.ones(5000)
weak = weakref.ref(held)
many = [[0] for _ in range(20000)]
settings = types.ModuleType("settings_of_the_user")
objects[0, 0] = [1]
no_source = {"by": 1}
exec("def nested(x):\n    return [x * by for _ in range(1)][0]\n", no_source)
nested = no_source["nested"]
partial = functools.partial(wide, 1)


def imports_a_module(x):
    import settings_of_the_user

    return x * settings_of_the_user.K


def imports_a_name(x):
    from settings_of_the_user import K

    return x * K


def set_global(name):
    return lambda v: globals().__setitem__(name, v)


def attribute(owner):
    return lambda v: setattr(owner, "K", v)


def kernel_reading(form):
    source = f"""
@pypto.frontend.jit
def kernel(x: T([4], FP32), out: T([4], FP32)):
    out[:] = {form}
"""
    return source


CASES = {
    "x * WithAttribute.K": attribute(WithAttribute),
    "x * inherited.K": attribute(WithAttribute),
    "x * Derived.K": attribute(WithAttribute),
    "x * derived.K": attribute(WithAttribute),
    "x * OfMeta.K": attribute(Meta),
    "x * slotted.K": attribute(slotted),
    "x * extended.K": attribute(extended),
    "x * private.get()": private.set,
    "x * redicted.K": lambda v: setattr(redicted, "__dict__", {"K": v}),
    "x * reclassed.K": lambda v: setattr(reclassed, "__class__", type("Made", (WithAttribute,), {"K": v})),
    "x * reparented.K": lambda v: setattr(Reparented, "__bases__", (type("Base", (Derived,), {"K": v}),)),
    "x * namespace.K": attribute(namespace),
    "x * numbered[4999]": lambda v: numbered.__setitem__(4999, v),
    "x * float(resized[0])": lambda v: resized.set_(torch.full((4,), float(v))),
    "x * float(resized.data[1])": lambda v: setattr(resized, "data", torch.full((4,), float(v))),
    "with_keyword(x)": lambda v: setattr(with_keyword, "__kwdefaults__", {"k": v}),
    "x * listed.K": attribute(listed),
    "x * mapped.K": attribute(mapped),
    "x * floating.K": attribute(floating),
    "x * module.K": attribute(module),
    "methods.plain(x)": set_global("FACTOR"),
    "methods(x)": set_global("FACTOR"),
    "Methods.static(x)": set_global("FACTOR"),
    "Methods.of_class(x)": set_global("FACTOR"),
    "x * methods.number": set_global("FACTOR"),
    "x * Colour.RED.number": set_global("FACTOR"),
    "by_own_attribute(x)": attribute(by_own_attribute),
    "x * float(on_host[0])": lambda v: on_host.data.fill_(v),
    "x * float(large[4999])": lambda v: large.data.narrow(0, 4999, 1).fill_(v),
    "x * float(whole_array[4999])": lambda v: whole_array.__setitem__(4999, v),
    "by_factor(x)": set_global("FACTOR"),
    "partial(x)": lambda v: set_global("partial")(functools.partial(wide, v)),
    "bound(x)": lambda v: setattr(held, "v", v),
    "x * weak().v": lambda v: setattr(held, "v", v),
    "x * numbers[0]": lambda v: numbers.__setitem__(0, v),
    "x * view[0]": lambda v: view.__setitem__(0, v),
    "x * proxy['K']": lambda v: under.__setitem__("K", v),
    "x * factory.default_factory()": lambda v: setattr(factory, "default_factory", lambda: v),
    "x * list(values)[0]": lambda v: under.__setitem__("K", v),
    "x * item('K')": lambda v: under.__setitem__("K", v),
    "x * failed.args[0]": lambda v: setattr(failed, "args", (v,)),
    "x * refused.args[0]": lambda v: setattr(refused, "args", (v,)),
    "x * objects[0, 0][0]": lambda v: objects[0, 0].__setitem__(0, v),
    "x * float(masked[0])": lambda v: masked.__setitem__(0, v),
    "x * variable.get()": variable.set,
    "x * many[19999][0]": lambda v: many[19999].__setitem__(0, v),
    "nested(x)": lambda v: no_source.__setitem__("by", v),
    "imports_a_module(x)": attribute(settings),
    "imports_a_name(x)": attribute(settings),
    "x * K_OF_BUILTINS": lambda v: setattr(builtins, "K_OF_BUILTINS", v),
}


@pytest.fixture
def _surroundings(monkeypatch):
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    yield
    if hasattr(builtins, "K_OF_BUILTINS"):
        del builtins.K_OF_BUILTINS


@pytest.mark.usefixtures("_surroundings")
@pytest.mark.parametrize("form", CASES)
def test_changed_between_calls(form, tmp_path):
    path = tmp_path / "kernel_of_the_case.py"
    path.write_text(kernel_reading(form))
    exec(compile(path.read_text(), str(path), "exec"), globals())
    kernel = globals().pop("kernel")
    for factor in (2, 3, 2, 5):
        CASES[form](factor)
        for _ in range(2):
            out = torch.zeros(4)
            kernel(torch.ones(4), out)
            assert out.tolist() == [factor] * 4
    if form != "x * many[19999][0]":  # too much to look at is compiled for at every call
        misses = kernel.cache_info().misses
        kernel(torch.ones(4), torch.zeros(4))
        assert kernel.cache_info().misses == misses


WATCHED = [
    "x * WithAttribute.K", "x * inherited.K", "x * Derived.K", "x * slotted.K", "x * extended.K", "methods.plain(x)",
    "Methods.static(x)", "Methods.of_class(x)", "x * methods.number", "x * Colour.RED.number", "bound(x)",
    "by_own_attribute(x)", "x * private.get()", "x * namespace.K", "x * numbered[4999]", "x * float(on_host[0])",
    "x * float(large[4999])", "x * float(whole_array[4999])", "with_keyword(x)", "x * reclassed.K",
]  # fmt: skip


@pytest.mark.parametrize("form", WATCHED)
def test_repeated_calls_run_no_python_code_of_the_kernel(form, tmp_path):
    path = tmp_path / "kernel_of_the_case.py"
    path.write_text(kernel_reading(form))
    exec(compile(path.read_text(), str(path), "exec"), globals())
    kernel = globals().pop("kernel")
    for factor in (2, 3):
        CASES[form](factor)
        kernel(torch.ones(4), torch.zeros(4))
        before = kernel._known_hits
        for _ in range(3):
            out = torch.zeros(4)
            kernel(torch.ones(4), out)
            assert out.tolist() == [factor] * 4
        assert kernel._known_hits == before + 3


def test_classes_and_objects_as_scalars():
    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32), settings=None):
        out[:] = x * settings.K

    for given in (WithAttribute, inherited, Derived):
        for factor in (2, 3):
            WithAttribute.K = factor
            out = torch.zeros(4)
            kernel(torch.ones(4), out, given)
            assert out.tolist() == [factor] * 4


def test_a_field_of_the_name_of_a_global(monkeypatch):
    """What dataclass makes has no source: its attributes are no globals."""

    @dataclasses.dataclass
    class State:
        FACTOR: object

    @pypto.frontend.jit
    def kernel(x: T([4], FP32), out: T([4], FP32)):
        out[:] = State(x).FACTOR + 1.0

    x, out = torch.ones(4), torch.empty(4)
    for number in range(3):
        monkeypatch.setitem(globals(), "FACTOR", number)
        kernel(x, out)
    assert kernel.cache_info().misses == 1
