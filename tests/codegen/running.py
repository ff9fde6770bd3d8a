"""From a kernel to its OpenCL C, and running it on the interpreter and on a device.

Everything here goes the way that a program goes, reflection first, without the runtime: what
moves and when is not a matter of code generation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import pyopencl as cl
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage] -- it does not warn

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, Backend, Executable, Memory, Scalar
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.opencl import OpenCLFamily
from trilby.codegen.opencl import generate
from trilby.data.buffer import Buffer
from trilby.data.dtypes import I32, Number, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import NDArrayType
from trilby.model.value import Value
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel

Array: TypeAlias = npt.NDArray[Any]
Given: TypeAlias = "Buffer | Array | Number | np.generic[Any]"
Size: TypeAlias = "int | tuple[int, ...] | NDRange"

INTERPRETER, OPENCL = "interpreter", "opencl"


def graph_of(kernel: Kernel[...], ranks: tuple[int, ...] | None = None) -> KernelGraph:
    """A kernel and the helpers it reaches."""
    return analyse_kernel(kernel, ranks).graph


def text_of(kernel: Kernel[...], ranks: tuple[int, ...] | None = None) -> str:
    """The OpenCL C of a kernel, without `#line`."""
    return generate(graph_of(kernel, ranks), lines=False).text


@cache
def _opened(name: str) -> Backend:
    return InterpreterFamily().open(0) if name == INTERPRETER else OpenCLFamily().open(0)


@cache
def _context() -> cl.Context:
    backend = OpenCLFamily().open(0)
    return backend._open.context


def build_log(text: str) -> str:
    """What the device's compiler says to a text that it takes: nothing, if all is well."""
    context = _context()
    program = _Program(context, text)
    program._build(b"-cl-std=CL1.2 -Werror", context.devices)  # pyright: ignore[reportPrivateUsage]
    log: object = program.get_build_info(context.devices[0], cl.program_build_info.LOG)
    return str(log).strip()


@dataclass(frozen=True)
class Outcome:
    """The arguments of a launch as they were afterwards, by backend."""

    interpreter: list[Any]
    opencl: list[Any]


def run_both(kernel: Kernel[...], size: Size, *args: Given) -> Outcome:
    """Run a kernel on copies of its arguments, on the interpreter and on OpenCL."""
    graph = graph_of(kernel, _ranks(args))
    return Outcome(
        run_graph(graph, size, args, INTERPRETER), run_graph(graph, size, args, OPENCL)
    )


def run_on(backend: str, kernel: Kernel[...], size: Size, *args: Given) -> list[Any]:
    """Run a kernel on copies of its arguments; gives the copies."""
    return run_graph(graph_of(kernel, _ranks(args)), size, args, backend)


def _ranks(args: Sequence[Given]) -> tuple[int, ...]:
    return tuple(arg.ndim for arg in args if is_array(arg))


def is_array(value: object) -> TypeGuard[Array]:
    """True for NumPy arrays, not for single numbers."""
    return isinstance(value, np.ndarray)


def run_graph(graph: KernelGraph, size: Size, args: Sequence[Given], name: str) -> list[Any]:
    """Launch a kernel graph on copies of the arguments; one object is copied once."""
    backend = _opened(name)
    executable = backend.compile(graph)
    copies = _copies(args)
    launch(backend, executable, size, graph.entry.params[1:], copies)
    return copies


def _copies(args: Sequence[Given]) -> list[Any]:
    made: dict[int, Any] = {id(arg): _copy(arg) for arg in args}
    return [made[id(arg)] for arg in args]


def _copy(arg: Given) -> Any:
    if is_array(arg):
        return arg.copy()
    if isinstance(arg, Buffer):
        return type(arg).bind(arg.segment.memory.copy())
    return arg


def launch(
    backend: Backend, executable: Executable, size: Size, params: Sequence[Value], args: list[Any]
) -> None:
    """Upload, launch, download."""
    memories: dict[int, tuple[Memory, Array]] = {}
    given: list[Argument] = []
    for param, arg in zip(params, args, strict=True):
        if isinstance(param.type, ScalarType):
            given.append(Scalar(param.type, arg.item() if isinstance(arg, np.generic) else arg))
            continue
        content: Array = arg if is_array(arg) else arg.segment.memory
        if id(arg) not in memories:
            memory = backend.allocate(content.nbytes)
            backend.upload(memory, 0, content.data).wait()
            memories[id(arg)] = memory, content
        given.append(memories[id(arg)][0])
        if isinstance(param.type, NDArrayType):
            given += [Scalar(I32, extent) for extent in content.shape]
    wanted = size if isinstance(size, NDRange) else NDRange(size)
    backend.launch(executable, wanted, given).wait()
    for memory, content in memories.values():
        backend.download(memory, 0, content.data).wait()
        backend.free(memory)
