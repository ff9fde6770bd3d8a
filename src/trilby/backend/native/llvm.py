"""LLVM, as llvmlite brings it: text to object code, and object code to addresses.

The one module that knows llvmlite, which has no types and lets one thread in at a time. Nothing
is kept on disk here.
"""

from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any, cast

from llvmlite import binding  # pyright: ignore[reportMissingTypeStubs] -- it has none

from trilby.backend.native.toolchain import Code, Processor, RefusedTextError
from trilby.errors import DeviceError

_llvm = cast("Any", binding)

_NUMBERS = count()


def detected() -> Processor:
    """The processor of this machine, as far as LLVM knows it."""
    _begin()
    try:
        features = dict(_llvm.get_host_cpu_features())
    except RuntimeError:  # LLVM cannot tell on every kind of processor
        features = {}
    triple, cpu = str(_llvm.get_process_triple()), str(_llvm.get_host_cpu_name())
    flags = ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(features.items()))
    return Processor(triple, cpu or "generic", flags, ".".join(map(str, _llvm.llvm_version_info)))


def assembly(text: str, processor: Processor) -> str:
    """The instructions that a module becomes, for people."""
    machine = _machine(processor)
    return str(machine.emit_assembly(_optimise(text, machine)))


def object_code(text: str, processor: Processor, *, as_written: bool = False) -> bytes:
    """The object code of a module; one that is to stay as written takes a fifth of the time."""
    effort = 0 if as_written else 2
    machine = _machine(processor, effort)
    return bytes(machine.emit_object(_optimise(text, machine, effort)))


def load(code: bytes, processor: Processor, symbols: Sequence[str]) -> Code:
    """Put object code into memory, linked with the process."""
    builder = _llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    try:
        return cast("Code", builder.link(_linker(processor), f"trilby{next(_NUMBERS)}"))
    except RuntimeError as error:
        raise DeviceError(
            f"code for {processor.cpu} cannot be loaded: {error}",
            advice="this is a fault of Trilby: please report it with the program",
        ) from error


def _optimise(text: str, machine: Any, speed: int = 2) -> Any:
    try:
        module = _llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise RefusedTextError(str(error)) from error
    options = _llvm.create_pipeline_tuning_options(speed_level=speed)
    builder = _llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


@cache
def _begin() -> None:
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()


@cache
def _machine(processor: Processor, effort: int = 2) -> Any:
    _begin()
    target = _llvm.Target.from_triple(processor.triple)
    return target.create_target_machine(
        cpu=processor.cpu,
        features=processor.features,
        opt=effort,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


@cache
def _linker(processor: Processor) -> Any:
    return _llvm.create_lljit_compiler(_machine(processor))
