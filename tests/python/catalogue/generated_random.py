"""Makers of cases: random numbers, against Philox4x32-10 in integers of NumPy."""

import numpy as np
import torch
from generated_support import FP32, Case

import pypto
from pypto.frontend.catalogue.operations import CATALOGUE

DIGITS = {pypto.DT_FP32: 23, pypto.DT_FP16: 10, pypto.DT_BF16: 7}  # of the significand
_LOW = np.uint64(0xFFFFFFFF)


def philox(key, counter, count):
    """The first words of the blocks from a counter of 128 bits on."""
    blocks = [counter + at for at in range(-(-count // 4))]
    c = [np.array([block >> 32 * word & 0xFFFFFFFF for block in blocks], np.uint64) for word in range(4)]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & _LOW, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & _LOW]
        k = [(k[0] + np.uint64(0x9E3779B9)) & _LOW, (k[1] + np.uint64(0xBB67AE85)) & _LOW]
    return np.stack(c, -1).reshape(-1)[:count]


def uniform_numbers(key, counter, shape, dtype):
    """The low bits of each word as a fraction."""
    words = philox(key, counter, int(np.prod(shape))) & np.uint64(0x7FFFFF)
    fractions = (words >> np.uint64(23 - DIGITS[dtype])).astype(np.float64) / 2.0 ** DIGITS[dtype]
    return torch.from_numpy(fractions).reshape(shape)


def normal_numbers(key, counter, shape):
    """Sine and cosine of pairs of fractions, by Box and Muller; the radius is computed of at least 1e-7."""
    count = int(np.prod(shape))
    words = philox(key, counter, count + count % 2) & np.uint64(0x7FFFFF)
    first, second = (words / 2.0**23).reshape(-1, 2).T
    radius = np.sqrt(-2 * np.log(np.maximum(first, 1e-7)))
    pairs = np.stack([radius * np.sin(2 * np.pi * second), radius * np.cos(2 * np.pi * second)], -1)
    return torch.from_numpy(pairs.reshape(-1)[:count]).reshape(shape)


def _uniform(shape, dtype, key=0x1234567890ABCDEF, counter=2**64 - 2):
    body = lambda: CATALOGUE["uniform"](list(shape), key, counter, 1, dtype)  # noqa: E731
    return Case([], body, uniform_numbers(key, counter, shape, dtype), dtype)


def _normal(shape, dtype, key=0xFEDCBA0987654321, counter=2**32 - 3):
    body = lambda: CATALOGUE["normal"](list(shape), key, counter, 1, dtype)  # noqa: E731
    # The angle is rounded to FP32 before its sine is taken: an error of the radius times 2^-22.
    return Case([], body, normal_numbers(key, counter, shape), dtype, 8.0 if dtype == FP32 else 0.51, 3e-6)


RANDOM = {"uniform": _uniform, "normal": _normal}
