"""The sorts of values (number, list, buffer) whose operators surely run nobody's code.

The operators of numbers, buffers, lists and tuples have no effects, so an expression of these may
be evaluated once more than the program does it, where a plan wants to name a buffer early. Those
of any other object may do anything. A variable is of a sort if all that is ever stored in it is.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.analysis.host.trees import (
    expression_of,
    expressions_in,
    indices_of,
    is_slice,
    number_of,
    sign_of,
)
from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostValue, HostWith
from trilby.model.value import RefType, Value, VarType

Sort: TypeAlias = Literal["number", "list", "buffer", ""]
"""What a value surely is; a tuple counts as a list. Empty where it may be anything."""

_COUNTING = frozenset({"len", "int", "float", "bool", "ord"})
"""Functions of Python whose results are numbers."""

_DIVIDING = frozenset({"//", "%"})
_COMPARING = frozenset({"is", "is not"})


@dataclass(slots=True)
class Sorts:
    """The sorts of the variables and values of one function.

    With `i = 0` and `i += 1` as its only assignments, `i` is a number, and `bufs[i % 2]` may be
    evaluated once more if `bufs` is a list.
    """

    makers: Mapping[Value, Op]
    names: Mapping[str, Value]
    """The variables by their names."""
    known: dict[Value, Sort] = field(default_factory=dict[Value, Sort])
    """The variables that are of a sort."""

    def find(self, func: Func) -> None:
        """Find out what the variables hold: of a sort, unless something else is stored."""
        stored: dict[Value, list[Value | Sort]] = {}
        for var, content in self._stored(walk(func.body)):
            stored.setdefault(var, []).append(content)
        sorts: tuple[Sort, Sort] = ("number", "list")
        for sort in sorts:
            # the largest set of variables that hold nothing but values of this sort
            before, found = self.known, stored.keys() - self.known.keys()
            wrong = found
            while wrong:
                trial: dict[Value, Sort] = dict.fromkeys(found, sort)
                self.known = {**before, **trial}
                wrong = {var for var in found if {*map(self.of, stored[var])} != {sort}}
                found = found - wrong

    def _stored(self, ops: Iterable[Op]) -> Iterator[tuple[Value, "Value | Sort"]]:
        """The variables that ops set, and to what: a value, or anything of a sort."""
        anything: Sort = ""
        for op in ops:
            names: Iterable[str] = ()
            match op:
                case Var(init=(first,)):
                    yield op.value, first
                case VarStore(var, stored):
                    yield var, stored
                case HostFor(target=target) if target.text in self.names:
                    is_range = self.range_of(op) is not None
                    yield self.names[target.text], "number" if is_range else anything
                case HostFor() | HostRun() | HostWith():
                    names = op.sets
                case _:
                    pass
            if isinstance(op, HostRun | HostValue):
                names = {*names, *op.code.names.wild, *op.code.names.nonlocals}
            for name in names:
                if name in self.names:
                    yield self.names[name], anything

    def range_of(self, op: HostFor) -> tuple[ast.expr, ...] | None:
        """The arguments of `range` that a loop runs over, if it does."""
        match expression_of(self.makers.get(op.iterable)):
            case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
                return None if "range" in self.names else tuple(args)
            case _:
                return None

    # -------------------------------------------------------------------------------- values

    def of(self, value: Value | Sort) -> Sort:
        """What a value, or the content of a variable, surely is."""
        if isinstance(value, str):
            return value
        type_ = value.type.of if isinstance(value.type, VarType) else value.type
        if isinstance(type_, ScalarType):
            return "number"
        if isinstance(type_, BufferType | NDArrayType | RefType):
            return "buffer"
        match self.makers.get(value):
            case Constant():
                return "number"
            case Var():
                return self.known.get(value, "")
            case VarLoad(var):
                return self.of(var)
            case HostValue(inputs=inputs, code=code):
                return (
                    self._same(*map(self.of, inputs))
                    if code.sign
                    else self.of_tree(code.expression, inputs)
                )
            case _:
                return ""

    def of_tree(self, node: ast.expr, inputs: tuple[Value, ...] = ()) -> Sort:
        """What an expression surely is."""
        match node:
            case Operand(number) if number < len(inputs):
                return self.of(inputs[number])
            case ast.Name(id=name) if name in self.names:
                return self.of(self.names[name])
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return "" if any(isinstance(item, ast.Starred) for item in items) else "list"
            case ast.IfExp(body=then, orelse=otherwise):
                return self._same(self.of_tree(then, inputs), self.of_tree(otherwise, inputs))
            case _:
                return "number" if self._counts(node, inputs) else ""

    def _counts(self, node: ast.expr, inputs: tuple[Value, ...]) -> bool:
        match node:
            case ast.Constant():
                return number_of(node) is not None
            case ast.Call(func=ast.Name(id=name)):
                return name in _COUNTING and name not in self.names
            case _ if sign_of(node):
                return all(self.of_tree(part, inputs) == "number" for part in expressions_in(node))
            case _:
                return False

    @staticmethod
    def _same(one: Sort, other: Sort) -> Sort:
        return one if one == other else ""

    # ----------------------------------------------------------------------------- repeating

    def may_repeat(self, node: ast.expr) -> bool:
        """Whether an expression without operands may be evaluated once more, and early."""
        match node:
            case ast.Name():
                return True
            case ast.Constant():
                return number_of(node) is not None or is_slice(node)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                parts = (test, then, otherwise)
                return self.of_tree(test) == "number" and all(map(self.may_repeat, parts))
            case ast.Subscript(value=owner):
                is_plain = self.of_tree(owner) in {"list", "buffer"} and self.may_repeat(owner)
                return is_plain and all(map(self.may_be_index, indices_of(node)))
            case ast.Slice():
                return all(map(self._is_number, expressions_in(node)))
            case _:
                return self._is_arithmetic(node)

    def _is_arithmetic(self, node: ast.expr) -> bool:
        sign, parts = sign_of(node), expressions_in(node)
        if sign in _COMPARING:
            return all(map(self.may_repeat, parts))
        if not sign or not all(map(self._is_number, parts)):
            return False
        return sign not in _DIVIDING or bool(number_of(parts[-1]))

    def may_be_index(self, node: ast.expr) -> bool:
        """Whether an expression is an index that may be used once more: a number, or a slice."""
        return self.may_repeat(node) if is_slice(node) else self._is_number(node)

    def may_be_asked(self, node: ast.expr) -> bool:
        """Whether it is an index, or a variable, of which that can be asked at run time."""
        is_variable = isinstance(node, ast.Name) and node.id in self.names
        return is_variable or self.may_be_index(node)

    def is_index(self, value: Value) -> bool:
        """Whether a value is an index that may be used once more, or comes from a variable."""
        maker = self.makers.get(value)
        if isinstance(maker, VarLoad):
            return True
        tree = expression_of(maker)
        if isinstance(maker, HostValue) and tree is not None and is_slice(tree):
            parts = expressions_in(tree)
            return all(self.of_tree(part, maker.inputs) == "number" for part in parts)
        return self.of(value) == "number"

    def _is_number(self, node: ast.expr) -> bool:
        return self.of_tree(node) == "number" and self.may_repeat(node)
