"""Things that kernels read their numbers from: how one is made, read, and changed behind the back of a kernel."""

import abc
import collections
import dataclasses
import datetime
import enum
import functools
import operator
import random
import threading
import types
import typing


def enum_of(kind=enum.Enum, x=2, y=3):
    """A class of its own in each call, as all others here."""

    class E(kind):
        X = x
        Y = y

    return E


def enum_with_attributes():
    class E(enum.Enum):
        X = 1

        def __init__(self, value):
            self.k = 2

        @property
        def twice(self):
            return 2

    return E


def enum_of_metaclass():
    class Meta(enum.EnumMeta):
        k = 2

    class E(enum.Enum, metaclass=Meta):
        X = 1

    return E


def named_tuple():
    class P(typing.NamedTuple):
        a: int = 2

    return P


def derived_tuple():
    class P(collections.namedtuple("P", "a")):
        k = 2

    return P


def dataclass_of(**options):
    @dataclasses.dataclass(**options)
    class D:
        a: int = 2

    return D


def dataclass_with_list():
    @dataclasses.dataclass
    class D:
        v: list = dataclasses.field(default_factory=lambda: [1, 1])

    return D()


def slotted():
    class Base:
        __slots__ = ("a",)

    class Slots(Base):
        __slots__ = ()

    made = Slots()
    made.a = 2
    return made


def classes():
    class Meta(type):
        m = 2

    class Base(metaclass=Meta):
        k = 2

        def method(self):
            return 2

        @property
        def number(self):
            return 2

        @functools.cached_property
        def cached(self):
            return 2

        @classmethod
        def of_class(cls):
            return cls.k

        @staticmethod
        def static(a=2):
            return a

    class Derived(Base):
        pass

    return Derived


def registering():
    class A(abc.ABC):  # noqa: B024
        pass

    return A


def described():
    class Descriptor:
        v = 2

        def __get__(self, instance, owner=None):
            return self.v

    class Owner:
        a = Descriptor()

    return Owner()


def answering():
    class Answers:
        def __init__(self):
            self.held = {"a": 2}

        def __getattr__(self, name):
            return self.held[name]

        def __getitem__(self, key):
            return self.held["a"]

        def __call__(self):
            return self.held["a"]

        def __len__(self):
            return self.held["a"]

    return Answers()


def function():
    def f(a=2, *, b=0):
        return a + b + f.k

    f.k = 0
    return f


def decorated():
    def around(of):
        @functools.wraps(of)
        def call(*arguments):
            return of(*arguments)

        return call

    return around(function())


def partial():
    made = functools.partial(function(), b=0)
    made.k = 2
    return made


def module():
    made = types.ModuleType("module_of_a_test")
    made.a = 2
    return made


def pair(make, view):
    made = make()
    return view(made), made


def day():
    class Day(datetime.date):
        pass

    return Day


def derived_partial():
    class Partial(functools.partial):
        pass

    return Partial


def class_swapped(value):
    class Other:
        k = 3

    value.__class__ = Other


def put(name, value):
    return lambda of: setattr(of, name, value)


def put_item(key, value):
    return lambda of: of.__setitem__(key, value)


def of_thread():
    class Local(threading.local):
        k = 2

        def __init__(self):
            self.a, self.v = 2, [2]

    return Local()


def generator():
    class Derived(random.Random):
        k = 2

    return Derived(1)


ENUMS = {
    "value of a member": (lambda: enum_of().X, lambda o: o.value, put("_value_", 5)),
    "value through the class": (enum_of, lambda o: o.X.value, lambda o: setattr(o.X, "_value_", 5)),
    "name": (enum_of, lambda o: len(o.X.name), lambda o: setattr(o.X, "_name_", "LONGER")),
    "attribute": (lambda: enum_with_attributes().X, lambda o: o.k, put("k", 3)),
    "new attribute": (lambda: enum_of().X, lambda o: getattr(o, "k", 2), put("k", 3)),
    "attribute of the class": (
        lambda: enum_of().X,
        lambda o: getattr(o, "k", 2),
        lambda o: setattr(type(o), "k", 3),
    ),
    "property of the class": (
        lambda: enum_with_attributes().X,
        lambda o: o.twice,
        lambda o: setattr(type(o), "twice", property(lambda self: 3)),
    ),
    "attribute of the metaclass": (enum_of_metaclass, lambda o: o.k, lambda o: setattr(type(o), "k", 3)),
    "members as they are iterated": (
        enum_of,
        lambda o: sum(each.value for each in o),
        lambda o: setattr(o.Y, "_value_", 9),
    ),
    "member by value": (enum_of, lambda o: o(3).value, lambda o: o._value2member_map_.__setitem__(3, o.X)),
    "names of members": (enum_of, len, lambda o: o._member_names_.append("X")),
    "IntEnum": (lambda: enum_of(enum.IntEnum).X, lambda o: o.value, put("_value_", 5)),
    "Flag": (lambda: enum_of(enum.Flag, 1, 2).X, lambda o: o.value, put("_value_", 5)),
    "combination of flags": (
        lambda: operator.or_(*enum_of(enum.Flag, 1, 2)),
        lambda o: o.value,
        put("_value_", 5),
    ),
    "StrEnum": (lambda: enum_of(enum.StrEnum, "aa", "b").X, lambda o: len(o.value), put("_value_", "aaa")),
}
OBJECTS = {
    "default of a named tuple": (named_tuple, lambda o: o().a, lambda o: setattr(o.__new__, "__defaults__", (3,))),
    "class of a named tuple": (lambda: derived_tuple()(1), lambda o: o.k, lambda o: setattr(type(o), "k", 3)),
    "field of a named tuple": (
        lambda: named_tuple()(2),
        lambda o: o.a,
        lambda o: setattr(type(o), "a", property(lambda self: 3)),
    ),
    "attribute of a named tuple": (lambda: derived_tuple()(1), lambda o: getattr(o, "q", 2), put("q", 3)),
    "frozen dataclass": (
        lambda: dataclass_of(frozen=True)(),
        lambda o: o.a,
        lambda o: object.__setattr__(o, "a", 3),
    ),
    "frozen slots": (
        lambda: dataclass_of(frozen=True, slots=True)(),
        lambda o: o.a,
        lambda o: object.__setattr__(o, "a", 3),
    ),
    "list in a dataclass": (dataclass_with_list, lambda o: sum(o.v), lambda o: o.v.append(1)),
    "default of a dataclass": (dataclass_of, lambda o: o().a, lambda o: setattr(o.__init__, "__defaults__", (3,))),
    "fields of a dataclass": (
        dataclass_of,
        lambda o: dataclasses.fields(o)[0].default,
        lambda o: setattr(o.__dataclass_fields__["a"], "default", 3),
    ),
    "slot": (slotted, lambda o: o.a, put("a", 3)),
    "slot that is deleted": (slotted, lambda o: getattr(o, "a", 3), lambda o: delattr(o, "a")),
    "attribute of a base": (
        lambda: classes()(),
        lambda o: o.k,
        lambda o: setattr(type(o).__base__, "k", 3),
    ),
    "attribute of the class": (classes, lambda o: o.k, put("k", 3)),
    "metaclass": (classes, lambda o: o.m, lambda o: setattr(type(o), "m", 3)),
    "method": (lambda: classes()(), lambda o: o.method(), lambda o: setattr(type(o), "method", lambda self: 3)),
    "method of the object": (lambda: classes()(), lambda o: o.method(), put("method", lambda: 3)),
    "getter": (lambda: classes()(), lambda o: o.number, lambda o: setattr(type(o), "number", property(lambda s: 3))),
    "code of a getter": (
        lambda: classes()(),
        lambda o: o.number,
        lambda o: setattr(type(o).number.fget, "__code__", (lambda self: 3).__code__),
    ),
    "class method": (lambda: classes().of_class, lambda o: o(), lambda o: setattr(o.__self__, "k", 3)),
    "static method": (lambda: classes().static, lambda o: o(), put("__defaults__", (3,))),
    "descriptor": (described, lambda o: o.a, lambda o: setattr(vars(type(o))["a"], "v", 3)),
    "__getattr__": (answering, lambda o: o.a, lambda o: o.held.update(a=3)),
    "__getitem__": (answering, lambda o: o[0], lambda o: o.held.update(a=3)),
    "__call__": (answering, lambda o: o(), lambda o: o.held.update(a=3)),
    "__len__": (answering, len, lambda o: o.held.update(a=3)),
    "dict of attributes": (lambda: classes()(), lambda o: getattr(o, "z", 2), put("__dict__", {"z": 3})),
    "class of an object": (lambda: dataclass_of()(), lambda o: getattr(o, "k", 2), class_swapped),
    "variable of a thread": (of_thread, lambda o: o.a, put("a", 3)),
    "container of a thread": (of_thread, lambda o: sum(o.v), lambda o: o.v.append(1)),
    "class of variables of a thread": (of_thread, lambda o: o.k, lambda o: setattr(type(o), "k", 3)),
    "class of a generator": (generator, lambda o: o.k, lambda o: setattr(type(o), "k", 3)),
    "name of a class": (classes, lambda o: len(o.__name__), put("__name__", "Other")),
    "docstring of a class": (classes, lambda o: len(o.__doc__ or "aa"), put("__doc__", "Text.")),
    "annotations of a class": (
        dataclass_of,
        lambda o: len(o.__annotations__),
        lambda o: o.__annotations__.update(z=int),
    ),
    "virtual subclass": (registering, lambda o: isinstance(1, o) + 2, lambda o: o.register(int)),
}
OBJECTS |= {
    "object of C behind a class": (
        lambda: [day()(2000, 1, 2)],
        lambda o: o[0].day,
        lambda o: put_item(0, type(o[0])(2000, 1, 3))(o),
    ),
    "partial of a class": (
        lambda: derived_partial()(int, 2),
        lambda o: o.args[0],
        lambda o: o.__setstate__((int, (3,), {}, None)),
    ),
}
CODE = {
    "defaults": (function, lambda o: o(), put("__defaults__", (3,))),
    "defaults of keywords": (function, lambda o: o(), put("__kwdefaults__", {"b": 1})),
    "a default of a keyword": (function, lambda o: o(), lambda o: o.__kwdefaults__.update(b=1)),
    "code": (lambda: classes().static, lambda o: o(), put("__code__", (lambda a=2: a + 1).__code__)),
    "attribute of a function": (function, lambda o: o(), put("k", 1)),
    "attributes of a function": (function, lambda o: o.k, put("__dict__", {"k": 1})),
    "name of a function": (function, lambda o: len(o.__name__), put("__name__", "another")),
    "qualified name": (function, lambda o: len(o.__qualname__), put("__qualname__", "another")),
    "docstring": (function, lambda o: len(o.__doc__ or "aa"), put("__doc__", "Text.")),
    "annotations": (function, lambda o: len(o.__annotations__), lambda o: o.__annotations__.update(z=int)),
    "what a decorator wraps": (decorated, lambda o: o(), lambda o: setattr(o.__wrapped__, "__defaults__", (3,))),
    "keywords of a partial": (partial, lambda o: o(), lambda o: o.keywords.update(b=1)),
    "state of a partial": (partial, lambda o: o(), lambda o: o.__setstate__((o.func, (3,), {}, None))),
    "attribute of a partial": (partial, lambda o: o.k, put("k", 3)),
    "cell": (lambda: types.CellType(2), lambda o: o.cell_contents, put("cell_contents", 3)),
    "module": (module, lambda o: o.a, put("a", 3)),
    "dict of a module": (module, lambda o: o.a, lambda o: vars(o).update(a=3)),
    "module by its dict": (module, lambda o: o.__dict__["a"], put("a", 3)),
    "module by vars()": (module, lambda o: vars(o)["a"], put("a", 3)),
}
KINDS = {"enum": ENUMS, "object": OBJECTS, "code": CODE}
