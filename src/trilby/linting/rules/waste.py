"""Waste and slips: nothing is wrong yet, but it is not what was meant, or costs too much."""

from collections.abc import Iterator
from itertools import pairwise

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import F64, ScalarType
from trilby.data.ndrange import spelled
from trilby.data.schema import ArrayType, BufferType, NDArrayType, StructType, Type
from trilby.linting.accesses import MemoryAccess
from trilby.linting.contract import linear
from trilby.linting.findings import Finding
from trilby.linting.kernel_facts import KernelFacts
from trilby.linting.lint_registry import kernel_lint
from trilby.linting.terms import leaves_of
from trilby.model.op import Func, operands, walk
from trilby.model.ops.core import Call
from trilby.model.value import KERNEL_CONTEXT, Value
from trilby.source import Location, line_text

LANES = 32
"""How many work items run in step on most devices."""


@kernel_lint("unused-parameter")
def unused_parameter(facts: KernelFacts) -> Iterator[Finding]:
    """A parameter that the kernel never uses.

    A buffer that is passed for nothing is brought to the device for nothing.
    """
    entry = facts.graph.entry
    used = _used(facts)
    for param in entry.params:
        if param not in used and param.type != KERNEL_CONTEXT and not entry.raw:
            yield unused_parameter.bug(
                f"the parameter `{param.hint}` is never used",
                entry.location,
                "leave it out",
                about=param.hint,
            )


def _used(facts: KernelFacts) -> set[Value]:
    """The values that something is done with; handing one to a helper that does nothing is not."""
    found: set[Value] = set()
    params: dict[str, tuple[Value, ...]] = {}
    for func in facts.graph.functions:  # callees come first
        params[func.name] = func.params
        found.update(func.params if func.raw else ())
        for op in walk(func.body):
            if isinstance(op, Call):
                pairs = zip(op.args, params[op.callee], strict=True)
                found.update(given for given, param in pairs if param in found)
            else:
                found.update(operands(op))
    return found


@kernel_lint("write-unseen")
def write_unseen(facts: KernelFacts) -> Iterator[Finding]:
    """A write that nobody can see: to a local or private array that is never read, or overwritten.

    Where the same work item writes the same element again before anybody reads it, the first
    write is for nothing.
    """
    yield from _overwritten(facts)
    own = list(facts.of_kind("local", "private"))
    read = {access.memory for access in own if access.does != "write"}
    told: set[object] = set()
    for access in own:
        if access.memory not in read and access.memory not in told:
            told.add(access.memory)
            yield write_unseen.bug(
                f"`{access.memory.name}` is written and never read",
                access.location,
                "leave it out, or read it",
            )


def _overwritten(facts: KernelFacts) -> Iterator[Finding]:
    """Writes behind which the same element is written again, and nobody looks in between."""
    by_memory: dict[object, list[MemoryAccess]] = {}
    for access in facts.walked.accesses:
        by_memory.setdefault(access.memory, []).append(access)
    pairs = (pair for accesses in by_memory.values() for pair in pairwise(accesses))
    for before, after in pairs:
        both_write = before.does == after.does == "write" and before.location != after.location
        same = before.path == after.path and before.indices == after.indices
        surely = set(after.guards) <= set(before.guards) and before.loops == after.loops
        if both_write and same and surely and before.phases == after.phases:
            yield write_unseen.bug(
                f"what is written to `{before.text}` is overwritten in line {after.location.line} "
                "before anybody reads it",
                before.location,
                "leave it out",
                others=(after.location,),
                about=before.text,
            )


@kernel_lint("pass-parity")
def pass_parity(facts: KernelFacts) -> Iterator[Finding]:
    """What is stored depends on whether the pass is odd or even, and where to does not.

    Kernels of many passes take turns with two buffers: one is read, the other written, and
    `kc.pass_id % 2` says which. Here the parity chooses a value or a condition only, so that each
    pass overwrites what it reads.
    """
    choosing = any(
        _has_parity(guard)
        for access in facts.walked.accesses
        for guard in access.guards
        if access.memory.kind == "global" and _other_arm(facts, access, guard)
    )
    if choosing:
        return
    for access in facts.of_kind("global"):
        if access.does != "write" or any(_has_parity(index) for index in access.indices):
            continue
        if any(_has_parity(term) for term in (*access.guards, *filter(None, [access.stored]))):
            yield pass_parity.bug(
                f"what is written to `{access.text}` depends on `kc.pass_id % 2`, but not to which "
                "buffer",
                access.location,
                "choose the buffer by the parity: `target = a if kc.pass_id % 2 == 0 else b`",
            )
            return


def _other_arm(facts: KernelFacts, access: MemoryAccess, guard: Expr) -> bool:
    """Whether another buffer is written under the opposite condition."""
    opposite = facts.walked.terms.negated(guard)
    return any(
        other.memory is not access.memory and other.does == access.does and opposite in other.guards
        for other in facts.of_kind("global")
    )


def _has_parity(term: Expr) -> bool:
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if part.op == "mod" and part.args[0].what == "pass_id":
            return True
        waiting.extend(part.args)
    return False


@kernel_lint("shared-counter")
def shared_counter(facts: KernelFacts) -> Iterator[Finding]:
    """A counter that work items share is read and written back, which loses counts.

    `total.array[0] += 1` is three steps: read, add, write. Two work items that read at the same
    time write the same number. `tb.atomic_add(total.array, 0, 1)` is one step.
    """
    told: set[object] = set()
    for one in facts.collisions:
        first, second = one.first, one.second
        is_update = one.kind == "read-write" and first.location == second.location
        same = first.path == second.path and first.indices == second.indices
        if is_update and same and one.example is not None and first.location not in told:
            told.add(first.location)
            yield shared_counter.bug(
                f"work items share `{first.text}` and change it in several steps: counts get lost",
                first.location,
                f"use tb.atomic_add({first.memory.name}…)",
            )


@kernel_lint("f64-in-f32")
def f64_in_f32(facts: KernelFacts) -> Iterator[Finding]:
    """A kernel on `f32` data computes in `f64` somewhere.

    Integers beside floats promote as in NumPy (`i32 + f32` is `f64`), and a variable that was
    declared so stays so. Most devices are many times slower in `f64`. Write `f32(n)`.
    """
    if any(_has_f64(param.type) for param in facts.graph.entry.params):
        return
    for func in facts.graph.functions:
        if _mentions_f64(func):
            continue
        for op in walk(func.body):
            if op.result is not None and op.result.type is F64:
                yield f64_in_f32.bug(
                    "this is computed in `f64`, and no data of the kernel is",
                    op.location,
                    "convert with `f32(…)`",
                )
                return


def _mentions_f64(func: Func) -> bool:
    """Whether the source of a function says `f64`: then it is meant."""
    at = func.location
    lines = range(at.line, max(at.end_line, at.line) + 1)
    return any("f64" in line_text(Location(at.file, line)) for line in lines)


def _has_f64(type_: Type) -> bool:
    if isinstance(type_, ArrayType | NDArrayType):
        return _has_f64(type_.element)
    if isinstance(type_, StructType | BufferType):
        return any(_has_f64(field.type) for field in type_.fields)
    return isinstance(type_, ScalarType) and type_ is F64


@kernel_lint("strided-access", severity="hint")
def strided_access(facts: KernelFacts) -> Iterator[Finding]:
    """Neighbouring work items touch elements that lie a whole row apart.

    `a.array[kc.x, kc.y]` lets `kc.x`, which runs fastest, count rows. With the ids exchanged
    (`a.array[kc.y, kc.x]`) neighbours touch neighbours, and memory is read in whole lines. A
    kernel that transposes has to do it on one side, and is not told.
    """
    touched = [access for access in facts.of_kind("global") if access.indices]
    if any(_factor(access.indices[-1], "x") == 1 for access in touched):
        return
    for access in touched:
        if _runs_across(access):
            yield strided_access.bug(
                f"neighbouring work items touch `{access.text}` a row apart",
                access.location,
                "let `kc.x` be the last index",
            )
            return


def _factor(index: Expr, axis: str) -> int | None:
    """By how much an index grows with an id: a number, 0, or None where it is a product."""
    parts, _ = linear(index)
    total: int | None = 0
    for term, factor in parts:
        if term.op == "grid" and term.what == axis:
            total = None if total is None else total + factor
        elif any(leaf.op == "grid" and leaf.what == axis for leaf in leaves_of((term,))):
            total = None
    return total


def _runs_across(access: MemoryAccess) -> bool:
    """Whether y counts neighbouring elements, and x counts rows."""
    last = access.indices[-1]
    if _factor(last, "y") != 1:
        return False
    if len(access.indices) > 1:
        return _factor(last, "x") == 0 and _factor(access.indices[-2], "x") == 1
    by_x = _factor(last, "x")
    return by_x is None or by_x > 1


@kernel_lint("wasted-lanes", severity="hint")
def wasted_lanes(facts: KernelFacts) -> Iterator[Finding]:
    """A local size that leaves lanes idle.

    Devices run work items in step, 32 or so at a time: groups of 24 leave 8 of them idle, and
    groups of 1 all but one.
    """
    launch = facts.launch
    if not launch.is_given or len(launch.local) < len(launch.axes):
        return
    items = 1
    for axis in launch.axes:
        items *= launch.local[axis]
    idle = -items % LANES
    if idle:
        local = tuple(launch.local[axis] for axis in launch.axes)
        yield wasted_lanes.bug(
            f"groups of {items} work items ({spelled(local)}) leave {idle} of "
            f"{items + idle} lanes idle",
            facts.graph.entry.location,
            f"use a multiple of {LANES}",
        )
