"""Objects of libraries that kernels capture: watched by the core, and noticed when they change."""

import argparse
import collections
import configparser
import datetime
import decimal
import fractions
import functools
import itertools
import logging
import pathlib
import re
import string
import threading
import typing
import uuid

import numpy as np
import pytest
import torch
from test_changes_are_noticed import kernel_of, result

HELD = {
    "pattern": lambda: re.compile("a"),
    "date": lambda: datetime.date(2000, 1, 1),
    "timedelta": lambda: datetime.timedelta(1),
    "Decimal": lambda: decimal.Decimal(2),
    "Fraction": lambda: fractions.Fraction(1, 2),
    "UUID": lambda: uuid.UUID(int=3),
    "path": lambda: pathlib.Path("/a/b"),
    "alias": lambda: list[int],
    "type variable": lambda: typing.TypeVar("X"),
    "dtype of numpy": lambda: np.dtype("f4"),
    "ufunc": lambda: np.add,
    "dtype of torch": lambda: torch.float32,
    "Namespace": lambda: argparse.Namespace(a=1, b=[1]),
    "ChainMap": lambda: collections.ChainMap({"a": 1}),
    "ConfigParser": configparser.ConfigParser,
    "Template": lambda: string.Template("a"),
    "partialmethod": lambda: functools.partialmethod(print),
    "lock": threading.RLock,
    "event": threading.Event,
    "logger": lambda: logging.getLogger(__name__),
    "layers": lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)),
    "optimizer": lambda: torch.optim.SGD([torch.zeros(1)], lr=0.1),
}
ASKED = {  # whose keys Python makes at each call
    "count": itertools.count,
    "generator": lambda: (number for number in range(3)),
    "error": lambda: ValueError(1),
}


@pytest.mark.parametrize("name", [*HELD, *ASKED])
def test_calls_of_which_nothing_has_changed(name):
    held = (HELD | ASKED)[name]()
    kernel = kernel_of(lambda held: 2 if held is not None else 0, held)
    assert [result(kernel) for _ in range(3)] == [2, 2, 2]
    assert (kernel.cache_info().misses, kernel._known_hits) == (1, 2)


logger = logging.getLogger(__name__)


def logging_kernel():
    def read(_):
        logger.debug("a line")
        return 3 if logger.isEnabledFor(logging.DEBUG) else 2

    return kernel_of(read, None)


@pytest.mark.parametrize("changed", [logger, logging.getLogger()], ids=["its level", "that of the root"])
def test_loggers_count_by_their_level(changed):
    kernel = logging_kernel()
    level = changed.level
    assert result(kernel) == result(kernel) == 2
    logger.warning("what is written changes nothing")
    logging.getLogger(__name__ + ".other").setLevel(logging.DEBUG)
    assert result(kernel) == 2
    assert (kernel.cache_info().misses, kernel._known_hits) == (1, 2)
    changed.setLevel(logging.DEBUG)
    try:
        assert result(kernel) == result(kernel) == 3
    finally:
        changed.setLevel(level)
    assert result(kernel) == 2
    logging.disable(logging.CRITICAL)
    try:
        assert result(kernel) == 2
    finally:
        logging.disable(logging.NOTSET)


def test_objects_of_libraries_that_change():
    options = argparse.Namespace(a=1, b=[1])
    kernel = kernel_of(lambda held: held.a + sum(held.b), options)
    assert result(kernel) == 2
    options.b.append(4)
    assert result(kernel) == 6
    options.a = 2
    assert result(kernel) == 7
    settings = configparser.ConfigParser()
    settings.read_dict({"kernel": {"rows": "2"}})
    kernel = kernel_of(lambda held: held.getint("kernel", "rows"), settings)
    assert result(kernel) == 2
    settings["kernel"]["rows"] = "3"
    assert result(kernel) == result(kernel) == 3


def test_a_date_that_is_another_one():
    held = [datetime.date(2000, 1, 2)]
    kernel = kernel_of(lambda held: held[0].day, held)
    assert result(kernel) == 2
    held[0] = datetime.date(2000, 1, 3)
    assert result(kernel) == 3
    held[0] = datetime.date(2000, 1, 3)
    assert result(kernel) == 3
    assert kernel.cache_info().misses == 2
