"""What other libraries take for a call with three small tensors; those that are not installed are left out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from harness import Candidate

PEERS = Path(__file__).resolve().parents[1] / "peers"


def installed(*modules: str) -> bool:
    """Whether all of them are there; says which one is missing."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        print(f"{missing[0]} is not installed: its rows are left out")
    return not missing


def tvm_ffi_candidates(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> list[Candidate]:
    """The peer of the targets: a C++ function that checks three tensors, with its own tensors and with torch's."""
    if not installed("tvm_ffi"):
        return []
    import tvm_ffi
    import tvm_ffi.cpp

    touch = tvm_ffi.cpp.load("pypto_peer", cpp_files=[str(PEERS / "tvm_ffi_add.cc")], extra_cflags=["-O3"]).touch
    a, b, c = (tvm_ffi.from_dlpack(t) for t in (x, y, out))
    return [
        Candidate("tvm-ffi, three of its own tensors", lambda: touch(a, b, c)),
        Candidate("tvm-ffi, three torch tensors", lambda: touch(x, y, out)),
    ]


def numpy_candidates(x: torch.Tensor, y: torch.Tensor) -> list[Candidate]:
    """An add into an array that is there."""
    if not installed("numpy"):
        return []
    import numpy

    a, b = x.numpy(), y.numpy()
    out = numpy.empty_like(a)
    return [Candidate("numpy.add(out=) 16x16", lambda: numpy.add(a, b, out=out))]


def add_model(shape: tuple[int, ...]) -> bytes:
    """An ONNX model of one Add."""
    from onnx import TensorProto, helper

    x, y, out = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y", "out"))
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["out"])], "add", [x, y], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return bytes(model.SerializeToString())


def onnxruntime_candidates(x: torch.Tensor, y: torch.Tensor) -> list[Candidate]:
    """A session of one Add with everything bound."""
    if not installed("onnxruntime", "onnx"):
        return []
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(add_model(tuple(x.shape)), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, tensor in (("x", x), ("y", y)):
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy()))
    binding.bind_ortvalue_output("out", onnxruntime.OrtValue.ortvalue_from_numpy(torch.empty_like(x).numpy()))
    return [Candidate("onnxruntime, io binding, 16x16 Add", lambda: session.run_with_iobinding(binding))]


def jax_candidates(x: torch.Tensor, y: torch.Tensor) -> list[Candidate]:
    """A jitted add of two resident arrays, waited for."""
    if not installed("jax"):
        return []
    import jax

    add: Any = jax.jit(lambda a, b: a + b)
    a, b = (jax.device_put(tensor.numpy(), jax.devices("cpu")[0]) for tensor in (x, y))
    return [Candidate("jax.jit add 16x16", lambda: add(a, b).block_until_ready())]


def peers(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> list[Candidate]:
    """All that are installed."""
    return [
        Candidate("torch.add(out=) 16x16", lambda: torch.add(x, y, out=out)),
        *numpy_candidates(x, y),
        *onnxruntime_candidates(x, y),
        *jax_candidates(x, y),
        *tvm_ffi_candidates(x, y, out),
    ]
