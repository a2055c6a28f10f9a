"""Which of the captured tensors of torch a trace reads numbers of: the contents of all others are never compared.

And whether it draws numbers of torch's own generator: with those of libraries it may do so by no name that it holds.
"""
# ruff: noqa: D105, D107

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pypto.frontend.kernels.arrays import is_torch_tensor, state_of_tensor, unseen
from pypto.frontend.objects.hidden import hidden_in, know_packages

Reads = tuple[tuple[Any, Any], ...]  # tensors, and their contents when they were read first; torch's generator

_GETTERS = (
    "shape", "dtype", "ndim", "device", "itemsize", "nbytes", "layout", "is_sparse", "is_quantized", "is_nested",
    "is_cuda", "is_cpu", "is_meta",
)  # fmt: skip
_METHODS = (
    "size", "stride", "dim", "numel", "nelement", "ndimension", "element_size", "is_contiguous", "is_floating_point",
    "is_complex", "is_signed", "__len__",
)  # fmt: skip
_HOLDERS = (list, tuple, dict)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), slice, range, type)
_PACKAGES = ("torch", "numpy")  # numbers and arrays; what a dtype, device or shape is


@functools.cache
def _describing() -> frozenset[Any]:
    """Functions of torch that tell what `Described` tells."""
    torch = sys.modules["torch"]
    getters = {getattr(torch.Tensor, name).__get__ for name in _GETTERS if hasattr(torch.Tensor, name)}
    methods = {getattr(torch.Tensor, name) for name in _METHODS}
    return frozenset(getters | methods | {torch.numel, torch.is_floating_point, torch.is_complex})


@functools.cache
def _mode() -> Any:
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        """Sees every function of torch that is called while a kernel is traced."""

        def __init__(self, reads: TensorReads) -> None:
            super().__init__()
            self.reads = reads

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func not in _describing():
                self.reads.see((*args, *kwargs.values()))
            if any(map(_runs_code_of_its_own, types)):
                self.reads.see_all()
            return func(*args, **kwargs)

    return Mode


@functools.cache
def _drawing_mode() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    torch: Any = sys.modules["torch"]

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        """Sees every operation of torch that draws numbers while a kernel is traced, by this thread."""

        def __init__(self, reads: TensorReads) -> None:
            super().__init__()
            self.reads = reads

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if torch.Tag.nondeterministic_seeded in func.tags and kwargs.get("generator") is None:
                self.reads.note(torch.default_generator)
            return func(*args, **kwargs)

    return Mode


@functools.cache
def _runs_code_of_its_own(kind: Any) -> bool:
    """Whether a class of tensors has a `__torch_function__`, in which the mode does not see what is called."""
    torch = sys.modules["torch"]
    own = getattr(kind.__torch_function__, "__func__", kind.__torch_function__)
    plain = (torch.Tensor.__torch_function__.__func__, torch.nn.Parameter.__torch_function__)
    return issubclass(kind, torch.Tensor) and own not in plain


def _memory_of(tensor: Any) -> int:
    """Where the storage of a tensor begins; 0 where it has none."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):
        return 0


class TensorReads:
    """What one compilation reads of captured tensors. Used by one thread."""

    def __init__(self, captured: Mapping[int, Any]) -> None:
        """Captured tensors by their ids."""
        self._captured = captured
        self._in_memory: dict[int, list[Any]] = {}  # the captured tensors that share a storage
        self._read: dict[int, tuple[Any, Any]] = {}

    def see(self, arguments: Iterable[Any]) -> None:
        """Notes the captured tensors among the arguments of a function; all when one may run code of the user."""
        for value in arguments:
            if id(value) in self._captured:
                self.note(value)
            elif is_torch_tensor(value):
                self._see_shared(value)
            elif type(value) in _HOLDERS:
                self.see(value.values() if type(value) is dict else value)
            elif not isinstance(value, _PLAIN) and type(value).__module__ not in _PACKAGES:
                self.see_all()

    def _see_shared(self, view: Any) -> None:
        """Notes the captured tensors whose storage another tensor shares, however it came to the kernel."""
        with unseen():
            if not self._in_memory:
                for tensor in self._captured.values():
                    self._in_memory.setdefault(_memory_of(tensor), []).append(tensor)
            memory = _memory_of(view)
        for tensor in self._in_memory.get(memory, ()) if memory else ():
            self.note(tensor)

    def see_all(self) -> None:
        """Notes all captured tensors."""
        for tensor in self._captured.values():
            self.note(tensor)

    def note(self, read: Any) -> None:
        """Keeps what a tensor or generator holds where it is read first."""
        if id(read) not in self._read:
            self._read[id(read)] = (read, state_of(read))

    def found(self, before: Reads) -> Reads:
        """The tensors that were read before or now, with what they held."""
        return tuple({**{id(tensor): (tensor, held) for tensor, held in before}, **self._read}.values())

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """While a kernel is traced."""
        if "torch" not in sys.modules:
            yield
            return
        token = _watching.set(self)
        try:
            with _drawing_mode()(self), _mode()(self) if self._captured else contextlib.nullcontext():
                yield
        finally:
            _watching.reset(token)

    def give_back_draws(self) -> None:
        """Before another trace: numbers that the last one has drawn are drawn again."""
        for generator in self.draws():
            _, state = self._read.pop(id(generator))
            draw_again(((generator, state),))

    def draws(self) -> list[Any]:
        """Torch's generator where numbers were drawn of it."""
        return [read for read, _ in self._read.values() if not is_torch_tensor(read)]


_watching: contextvars.ContextVar[TensorReads | None] = contextvars.ContextVar("watching", default=None)


def give_back_draws() -> None:
    """Of the compilation that is under way in this thread."""
    watching = _watching.get()
    if watching is not None:
        watching.give_back_draws()


def state_of(read: Any) -> Any:
    """What a tensor or a generator holds now."""
    if is_torch_tensor(read):
        return state_of_tensor(read)
    know_packages()
    hidden = hidden_in(type(read))
    return None if hidden is None else tuple(hidden.read(read))


def contents_of(reads: Iterable[Any]) -> Reads:
    """What tensors and generators hold now."""
    return tuple((read, state_of(read)) for read in reads)


Draws = tuple[tuple[Any, Any], ...]  # generators, and their states behind a compilation that has drawn of them


def drawn_since(before: Reads) -> Draws:
    """The generators among these that are not what they were."""
    now = contents_of(generator for generator, _ in before)
    return tuple(after for after, (_, state) in zip(now, before, strict=True) if after[1] != state)


def draw_again(draws: Draws) -> None:
    """A compilation that is used again: the generators go on as if it had drawn of them."""
    for generator, state in draws:
        hidden = hidden_in(type(generator))
        if hidden is not None:
            hidden.put(generator, list(state))
