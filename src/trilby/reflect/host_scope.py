"""The names, types and places in a compute function, before anything is lowered.

Types are declared, not proven: an annotation, a buffer class whose `create` is called, a
variable that only ever holds one of these. Everything else is `object`. A wrong annotation
changes what is believed about a function, never what it does.
"""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeAlias, cast

from trilby.analysis.host.known_calls import MAKERS, METADATA
from trilby.data.annotations import UNKNOWN_RANK, type_of
from trilby.data.buffer import Buffer
from trilby.data.dtypes import BOOL, F64, I32, I64, Number, ScalarType, Type, fits
from trilby.data.markers import Constant
from trilby.data.ndarray import NDArray
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    in_global,
    join_path,
)
from trilby.dataclass import dataclass
from trilby.model.host_code import named_by, names_in, parameters
from trilby.model.value import COMPUTE_CONTEXT, OBJECT, RefType
from trilby.reflect.capture import MISSING, Captured
from trilby.reflect.functions import Compute
from trilby.syntax import parsed_expression

AnyCompute: TypeAlias = Compute[..., Any]

FRAME_READERS = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"}
)
"""Calls of these see the local variables of the function that makes them."""


@dataclass(frozen=True, slots=True)
class Locals:
    """The local names of a compute function.

    `plain` ones change only where a statement of the function says so, and are variables of
    the model; `wild` ones stay in the text.
    """

    params: tuple[str, ...]
    plain: frozenset[str]
    wild: frozenset[str]
    bound_anywhere: frozenset[str]
    """Also the names that inner functions and comprehensions bind for themselves."""

    def own(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names` that are local."""
        return tuple(name for name in names if name in self.plain or name in self.wild)


def locals_of(node: ast.FunctionDef) -> Locals:
    """The local names of a function."""
    params = tuple(argument.arg for argument in parameters(node.args))
    found = names_in(*node.body)
    annotated = (part.target for part in ast.walk(node) if isinstance(part, ast.AnnAssign))
    # `x: int` alone makes a name local, too
    typed = {target.id for target in annotated if isinstance(target, ast.Name)}
    own = {*params, *found.sets, *typed} - found.declared
    return Locals(
        params,
        frozenset(own - found.wild),
        frozenset(own & found.wild),
        frozenset(own | set(_bound_anywhere(node))),
    )


def reads_its_frame(node: ast.FunctionDef) -> bool:
    """Whether a function may look at its own variables by other means than their names."""
    named = {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }
    return not named.isdisjoint(FRAME_READERS)


def _bound_anywhere(node: ast.FunctionDef) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names):
                yield from names
            case _:
                yield from named_by(part)


# ------------------------------------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class HostPlace:
    """A place below a buffer, array or reference: where it starts, the way, what is there.

    `whole` is false for a view: a slice, a row, a column, which nothing further is known of.
    """

    root: ast.expr
    path: str
    indices: tuple[ast.expr, ...]
    type: Type
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Typing:
    """The types of the expressions of one function, given those of its variables."""

    captured: Captured
    locals: Locals
    variables: Mapping[str, Type | None]
    """None for a variable of which nothing is known yet."""

    def resolve(self, node: ast.expr) -> object:
        """The value of a name, or dotted name, from outside of the function, or `MISSING`.

        Only modules and classes are asked for attributes: other objects may run code for them.
        """
        match node:
            case ast.Name(id=name) if name not in self.locals.bound_anywhere:
                return self.captured.lookup(name)
            case ast.Attribute(value=owner, attr=name):
                found = self.resolve(owner)
                if isinstance(found, ModuleType | type):
                    return cast("object", getattr(found, self.captured.mangled(name), MISSING))
                return MISSING
            case _:
                return MISSING

    def of(self, node: ast.expr) -> Type | None:
        """The type of an expression; None where it hangs on a variable not known yet."""
        number = literal(node)
        if number is not None:
            return number_type(number)
        match node:
            case ast.Name(id=name) if name in self.locals.plain:
                return self.variables.get(name)
            case ast.Name():
                return _live_type(self.resolve(node))
            case ast.Attribute() | ast.Subscript():
                if self.extent(node):
                    return I32
                place = self.place(node)
                return self.read_type(place) if place else OBJECT
            case ast.IfExp():
                return self._either(node)
            case ast.Call(func=ast.Attribute(value=owner, attr=maker)) if maker in MAKERS:
                return _made_type(self.resolve(owner))
            case _:
                return OBJECT

    def place(self, node: ast.expr) -> HostPlace | None:
        """The place that an expression names, if it names one: `table.result[i].x`."""
        match node:
            case ast.Attribute(value=owner, attr=name):
                outer = self.place(owner)
                return _field(outer, name) if outer else None
            case ast.Subscript(value=owner, slice=index):
                outer = self.place(owner)
                return _element(outer, index) if outer and outer.whole else None
            case _:
                base = self.of(node)
                base = base.to if isinstance(base, RefType) else base
                known = isinstance(base, StructType | NDArrayType)
                return HostPlace(node, "", (), base) if known else None

    def extent(self, node: ast.expr) -> tuple[ast.expr, int] | None:
        """The array and the axis of `a.shape[0]`."""
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=array, attr="shape"),
                slice=ast.Constant(value=int(axis)),
            ) if isinstance(self.of(array), NDArrayType):
                return array, int(axis)
            case _:
                return None

    def metadata(self, node: ast.expr) -> ast.expr | None:
        """The buffer or array of `a.shape`, `a.nbytes`, …"""
        match node:
            case ast.Attribute(value=array, attr=name) if name in METADATA:
                known = self.of(array)
                is_field = isinstance(known, BufferType) and known.field(name)
                is_array = isinstance(known, BufferType | NDArrayType)
                return array if is_array and not is_field else None
            case _:
                return None

    def read_type(self, place: HostPlace, *, only_read: bool = False) -> Type:
        """The type of what is read at a place: a number, a reference to a struct, or a view.

        How many indices an n-d array of unknown rank needs is not known: what comes out may be a
        row that somebody writes to later, unless it is `only_read` at once.
        """
        if place.whole and isinstance(place.type, StructType):
            return RefType(place.type)
        base = self.of(place.root)
        is_rankless = isinstance(base, NDArrayType) and base.rank == UNKNOWN_RANK
        is_number = place.whole and isinstance(place.type, ScalarType)
        return place.type if is_number and (only_read or not is_rankless) else OBJECT

    def _either(self, node: ast.IfExp) -> Type | None:
        """A choice between buffers of one type has that type; of other choices nothing is said."""
        known = _join(self.of(node.body), self.of(node.orelse))
        return known if known is None or isinstance(known, BufferType | NDArrayType) else OBJECT


def literal(node: ast.expr) -> "Number | None":
    """The number that is written here, if it fits 64 bits: what `constant` can hold."""
    match node:
        case ast.Constant(value=bool(number) | int(number) | float(number)):
            return number if _fits(number) else None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number) | float(number))):
            return -number if not isinstance(number, bool) and _fits(-number) else None
        case _:
            return None


def number_type(number: Number) -> ScalarType:
    """The type of a Python number in a model."""
    if isinstance(number, bool):
        return BOOL
    return I64 if isinstance(number, int) else F64


def _fits(number: Number) -> bool:
    return math.isfinite(number) and fits(number, number_type(number))


def _live_type(value: object) -> Type:
    """The type of a buffer that an outer name stands for."""
    if isinstance(value, Buffer):
        return type(value).__schema__
    return value.__schema__ if isinstance(value, NDArray) else OBJECT


def _made_type(owner: object) -> Type:
    if isinstance(owner, type) and issubclass(owner, Buffer):
        return getattr(owner, "__schema__", OBJECT)
    return OBJECT


def _field(outer: HostPlace, name: str) -> HostPlace | None:
    """One step through a name, also through an array to a column of it."""
    through = outer.type
    path = outer.path
    if isinstance(through, ArrayType) and outer.whole:
        through, path = through.element, path + INDEX
    found = through.field(name) if isinstance(through, StructType) else None
    if found is None:
        return None
    is_column = isinstance(outer.type, ArrayType)
    return replace(
        outer, path=join_path(path, name), type=found.type, whole=outer.whole and not is_column
    )


def _element(outer: HostPlace, index: ast.expr) -> HostPlace | None:
    """One step through `[]`: to an element, or to a view where not every index is a number."""
    if not isinstance(outer.type, ArrayType | NDArrayType):
        return None
    given = (index,)
    if isinstance(index, ast.Tuple) and len(index.elts) > 1:
        given = tuple(index.elts)
    if any(isinstance(one, ast.Starred) for one in given):
        return None
    rank = outer.type.rank or len(given)
    whole = len(given) == rank and not any(_is_part(one) for one in given)
    indices = (*outer.indices, *given)
    return HostPlace(outer.root, outer.path + INDEX, indices, outer.type.element, whole)


def _is_part(index: ast.expr) -> bool:
    """Whether an index selects more than one element, as far as it can be seen."""
    if isinstance(index, ast.Constant):
        return type(index.value) is not int
    return isinstance(index, ast.Slice | ast.Tuple | ast.List | ast.ListComp)


# ------------------------------------------------------------------------------ types of variables

Binding: TypeAlias = tuple[str, ast.expr | None, ast.expr | None]
"""A name, the expression it is bound to where that is known, and its annotation."""


def typing_of(
    compute: AnyCompute, captured: Captured, node: ast.FunctionDef, local: Locals
) -> Typing:
    """Infer the types of all variables.

    A variable has the type that all its assignments agree on. Since assignments refer to
    each other, they are looked at until nothing new comes out.
    """
    types: dict[str, Type | None] = dict.fromkeys(local.plain)
    types |= {n: t for n, t in _parameter_types(compute, captured, node) if n in local.plain}
    typing = Typing(captured, local, types)
    found = [binding for binding in bindings(node.body) if binding[0] in local.plain]
    before: dict[str, Type | None] = {}
    while types != before:
        before = dict(types)
        for name, value, annotation in found:
            bound = OBJECT if value is None else typing.of(value)
            declared = annotation and _annotation_type(compute, captured, annotation)
            types[name] = _join(types[name], declared or bound)
    types.update({name: OBJECT for name, known in types.items() if known is None})
    return typing


def _join(known: Type | None, new: Type | None) -> Type | None:
    if known is None or new is None:
        return known or new
    return known if known == new else OBJECT


def bindings(body: Sequence[ast.stmt]) -> Iterator[Binding]:
    """What statements bind to names."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value, statement.annotation
            case ast.If(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                yield from bindings([*body, *orelse])
            case ast.For(target=target, body=body, orelse=orelse):
                yield from _unknown(target)
                yield from bindings([*body, *orelse])
            case ast.With(items=items, body=body):
                yield from _unknown(*(item.optional_vars for item in items if item.optional_vars))
                yield from bindings(body)
            case _:
                yield from _unknown(statement)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[Binding]:
    """`a, b = b, a` binds each name to what stands opposite."""
    pairs = opposite(target, value)
    if isinstance(target, ast.Name):
        yield target.id, value, None
    elif pairs:
        for inner, bound in pairs:
            yield from _pairs(inner, bound)
    else:
        yield from _unknown(target)


def opposite(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The pairs of a tuple assignment whose sides have equal length and no stars."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return []
    sides = (*target.elts, *value.elts)
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in sides):
        return []
    return list(zip(target.elts, value.elts, strict=True))


def _unknown(*nodes: ast.AST) -> Iterator[Binding]:
    for name in names_in(*nodes).sets:
        yield name, None, None


# ------------------------------------------------------------------------------ annotations


def _parameter_types(
    compute: AnyCompute, captured: Captured, node: ast.FunctionDef
) -> Iterator[tuple[str, Type]]:
    args = node.args
    stars = [star for star in (args.vararg, args.kwarg) if star]
    for number, argument in enumerate(parameters(args)):
        if number == 0:
            yield argument.arg, COMPUTE_CONTEXT
        elif argument in stars or argument.annotation is None:
            yield argument.arg, OBJECT
        else:
            found = _annotation_type(compute, captured, argument.annotation)
            yield argument.arg, found or OBJECT


def _annotation_type(compute: AnyCompute, captured: Captured, annotation: ast.expr) -> Type | None:
    """The buffer or array type that an annotation names, if it does."""
    found = _annotation_value(compute, captured, annotation)
    known = None if found is MISSING else type_of(found)
    known = known and in_global(known)
    return known if isinstance(known, BufferType | NDArrayType) else None


def _annotation_value(compute: AnyCompute, captured: Captured, node: ast.expr) -> object:
    """What an annotation means, if it is of names, dots, `NDArray[…]` and `Constant[…]`."""
    match node:
        case ast.Constant(value=str(text)):
            try:
                inner = parsed_expression(text.strip())
            except SyntaxError:  # what is not even Python names no type
                return MISSING
            return _annotation_value(compute, captured, inner)
        case ast.Name(id=name):
            # annotations see the names around the function, even those that its body does not use
            is_around = name in compute.scope and not captured.is_closure(name)
            return compute.scope[name] if is_around else captured.lookup(name)
        case ast.Attribute(value=owner, attr=name):
            found = _annotation_value(compute, captured, owner)
            return MISSING if found is MISSING else getattr(found, name, MISSING)
        case ast.Subscript(value=owner, slice=element):
            base = _annotation_value(compute, captured, owner)
            inner = _annotation_value(compute, captured, element)
            if base is Constant:
                return inner
            return NDArray[cast("type", inner)] if base is NDArray else MISSING
        case _:
            return MISSING
