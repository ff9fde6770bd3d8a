"""The side table: what a kernel does with each of its buffers, field by field.

Found on the models alone, through helper calls, aliases and references; raw device code
declares what it does. Never optimistic:
a variable that may hold one of several buffers counts as all of them. A length is fixed
when its buffer is created, so reading it is no access to data.
"""

from collections.abc import Iterator, Mapping
from enum import Flag
from typing import TypeAlias

from trilby.analysis.reach import KernelGraph, short_name
from trilby.data.dtypes import Type
from trilby.data.schema import INDEX, ArrayType, BufferType, NDArrayType, PadType, join_path
from trilby.dataclass import dataclass
from trilby.errors import KernelTypeError
from trilby.model.op import Func, Op, Raw, walk
from trilby.model.ops.control import Ternary
from trilby.model.ops.core import Call, Var, VarLoad, VarStore, yielded
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Load, Place, Store
from trilby.model.value import Value
from trilby.source import NOWHERE

# ----------------------------------------------------------------------------------- kernel aliases
# Which places in the parameters of a function each of its values may stand for.
#
# Without regard to order: a variable that holds one buffer after the other counts as both.

Root: TypeAlias = tuple[int, str]
"""A parameter, by its number, and a path below it."""


Aliases: TypeAlias = Mapping[Value, frozenset[Root]]
"""What a value may stand for; numbers, and a work item's own arrays, are not among the keys."""


def aliases_of(function: Func) -> Aliases:
    """Follow the buffers of a function through its variables, references and choices."""
    found = {
        param: frozenset({(number, "")})
        for number, param in enumerate(function.params)
        if isinstance(param.type, BufferType | NDArrayType)
    }
    ops = tuple(walk(function.body))
    news = True
    while news:  # a loop may carry a buffer from a later statement to an earlier one
        news = False
        for value, roots in (flow for op in ops for flow in _flows(op, found)):
            if not roots <= found.get(value, frozenset()):
                found[value] = found.get(value, frozenset()) | roots
                news = True
    return found


def _flows(op: Op, aliases: Aliases) -> Iterator[tuple[Value, frozenset[Root]]]:
    """The value that an op sets, and what comes into it."""
    nothing = frozenset[Root]()
    match op:
        case Var(init=(content,)):
            yield op.value, aliases.get(content, nothing)
        case VarLoad(var):
            yield op.value, aliases.get(var, nothing)
        case VarStore(var, stored):
            yield var, aliases.get(stored, nothing)
        case Place(base, _, path):
            below = frozenset((n, join_path(p, path)) for n, p in aliases.get(base, nothing))
            yield op.value, below
        case Ternary(_, then, otherwise):
            yield op.value, aliases.get(yielded(then), nothing)
            yield op.value, aliases.get(yielded(otherwise), nothing)
        case _:
            return


# ------------------------------------------------------------------------------------------- access


class AccessMode(Flag):
    """What is done with some data: `b.array[i] += 1` is `BOTH`, as is an atomic update.

    Where work items and turns are told apart, a write that surely happens also `COVERS` its place.
    `REREADS` is a read of what the same work item has surely written before: it sees nothing of
    what the buffer held when the kernel was launched.
    """

    UNTOUCHED = 0
    READS = 1
    WRITES = 2
    BOTH = 3
    COVERS = 4
    REREADS = 8

    def __str__(self) -> str:
        return (self.name or "").lower()


@dataclass(frozen=True, slots=True)
class ParameterAccess:
    """The access of a kernel to one buffer parameter; `fields` are the paths that it touches.

    A kernel that reads `a.array[kc.x]` has `ParameterAccess("a", S32Array, {"array[]": READS})`.
    """

    name: str
    type: Type
    fields: Mapping[str, AccessMode]

    @property
    def whole(self) -> AccessMode:
        """The access to the buffer as one piece."""
        total = AccessMode.UNTOUCHED
        for access in self.fields.values():
            total |= access
        return total


@dataclass(frozen=True, slots=True)
class AccessTable:
    """The accesses of one kernel: an entry for each buffer parameter, in order.

    `AccessTable("squares.square_kernel", (ParameterAccess("s32", S32Array, {"array[]": BOTH}),))`
    """

    kernel: str
    parameters: tuple[ParameterAccess, ...]

    def __str__(self) -> str:
        lines = [f'access @"{self.kernel}"']
        for parameter in self.parameters:
            lines.append(f"  {parameter.name} : {parameter.type} {parameter.whole}")
            lines.extend(f"    {path}: {access}" for path, access in parameter.fields.items())
        return "\n".join(lines)


Summary: TypeAlias = Mapping[Root, AccessMode]
"""What is done with each place below a parameter."""


def access_table(graph: KernelGraph) -> AccessTable:
    """The side table of a kernel."""
    entry = graph.entry
    fields: dict[int, dict[str, AccessMode]] = {
        number: {}
        for number, param in enumerate(entry.params)
        if isinstance(param.type, BufferType | NDArrayType)
    }
    for (number, path), access in summaries_of(graph)[entry.name].items():
        fields[number][path] = access
    params = ((entry.params[number], found) for number, found in fields.items())
    return AccessTable(
        entry.name, tuple(ParameterAccess(param.hint, param.type, found) for param, found in params)
    )


def summaries_of(graph: KernelGraph) -> dict[str, Summary]:
    """What each function of a graph does with its parameters, by its symbol."""
    summaries: dict[str, Summary] = {}
    for function in graph.functions:
        found = _summary(function, summaries)
        if function.raw:
            found = _declared(function, function.raw, found)
        summaries[function.name] = found
    return summaries


def _declared(function: Func, raw: Raw, found: Summary) -> Summary:
    """What a raw function says that it does; its Python body may do no more than that."""
    declared: dict[Root, AccessMode] = {}
    for number, (name, param) in enumerate(zip(raw.names, function.params, strict=True)):
        reads = AccessMode.READS if name in raw.reads else AccessMode.UNTOUCHED
        access = reads | (AccessMode.WRITES if name in raw.writes else AccessMode.UNTOUCHED)
        for (_, path), done in ((root, a) for root, a in found.items() if root[0] == number):
            if done in access:
                continue
            word = "writes" if AccessMode.WRITES in done & ~access else "reads"
            place = join_path(name, path)
            raise KernelTypeError(
                f"the Python body of `{short_name(function.name)}` {word} `{place}`, and its "
                "@tb.raw does not say so",
                advice=f'add `{word}=("{name}",)`: what moves to and from a device follows from it',
                location=None if function.location == NOWHERE else function.location,
            )
        declared |= {(number, path): access for path in _data_paths(param.type) if access}
    return declared


def _data_paths(type_: Type) -> Iterator[str]:
    """The paths to everything that a buffer holds besides its lengths."""
    if isinstance(type_, NDArrayType):
        yield INDEX
    if isinstance(type_, BufferType):
        for field_ in type_.fields:
            if not isinstance(field_.type, PadType) and field_.name not in type_.length_names:
                is_array = isinstance(field_.type, ArrayType)
                yield f"{field_.name}{INDEX}" if is_array else field_.name


def _summary(function: Func, callees: Mapping[str, Summary]) -> Summary:
    aliases = aliases_of(function)
    found: dict[Root, AccessMode] = {}
    for op in walk(function.body):
        for root, access in _accesses(op, aliases, callees):
            if not is_length(function.params[root[0]].type, root[1]):
                found[root] = found.get(root, AccessMode.UNTOUCHED) | access
    return found


def _accesses(
    op: Op, aliases: Aliases, callees: Mapping[str, Summary]
) -> Iterator[tuple[Root, AccessMode]]:
    match op:
        case Load(base, _, path):
            yield from _at(aliases, base, path, AccessMode.READS)
        case Store(base, _, _, path):
            yield from _at(aliases, base, path, AccessMode.WRITES)
        case AtomicUpdate(base, path=path) | CompareExchange(base, path=path):
            yield from _at(aliases, base, path, AccessMode.BOTH)
        case Call(args, callee):
            for (number, path), access in callees[callee].items():
                yield from _at(aliases, args[number], path, access)
        case _:
            pass


def _at(
    aliases: Aliases, base: Value, path: str, access: AccessMode
) -> Iterator[tuple[Root, AccessMode]]:
    for number, prefix in sorted(aliases.get(base, ())):
        yield (number, join_path(prefix, path)), access


def is_length(buffer: Type, path: str) -> bool:
    """True where a path leads to a length, which is no data."""
    return isinstance(buffer, BufferType) and path in buffer.length_names
