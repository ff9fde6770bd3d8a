"""Launches as lints know them: ranges, groups, arguments, and which of these are one buffer.

They are given by a user, or read off the compute function that dispatches the kernel.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import combinations, product
from typing import NamedTuple, TypeAlias, cast

from trilby.analysis.host.trees import (
    number_of,
    plain_names,
    sign_of,
    source_of,
)
from trilby.analysis.reach import ComputeGraph
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import I32, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import ArrayType, BufferType, NDArrayType, StructType, path_steps, step_into
from trilby.dataclass import dataclass
from trilby.linting.accesses import AccessedMemory, MemoryAccess
from trilby.linting.terms import Terms, folded, leaves_of
from trilby.model.host_code import Operand
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.host import Dispatch, HostCall, HostFor, HostRun, HostValue, HostWith
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

AXES: tuple[str, ...] = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Relation:
    """A field of the kernel context (`grid`) or an argument (`scalar`) is a number of the host."""

    kind: str
    what: object
    number: Expr


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What is given of a launch; what is not may be anything.

    `size` and `local` have an entry for each axis that is not free. `scalars` are numbers of
    parameters. `same` are the parameters that are the same buffer as an earlier one.
    """

    axes: tuple[str, ...]
    size: Mapping[str, int] = field(default_factory=dict[str, int])
    local: Mapping[str, int] = field(default_factory=dict[str, int])
    scalars: Mapping[int, int] = field(default_factory=dict[int, int])
    same: Mapping[int, int] = field(default_factory=dict[int, int])
    relations: tuple[Relation, ...] = ()
    parameters: Mapping[object, int] = field(default_factory=dict[object, int])
    """The parameters by what the host calls their buffers."""
    whole_groups: bool = False
    has_groups: bool = False
    """True where the groups matter: barriers, local arrays, or ids of groups."""
    is_given: bool = False
    """True where the range comes from a user, not from what the kernel looks like."""

    @property
    def known(self) -> dict[str, int]:
        """The fields of the kernel context that are numbers."""
        found: dict[str, int] = {}
        for axis in AXES:
            if axis not in self.axes:
                found |= {axis: 0, f"local_{axis}": 0, f"group_{axis}": 0}
                found |= {f"max_{axis}": 1, f"local_max_{axis}": 1, f"group_max_{axis}": 1}
            size, local = self.size.get(axis), self.local.get(axis)
            if size is not None:
                found[f"max_{axis}"] = size
            if local is not None:
                found[f"local_max_{axis}"] = local
            if size is not None and local is not None:
                found[f"group_max_{axis}"] = -(-size // local)
        return found

    def places(self) -> Iterator[dict[str, int]]:
        """The ids of every work item, by axis, where the size is given."""
        for ids in product(*(range(self.size[axis]) for axis in self.axes)):
            yield dict(zip(self.axes, ids, strict=True))

    def fields_at(self, place: Mapping[str, int]) -> dict[str, int]:
        """The fields of the kernel context of the work item with these ids, as far as given."""
        found = {**self.known, **place, "pass_id": 0}
        for axis, n in place.items():
            local = self.local.get(axis)
            if local is not None:
                found |= {f"local_{axis}": n % local, f"group_{axis}": n // local}
        return found


def launch_of(ndrange: NDRange) -> LaunchFacts:
    """The launch over a range that is given."""
    axes = AXES[: len(ndrange.size)]
    local = dict(zip(axes, ndrange.local, strict=True)) if ndrange.local else {}
    return LaunchFacts(axes, dict(zip(axes, ndrange.size, strict=True)), local, is_given=True)


def extents_of(terms: Terms, memory: AccessedMemory, path: str) -> list[Expr]:
    """How many elements there are for each index of a place."""
    found: list[Expr] = []
    here = memory.type
    for step in path_steps(path):
        if step == "[]":
            found += _dims(terms, memory, here)
        below = step_into(here, step)
        if below is None:
            break
        here = below
    return found


def _dims(terms: Terms, memory: AccessedMemory, array: object) -> list[Expr]:
    if isinstance(array, NDArrayType):
        return [terms.make("extent", (), (memory.number, n), I32) for n in range(array.rank)]
    if isinstance(array, ArrayType):
        return [
            terms.make("length", (), (memory.number, dim), I32)
            if isinstance(dim, str)
            else terms.number(dim)
            for dim in array.dims
        ]
    return []


def inside_of(terms: Terms, access: MemoryAccess) -> Expr:
    """The condition that all indices of an access are inside of its array."""
    zero = terms.number(0)
    extents = extents_of(terms, access.memory, access.path)
    return terms.all_of(
        terms.both(terms.compare("le", zero, index), terms.compare("lt", index, extent))
        for index, extent in zip(access.indices, extents, strict=True)
    )


def common_indices(left: MemoryAccess, right: MemoryAccess) -> int | None:
    """How many indices two accesses have in common up to where their places part.

    None where they are apart whatever the indices are. Members of a union lie on each other.
    """
    if left.memory is not right.memory:
        return None
    if left.path == right.path:
        return len(left.indices)
    here, count = left.memory.type, 0
    for one, other in zip(path_steps(left.path), path_steps(right.path), strict=False):
        if one != other:
            return count if isinstance(here, StructType) and here.is_union else None
        below = step_into(here, one)
        if below is None:
            return None
        if one == "[]":
            count += here.rank if isinstance(here, ArrayType | NDArrayType) else 0
        here = below
    return count  # one is a part of the other


# ------------------------------------------------------------------------------------- host buffers
# Which arguments of a dispatch are one buffer, or may be: names, and expressions of names.
#
# Two names are taken for two buffers. `b = a`, the same expression twice, and a helper that is
# called with one buffer twice make one of them; `b = a if flag else c` may.


class BufferChoice(NamedTuple):
    """One of two buffers, by a test of names; None is a test that may give something else later."""

    test: str | None
    then: object
    otherwise: object

    def may_be(self, other: "BufferChoice") -> bool:
        """Whether both can be one buffer at the same time."""
        if self.test is not None and self.test == other.test:
            return self.then == other.then or self.otherwise == other.otherwise
        return bool({self.then, self.otherwise} & {other.then, other.otherwise})


class HostBuffers:
    """Names the buffers of one compute function; `same` are parameters that are another one.

    `inits` has what the names are that are set once, `changed` those that are set again, `stored`
    those of them that are no target of a loop alone.
    """

    def __init__(self, func: Func, same: Mapping[str, str] | None = None) -> None:
        ops = list(walk(func.body))
        self.same = same or {}
        self.made = {op.result: op for op in ops if op.result is not None}
        self.names = {op.value: op.name for op in ops if isinstance(op, Var)}
        self.stored = {self.names.get(op.var, "") for op in ops if isinstance(op, VarStore)}
        for op in ops:
            self.stored.update(op.sets if isinstance(op, HostRun | HostWith) else ())
        loops = (op for op in ops if isinstance(op, HostFor))
        self.changed = self.stored.union(*(op.sets for op in loops))
        variables = (op for op in ops if isinstance(op, Var) and op.init)
        self.inits = {op.name: op.init[0] for op in variables if op.name not in self.changed}

    def key(self, value: Value) -> object:
        """What names the buffer of a value; equal keys at one dispatch are one buffer."""
        op = self.made.get(value)
        if isinstance(op, VarLoad):
            return self._named(self.names.get(op.var, ""))
        node = self.tree(op)
        if isinstance(node, ast.Name):
            return self._named(node.id)
        is_plain = node is not None and plain_names(node) is not None
        return ("text", source_of(node)) if node is not None and is_plain else value

    def _named(self, name: str) -> object:
        """What a name is another name for; itself otherwise."""
        op = self.made.get(self.inits[name]) if name in self.inits else None
        node = self.tree(op)
        if isinstance(op, VarLoad):
            other = self.names.get(op.var, "")
        else:
            other = node.id if isinstance(node, ast.Name) else ""
        if other and other not in self.changed and other in self.names.values():
            return self._named(other)
        return self.same.get(name, name)

    def tree(self, op: Op | None) -> ast.expr | None:
        """The tree of an expression; None for any other op, and for a change in place."""
        return op.code.expression if isinstance(op, HostValue) and not op.code.sign else None

    def choice(self, value: Value) -> BufferChoice:
        """The two buffers that a value may be, or the only one twice."""
        op = self.made.get(value)
        if isinstance(op, VarLoad) and self.names.get(op.var) in self.inits:
            op = self.made.get(self.inits[self.names[op.var]])
        node = self.tree(op)
        if not isinstance(node, ast.IfExp) or not isinstance(op, HostValue):
            return BufferChoice(None, self.key(value), self.key(value))
        names = plain_names(node.test)
        is_steady = names is not None and self.stored.isdisjoint(names)
        test = source_of(node.test) if is_steady else None
        return BufferChoice(test, self._arm(node.body, op), self._arm(node.orelse, op))

    def _arm(self, node: ast.expr, op: HostValue) -> object:
        match node:
            case Operand(number):
                return self.key(op.inputs[number])
            case ast.Name(id=name):
                return self._named(name)
            case _:
                return ("text", source_of(node) if plain_names(node) is not None else "")

    def may_be_one(self, values: Mapping[int, Value]) -> Iterator[tuple[int, int]]:
        """The numbers of arguments that are one buffer if a test goes that way."""
        for (first, one), (second, other) in combinations(values.items(), 2):
            are_alike = _kind(one) == _kind(other) and self.key(one) != self.key(other)
            if are_alike and self.choice(one).may_be(self.choice(other)):
                yield first, second


def _kind(value: Value) -> str:
    type_ = value.type
    if isinstance(type_, BufferType):
        return type_.qualname
    return "n-d array" if isinstance(type_, NDArrayType) else ""


# ------------------------------------------------------------------------------------- host numbers
# Numbers that host code computes for a launch: ranges, group sizes and arguments, as far as read.
#
# A number is a term of constants, lengths of the buffers that are dispatched, and names.

_SIGNS = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}


def in_kernel(number: Expr, terms: Terms, parameters: Mapping[object, int]) -> Expr:
    """A number of the host among the terms of a kernel, whose parameters are its buffers."""
    if number.args:
        args = tuple(in_kernel(arg, terms, parameters) for arg in number.args)
        return terms.make(number.op, args, None, I32)
    if number.op == "constant":
        return terms.make("constant", (), number.what, I32)
    key = _parameter_length(number, parameters)
    if key is None:
        return terms.make("scalar", (), ("host", number.number), I32)
    return terms.make("length" if isinstance(key[1], str) else "extent", (), key, I32)


def lengths_in(number: Expr, parameters: Mapping[object, int]) -> set[tuple[int, object]]:
    """The lengths of parameters that a number of the host is made of."""
    found = (_parameter_length(leaf, parameters) for leaf in leaves_of((number,)))
    return {key for key in found if key is not None}


def _parameter_length(leaf: Expr, parameters: Mapping[object, int]) -> tuple[int, object] | None:
    """Which length of which parameter a leaf is."""
    if leaf.op != "length":
        return None
    buffer, which = _buffer_length(leaf)
    return (parameters[buffer], which) if buffer in parameters else None


def _buffer_length(leaf: Expr) -> tuple[object, object]:
    """What the host calls a buffer, and which of its lengths or axes is meant."""
    return cast("tuple[object, object]", leaf.what)


Sizes: TypeAlias = tuple[Expr, ...]


@dataclass
class HostNumbers:
    """Reads the numbers of one compute function. Variables that are set twice are not followed."""

    buffers: HostBuffers
    constants: Mapping[str, int]
    """The integers of the module, by name."""
    terms: Terms

    def number(self, value: Value) -> Expr:
        """The number that a value is."""
        op = self.buffers.made.get(value)
        match op:
            case Constant() if isinstance(op.literal, int):
                return self.terms.constant(op.literal, I32)
            case Load() if not op.indices:
                return self._leaf("length", (self.buffers.key(op.base), op.path))
            case Extent():
                return self._leaf("length", (self.buffers.key(op.base), op.axis))
            case VarLoad():
                return self.named(self.buffers.names.get(op.var, "?"))
            case HostValue():
                return self._read(self.buffers.tree(op), op)
            case _:
                return self._leaf("name", id(value))

    def _leaf(self, op: str, what: object) -> Expr:
        return self.terms.make(op, (), what, I32)

    def named(self, name: str) -> Expr:
        """The number that a local name is."""
        init = self.buffers.inits.get(name)
        if init is None and name in self.constants and name not in self.buffers.names.values():
            return self.terms.constant(self.constants[name], I32)
        return self._leaf("name", name) if init is None else self._lasting(name, self.number(init))

    def _lasting(self, what: object, number: Expr) -> Expr:
        """A number that was computed earlier; a leaf where a name in it may be another one now."""
        leaves = leaves_of((number,))
        names = {_buffer_length(leaf)[0] if leaf.op == "length" else leaf.what for leaf in leaves}
        changed = self.buffers.changed
        return number if changed.isdisjoint(names) else self._leaf("name", what)

    def _read(self, node: ast.expr | None, op: HostValue) -> Expr:
        match node:
            case None:
                return self._leaf("name", id(op))
            case Operand(number):
                return self.number(op.inputs[number])
            case ast.Name(id=name):
                return self.named(name)
            case ast.BinOp(left=left, right=right) if sign_of(node) in _SIGNS:
                sign, args = _SIGNS[sign_of(node)], (self._read(left, op), self._read(right, op))
                numbers = [arg.what for arg in args if isinstance(arg.what, int)]
                is_constant = all(arg.op == "constant" for arg in args)
                found = folded(sign, numbers, I32) if is_constant else None
                if found is not None:
                    return self.terms.constant(found, I32)
                return self.terms.make(sign, args, None, I32)
            case _:
                number = number_of(node)
                if number is not None:
                    return self.terms.constant(number, I32)
                names = plain_names(node)
                is_steady = names is not None and self.buffers.changed.isdisjoint(names)
                return self._leaf("name", source_of(node) if is_steady else id(node))

    # -- ranges

    def sizes(self, value: Value) -> tuple[Sizes, Sizes]:
        """The range of a dispatch, axis by axis, and its groups, where they are asked for."""
        op = self.buffers.made.get(value)
        if isinstance(op, VarLoad):
            name = self.buffers.names.get(op.var, "?")
            init = self.buffers.inits.get(name)
            if init is None:
                return (self.number(value),), ()
            sizes, groups = self.sizes(init)
            names = [name] if len(sizes) == 1 else [f"{name}[{axis}]" for axis in range(len(sizes))]
            return tuple(map(self._lasting, names, sizes)), groups
        if not isinstance(op, HostValue):
            return (self.number(value),), ()
        node = self.buffers.tree(op)
        if isinstance(node, ast.Call):
            return self._ndrange(node, op)
        return self._axes(node, op), ()

    def _ndrange(self, call: ast.Call, op: HostValue) -> tuple[Sizes, Sizes]:
        match call.func:
            case ast.Name(id="NDRange") | ast.Attribute(attr="NDRange"):
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                size, local, *_ = (*call.args[:2], None, None)
                size, local = size or given.get("size"), local or given.get("local")
                groups = self._axes(local, op) if local is not None else ()
                return self._axes(size, op), groups
            case _:
                return (self._read(call, op),), ()

    def _axes(self, node: ast.expr | None, op: HostValue) -> Sizes:
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self._read(item, op) for item in node.elts)
        return (self._read(node, op),)


# --------------------------------------------------------------------------------------- dispatches


@dataclass(frozen=True, slots=True)
class SeenDispatch:
    """A dispatch, and what is known of its launches.

    `if_same` are two arguments that are taken for one buffer here, and may be two.
    """

    op: Dispatch
    launch: LaunchFacts
    if_same: tuple[str, str] | None = None


def seen_dispatches(graph: ComputeGraph, constants: Mapping[str, int]) -> Iterator[SeenDispatch]:
    """Every dispatch of a compute function and of those that it calls."""
    terms = Terms()
    for func in graph.functions:
        for same in _callers(graph, func):
            buffers = HostBuffers(func, same)
            for op in walk(func.body):
                if isinstance(op, Dispatch) and op.kernel in graph.kernels:
                    yield from _seen(graph, HostNumbers(buffers, constants, terms), op)


def _callers(graph: ComputeGraph, func: Func) -> list[dict[str, str]]:
    """The ways in which a function is called: which of its parameters are one buffer."""
    found: list[dict[str, str]] = [{}]
    for caller in graph.functions:
        buffers = HostBuffers(caller)
        for op in walk(caller.body):
            if isinstance(op, HostCall) and op.callee == func.name:
                same: dict[str, str] = {}
                first: dict[object, str] = {}
                for value, param in zip(op.args, func.params, strict=False):
                    known = first.setdefault(buffers.key(value), param.hint)
                    if known != param.hint and isinstance(param.type, BufferType | NDArrayType):
                        same[param.hint] = known
                found += [same] if same not in found else []
    return found


def _seen(graph: ComputeGraph, numbers: HostNumbers, op: Dispatch) -> Iterator[SeenDispatch]:
    launch = _launch(graph, numbers, op)
    yield SeenDispatch(op, launch)
    params = graph.kernels[op.kernel].entry.params
    given = {
        number: value
        for number, (value, param) in enumerate(zip(op.args, params[1:], strict=False), 1)
        if isinstance(param.type, BufferType | NDArrayType)
    }
    for first, second in numbers.buffers.may_be_one(given):
        names = (params[first].hint, params[second].hint)
        yield SeenDispatch(op, replace(launch, same={**launch.same, second: first}), names)


def _launch(graph: ComputeGraph, numbers: HostNumbers, op: Dispatch) -> LaunchFacts:
    params = graph.kernels[op.kernel].entry.params
    sizes, groups = numbers.sizes(op.range)
    axes = AXES[: len(sizes)]
    parameters: dict[object, int] = {}
    same: dict[int, int] = {}
    scalars: dict[int, int] = {}
    relations: list[Relation] = []
    for number, (value, param) in enumerate(zip(op.args, params[1:], strict=False), 1):
        if isinstance(param.type, BufferType | NDArrayType):
            first = parameters.setdefault(numbers.buffers.key(value), number)
            if first != number:
                same[number] = first
        elif isinstance(param.type, ScalarType) and param.type.is_integer:
            found = numbers.number(value)
            if isinstance(found.what, int) and found.op == "constant":
                scalars[number] = found.what
            elif _is_read(found):
                relations.append(Relation("scalar", number, found))
    known = {a: s.what for a, s in zip(axes, sizes, strict=True) if s.op == "constant"}
    for axis, size in zip(axes, sizes, strict=True):
        if _is_read(size):
            relations.append(Relation("grid", f"max_{axis}", size))
    local = {a: g.what for a, g in zip(axes, groups, strict=False) if g.op == "constant"}
    return LaunchFacts(
        axes,
        {axis: n for axis, n in known.items() if isinstance(n, int)},
        {axis: n for axis, n in local.items() if isinstance(n, int)},
        scalars=scalars,
        same=same,
        relations=tuple(relations),
        parameters=parameters,
        is_given=True,
    )


def _is_read(number: Expr) -> bool:
    """Whether a number is made of lengths."""
    return any(leaf.op == "length" for leaf in leaves_of((number,)))
