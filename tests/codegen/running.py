"""From a kernel to its OpenCL C, and running it on the interpreter and on a device.

Everything here goes the way that a program goes, reflection first, without the runtime: what
moves and when is not a matter of code generation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import pyopencl as cl
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage] -- it does not warn
from tests.backend.sizes import sizes_given

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, Backend, Executable, Memory, Scalar
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.opencl import OpenCLFamily
from trilby.codegen.cfamily import Generated
from trilby.codegen.opencl_c import generate
from trilby.data.buffer import Buffer
from trilby.data.dtypes import I32, Number, ScalarType, scalar_of
from trilby.data.ndrange import NDRange
from trilby.data.schema import NDArrayType
from trilby.model.build import Builder
from trilby.model.op import Func
from trilby.model.ops.core import Return
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Load, Store
from trilby.model.value import KERNEL_CONTEXT, NONE, Value
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel

Array: TypeAlias = npt.NDArray[Any]
Given: TypeAlias = "Buffer | Array | Number"
Size: TypeAlias = "int | tuple[int, ...] | NDRange"

INTERPRETER, OPENCL = "interpreter", "opencl"


@cache
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
def _compiled(graph: KernelGraph, name: str) -> Executable:
    return _opened(name).compile(graph)()


@cache
def _context() -> cl.Context:
    return OpenCLFamily().open(0).context


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
    return Outcome(run_graph(graph, size, args, INTERPRETER), run_graph(graph, size, args, OPENCL))


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
    executable = _compiled(graph, name)
    copies = _copies(args)
    launch(backend, executable, size, graph.entry.params[1:], copies)
    return copies


def _copies(args: Sequence[Given]) -> list[Any]:
    made: dict[int, Any] = {id(arg): copy_of(arg) for arg in args}
    return [made[id(arg)] for arg in args]


def copy_of(arg: Any) -> Any:
    """A buffer or array of its own with the same content; numbers are themselves."""
    if is_array(arg):
        return arg.copy()
    if not isinstance(arg, Buffer):
        return arg
    made = type(arg).create(**arg.__lengths__)
    made.segment.memory[:] = arg.segment.memory
    return made


def launch(
    backend: Backend, executable: Executable, size: Size, params: Sequence[Value], args: list[Any]
) -> None:
    """Upload, launch, download."""
    memories: dict[int, tuple[Memory, Array]] = {}
    given: list[Argument] = []
    for param, arg in zip(params, args, strict=True):
        if isinstance(param.type, ScalarType):
            number: Number = arg
            given.append(Scalar(param.type, number))
            continue
        content: Array = arg if is_array(arg) else arg.segment.memory
        if id(arg) not in memories:
            memory = backend.allocate(content.nbytes)
            backend.upload(memory, 0, content.view(np.uint8).data).wait()
            memories[id(arg)] = memory, content
        given.append(memories[id(arg)][0])
        given += sizes_given(param.type, arg)
    wanted = size if isinstance(size, NDRange) else NDRange(size)
    backend.prepare(executable, wanted, given).submit().wait()
    for memory, content in memories.values():
        backend.download(memory, 0, content.view(np.uint8).data).wait()
        backend.free(memory)


Build: TypeAlias = Callable[[Builder, list[Value]], Value]


def elementwise(builds: Mapping[str, Build], inputs: Sequence[Array]) -> KernelGraph:
    """A kernel that computes several things from the same elements, one array for each."""
    b = Builder()
    kc = Value(KERNEL_CONTEXT, "kc")
    sources = [
        Value(NDArrayType(scalar_type(array.dtype), 1), f"in{n}") for n, array in enumerate(inputs)
    ]
    x = b.value(Grid, kc, "x", type=I32)
    loaded = [
        b.value(Load, source, (x,), "[]", type=scalar_type(array.dtype))
        for source, array in zip(sources, inputs, strict=True)
    ]
    targets: list[Value] = []
    for name, build in builds.items():
        made = build(b, loaded)
        assert isinstance(made.type, ScalarType)
        targets.append(Value(NDArrayType(made.type, 1), f"out_{name}"))
        b.run(Store, targets[-1], (x,), made, "[]")
    b.run(Return, ())
    params = (kc, *sources, *targets)
    return KernelGraph((Func("tests.elementwise", params, NONE, b.block(), "kernel"),))


def scalar_type(dtype: npt.DTypeLike) -> ScalarType:
    """The scalar type of a NumPy dtype."""
    found = scalar_of(np.dtype(dtype))
    assert found is not None
    return found


def compute(builds: Mapping[str, Build], inputs: Sequence[Array], name: str) -> dict[str, Array]:
    """What a backend computes from elements, by the name of the build."""
    graph = elementwise(builds, inputs)
    count = len(inputs[0])
    outputs = [
        np.zeros(count, param.type.element.numpy)
        for param in graph.entry.params[1 + len(inputs) :]
        if isinstance(param.type, NDArrayType)
    ]
    results = run_graph(graph, count, [*inputs, *outputs], name)[len(inputs) :]
    return dict(zip(builds, results, strict=True))


def same(left: Array, right: Array) -> bool:
    """Bit for bit equal, except that every NaN is like any other."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if not scalar_type(left.dtype).is_float:
        return bool((left == right).all())
    both_nan = np.isnan(left) & np.isnan(right)
    bits = np.dtype(f"u{left.dtype.itemsize}")
    return bool((both_nan | (left.view(bits) == right.view(bits))).all())


def pairs(values: Array) -> tuple[Array, Array]:
    """Every value with every other."""
    left, right = np.meshgrid(values, values, indexing="ij")
    return left.ravel(), right.ravel()


def run_text(text: str, entry: str, arrays: Sequence[Array]) -> list[Array]:
    """Build some OpenCL C, run it as one work item, and give back what the arrays hold.

    The kernel takes the arrays and then the three sizes of the range.
    """
    backend = OpenCLFamily().open(0)
    executable = backend.build(Generated(text, entry))
    copies = [array.copy() for array in arrays]
    memories = [backend.allocate(copy.nbytes) for copy in copies]
    for memory, copy in zip(memories, copies, strict=True):
        backend.upload(memory, 0, copy.data).wait()
    backend.prepare(executable, NDRange(1, 1), memories).submit().wait()
    for memory, copy in zip(memories, copies, strict=True):
        backend.download(memory, 0, copy.data).wait()
    backend.close()
    return copies
