"""Convolutions on the mock device beside torch eager, as in kernels.py; both are checked against FP64 first.

The shape of a row is that of x; weights are scaled by the root of the terms that a result adds up.
"""

from dataclasses import dataclass
from typing import Any

import torch

import pypto
from kernels import NAMES, Case, Inputs, main


@dataclass(frozen=True)
class Convolution:
    """Of 1 or 2 dims: outputs, taps, stride, padding and groups."""

    name: str
    shape: tuple[int, ...]
    outputs: int
    taps: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1
    dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16)

    def weights(self) -> list[int]:
        return [self.outputs, self.shape[1] // self.groups, *self.taps]

    def inputs(self, shape: tuple[int, ...], dtype: torch.dtype) -> Inputs:
        size = self.weights()
        terms = torch.Size(size[1:]).numel()
        return [torch.randn(shape).to(dtype), (torch.randn(size) / terms**0.5).to(dtype)]

    def kernel(self, shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        name, dims = NAMES[dtype], len(self.taps)
        steps, pads, ones = [self.stride] * dims, [self.padding] * dims, [1] * dims
        sizes = [
            (extent + 2 * self.padding - taps) // self.stride + 1
            for extent, taps in zip(shape[2:], self.taps, strict=True)
        ]
        result = [shape[0], self.outputs, *sizes]

        @pypto.frontend.jit
        def convolution(
            x: pypto.Tensor(list(shape), name), w: pypto.Tensor(self.weights(), name), out: pypto.Tensor(result, name)
        ):
            out[:] = pypto.conv(x, w, name, steps, pads, ones, groups=self.groups)

        return convolution

    def peer(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        function = torch.nn.functional.conv1d if len(self.taps) == 1 else torch.nn.functional.conv2d
        return function(x, w, None, self.stride, self.padding, 1, self.groups)

    def case(self) -> Case:
        return Case(self.name, self.kernel, self.inputs, self.peer, shapes=(self.shape,), dtypes=self.dtypes)


CASES = [
    each.case()
    for each in (
        Convolution("3x3", (1, 64, 56, 56), 64, (3, 3), padding=1),
        Convolution("3x3, many channels", (1, 512, 14, 14), 512, (3, 3), padding=1),
        Convolution("3x3, stride 2", (1, 64, 56, 56), 128, (3, 3), stride=2, padding=1),
        Convolution("7x7, stride 2, of 3 channels", (1, 3, 112, 112), 64, (7, 7), stride=2, padding=3),
        Convolution("1x1", (1, 256, 28, 28), 256, (1, 1)),
        Convolution("3x3, 8 groups", (1, 64, 56, 56), 64, (3, 3), padding=1, groups=8),
        Convolution("3x3, each channel", (1, 64, 56, 56), 64, (3, 3), padding=1, groups=64),
        Convolution("4 of a line, each channel", (1, 1024, 2048), 1024, (4,), padding=3, groups=1024),
        Convolution("3 of a line", (2, 256, 1024), 256, (3,), padding=1),
    )
]


if __name__ == "__main__":
    main(CASES)
