"""The processor as a device: kernels through LLVM, copies by its threads, the host's memory."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from trilby.analysis.data_loops import data_decides_loops
from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Executable, Memory, Ticket
from trilby.backend.failures import beyond, closed, foreign, freed, refused_code
from trilby.backend.native.arena import Arena, NativeMemory, block_of, bytes_of, is_free
from trilby.backend.native.engine import Engine
from trilby.backend.native.host_processor import native_group
from trilby.backend.native.modules import Modules, generated
from trilby.backend.native.native_kernels import NativeKernel, NativePrepared, ThreadMemory
from trilby.backend.native.printing import Printed
from trilby.backend.native.queue_code import make_record
from trilby.backend.native.toolchain import Code, Objects, RefusedTextError, assembly
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory, checked
from trilby.codegen.identifiers import OWN
from trilby.codegen.llvm.target import LlvmModule, LlvmTarget
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.schema import (
    sizes_of,
)
from trilby.data.segment import address_of
from trilby.model.op import Func
from trilby.stages import stage

# ------------------------------------------------------------------------------------------ listing
# Assembly that people can read: without debug information, but with the lines that it tells.

# Patterns are compiled when somebody looks at code, and not when this is imported.
_STRING = r'"(?:[^"\\]|\\.)*"'
_FILE = rf'\s*\.file\s+(\d+)\s+(?:{_STRING}\s+)?"((?:[^"\\]|\\.)*)"'
_LINE = r"\s*\.loc\s+(\d+)\s+(\d+)"
_LABEL = r"\.L(tmp|func_begin)\d+:"


def legible(text: str) -> str:
    """The instructions and constants, and before each part `# app.py:12` where that is known."""
    files: dict[str, str] = {}
    found: list[str] = []
    shown, is_debug = "", False
    for line in text.splitlines():
        if line.lstrip().startswith((".section", ".text")):
            is_debug = ".debug_" in line
        if file := re.match(_FILE, line):
            files[file[1]] = file[2].rpartition("/")[2]
        elif place := re.match(_LINE, line):
            where = f"\t# {files.get(place[1], '?')}:{place[2]}"
            if where != shown and place[2] != "0":
                shown = where
                found.append(where)
        elif not is_debug and not re.match(_LABEL, line):
            found.append(line)
    return "\n".join(found) + "\n"


# ------------------------------------------------------------------------------------------- device

_WIDEST_NUMBER = 8
"""Memory of the host begins where any number may; wider things see to their own places."""

_PROBED = 2**26
"""Arrays of so many bytes in all threads are asked for once before a launch."""
_PIECE = 2**16
_BIG_PIECE = 2**20
_BYTES_PER_NS = 8
"""Copies are cut into pieces for the threads, and expected to take so long."""


class NativeBackend:
    """The processor, with its threads and the host's memory."""

    def __init__(
        self, device: DeviceInfo, engine: Engine, objects: Objects, modules: Modules
    ) -> None:
        self.device = device
        self.engine = engine
        self.compute = self.upload_queue = self.download_queue = engine
        self.arena = Arena(engine, device)
        self._objects = objects
        self._modules = modules
        self._is_open = True
        self.moment = 0
        """Counts what invalidates memory: launches that were prepared before are checked again."""

    @property
    def target(self) -> LlvmTarget:
        """What code is generated for."""
        host = self.engine.host
        return LlvmTarget(
            host.width_bits, host.processor.triple, host.features, vector_math=host.vector_math
        )

    def check_open(self) -> None:
        """Raise after `close`."""
        if not self._is_open:
            raise closed(self.device)

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], NativeKernel]:
        """Generate LLVM IR, and let LLVM begin: it needs nothing of Python.

        What was compiled before is taken from the cache.
        """
        memory = checked(graph, self.device)
        with stage("generate"):
            module = self._modules.module(graph, self._target(fast_math=fast_math))
        with stage("build"):
            varies = data_decides_loops(graph)
            return self.begin_build(module, slots_of(graph.entry), memory, varies=varies)

    def text(self, graph: KernelGraph, *, lines: bool, fast_math: bool = False) -> str:
        """The LLVM IR that a kernel becomes, for people."""
        return generated(graph, self._target(fast_math=fast_math), lines=lines).text

    def assembly(self, graph: KernelGraph, *, lines: bool, fast_math: bool = False) -> str:
        """The instructions that a kernel becomes, for people."""
        text = self.text(graph, lines=lines, fast_math=fast_math)
        return legible(assembly(text, self.engine.host.processor))

    def _target(self, *, fast_math: bool) -> LlvmTarget:
        return replace(self.target, fast_math=fast_math)

    def build(self, module: LlvmModule, parameters: int) -> NativeKernel:
        """Compile a module whose entry takes so many arguments."""
        return self.begin_build(module, parameters)()

    def begin_build(
        self,
        module: LlvmModule,
        parameters: int,
        memory: WorkMemory = NO_ARRAYS,
        *,
        varies: bool = False,
    ) -> Callable[[], NativeKernel]:
        """Let LLVM begin to compile such a module; see `NativeKernel` for the rest."""
        self.check_open()
        code = self._objects.begin(module.text, self.engine.host.processor, [module.entry])
        return partial(self._built, module, parameters, memory, varies, code)

    def _built(
        self,
        module: LlvmModule,
        parameters: int,
        memory: WorkMemory,
        varies: bool,  # noqa: FBT001 -- of `begin_build`
        code: Callable[[], Code],
    ) -> NativeKernel:
        functions = self.engine.functions  # they are needed next, and there is time for it now
        try:
            loaded = code()
        except RefusedTextError as error:
            name = module.entry.removeprefix(OWN)
            raise refused_code(self.device, name, module.text, str(error)) from error
        return NativeKernel(
            module.entry,
            module.text,
            loaded,
            loaded[module.entry],
            parameters,
            module.asserts,
            Printed(module.prints, functions) if module.prints else None,
            module.any_group,
            varies,
            ThreadMemory(module.lanes, module.group_bytes, module.vector_bytes),
            memory,
        )

    def allocate(self, nbytes: int) -> NativeMemory:
        """Memory beside the host's, with undefined content."""
        self.check_open()
        return NativeMemory(nbytes, self, self.arena.take(nbytes))

    def share(self, source: memoryview) -> NativeMemory | None:
        """The host's bytes, where they are, if numbers lie there at multiples of their size."""
        self.check_open()
        block = block_of(self.engine, source) if source.nbytes and not source.readonly else None
        if block is None or block.address % _WIDEST_NUMBER:
            return None
        return NativeMemory(source.nbytes, self, block)

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Keep memory for later; also after `close`, when it is released."""
        if not isinstance(memory, NativeMemory) or memory.owner is not self:
            raise foreign(self.device, memory)
        self.moment += 1
        block, memory.block = memory.block, None
        if block is None:
            raise freed(self.device, memory.nbytes)
        self.arena.give(block, after)
        if not self._is_open:
            self.arena.trim()

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to `offset` in memory of the device."""
        target = self._span(memory, offset, source.nbytes)
        self._come_after(after)
        if not source.nbytes:
            return Ticket(self.engine, self.engine.submitted)
        content = bytes_of(source)
        return self._copy(target, address_of(content), source.nbytes, rows, (memory, content))

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy bytes of the device from `offset` to the host."""
        source = self._span(memory, offset, target.nbytes)
        self._come_after(after)
        if not target.nbytes:
            return Ticket(self.engine, self.engine.submitted)
        content = bytes_of(target)
        return self._copy(address_of(content), source, target.nbytes, rows, (memory, content))

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range."""
        target = self._span(memory, offset, nbytes)
        self._come_after(after)
        if not nbytes:
            return Ticket(self.engine, self.engine.submitted)
        return self._move(self.engine.functions.fill, (target, byte), nbytes, memory)

    def _copy(
        self, target: int, source: int, nbytes: int, rows: Rows | None, keep: object
    ) -> Ticket:
        if rows is None:
            return self._move(self.engine.functions.copy, (target, source), nbytes, keep)
        count = len(rows.starts(nbytes))
        arguments = (target, source, rows.size, rows.pitch)
        return self._submit(
            self.engine.functions.copy_rows, count, rows.size * count, arguments, keep
        )

    def _move(self, entry: int, places: tuple[int, int], nbytes: int, keep: object) -> Ticket:
        """Copy or fill bytes in pieces."""
        piece = _PIECE if nbytes < 8 * _BIG_PIECE else _BIG_PIECE
        return self._submit(entry, -(-nbytes // piece), nbytes, (*places, nbytes, piece), keep)

    def _submit(
        self, entry: int, units: int, nbytes: int, arguments: tuple[int, ...], keep: object
    ) -> Ticket:
        engine = self.engine
        expected = nbytes // _BYTES_PER_NS + 1
        record = make_record(engine.address, entry, units, arguments, nanoseconds=expected)
        return Ticket(engine, engine.submit(record, keep))

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> NativePrepared:
        """Decide on groups, and write the record."""
        self.check_open()
        if not isinstance(executable, NativeKernel):
            raise foreign(self.device, executable)
        self._check_arrays(executable, size)
        return NativePrepared(self, executable, size, arguments)

    def _check_arrays(self, kernel: NativeKernel, size: NDRange) -> None:
        """Raise where the arrays of the groups that run at once are more than there is memory."""
        threads = self.engine.host.threads
        local = native_group(size, threads)
        needed = threads * kernel.memory.needed(local)
        if needed >= _PROBED and not (needed <= self.device.memory_bytes and is_free(needed)):
            raise kernel.arrays.no_room(
                self.device, f"{threads} threads need {needed:,}", self.device.memory_bytes
            )

    def close(self) -> None:
        """Wait for everything; closing twice is no error."""
        if not self._is_open:
            return
        self.moment += 1
        self._is_open = False
        self.engine.wait_for_all()
        self.arena.trim()

    def _come_after(self, after: Sequence[Ticket]) -> None:
        """Wait for the work of other devices: what this one began comes before by itself."""
        for ticket in after:
            if ticket.queue is not self.engine:
                ticket.wait()

    def address_of(self, memory: Memory) -> int:
        """Where memory begins that was made here and not freed."""
        self.check_open()
        if not isinstance(memory, NativeMemory) or memory.owner is not self:
            raise foreign(self.device, memory)
        if memory.block is None:
            raise freed(self.device, memory.nbytes)
        return memory.block.address

    def _span(self, memory: Memory, offset: int, nbytes: int) -> int:
        address = self.address_of(memory)
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.nbytes:
            raise beyond(self.device, offset, nbytes, memory.nbytes)
        return address + offset


def slots_of(kernel: Func) -> int:
    """How many arguments a launch of a kernel has: buffers bring their sizes."""
    return sum(1 + len(sizes_of(param.type)) for param in kernel.params[1:])
