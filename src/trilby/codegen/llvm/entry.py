"""The entry of a kernel: its arguments, and the loops over groups, rows and vectors.

A row is cut into vectors. The body of the kernel is written twice: for whole vectors, in which all
lanes run, and for what is left at the end of a row.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from trilby.codegen.llvm.arithmetic import from_storage
from trilby.codegen.llvm.ir import POINTER, Lanes, part_kinds, stored_kind
from trilby.codegen.llvm.writer import KernelWriter, Scope
from trilby.data.dtypes import ScalarType
from trilby.data.layout import leaf_offset
from trilby.data.schema import BufferType, NDArrayType, StructType, leaves, sizes_of
from trilby.model.op import walk
from trilby.model.ops.core import Return
from trilby.model.value import KERNEL_CONTEXT, RefType, Value

AXES = "xyz"
LAUNCH = tuple(f"{word}{axis}" for word in ("size_", "local_", "groups_") for axis in AXES)
PASS_ID, REPORT, PRINTER = 9, 10, 11
"""Where these stand in the launch, behind the sizes."""


def read_launch(writer: KernelWriter) -> dict[str, str]:
    """Load the launch; gives its sizes by the names in `LAUNCH`.

    The fields of the context that are the same for all groups are set.
    """
    sizes = {name: _launch_number(writer, n) for n, name in enumerate(LAUNCH)}
    for axis in AXES:
        for field, size in (("max_", "size_"), ("local_max_", "local_"), ("group_max_", "groups_")):
            writer.grid[f"{field}{axis}"] = narrowed(writer, sizes[f"{size}{axis}"])
    writer.grid["pass_id"] = narrowed(writer, _launch_number(writer, PASS_ID))
    for name, number in (("report", REPORT), ("printer", PRINTER)):
        place = writer.let(f"getelementptr i64, ptr %launch, i64 {number}")
        setattr(writer, name, writer.let(f"load ptr, ptr {place}"))
    return sizes


def _launch_number(writer: KernelWriter, number: int) -> str:
    place = writer.let(f"getelementptr i64, ptr %launch, i64 {number}")
    return writer.let(f"load i64, ptr {place}")


def narrowed(writer: KernelWriter, text: str, stride: int = 0) -> Lanes:
    """A size or an id as the `i32` that kernels see."""
    return Lanes("i32", writer.let(f"trunc nuw nsw i64 {text} to i32"), stride)


# -- arguments ----------------------------------------------------------------------------


def read_arguments(writer: KernelWriter) -> None:
    """Load the arguments from their slots."""
    slot = 0
    for param in writer.func.params:
        writer.values[param] = tuple(_argument(writer, param, slot))
        slot += 0 if param.type == KERNEL_CONTEXT else 1 + len(sizes_of(param.type))


def _argument(writer: KernelWriter, param: Value, slot: int) -> list[Lanes]:
    match param.type:
        case BufferType() | NDArrayType() | RefType():
            return [_slot(writer, slot + n, k) for n, k in enumerate(part_kinds(param.type))]
        case ScalarType() as type_:
            return [from_storage(writer, _slot(writer, slot, stored_kind(type_)), type_)]
        case StructType() as struct:
            return _numbers(writer, struct, _slot(writer, slot, POINTER))
        case _:
            return []


def _slot(writer: KernelWriter, number: int, kind: str) -> Lanes:
    place = writer.let(f"getelementptr i64, ptr %args, i64 {number}")
    return Lanes(kind, writer.let(f"load {kind}, ptr {place}"))


def _numbers(writer: KernelWriter, struct: StructType, pointer: Lanes) -> list[Lanes]:
    found: list[Lanes] = []
    for leaf in leaves(struct):
        place = writer.let(f"getelementptr i8, ptr {pointer.text}, i64 {leaf_offset(struct, leaf)}")
        kind = stored_kind(leaf.type)
        number = Lanes(kind, writer.let(f"load {kind}, ptr {place}"))
        found.append(from_storage(writer, number, leaf.type))
    return found


# -- loops --------------------------------------------------------------------------------

NOT_UNROLLED = ", !llvm.loop !1"
"""Of a jump to the head of a loop; see `module.py`."""


@contextmanager
def counting(writer: KernelWriter, limit: str, start: str = "0", step: int = 1) -> Generator[str]:
    """A loop over the numbers from `start` to less than `limit`; gives the number.

    One turn has work for several vectors: to unroll such loops makes no kernel faster, and takes
    a third of the time in which one is compiled.
    """
    memory = writer.alloca("i64")
    writer.store("i64", start, memory)
    head, body, leave = (writer.fresh(word) for word in ("each", "do", "done"))
    writer.label(head)
    now = writer.load("i64", memory)
    writer.branch(writer.let(f"icmp slt i64 {now}, {limit}"), body, leave)
    writer.label(body)
    yield now
    writer.store("i64", writer.let(f"add nuw nsw i64 {now}, {step}"), memory)
    writer.jump(head, NOT_UNROLLED)
    writer.label(leave)


@contextmanager
def all_groups(
    writer: KernelWriter, launch: dict[str, str]
) -> Generator[tuple[list[str], list[str]]]:
    """A loop over the groups of the call; gives their first ids and their sizes, by axis."""
    last = writer.let("add i64 %first, %count")
    with counting(writer, last, "%first") as number:
        rest = number
        starts: list[str] = []
        ends: list[str] = []
        for axis in AXES:
            groups = launch[f"groups_{axis}"]
            own = writer.let(f"urem i64 {rest}, {groups}")
            rest = writer.let(f"udiv i64 {rest}, {groups}")
            writer.grid[f"group_{axis}"] = narrowed(writer, own)
            local = launch[f"local_{axis}"]
            starts.append(writer.let(f"mul i64 {own}, {local}"))
            left = writer.let(f"sub i64 {launch[f'size_{axis}']}, {starts[-1]}")
            is_cut = writer.let(f"icmp slt i64 {left}, {local}")
            ends.append(writer.let(f"select i1 {is_cut}, i64 {left}, i64 {local}"))
        yield starts, ends


@contextmanager
def all_rows(
    writer: KernelWriter, starts: list[str], ends: list[str]
) -> Generator[tuple[str, str]]:
    """A loop over the rows of a group; gives the ids along z and y within the group."""
    with counting(writer, ends[2]) as plane:
        set_ids(writer, 2, starts[2], plane)
        with counting(writer, ends[1]) as row:
            set_ids(writer, 1, starts[1], row)
            yield plane, row


def set_ids(writer: KernelWriter, axis: int, start: str, local: str, stride: int = 0) -> None:
    """Give the ids along an axis, within the group and in all."""
    name = AXES[axis]
    writer.grid[f"local_{name}"] = narrowed(writer, local, stride)
    whole = writer.let(f"add i64 {start}, {local}")
    writer.grid[name] = narrowed(writer, whole, stride)


def write_row(
    writer: KernelWriter, start: str, end: str, body: Callable[[str, str | None], None]
) -> None:
    """Run a row: `body` writes what is done with the vector that begins at an id of the group."""
    lanes = writer.lanes
    last = writer.let(f"sub i64 {end}, {lanes - 1}")
    with counting(writer, last, step=lanes) as now:
        set_ids(writer, 0, start, now, 1)
        body(now, None)
    left = writer.let(f"sub i64 {end}, {now}")
    some, done = writer.fresh("rest"), writer.fresh("row_done")
    writer.branch(writer.let(f"icmp sgt i64 {left}, 0"), some, done)
    writer.label(some)
    set_ids(writer, 0, start, now, 1)
    ids = writer.spread(Lanes("i64", "0", 1))
    limit = writer.spread(Lanes("i64", left))
    body(now, writer.let(f"icmp slt {writer.vector('i64')} {ids}, {limit}"))
    writer.label(done)


def write_items(writer: KernelWriter, mask: str | None) -> None:
    """The kernel for one vector of work items."""
    scope = Scope(writer.fresh("items_done"))
    with writer.masked(mask):
        ops = walk(writer.func.body)
        if any(isinstance(op, Return) and op in writer.shapes.leaving for op in ops):
            scope.alive = writer.mask_memory()
        writer.scopes.append(scope)
        writer.block(writer.func.body, scope.end)
        writer.scopes.pop()
    writer.label(scope.end)
