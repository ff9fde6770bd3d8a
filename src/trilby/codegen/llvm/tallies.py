"""Small arrays that a kernel only adds to: each call adds to a copy, which is added at its end.

Additions of integers give the same in any order, and nobody looks at an array while a kernel runs
that does nothing but add to it. So threads need not fight for its places, as in a histogram.
Whether it is worth it, and whether no other argument overlaps the array, is decided by each call.
"""

from trilby.codegen.llvm.entry import Launch, begin_count, end_count
from trilby.codegen.llvm.lanes import POINTER, Lanes
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType
from trilby.data.schema import NDArrayType
from trilby.dataclass import dataclass
from trilby.model.op import Func, operands, walk
from trilby.model.ops.grid import Barrier
from trilby.model.ops.memory import Atomic, Extent
from trilby.model.value import KERNEL_CONTEXT, Value

MOST_BYTES = 1 << 14
"""The largest array that is copied: it lies on the stack."""

ITEMS_PER_ELEMENT = 4
"""How many work items a call has at the least for each element, to be worth a copy."""


@dataclass(frozen=True, slots=True)
class Tally:
    """An array, the copy of a call, how many elements they have, and whether the copy is used."""

    shared: str
    own: str
    count: str
    is_own: str
    kind: str


def begin(writer: KernelWriter, launch: Launch) -> list[Tally]:
    """Clear the copies; from now on, the arrays are the copies where these are used."""
    return [_begin(writer, launch, param) for param in _candidates(writer.func)]


def end(writer: KernelWriter, tallies: list[Tally]) -> None:
    """Add the copies to the arrays."""
    for tally in tallies:
        add, done = writer.fresh("add_copy"), writer.fresh("copy_done")
        writer.branch(tally.is_own, add, done)
        writer.label(add)
        places = begin_count(writer, tally.count)
        element = f"getelementptr {tally.kind}, ptr {{}}, i64 {places.now}"
        number = writer.load(tally.kind, writer.let(element.format(tally.own)))
        some, none = writer.fresh("some"), writer.fresh("none")
        writer.branch(writer.let(f"icmp ne {tally.kind} {number}, 0"), some, none)
        writer.label(some)
        place = writer.let(element.format(tally.shared))
        writer.line(f"atomicrmw add ptr {place}, {tally.kind} {number} monotonic")
        writer.label(none)
        end_count(writer, places)
        writer.label(done)


def _candidates(func: Func) -> list[Value]:
    """The n-d arrays of integers that are only added to, if nothing else is in the way."""
    ops = list(walk(func.body))
    given = [param for param in func.params if param.type != KERNEL_CONTEXT]
    if any(isinstance(op, Barrier) for op in ops):
        return []
    if not all(isinstance(param.type, NDArrayType | ScalarType) for param in given):
        return []
    used = {value for op in ops for value in operands(op)}
    added = {op.base for op in ops if isinstance(op, Atomic) and _only_adds(op, used)}
    other = {
        v
        for op in ops
        if not (isinstance(op, Atomic) and _only_adds(op, used))
        for v in operands(op)
        if not isinstance(op, Extent)
    }
    return [param for param in given if param in added and param not in other]


def _only_adds(op: Atomic, used: set[Value]) -> bool:
    type_ = op.operand.type
    is_whole = isinstance(type_, ScalarType) and type_.is_integer and type_.bits >= 32
    return is_whole and op.change in {"add", "sub"} and op.result not in used


def _begin(writer: KernelWriter, launch: Launch, param: Value) -> Tally:
    if not isinstance(param.type, NDArrayType):
        raise TypeError(param.type)
    size = param.type.element.size
    kind = f"i{8 * size}"
    pointer = writer.values[param][0].text
    count = _elements(writer, param)
    nbytes = writer.let(f"mul i64 {count}, {size}")
    is_own = writer.let(f"icmp ule i64 {nbytes}, {MOST_BYTES}")
    items = "%count"
    for axis in "xyz":
        items = writer.let(f"mul i64 {items}, {launch[f'local_{axis}']}")
    enough = writer.let(f"mul i64 {count}, {ITEMS_PER_ELEMENT}")
    is_own = _also(writer, is_own, f"icmp uge i64 {items}, {enough}")
    for other in writer.func.params:
        if other is not param and isinstance(other.type, NDArrayType):
            is_own = _apart(writer, is_own, (pointer, nbytes), other)
    own = writer.alloca(f"[{MOST_BYTES} x i8]", 64)
    clear, done = writer.fresh("clear_copy"), writer.fresh("copy_clear")
    writer.branch(is_own, clear, done)
    writer.label(clear)
    writer.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    writer.line(f"call void @llvm.memset.p0.i64(ptr {own}, i8 0, i64 {nbytes}, i1 false)")
    writer.label(done)
    base = writer.let(f"select i1 {is_own}, ptr {own}, ptr {pointer}")
    writer.values[param] = (Lanes(POINTER, base), *writer.values[param][1:])
    writer.tallies[param] = is_own
    return Tally(pointer, own, count, is_own, kind)


def _elements(writer: KernelWriter, param: Value) -> str:
    """How many elements an n-d array has."""
    total = "1"
    for extent in writer.values[param][1:]:
        wide = writer.let(f"zext i32 {extent.text} to i64")
        total = writer.let(f"mul i64 {total}, {wide}")
    return total


def _also(writer: KernelWriter, condition: str, test: str) -> str:
    return writer.let(f"and i1 {condition}, {writer.let(test)}")


def _apart(writer: KernelWriter, is_own: str, span: tuple[str, str], other: Value) -> str:
    """Whether an array shares no byte with another one either."""
    if not isinstance(other.type, NDArrayType):
        raise TypeError(other.type)
    size = other.type.element.size
    nbytes = writer.let(f"mul i64 {_elements(writer, other)}, {size}")
    first = writer.let(f"ptrtoint ptr {span[0]} to i64")
    second = writer.let(f"ptrtoint ptr {writer.values[other][0].text} to i64")
    is_before = writer.let(f"icmp ule i64 {writer.let(f'add i64 {first}, {span[1]}')}, {second}")
    is_behind = writer.let(f"icmp ule i64 {writer.let(f'add i64 {second}, {nbytes}')}, {first}")
    return _also(writer, is_own, f"or i1 {is_before}, {is_behind}")
