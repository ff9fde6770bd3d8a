"""Making small kernels by hand and running them on the interpreter."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from tests.backend.sizes import sizes_given

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, Scalar
from trilby.backend.interpreter import InterpreterFamily
from trilby.data.dtypes import I32, Number, ScalarType, Type, scalar_of
from trilby.data.ndrange import NDRange
from trilby.data.schema import ArrayType, BufferType, Field, NDArrayType
from trilby.model.build import Builder
from trilby.model.op import Func, Op
from trilby.model.ops.core import Constant
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Load, Store
from trilby.model.value import KERNEL_CONTEXT, NONE, Value
from trilby.source import Location

Array: TypeAlias = npt.NDArray[Any]

S32_ARRAY = BufferType(
    "S32Array", (Field("length", I32), Field("array", ArrayType(I32, ("length",))))
)


def at(line: int, column: int = 4, end: int = 9) -> Location:
    """A place in a file that does not exist."""
    return Location("app.py", line, column, line, end)


def s32_array(*numbers: int) -> Array:
    """The bytes of an `S32Array`: its length, then its numbers."""
    return np.array([len(numbers), *numbers], np.int32)


def scalar_type(dtype: npt.DTypeLike) -> ScalarType:
    """The scalar type of a NumPy dtype."""
    found = scalar_of(np.dtype(dtype))
    assert found is not None
    return found


def function(
    name: str, params: dict[str, Type], result: Type, body: Callable[..., None], line: int = 1
) -> Func:
    """A helper; `body` gets a builder and the parameters."""
    b = Builder()
    values = [Value(of, hint) for hint, of in params.items()]
    body(b, *values)
    return Func(f"app.{name}", tuple(values), result, b.block(), "func", at(line))


def kernel(
    params: dict[str, Type], body: Callable[..., None], *helpers: Func, name: str = "kernel"
) -> KernelGraph:
    """A kernel; `body` gets a builder, the kernel context and the other parameters."""
    made = function(name, {"kc": KERNEL_CONTEXT, **params}, NONE, body, line=10)
    return KernelGraph((*helpers, made))


def launch(
    graph: KernelGraph, size: int | tuple[int, ...] | NDRange, *arguments: "Array | Number"
) -> None:
    """Run a kernel; arrays come back with what it wrote."""
    backend = InterpreterFamily().open(0)
    executable = backend.compile(graph)()
    given: list[Argument] = []
    copies: list[tuple[Any, Array]] = []
    for param, argument in zip(graph.entry.params[1:], arguments, strict=True):
        if not isinstance(argument, np.ndarray):
            given.append(Scalar(_scalar(param), argument))
            continue
        memory = backend.allocate(argument.nbytes)
        backend.upload(memory, 0, _bytes(argument))
        copies.append((memory, argument))
        given.append(memory)
        given += sizes_given(param.type, argument)
    wanted = size if isinstance(size, NDRange) else NDRange(size)
    backend.prepare(executable, wanted, given).submit()
    for memory, argument in copies:
        backend.download(memory, 0, _bytes(argument))
    backend.close()


def _bytes(array: Array) -> memoryview:
    """The memory of an array; Python has no name for the numbers of some."""
    return array.reshape(-1).view(np.uint8).data


def _scalar(param: Value) -> ScalarType:
    assert isinstance(param.type, ScalarType)
    return param.type


def constant(b: Builder, number: Number, of: ScalarType = I32) -> Value:
    """A constant."""
    return b.value(Constant, number, type=of)


def compute(
    build: Callable[[Builder, list[Value]], Value], out: npt.DTypeLike, *inputs: Array
) -> Array:
    """`build` of the elements of one-dimensional arrays, one work item for each element."""
    result = np.zeros(len(inputs[0]), out)
    arrays = [*inputs, result]
    params: dict[str, Type] = {
        f"a{n}": NDArrayType(scalar_type(array.dtype), 1) for n, array in enumerate(arrays)
    }

    def body(b: Builder, kc: Value, *values: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        *sources, target = values
        loaded = [
            b.value(Load, source, (x,), "[]", type=scalar_type(array.dtype))
            for source, array in zip(sources, inputs, strict=True)
        ]
        b.run(Store, target, (x,), build(b, loaded), "[]")

    if len(result):
        launch(kernel(params, body), len(result), *arrays)
    return result


def apply(kind: type[Op], out: npt.DTypeLike, *inputs: Array) -> Array:
    """An op whose fields are its operands, on the elements of arrays."""
    return compute(lambda b, values: b.value(kind, *values, type=scalar_type(out)), out, *inputs)


def same(left: Array, right: Array) -> bool:
    """Bit for bit equal, except that every NaN is like any other."""
    assert left.dtype == right.dtype
    if scalar_type(left.dtype).is_float:
        signs = np.isnan(left) | (np.signbit(left) == np.signbit(right))
        return bool(np.array_equal(left, right, equal_nan=True) and signs.all())
    return bool(np.array_equal(left, right))


def pairs(values: Sequence[Number], dtype: npt.DTypeLike) -> tuple[Array, Array]:
    """Every value with every other."""
    column = np.array(values, dtype)
    left, right = np.meshgrid(column, column)
    return left.ravel(), right.ravel()
