"""Memory of a call: local and private arrays, and what work items keep across a barrier.

It is found in one piece where the entry begins. What each vector of a group has for itself lies in
an array with one element for each of them. Little memory is taken from the stack. Where a call
needs much that is not there, it reports so and does nothing; a program that has not even a little
memory left ends.
"""

from dataclasses import field

from trilby.codegen.llvm.ir import Ir
from trilby.data.layout import round_up
from trilby.dataclass import dataclass

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

    @property
    def is_much(self) -> bool:
        """Whether a launch has to report that there is no such memory."""
        return self.fixed + self.in_chunks >= MUCH

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
