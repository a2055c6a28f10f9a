"""`pypto.frontend.jit`: a kernel object that traces and compiles on demand and keeps what it compiled."""
# ruff: noqa: D105, D107

from __future__ import annotations

import collections
import functools
import inspect
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, overload

from pypto import _core
from pypto.errors import fe_error
from pypto.frontend.kernels import image_cache, options, verify, verify_prints
from pypto.frontend.kernels.captures import CaptureKey, Keys
from pypto.frontend.kernels.guards import Guards
from pypto.frontend.kernels.options import GROUPS, KernelOptions
from pypto.frontend.kernels.recording import Recording
from pypto.frontend.kernels.signature import Signature, is_tensor_argument, names_around
from pypto.frontend.kernels.tensor_reads import Draws, Reads, TensorReads, contents_of, draw_again, drawn_since
from pypto.frontend.kernels.verify_prints import PrintSite
from pypto.frontend.rewriting.source import def_place
from pypto.frontend.tracing import trace_kernel
from pypto.frontend.tracing.trace_kernel import Request

MAX_CACHED = 512
CALLS_UNWATCHED = 64  # from one look for guards to the next, where there were none
PLATFORMS = ("a2a3", "a5", "a2a3sim", "a5sim")


def _package() -> Any:
    """The top of the package, which alone knows the front end, compiled programs and the runtime."""
    import pypto

    return pypto


class CacheInfo(NamedTuple):
    """Counts of a kernel's cache, as those of functools.lru_cache."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


def _contents_in(reads: Reads) -> tuple[Any, ...]:
    return tuple(held for _, held in reads)


class JitKernel(_core.KernelCall):
    """A kernel; `compile` gives a CompiledProgram. Any thread.

    Calling it compiles for the arguments if need be and runs; results come back through output tensors. The core takes
    calls that it has seen; what it has not goes through `_call`.
    """

    def __init__(self, function: types.FunctionType, option_groups: Mapping[str, dict[str, Any] | None]) -> None:
        """Nothing is read or compiled here; the option dicts are kept by reference."""
        functools.update_wrapper(self, function)
        self.function = function
        self._around = names_around(function)
        self.options = KernelOptions(option_groups)
        self._signature: Signature | None = None
        self._prepared: trace_kernel.PreparedKernel | None = None
        self._captures = CaptureKey(function)
        self._cache: collections.OrderedDict[Any, Any] = collections.OrderedDict()
        # Captured tensors of which numbers were read, by the key of all else.
        self._reads: dict[Any, tuple[Any, ...]] = {}
        self._hits = self._misses = self._unwatched = 0
        self._lock = threading.RLock()

    __name__: str

    def __repr__(self) -> str:
        return f"<pypto kernel {self.__name__}>"

    @property
    def signature(self) -> Signature:
        """The parameters, as declared."""
        if self._signature is None:
            self._signature = Signature(self.function, self._around)
        return self._signature

    @property
    def platform(self) -> str:
        """The platform of a direct call: of run_mode if given, else hardware where a vendor library is found."""
        return self.options.platform() or str(_package().runtime.default_platform())

    def cache_info(self) -> CacheInfo:
        """Hits, misses, and size of the cache of compiled programs."""
        return CacheInfo(self._hits + self._known_hits, self._misses, MAX_CACHED, len(self._cache))

    def cache_clear(self) -> None:
        """Forgets all compiled programs."""
        with self._lock:
            self._cache.clear()
            self._reads.clear()
            self._forget_calls()
            self._hits = self._misses = 0

    # Compiling.

    def compile(self, *samples: Any, platform: str = "a2a3sim", **scalars: Any) -> Any:
        """Compiles for a platform. Samples give shapes, dtypes and scalars that the annotations leave open."""
        return _package().ir.CompiledProgram(self.compile_image(samples, scalars, platform))

    def compile_call(self, arguments: tuple[Any, ...], platform: str) -> tuple[Any, tuple[Any, ...]]:
        """The program of a direct call with these arguments, scalars and defaults compiled in, and its tensors."""
        count = len(self.signature.tensors)
        scalars = self.signature.bind_scalars(arguments[count:], {}, require_all=True)
        tensors = arguments[:count]
        return _package().ir.CompiledProgram(self.compile_image(tensors, scalars, platform)), tensors

    def to_text(self, *samples: Any, **scalars: Any) -> str:
        """Listing of the traced program, before planning; arguments as those of `compile`."""
        with self._lock:
            _, program = self._prepare().trace(self._request(samples, scalars))
        return str(program.to_text())

    def compile_image(self, samples: tuple[Any, ...], scalars: dict[str, Any], platform: str) -> Any:
        """The image that `compile` wraps."""
        if platform not in PLATFORMS:
            raise ValueError(f"unknown platform {platform!r}: expected one of {', '.join(PLATFORMS)}")
        return self._image(self._request(samples, scalars), platform)[0]

    def _request(self, samples: tuple[Any, ...], scalars: dict[str, Any]) -> Request:
        """What sample arguments ask for."""
        signature = self.signature
        count = len(signature.tensors)
        for index, sample in enumerate(samples[:count]):
            if sample is not None and not is_tensor_argument(sample):
                name = signature.tensors[index][0]
                raise fe_error(
                    TypeError, f"Input {name} (index {index}) must be a torch.Tensor, got {type(sample).__name__}"
                )
        padded = [*samples[:count], *[None] * (count - len(samples[:count]))]
        tensors = tuple(signature.bind_tensor(index, sample) for index, sample in enumerate(padded))
        constants = signature.bind_scalars(samples[count:], scalars, require_all=False)
        run_time = trace_kernel.run_time_scalars(signature, constants)
        return Request(tensors, constants, run_time, self.options.in_force())

    def _prepare(self) -> trace_kernel.PreparedKernel:
        if self._prepared is None:
            self._prepared = trace_kernel.prepare(self.function, self.signature)
        return self._prepared

    def _image(self, request: Request, platform: str) -> tuple[Any, list[PrintSite], Reads, Draws | None]:
        """The image, the places of prints, the captured tensors whose contents are part of it, with these, and the
        generators that it has drawn of; None in their place where what is captured has changed meanwhile."""
        with self._lock:
            keys, of_scalars = Keys(), Keys()
            scalars = tuple((name, of_scalars.of(request.constants[name])) for name in sorted(request.constants))
            key = (
                self._captures.current(keys), request.tensors, scalars, request.run_time, platform,
                request.settings.key, request.prints,
            )  # fmt: skip
            reads = contents_of(self._reads.get(key, ()))
            known: tuple[Any, list[PrintSite], Draws] | None = self._cache.get((key, _contents_in(reads)))
            if known is not None:
                self._hits += 1
                self._cache.move_to_end((key, _contents_in(reads)))
                draw_again(known[2])
                return (*known[:2], reads, known[2])
            self._misses += 1
            watcher = TensorReads(keys.tensors | of_scalars.tensors)
            generators = contents_of((keys.generators | of_scalars.generators).values())
            with watcher.watching():
                image, sites = self._read_or_compile(request, platform, watcher)
            reads = watcher.found(reads)
            draws = drawn_since((*generators, *(each for each in reads if each[0] in watcher.draws())))
            if not draws and (
                self._captures.current(Keys()) != key[0] or contents_of(read for read, _ in reads) != reads
            ):
                return image, sites, reads, None
            self._reads[key] = tuple(read for read, _ in reads)
            self._cache[key, _contents_in(reads)] = (image, sites, draws)
            while len(self._cache) > MAX_CACHED:
                (old, _), _ = self._cache.popitem(last=False)
                self._reads.pop(old, None)
                self._forget_calls()
            return image, sites, reads, draws

    def _read_or_compile(self, request: Request, platform: str, watcher: TensorReads) -> tuple[Any, list[PrintSite]]:
        """The image from the folder of images, if there is one and it holds it; else made, and kept there."""
        tensors = [(bound.name, bound.dtype, bound.dims) for bound in request.tensors]
        scalars = [(name, request.constants[name]) for name in sorted(request.constants)]
        asked = (tensors, scalars, request.run_time, platform, request.settings.key)
        entry = None if request.prints else image_cache.entry(self.function, self.signature, asked)
        image = entry.read() if entry is not None else None
        if image is not None:
            image = image.with_kernel_at(*def_place(self.function))
        sites: list[PrintSite] = []
        if image is None:
            image, sites = self._prepare().compile(request, platform)
            image_cache.count("compiled")
            if entry is not None and not watcher.draws():
                entry.write(image)
        return image, sites

    def _watch(self, guards: Guards, of_call: Guards, constants: dict[str, Any]) -> bool:
        """Whether the core can tell by the guards that nothing has changed; not asked at each call if it cannot."""
        if self._unwatched > 0:
            self._unwatched -= 1
            return False
        options, function = self.options, self.function
        watched = of_call.watch_scalars(constants) and guards.watch_options(options) and guards.watch(function)
        self._unwatched = 0 if watched else CALLS_UNWATCHED
        return watched

    def _call(self, *arguments: Any, **keywords: Any) -> tuple[Any, int, Any, list[Any], list[Any]] | None:
        """A direct call as the core has not seen it before: compiles for these arguments if need be and runs.

        Gives what the core remembers to take a call like it by itself: the image, the number of tensors, their dims
        with None for dynamic ones, and what must not have changed, for the kernel and for this call; None when that
        cannot be told by identity.
        """
        tensors, constants = self.signature.split(arguments, keywords)
        bound = tuple(self.signature.bind_tensor(index, tensor) for index, tensor in enumerate(tensors))
        guards, of_call = Guards(), Guards()
        watched = self._watch(guards, of_call, constants)
        settings = self.options.in_force()
        request = Request(bound, constants, (), settings, prints=settings.tolerance is not None)
        image, sites, reads, draws = self._image(request, self.platform)
        runtime = _package().runtime
        outputs = runtime.outputs_behind(image, len(tensors)) if sites else []
        runtime.dispatch_kernel(image, (*tensors, *outputs))
        if sites:
            verify_prints.show(runtime, sites, outputs)
        if settings.tolerance is not None:
            verify.check(runtime, image, tensors, settings.tolerance)
            return None
        if not watched or draws is None or draws:
            return None
        of_call.watch_contents(reads)
        dims = tuple(tuple(dim if isinstance(dim, int) else None for dim in tensor.dims) for tensor in bound)
        return image, len(tensors), dims, guards.entries, of_call.entries


@overload
def jit(function: Callable[..., Any], /) -> JitKernel: ...


@overload
def jit(
    *,
    host_options: dict[str, Any] | None = None,
    codegen_options: dict[str, Any] | None = None,
    pass_options: dict[str, Any] | None = None,
    runtime_options: dict[str, Any] | None = None,
    verify_options: dict[str, Any] | None = None,
    debug_options: dict[str, Any] | None = None,
    new_ir: bool = True,
    create_new_logical_tensor: bool = False,
) -> Callable[[Callable[..., Any]], JitKernel]: ...


def jit(function: Any = None, /, **keywords: Any) -> Any:
    """Makes a kernel of a function: `@jit` or `@jit(runtime_options={...})`.

    `new_ir` and `create_new_logical_tensor` are accepted without effect.
    """
    unknown = sorted(set(keywords) - set(GROUPS) - {"new_ir", "create_new_logical_tensor"})
    if unknown:
        raise fe_error(TypeError, f"jit(): unknown keyword argument(s) {unknown}; known: {list(GROUPS)}")
    groups = {name: keywords.get(name) for name in GROUPS}
    for name, value in groups.items():
        if value is not None and not isinstance(value, dict):
            raise fe_error(TypeError, f"jit(): {name} is a dict, got {type(value).__name__}")
    options.refuse_pool_depths(groups["runtime_options"])

    def decorate(target: Any) -> JitKernel:
        if not isinstance(target, types.FunctionType):
            raise fe_error(TypeError, f"jit() decorates a function, got {type(target).__name__}")
        return JitKernel(target, groups)

    if function is None:
        return decorate
    return decorate(function)


jit.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("function", inspect.Parameter.POSITIONAL_ONLY, default=None),
        *(inspect.Parameter(group, inspect.Parameter.KEYWORD_ONLY, default=None) for group in GROUPS),
        inspect.Parameter("new_ir", inspect.Parameter.KEYWORD_ONLY, default=True),
        inspect.Parameter("create_new_logical_tensor", inspect.Parameter.KEYWORD_ONLY, default=False),
    ]
)


@overload
def function(target: str, /, *tensors: Any) -> Recording: ...


@overload
def function(target: Callable[..., Any], /) -> Callable[..., Any]: ...


def function(target: Any, /, *tensors: Any) -> Any:
    """Marks a helper that kernels call; plain functions are traced without it just as well.

    With a name and tensors it is a recording: `with pypto.function("name", a, b):` makes a kernel of the block, which
    `pypto.runtime._device_run_once_data_from_host` runs.
    """
    if isinstance(target, str):
        return Recording(target, tensors)
    if not isinstance(target, types.FunctionType) or tensors:
        raise fe_error(TypeError, f"function() decorates a function, got {type(target).__name__}")
    return target
