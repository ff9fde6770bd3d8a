"""A kernel while it is written: what its values are, and which lanes run."""

import posixpath
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeAlias

from trilby.analysis.reach import short_name
from trilby.analysis.spans import Spans
from trilby.codegen.ctext import llvm_string
from trilby.codegen.llvm.ir import ALL, BIT, Ir, Lanes, Stride, part_kinds
from trilby.codegen.llvm.neighbours import Neighbour
from trilby.codegen.llvm.shapes import Parts, Shapes
from trilby.codegen.llvm.target import LlvmTarget
from trilby.data.dtypes import ScalarType, Type
from trilby.data.layout import round_up
from trilby.data.schema import ArrayType, StructType, leaves
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, operands, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Yield
from trilby.model.ops.memory import PrivateArray
from trilby.model.value import RefType, Value
from trilby.source import Location

# ------------------------------------------------------------------------------------------ scratch
# Memory of a call: local and private arrays, and what work items keep across a barrier.
#
# It is found in one piece where the entry begins. What each vector of a group has for itself lies
# in an array with one element for each of them. Little memory is taken from the stack. Where a
# call needs much that is not there, it reports so and does nothing; a program that has not even a
# little memory left ends.

ALIGN = 64
ON_STACK = 1 << 15
"""The most bytes that are taken from the stack."""
MUCH = 1 << 20
"""From so many bytes on, memory that is not there is reported."""
NO_MEMORY = "there is no memory left for the local and private arrays of this kernel"


@dataclass(slots=True)
class Scratch:
    """What was asked for so far; `chunks` is how many vectors the group has, as a text."""

    chunks: str = "1"
    fixed: int = 0
    in_chunks: int = 0
    lines: list[str] = field(default_factory=list[str])

    def shared(self, ir: Ir, nbytes: int) -> str:
        """A pointer to bytes that all vectors of a group share."""
        name = f"%{ir.fresh('s')}"
        self.lines.append(f"  {name} = getelementptr i8, ptr %scratch, i64 {self.fixed}")
        self.fixed += round_up(nbytes, ALIGN)
        return name

    def each(self, ir: Ir, nbytes: int) -> tuple[str, int]:
        """A pointer to the bytes of the first vector, and how far apart those of others are."""
        name, size = f"%{ir.fresh('c')}", round_up(nbytes, ALIGN)
        if self.chunks == "1":
            return self.shared(ir, nbytes), size
        self.lines.append(f"  {name}.n = mul i64 {self.chunks}, {self.in_chunks}")
        self.lines.append(f"  {name} = getelementptr i8, ptr %scratch.chunks, i64 {name}.n")
        self.in_chunks += size
        return name, size

    def begin(self, ir: Ir, refuse: list[str]) -> list[str]:
        """The lines that find the memory, to stand where sizes are known.

        `refuse` are those that report that there is none, and end the call.
        """
        if not self.fixed and not self.in_chunks:
            return []
        if not self.in_chunks and self.fixed <= ON_STACK:
            return [f"  %scratch = alloca [{self.fixed} x i8], align {ALIGN}", *self.lines]
        ir.declare("declare noalias ptr @malloc(i64)")
        ir.declare("declare void @free(ptr)")
        return [
            f"  %scratch.each = mul i64 {self.chunks}, {self.in_chunks}",
            f"  %scratch.size = add i64 %scratch.each, {self.fixed + ALIGN}",
            "  %scratch.found = call ptr @malloc(i64 %scratch.size)",
            "  %scratch.none = icmp eq ptr %scratch.found, null",
            "  br i1 %scratch.none, label %scratch.refused, label %scratch.taken",
            "scratch.refused:",
            *refuse,
            "scratch.taken:",
            "  %scratch.address = ptrtoint ptr %scratch.found to i64",
            "  %scratch.past = sub i64 0, %scratch.address",
            f"  %scratch.gap = and i64 %scratch.past, {ALIGN - 1}",
            "  %scratch = getelementptr i8, ptr %scratch.found, i64 %scratch.gap",
            f"  %scratch.chunks = getelementptr i8, ptr %scratch, i64 {self.fixed}",
            *self.lines,
        ]

    def end(self) -> list[str]:
        """The lines that give it back."""
        if self.in_chunks or self.fixed > ON_STACK:
            return ["  call void @free(ptr %scratch.found)"]
        return []


# ------------------------------------------------------------------------------------- interleaving
# Whether the private arrays of all lanes can lie interleaved, number by number.
#
# Interleaved, the same number of neighbouring lanes is one vector. Where the members of a union
# have numbers of unequal sizes, the bytes of a number would be elsewhere than those of the
# numbers that share them; such arrays lie one behind the other.


def can_interleave(func: Func) -> bool:
    """Whether no private array of a kernel has a number that shares bytes with one of another size.

    References to all private arrays are alike, so one such array decides for all.
    """
    made = [op.value.type for op in walk(func.body) if isinstance(op, PrivateArray)]
    return not any(isinstance(type_, RefType) and _overlaps(type_.to) for type_ in made)


def _overlaps(type_: Type) -> bool:
    match type_:
        case ArrayType():
            return _overlaps(type_.element)
        case StructType(is_union=True):
            return len({leaf.type.size for leaf in leaves(type_)}) > 1
        case StructType():
            return any(_overlaps(field.type) for field in type_.fields)
        case _:
            return False


# ------------------------------------------------------------------------------------- source lines
# The lines of Python that instructions come from, in the words of LLVM's debug information.
#
# Profilers and debuggers read them from the object code: they then show the kernel as it was
# written. Only lines are told, no variables, so that no optimisation has to keep anything for
# them.

_FIRST = 10
"""Metadata with lower numbers belongs to the module."""

_HEAD = """\
!llvm.dbg.cu = !{{!10}}
!llvm.module.flags = !{{!11, !12}}
!10 = distinct !DICompileUnit(language: DW_LANG_Python, file: !{file}, producer: "trilby", \
isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!11 = !{{i32 2, !"Debug Info Version", i32 3}}
!12 = !{{i32 7, !"Dwarf Version", i32 4}}
!13 = !DISubroutineType(types: !0)
!14 = distinct {function}"""

_FUNCTION = """\
!DISubprogram(name: {name}, scope: !{file}, file: !{file}, line: {line}, type: !13, unit: !10, \
spFlags: DISPFlagDefinition | DISPFlagOptimized)"""

_OWN = 5
"""How many of them the head has."""

_KERNEL = 14


Key: TypeAlias = tuple[str | int, ...]


class SourceLines:
    """Gives each place in the source a number, and says at the end what the numbers mean.

    `scope` is the number of the function that the places are in; `numbers` are the definitions.
    """

    def __init__(self, func: Func, numbers: "dict[Key, tuple[int, str]] | None" = None) -> None:
        self._func = func
        self._numbers = {} if numbers is None else numbers
        self._file = self._file_number(func.location.file)
        self.scope = _KERNEL
        if numbers is not None:
            name = short_name(func.name)
            self.scope = self._number(("function", func.name), f"distinct {self._function(name)}")

    def of_function(self, func: Func) -> "SourceLines":
        """The same numbers for a function that the kernel calls."""
        return SourceLines(func, self._numbers)

    def _function(self, name: str) -> str:
        line = max(self._func.location.line, 0)
        return _FUNCTION.format(file=self._file, name=llvm_string(name), line=line)

    def somewhere(self) -> str:
        """What an instruction has at its end whose place is unknown, and which needs one."""
        text = f"!DILocation(line: 0, column: 0, scope: !{self.scope})"
        return f", !dbg !{self._number((0, 0, self.scope), text)}"

    def attached(self, location: Location) -> str:
        """What an instruction of that place has at its end; nothing where the place is unknown."""
        if not location.line:
            return ""
        scope = self.scope
        if location.file != self._func.location.file:  # a helper function of another module
            file = self._file_number(location.file)
            text = f"!DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: 0)"
            scope = self._number(("scope", location.file, scope), text)
        key = (location.line, location.column, scope)
        text = f"!DILocation(line: {key[0]}, column: {key[1] + 1}, scope: !{scope})"
        return f", !dbg !{self._number(key, text)}"

    def metadata(self, name: str) -> str:
        """The end of the module, in which the function has that name."""
        head = _HEAD.format(file=self._file, function=self._function(name))
        return "\n".join((head, *(f"!{n} = {text}" for n, text in self._numbers.values())))

    def _file_number(self, file: str) -> int:
        folder, name = posixpath.split(file.replace("\\", "/"))
        text = f"!DIFile(filename: {llvm_string(name)}, directory: {llvm_string(folder or '.')})"
        return self._number(("file", file), text)

    def _number(self, key: Key, text: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = _FIRST + _OWN + len(self._numbers), text
        return self._numbers[key][0]


# ------------------------------------------------------------------------------------------- writer


@dataclass(frozen=True, slots=True)
class VariableSlot:
    """Memory for one part of a variable.

    Where each vector of a group has its own, these lie so many bytes `apart`, and `pointer` leads
    to that of the first.
    """

    pointer: str
    kind: str
    stride: Stride
    apart: int = 0


@dataclass(slots=True)
class Scope:
    """A function or a loop that lanes may leave before its end.

    `end` is where a function is left, or the turn of a loop; `exit` where a loop is. `alive` holds
    the lanes that have not left it for good, and `turn` those that have not left this turn of a
    loop; both only where lanes may leave one by one. A scope `of_group` goes on for the other work
    items of the group, so that it cannot be left by a jump: `end` and `exit` end one vector of it.
    Where the scope of a group holds barriers, masks and results are those of the first vector.
    """

    end: str
    exit: str = ""
    is_loop: bool = False
    alive: str = ""
    turn: str = ""
    results: list[VariableSlot] = field(default_factory=list[VariableSlot])
    of_group: bool = False

    @property
    def running(self) -> str:
        """Memory of the lanes that are in it now."""
        return self.turn if self.is_loop else self.alive


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """A kernel or a device function, and what is known of it.

    A function that is called, not inlined, also has a symbol, and the strides of its parameters;
    `asserts` is true where an `assert` may fail in it.
    """

    func: Func
    shapes: Shapes
    spans: Spans
    neighbours: Mapping[Op, tuple[Neighbour, ...]]
    symbol: str = ""
    params: Mapping[Value, Parts] = field(default_factory=dict[Value, Parts])
    asserts: bool = False


Rules: TypeAlias = "Mapping[type[Op], Callable[[KernelWriter, Any], None]]"
"""How each op is written."""


class KernelWriter(Ir):
    """Writes the ops of one kernel or function."""

    def __init__(self, analysed: Analysed, target: LlvmTarget, lanes: int, rules: Rules) -> None:
        super().__init__(lanes, fast_math=target.fast_math)
        self.func = analysed.func
        self.shapes = analysed.shapes
        self.spans = analysed.spans
        self.target = target
        self.rules = rules
        self.values: dict[Value, tuple[Lanes, ...]] = {}
        self.variables: dict[Value, list[VariableSlot]] = {}
        self.spilled: dict[Value, list[VariableSlot]] = {}
        self.arrays: dict[Op, tuple[str, int]] = {}
        self.grid: dict[str, Lanes] = {}
        self.scopes: list[Scope] = []
        self.mask: str | None = None
        self.interleaved = can_interleave(self.func)
        self.report = ""
        self.printer = ""
        self.asserts = list[tuple[str, Location]]()
        self.prints = list[tuple[str, tuple[ScalarType, ...]]]()
        self.numbers: dict[Op, int] = {}
        self.waits = False
        self.next_group = ""
        """How many work items further along x the next group begins, where groups wait."""
        self.chunk = ""
        self.source_lines: SourceLines | None = None
        self._shown = ""
        self._prelude = 0
        self.scratch = Scratch()
        self.used = {value for op in walk(self.func.body) for value in operands(op)}
        self.tallies: dict[Value, str] = {}
        self.makers = {op.result: op for op in walk(self.func.body) if op.result is not None}
        self.neighbours = analysed.neighbours
        self.joined: dict[Op, tuple[Neighbour, ...]] = {}
        """Accesses that are written with others; those of the last one of some stores."""
        self._dummy = ""
        self.callees: Mapping[str, Analysed] = {}
        self.failed = ""
        """Where a function notes that an `assert` failed."""

    def share_with(self, kernel: "KernelWriter") -> None:
        """Be a function of the same module as a kernel."""
        self.declarations, self.definitions = kernel.declarations, kernel.definitions
        self.asserts, self.prints, self.numbers = kernel.asserts, kernel.prints, kernel.numbers
        self.interleaved, self.waits = kernel.interleaved, kernel.waits
        self.callees = kernel.callees

    def note_failure(self) -> None:
        """Let the caller of a function know that an `assert` failed."""
        if self.failed:
            self.store(BIT, "true", self.failed)

    # -- ops --------------------------------------------------------------------------

    def block(self, block: Block, end: str, *, says_lines: bool = True) -> None:
        """Write the ops of a block; `end` is where it ends early if no lane is left.

        Where it `says_lines`, comments tell which line of the source comes next.
        """
        outer = self.attached
        for op in block.ops:
            if isinstance(op, Yield):
                break
            self._come_from(op.location, says_line=says_lines)
            self.rules[type(op)](self, op)
            if op.result in self.spilled:
                self.fill(self.spilled[op.result], self.values[op.result])
            if isinstance(op, Break | Continue | Return):
                break
            if op in self.shapes.narrowing:
                self.narrow(end)
        self.attached = outer

    def _come_from(self, location: Location, *, says_line: bool) -> None:
        """What follows is for a place in the source."""
        if self.source_lines is not None:
            self.attached = self.source_lines.attached(location)
            if says_line and self.attached and location.short != self._shown:
                self._shown = self.remark = location.short

    # -- values -----------------------------------------------------------------------

    def take(self, value: Value) -> Lanes:
        """The one part of a number or a pointer."""
        return self.values[value][0]

    def give(self, op: Op, *parts: Lanes) -> None:
        """Take note of the result of an op."""
        if op.result is not None:
            self.values[op.result] = parts

    def slots(self, type_: Type, strides: Parts) -> list[VariableSlot]:
        """Memory for all parts of a value."""
        return [
            VariableSlot(self.alloca(self.type_of(stride, kind)), kind, stride)
            for kind, stride in zip(part_kinds(type_), strides, strict=True)
        ]

    def fill(
        self, slots: Sequence[VariableSlot], parts: Sequence[Lanes], *, blend: bool = False
    ) -> None:
        """Put a value in memory; with `blend` only in the lanes that run."""
        for slot, part in zip(slots, parts, strict=True):
            if slot.stride not in {None, part.stride}:
                raise TypeError((part, slot))
            type_ = self.type_of(slot.stride, slot.kind)
            text = self.spread(part) if slot.stride is None else part.text
            if blend and self.mask is not None:
                old = self.load(type_, slot.pointer)
                mask = f"{self.vector(BIT)} {self.mask}"
                text = self.let(f"select {mask}, {type_} {text}, {type_} {old}")
            self.store(type_, text, slot.pointer)

    def read(self, slots: Sequence[VariableSlot]) -> tuple[Lanes, ...]:
        """A value from memory."""
        return tuple(
            Lanes(s.kind, self.load(self.type_of(s.stride, s.kind), s.pointer), s.stride)
            for s in slots
        )

    # -- memory of the call -----------------------------------------------------------

    def end_prelude(self) -> None:
        """From here on, all sizes are known that decide how much memory is needed."""
        self._prelude = len(self.lines)

    def finish(self) -> None:
        """End the function, and put in where its memory is found and given back."""
        begin = self.scratch.begin(self, self._refusal())
        self.lines[self._prelude : self._prelude] = begin
        self.lines += [*self.scratch.end(), "  ret void"]

    def _refusal(self) -> list[str]:
        """The end of a call for whose arrays there is no memory."""
        if self.scratch.fixed + self.scratch.in_chunks < MUCH:
            self.declare("declare void @abort()")
            return ["  call void @abort()", "  unreachable"]
        self.asserts.append((NO_MEMORY, self.func.location))
        text = f"cmpxchg ptr {self.report}, i32 0, i32 {len(self.asserts)} monotonic monotonic"
        return [f"  %scratch.told = {text}", "  ret void"]

    # -- masks ------------------------------------------------------------------------

    @property
    def lanes_on(self) -> str:
        """The mask as a vector, also where all lanes run."""
        return ALL if self.mask is None else self.mask

    @contextmanager
    def masked(self, mask: str | None) -> Generator[None]:
        """Write something that other lanes run."""
        outer, self.mask = self.mask, mask
        yield
        self.mask = outer

    def clear(self, memory: str) -> None:
        """Take the lanes that run out of a mask in memory."""
        if memory:
            type_ = self.vector(BIT)
            kept = self.both(self.load(type_, memory), self.flipped(self.lanes_on))
            self.store(type_, kept, memory)

    def mask_memory(self) -> str:
        """Memory that holds the lanes that run now."""
        memory = self.alloca(self.vector(BIT))
        self.store(self.vector(BIT), self.lanes_on, memory)
        return memory

    def narrow(self, end: str) -> None:
        """Go on with the lanes that have not left; at `end` if there are none."""
        self.mask = self.both(self.lanes_on, self.load(self.vector(BIT), self.scopes[-1].running))
        go_on = self.fresh("go_on")
        self.branch(self.any(self.mask), go_on, end)
        self.label(go_on)

    @property
    def dummy(self) -> str:
        """A place for the lanes that are off, where a step touches memory in all of them."""
        if not self._dummy:
            self._dummy = self.alloca("[64 x i8]", 64)
        return self._dummy
