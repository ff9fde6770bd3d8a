"""Running LLVM IR of kernels on NumPy arrays and buffers, without a device around it."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding  # pyright: ignore[reportMissingTypeStubs]
import numpy as np
from tests.backend.sizes import sizes_given
from tests.codegen.running import Given, Size, copy_of, graph_of, is_array

from trilby.analysis.reach import KernelGraph, works_in_groups
from trilby.backend.native.modules import generated as generate
from trilby.codegen.llvm.target import LlvmModule, LlvmTarget
from trilby.data.dtypes import BF16, F16, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.record import Record
from trilby.reflect.functions import Kernel

llvm: Any = llvmlite.binding  # it has no types

CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)


def _machine() -> Any:
    """A new one for each engine, which takes it away."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True
    )
    machine.set_asm_verbosity(True)
    return machine


@cache
def host_target(width_bits: int = 0, *, fast_math: bool = False) -> LlvmTarget:
    """The processor that the tests run on; or as if its vectors had another size."""
    features = llvm.get_host_cpu_features()
    on = frozenset(name for name, is_on in features.items() if is_on)
    widths = {"avx512f": 512, "avx2": 256}
    width = width_bits or next((bits for name, bits in widths.items() if name in on), 128)
    library = "libmvec" if _load_libmvec() else ""
    return LlvmTarget(width, llvm.get_default_triple(), on, fast_math, library)


def _load_libmvec() -> bool:
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel that can be called."""

    module: LlvmModule
    assembly: str
    optimised: str
    engine: Any
    address: int


def build(module: LlvmModule) -> Compiled:
    """Verify, optimise and compile a module."""
    machine = _machine()
    parsed = llvm.parse_assembly(module.text)
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(parsed, passes)
    assembly = machine.emit_assembly(parsed)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    address = engine.get_function_address(module.entry)
    return Compiled(module, assembly, str(parsed), engine, address)


@cache
def compiled(graph: KernelGraph, target: LlvmTarget) -> Compiled:
    """A kernel graph for a processor."""
    return build(generate(graph, target))


def run_llvm(
    kernel: Kernel[...], size: Size, *args: Given, target: LlvmTarget | None = None
) -> list[Any]:
    """Run a kernel on copies of its arguments; gives the copies."""
    ranks = tuple(arg.ndim for arg in args if is_array(arg))
    return run_graph(graph_of(kernel, ranks), size, args, target or host_target())


def run_graph(
    graph: KernelGraph, size: Size, args: Sequence[Given], target: LlvmTarget
) -> list[Any]:
    """Launch a kernel graph on copies of the arguments; one object is copied once."""
    made: dict[int, Any] = {id(arg): copy_of(arg) for arg in args}
    copies = [made[id(arg)] for arg in args]
    call(compiled(graph, target), graph, size, copies)
    return copies


@dataclass(frozen=True)
class Outcome:
    """What a launch left: the report of assertions, and what was printed."""

    report: list[int]
    said: list[str]


def call(built: Compiled, graph: KernelGraph, size: Size, args: Sequence[Any]) -> Outcome:
    """Launch on the arguments themselves."""
    wanted = size if isinstance(size, NDRange) else NDRange(size)
    local = NDRange(wanted.local or _local(graph, wanted.size)).padded
    groups = [-(-n // step) for n, step in zip(wanted.padded, local, strict=True)]
    report = np.zeros(4, np.int32)
    said: list[str] = []

    def say(_: int, number: int, count: int, slots: Any) -> None:
        form, types = built.module.prints[number]
        assert count == len(types)
        numbers = [_shown(slots[n], type_) for n, type_ in enumerate(types)]
        said.append(form.format(*numbers))

    callback = CALLBACK(say)
    printed = np.array([ctypes.cast(callback, ctypes.c_void_p).value or 0], np.int64)
    printer = printed.ctypes.data
    launch = np.array([*wanted.padded, *local, *groups, 0, report.ctypes.data, printer], np.int64)
    slots, keep = _slots(graph, args)
    entry = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )(built.address)
    total = int(np.prod(groups))
    first = total // 2
    entry(slots.ctypes.data, launch.ctypes.data, 0, first)
    entry(slots.ctypes.data, launch.ctypes.data, first, total - first)
    del keep
    return Outcome(report.tolist(), said)


def _local(graph: KernelGraph, size: tuple[int, ...]) -> tuple[int, ...]:
    """Long rows; where groups matter, something that divides the range."""
    if not works_in_groups(graph):
        return (min(size[0], 1000), *(1 for _ in size[1:]))
    return (next(n for n in (256, 100, 96, 7, 1) if size[0] % n == 0), *(1 for _ in size[1:]))


def _shown(slot: int, type_: ScalarType) -> str:
    raw = np.array([slot], np.int64).view(np.uint8)[: type_.size].view(type_.numpy)[0]
    return f"{float(raw):g}" if type_.is_float else str(int(raw))


def _slots(graph: KernelGraph, args: Sequence[Any]) -> tuple[np.ndarray[Any, Any], list[Any]]:
    slots: list[bytes] = []
    keep: list[Any] = []
    for param, arg in zip(graph.entry.params[1:], args, strict=True):
        if isinstance(param.type, ScalarType):
            slots.append(_number(param.type, arg))
        elif isinstance(arg, Record):
            content = np.frombuffer(np.asarray(arg).tobytes(), np.uint8)
            keep.append(content)
            slots.append(np.int64(content.ctypes.data).tobytes())
        else:
            content = arg if is_array(arg) else arg.segment.memory
            address = np.asarray(content).ctypes.data
            slots.append(np.int64(address).tobytes())
            slots += [_number(size.type, size.value) for size in sizes_given(param.type, arg)]
    return np.frombuffer(b"".join(slots) or bytes(8), np.int64), keep


def _number(type_: ScalarType, value: Any) -> bytes:
    if type_ in {F16, BF16}:
        return np.array(value, type_.numpy).tobytes().ljust(8, b"\0")
    return np.array(value).astype(type_.numpy).tobytes().ljust(8, b"\0")
