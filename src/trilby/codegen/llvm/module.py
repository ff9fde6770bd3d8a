"""A kernel graph as one module of LLVM IR."""

from dataclasses import dataclass

from trilby.analysis.reach import KernelGraph
from trilby.codegen.llvm.target import LlvmTarget
from trilby.data.dtypes import ScalarType
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class LlvmModule:
    """Device code: its text, the symbol of its entry, and what a launch has to know of it.

    `lanes` work items of a row run at once. `local_bytes` is the memory that a group shares.
    `asserts` are the messages that a report counts, `prints` the forms and the types of the
    numbers of each `print`.
    """

    text: str
    entry: str
    lanes: int
    local_bytes: int = 0
    asserts: tuple[tuple[str, Location], ...] = ()
    prints: tuple[tuple[str, tuple[ScalarType, ...]], ...] = ()


def generate(graph: KernelGraph, target: LlvmTarget) -> LlvmModule:
    """Write a kernel and all that it reaches."""
    raise NotImplementedError((graph, target))
