"""The processor as a device: kernels through LLVM, copies by its threads, the host's memory."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from trilby.analysis.data_loops import data_decides_loops
from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Executable, Memory, Ticket
from trilby.backend.failures import beyond, foreign, refused_code
from trilby.backend.native.arena import Arena, NativeMemory, bytes_of, is_free
from trilby.backend.native.cache import Cache
from trilby.backend.native.engine import Engine, shared_engine
from trilby.backend.native.host_processor import native_group, this_host
from trilby.backend.native.modules import generated, kept_modules, module_of
from trilby.backend.native.native_kernels import NativeKernel, NativePrepared
from trilby.backend.native.printing import Printed
from trilby.backend.native.queue_code import make_record
from trilby.backend.native.toolchain import RefusedTextError, begin_code, kept_objects, load_llvm
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory, checked
from trilby.codegen.identifiers import OWN
from trilby.codegen.llvm.target import LlvmModule
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.schema import sizes_of
from trilby.data.segment import address_of
from trilby.errors import DeviceUnavailableError
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

_PROBED = 2**26
"""Arrays of so many bytes in all threads are asked for once before a launch."""
_PIECE = 2**16
_BIG_PIECE = 2**20
_BYTES_PER_NS = 8
"""Copies are cut into pieces for the threads, and expected to take so long."""


class NativeBackend:
    """The processor, with its threads and the host's memory."""

    def __init__(
        self, engine: Engine, kept_objects: Cache | None, kept_modules: Cache | None
    ) -> None:
        self.device = engine.host.device
        self.target = engine.host.target
        self.engine = engine
        self.compute = self.upload_queue = self.download_queue = engine
        self.arena = Arena(engine, self.device)
        self._kept_objects = kept_objects
        self._kept_modules = kept_modules

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], NativeKernel]:
        """Generate LLVM IR, and let LLVM begin: it needs nothing of Python.

        What was compiled before is taken from the cache.
        """
        arrays = checked(graph, self.device)
        with stage("generate"):
            target = replace(self.target, fast_math=fast_math)
            module = module_of(graph, target, self._kept_modules)
        with stage("build"):
            varies = data_decides_loops(graph)
            # Buffers bring their sizes.
            parameters = sum(1 + len(sizes_of(one.type)) for one in graph.entry.params[1:])
            return self.begin_build(module, parameters, arrays, varies=varies)

    def text(self, graph: KernelGraph, *, lines: bool, fast_math: bool = False) -> str:
        """The LLVM IR that a kernel becomes, for people."""
        return generated(graph, replace(self.target, fast_math=fast_math), lines=lines).text

    def assembly(self, graph: KernelGraph, *, lines: bool, fast_math: bool = False) -> str:
        """The instructions that a kernel becomes, for people."""
        text = self.text(graph, lines=lines, fast_math=fast_math)
        return legible(load_llvm().assembly(text, self.engine.host.processor))

    def begin_build(
        self,
        module: LlvmModule,
        parameters: int,
        arrays: WorkMemory = NO_ARRAYS,
        *,
        varies: bool = False,
    ) -> Callable[[], NativeKernel]:
        """Let LLVM begin to compile a module; see `NativeKernel` for the rest."""

        def finish() -> NativeKernel:
            functions = self.engine.functions  # they are needed next, and there is time for it now
            try:
                loaded = code()
            except RefusedTextError as error:
                name = module.entry.removeprefix(OWN)
                raise refused_code(self.device, name, module.text, str(error)) from error
            printed = Printed(module.prints, functions) if module.prints else None
            return NativeKernel(module, loaded, parameters, printed, varies, arrays)

        self.arena.check_open()
        processor = self.engine.host.processor
        code = begin_code(module.text, processor, [module.entry], self._kept_objects)
        return finish

    def allocate(self, nbytes: int) -> NativeMemory:
        """Memory beside the host's, with undefined content."""
        return self.arena.allocate(nbytes)

    def share(self, source: memoryview) -> NativeMemory | None:
        """The host's bytes, where they are."""
        return self.arena.share(source)

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Keep memory for later; also after `close`, when it is released."""
        self.arena.free(memory, after)

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to `offset` in memory of the device."""
        return self._copy(memory, offset, source, after, rows, to_device=True)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy bytes of the device from `offset` to the host."""
        return self._copy(memory, offset, target, after, rows, to_device=False)

    def _copy(
        self,
        memory: Memory,
        offset: int,
        host: memoryview,
        after: Sequence[Ticket],
        rows: Rows | None,
        *,
        to_device: bool,
    ) -> Ticket:
        address = self._span(memory, offset, host.nbytes)
        content = bytes_of(host)
        places = (address, address_of(content)) if to_device else (address_of(content), address)
        keep = memory, content
        if rows is None:
            return self._move(self.engine.functions.copy, places, host.nbytes, after, keep)
        count = len(rows.starts(host.nbytes))
        arguments = (*places, rows.size, rows.pitch)
        entry = self.engine.functions.copy_rows
        return self._submit(entry, count, rows.size * count, arguments, after, keep)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range."""
        target = self._span(memory, offset, nbytes)
        return self._move(self.engine.functions.fill, (target, byte), nbytes, after, memory)

    def _span(self, memory: Memory, offset: int, nbytes: int) -> int:
        address = self.arena.address_of(memory)
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.nbytes:
            raise beyond(self.device, offset, nbytes, memory.nbytes)
        return address + offset

    def _move(
        self,
        entry: int,
        places: tuple[int, int],
        nbytes: int,
        after: Sequence[Ticket],
        keep: object,
    ) -> Ticket:
        """Copy or fill bytes in pieces."""
        piece = _PIECE if nbytes < 8 * _BIG_PIECE else _BIG_PIECE
        units = -(-nbytes // piece)
        return self._submit(entry, units, nbytes, (*places, nbytes, piece), after, keep)

    def _submit(
        self,
        entry: int,
        units: int,
        nbytes: int,
        arguments: tuple[int, ...],
        after: Sequence[Ticket],
        keep: object,
    ) -> Ticket:
        engine = self.engine
        for ticket in after:
            if ticket.queue is not engine:  # what this one began comes before by itself
                ticket.wait()
        if not nbytes:
            return Ticket(engine, engine.submitted)
        expected = nbytes // _BYTES_PER_NS + 1
        record = make_record(engine.address, entry, units, arguments, nanoseconds=expected)
        return Ticket(engine, engine.submit(record, keep))

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> NativePrepared:
        """Decide on groups, and write the record."""
        self.arena.check_open()
        if not isinstance(executable, NativeKernel):
            raise foreign(self.device, executable)
        # The arrays of the groups that run at once may be more than there is memory.
        threads = self.engine.host.threads
        needed = threads * executable.thread_bytes(native_group(size, threads))
        most = self.device.memory_bytes
        if needed >= _PROBED and not (needed <= most and is_free(needed)):
            needs = f"{threads} threads need {needed:,}"
            raise executable.arrays.no_room(self.device, needs, most)
        return NativePrepared(self.arena, executable, size, arguments)

    def close(self) -> None:
        """Wait for everything; closing twice is no error."""
        self.arena.close()


class NativeFamily:
    """The processor, which is everywhere."""

    __slots__ = ()
    name = "native"

    def devices(self) -> Sequence[DeviceInfo]:
        """The one device; raises where the system has not what it needs."""
        return (this_host().device,)

    def open(self, index: int) -> NativeBackend:
        """A backend with memory of its own; the threads are those of all."""
        if index != 0:
            raise DeviceUnavailableError(
                f"there is one native device, and no `native:{index}`", advice="use `native`"
            )
        engine = shared_engine()
        return NativeBackend(engine, kept_objects(engine.host.processor), kept_modules())
