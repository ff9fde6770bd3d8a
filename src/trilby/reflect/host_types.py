"""What is known of expressions in a compute function: their types, the places they name.

Types are declared, not proven: an annotation, a buffer class whose `create` is called, a
variable that only ever holds one of these. Everything else is `object`. A wrong annotation
changes what is believed about a function, never what it does.
"""

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import cast

from trilby.data.annotations import UNKNOWN_RANK
from trilby.data.buffer import Buffer
from trilby.data.dtypes import BOOL, F64, I32, I64, Number, ScalarType, Type, fits
from trilby.data.ndarray import NDArray
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    join_path,
)
from trilby.dataclass import dataclass
from trilby.model.value import OBJECT, RefType
from trilby.reflect.capture import MISSING, Captured
from trilby.reflect.host_names import Locals

BUFFER_MAKERS = frozenset({"create", "bind", "of"})
"""The class methods of a buffer class that give a buffer."""

METADATA = frozenset({"shape", "dtype", "ndim", "size", "nbytes"})
"""Attributes of buffers and arrays that are no data: asking for them moves nothing."""


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
                return self._place_type(node)
            case ast.IfExp():
                return self._either(node)
            case ast.Call(func=ast.Attribute(value=owner, attr=maker)) if maker in BUFFER_MAKERS:
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

    def _place_type(self, node: ast.expr) -> Type | None:
        if self.extent(node):
            return I32
        place = self.place(node)
        if place is None or not place.whole:
            return OBJECT
        if isinstance(place.type, StructType):
            return RefType(place.type)
        if is_rankless(self.of(place.root)):
            return OBJECT
        return place.type if isinstance(place.type, ScalarType) else OBJECT

    def _either(self, node: ast.IfExp) -> Type | None:
        """A choice between buffers of one type has that type; of other choices nothing is said."""
        then, otherwise = self.of(node.body), self.of(node.orelse)
        if then is None or otherwise is None:
            return then or otherwise
        is_buffer = isinstance(then, BufferType | NDArrayType)
        return then if is_buffer and then == otherwise else OBJECT


def is_rankless(known: Type | None) -> bool:
    """Whether this is an n-d array of which nobody said how many indices it takes."""
    return isinstance(known, NDArrayType) and known.rank == UNKNOWN_RANK


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
