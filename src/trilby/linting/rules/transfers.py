"""Compute functions whose data moves more often than it has to."""

import ast
from collections.abc import Iterator, Sequence

from trilby.analysis.access import AccessMode, access_table
from trilby.analysis.alias import PlainExpression, Reference, Reload
from trilby.analysis.host.trees import calls_method
from trilby.analysis.reach import ComputeGraph, short_name
from trilby.data.dtypes import ScalarType
from trilby.data.schema import ArrayType, BufferType, NDArrayType, Type, type_at
from trilby.linting.compute_facts import ComputeFacts, PlacedCopy
from trilby.linting.findings import Finding
from trilby.linting.lint_registry import compute_lint
from trilby.model.op import Func, Op, blocks, operands, walk
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.ops.host import Dispatch, HostFor, HostRun, HostValue, HostView, HostWith
from trilby.model.ops.memory import Load

# --------------------------------------------------------------------------------------- names used
# What becomes of the local names of a compute function that hold buffers.

_MAKERS = ("create", "of", "array")


def buffers_made(func: Func) -> Iterator[Var]:
    """Every local name that holds a buffer which is made in the function."""
    ops = list(walk(func.body))
    made = {op.result: op for op in ops if op.result is not None}
    for op in ops:
        source = made.get(op.init[0]) if isinstance(op, Var) and op.init else None
        is_made = isinstance(source, HostValue) and calls_method(source.code, *_MAKERS)
        if isinstance(op, Var) and is_made:
            yield op


def writer_for_nobody(var: Var, func: Func, graph: ComputeGraph) -> str:
    """The first kernel that writes the buffer of a name; empty where anybody reads it."""
    ops = list(walk(func.body))
    loads = {op.result for op in ops if isinstance(op, VarLoad) and op.var is var.result}
    writers: list[str] = []
    for op in ops:
        texts = isinstance(op, HostValue | HostRun) and var.name in op.uses
        sets = isinstance(op, HostFor | HostRun | HostWith) and var.name in op.sets
        if not texts and not sets and not any(value in loads for value in operands(op)):
            continue
        kernel = graph.kernels.get(op.kernel) if isinstance(op, Dispatch) else None
        if not isinstance(op, Dispatch) or kernel is None or op.range in loads:
            return ""
        access = {parameter.name: parameter.whole for parameter in access_table(kernel).parameters}
        for value, param in zip(op.args, kernel.entry.params[1:], strict=False):
            does = access.get(param.hint, AccessMode.UNTOUCHED)
            if value in loads and AccessMode.READS in does:
                return ""
            if value in loads and AccessMode.WRITES in does:
                writers.append(short_name(op.kernel))
    return writers[0] if writers else ""


# ---------------------------------------------------------------------------------------- transfers


@compute_lint("copy-in-loop")
def copy_in_loop(facts: ComputeFacts) -> Iterator[Finding]:
    """The host looks at, or changes, a buffer in every turn of a loop that also dispatches on it.

    Each turn then waits for the device and copies. Look behind the loop, or in every so-many-th
    turn; or do in a kernel what the host does there. One element is cheap and only hinted at.
    """
    seen: set[object] = set()
    for placed in facts.copies():
        if not placed.loops or not placed.every_turn or not placed.copy.certain:
            continue
        if placed.copy.to == "device" and placed.writer is None:
            continue
        key = (placed.op.location, placed.copy.to, _spoken(placed.func, placed.copy.what))
        if key in seen:
            continue
        seen.add(key)
        yield _copied(placed)


def _copied(placed: PlacedCopy) -> Finding:
    copy, name = placed.copy, _spoken(placed.func, placed.copy.what)
    is_element = bool(copy.indices)
    cost = _cost(placed.func, name, copy.path if is_element else "")
    what = f"an element of `{name}`{cost}" if is_element else f"`{name}`{cost}"
    way = "from the device" if copy.to == "host" else "to the device"
    advice = (
        "look at it behind the loop, or in every so-many-th turn"
        if copy.to == "host"
        else "write what the host writes here in a kernel"
    )
    return copy_in_loop.bug(
        f"every turn of this loop copies {what} {way}",
        (placed.writer or placed.op if copy.to == "device" else _reader(placed, name)).location,
        advice,
        severity="hint" if is_element else "warning",
        others=(placed.loops[-1].location,),
        about=name,
    )


def _reader(placed: PlacedCopy, name: str) -> Op:
    """What needs a copy to the host, which may start some lines before."""
    ops = [op for block in blocks(placed.loops[-1]) for op in walk(block)]
    behind = ops[ops.index(placed.op) :] if placed.op in ops else []
    what = placed.copy.what
    var = what.var if isinstance(what, Reload) else None
    loaded = {op.value for op in behind if isinstance(op, VarLoad) and op.var is var}
    for op in behind:
        is_read = isinstance(op, HostView | HostValue) or (isinstance(op, Load) and op.indices)
        if is_read and (loaded & set(operands(op)) or name in getattr(op, "uses", ())):
            return op
    return placed.op


def _spoken(func: Func, reference: Reference) -> str:
    """What the user calls a buffer."""
    if isinstance(reference, Reload):
        names = {op.value: op.name for op in walk(func.body) if isinstance(op, Var)}
        return names.get(reference.var, "a buffer")
    is_expression = isinstance(reference, PlainExpression)
    return reference.code if is_expression else getattr(reference, "hint", "a buffer")


def _cost(func: Func, name: str, path: str) -> str:
    """The bytes of a buffer, or of an element of it, where the type of the variable is known."""
    for op in walk(func.body):
        if isinstance(op, Var) and op.name == name:
            of = getattr(op.value.type, "of", None)
            size = _bytes(of, path) if isinstance(of, Type) else ""
            return f" ({size} bytes)" if size else ""
    return ""


def _bytes(type_: Type, path: str) -> str:
    """`4` for an element at a path, `4 × length` for all of a buffer; empty if not known."""
    if path:
        element = type_at(type_, path)
        return str(element.size) if isinstance(element, ScalarType) else ""
    if isinstance(type_, NDArrayType):
        return f"{type_.element.size} × the product of its shape"
    if not isinstance(type_, BufferType):
        return ""
    parts = [
        f"{field.type.element.size} × {' × '.join(map(str, field.type.dims))}"
        for field in type_.fields
        if isinstance(field.type, ArrayType) and isinstance(field.type.element, ScalarType)
    ]
    return " + ".join(parts)


@compute_lint("never-read-back")
def never_read_back(facts: ComputeFacts) -> Iterator[Finding]:
    """A buffer is made here, kernels write it, and nobody ever looks at it.

    Neither the host nor another kernel reads what was computed: the dispatch is for nothing, or
    the result was forgotten.
    """
    for func in facts.graph.functions:
        for var in buffers_made(func):
            writer = writer_for_nobody(var, func, facts.graph)
            if writer:
                yield never_read_back.bug(
                    f"`{var.name}` is made here and written by `{writer}`, and nobody reads it",
                    var.location,
                    "return it, read it, or leave the dispatch out",
                )


@compute_lint("raw-view-kept")
def raw_view_kept(facts: ComputeFacts) -> Iterator[Finding]:
    """A raw view of a buffer is kept while kernels are dispatched.

    While a writable raw view is alive the host may write at any time, so the buffer is copied to
    the device before every dispatch. Let go of it (`del view`) before, or use the tracked view.
    """
    for func in facts.graph.functions:
        ops = list(walk(func.body))
        for place, op in enumerate(ops):
            name = _kept_view(op, ops)
            behind = ops[place:]
            if name and any(isinstance(o, Dispatch) for o in behind) and not _deleted(behind, name):
                yield raw_view_kept.bug(
                    f"the raw view `{name}` is alive while kernels are dispatched: its buffer "
                    "counts as written all the time",
                    op.location,
                    f"write `del {name}` before the dispatch, or use the buffer's own view",
                )


def _kept_view(op: Op, ops: Sequence[Op]) -> str:
    """The name under which a raw view is kept; empty for other ops."""
    if isinstance(op, Var) and op.init:
        value, name = op.init[0], op.name
    elif isinstance(op, VarStore):
        value = op.stored
        name = next((v.name for v in ops if isinstance(v, Var) and v.result is op.var), "")
    else:
        return ""
    made = next((o for o in ops if getattr(o, "result", None) is value), None)
    if not isinstance(made, HostValue) or made.code.sign:
        return ""
    match made.code.expression:
        case ast.Call(func=ast.Attribute(attr="raw"), args=[], keywords=[]):
            return name
        case _:
            return ""


def _deleted(ops: Sequence[Op], name: str) -> bool:
    return any(isinstance(op, HostRun) and name in op.code.names.deleted for op in ops)


@compute_lint("opaque-call", severity="hint")
def opaque_call(facts: ComputeFacts) -> Iterator[Finding]:
    """A call into code that is not known, which is handed a buffer in a loop with dispatches.

    What it does to the buffer cannot be planned: copies are decided at run time, in every turn.
    Hand it what it needs (`a.array[0]`) instead of the buffer, or make it a compute function.
    """
    for placed in facts.copies():
        op = placed.op
        is_call = isinstance(op, HostValue | HostRun) and any(op.code.calls())
        if (
            is_call
            and placed.every_turn
            and placed.loops
            and not placed.copy.certain
            and not placed.copy.indices
        ):
            yield opaque_call.bug(
                f"this call may do anything to `{_spoken(placed.func, placed.copy.what)}`: in each "
                "turn the copy is decided when it runs",
                op.location,
                "hand it the numbers that it needs instead of the buffer",
            )
