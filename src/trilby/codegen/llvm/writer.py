"""A kernel while it is written: what its values are, and which lanes run."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from trilby.analysis.spans import Spans
from trilby.codegen.llvm.interleaving import can_interleave
from trilby.codegen.llvm.ir import ALL, Ir
from trilby.codegen.llvm.lanes import BIT, Lanes, Stride, part_kinds
from trilby.codegen.llvm.neighbours import Neighbour
from trilby.codegen.llvm.scratch import NO_MEMORY, Scratch
from trilby.codegen.llvm.shapes import Parts, Shapes
from trilby.codegen.llvm.target import LlvmTarget
from trilby.data.dtypes import ScalarType, Type
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, operands, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Yield
from trilby.model.value import Value
from trilby.source import Location

if TYPE_CHECKING:
    from trilby.codegen.llvm.source_lines import SourceLines


@dataclass(frozen=True, slots=True)
class Slot:
    """Memory for one part of a variable."""

    pointer: str
    kind: str
    stride: Stride


@dataclass(slots=True)
class Scope:
    """A function or a loop that lanes may leave before its end.

    `end` is where a function is left, or the turn of a loop; `exit` where a loop is. `alive` holds
    the lanes that have not left it for good, and `turn` those that have not left this turn of a
    loop; both only where lanes may leave one by one. A scope `of_group` goes on for the other work
    items of the group, so that it cannot be left by a jump: `end` and `exit` end one vector of it.
    """

    end: str
    exit: str
    is_loop: bool
    alive: str = ""
    turn: str = ""
    results: list[Slot] = field(default_factory=list[Slot])
    of_group: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """A kernel or function, and what is known of it."""

    func: Func
    shapes: Shapes
    spans: Spans
    neighbours: Mapping[Op, tuple[Neighbour, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class OutlinedFunction:
    """A device function that is called, not inlined: symbol, analysis, and strides of parameters.

    `asserts` is true where an `assert` may fail in it.
    """

    symbol: str
    analysed: Analysed
    params: Mapping[Value, Parts]
    asserts: bool


Rules: TypeAlias = "Mapping[type[Op], Callable[[KernelWriter, Any], None]]"
"""How each op is written."""


class KernelWriter(Ir):
    """Writes the ops of one kernel or function."""

    def __init__(  # noqa: PLR0915 -- what is known while a kernel is written
        self, analysed: Analysed, target: LlvmTarget, lanes: int, rules: Rules
    ) -> None:
        super().__init__(lanes, fast_math=target.fast_math)
        self.func = analysed.func
        self.shapes = analysed.shapes
        self.spans = analysed.spans
        self.target = target
        self._rules = rules
        self.values: dict[Value, tuple[Lanes, ...]] = {}
        self.variables: dict[Value, list[Slot]] = {}
        self.spilled: dict[Value, list[Slot]] = {}
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
        self.callees: Mapping[str, OutlinedFunction] = {}
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
            self._rules[type(op)](self, op)
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

    def slots(self, type_: Type, strides: Parts) -> list[Slot]:
        """Memory for all parts of a value."""
        return [
            Slot(self.alloca(self.type_of(stride, kind)), kind, stride)
            for kind, stride in zip(part_kinds(type_), strides, strict=True)
        ]

    def fill(self, slots: Sequence[Slot], parts: Sequence[Lanes], *, blend: bool = False) -> None:
        """Put a value in memory; with `blend` only in the lanes that run."""
        for slot, part in zip(slots, parts, strict=True):
            new = self.with_stride(part, slot.stride)
            type_ = self.type_of(slot.stride, slot.kind)
            text = new.text if new.stride is not None else self.spread(new)
            if blend and self.mask is not None:
                old = self.load(type_, slot.pointer)
                mask = f"{self.vector(BIT)} {self.mask}"
                text = self.let(f"select {mask}, {type_} {text}, {type_} {old}")
            self.store(type_, text, slot.pointer)

    def read(self, slots: Sequence[Slot]) -> tuple[Lanes, ...]:
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
        if not self.scratch.is_much:
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
        scope = self.scopes[-1]
        memory = scope.turn if scope.is_loop else scope.alive
        self.mask = self.both(self.lanes_on, self.load(self.vector(BIT), memory))
        go_on = self.fresh("go_on")
        self.branch(self.any(self.mask), go_on, end)
        self.label(go_on)

    @property
    def dummy(self) -> str:
        """A place for the lanes that are off, where a step touches memory in all of them."""
        if not self._dummy:
            self._dummy = self.alloca("[64 x i8]", 64)
        return self._dummy
