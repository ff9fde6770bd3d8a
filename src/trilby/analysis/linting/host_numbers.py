"""Numbers that host code computes for a launch: ranges, group sizes and arguments, as far as read.

A number is a tree of constants, lengths of the buffers that are dispatched, and names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from trilby.analysis import host_trees
from trilby.analysis.host_code import expression_tree
from trilby.analysis.linting.host_buffers import HostBuffers
from trilby.analysis.linting.terms import Terms
from trilby.analysis.linting.walk_numbers import folded
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import I32
from trilby.dataclass import dataclass
from trilby.model.ops.core import Constant, VarLoad
from trilby.model.ops.host import HostValue
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

_SIGNS = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}


@dataclass(frozen=True, slots=True)
class HostNumber:
    """`op` with its operands, or a leaf: `constant`, `name`, or the `length` of a `buffer`."""

    op: str
    args: "tuple[HostNumber, ...]" = ()
    what: object = None
    buffer: object = None

    def leaves(self) -> "Iterator[HostNumber]":
        """The leaves."""
        if not self.args:
            yield self
        for arg in self.args:
            yield from arg.leaves()

    def term(self, terms: Terms, parameters: Mapping[object, int]) -> Expr:
        """The term of the number, where buffers are parameters of a kernel."""
        if self.args:
            args = tuple(arg.term(terms, parameters) for arg in self.args)
            return terms.make(self.op, args, None, I32)
        if isinstance(self.what, int) and self.op == "constant":
            return terms.constant(self.what, I32)
        key = self.key(parameters)
        if key is None:
            return terms.make("scalar", (), ("host", str(self.what)), I32)
        return terms.make("length" if isinstance(key[1], str) else "extent", (), key, I32)

    def key(self, parameters: Mapping[object, int]) -> tuple[int, object] | None:
        """Which length of which parameter a leaf is."""
        number = parameters.get(self.buffer) if self.op == "length" else None
        return None if number is None else (number, self.what)

    def keys(self, parameters: Mapping[object, int]) -> set[tuple[int, object]]:
        """The lengths of parameters that it is made of."""
        found = (leaf.key(parameters) for leaf in self.leaves())
        return {key for key in found if key is not None}


def _computed(op: str, left: HostNumber, right: HostNumber) -> HostNumber:
    """An operation; numbers are computed at once."""
    numbers = [one.what for one in (left, right) if isinstance(one.what, int)]
    if left.op == right.op == "constant" and len(numbers) == 2:
        found = folded(op, numbers, I32)
        if found is not None:
            return HostNumber("constant", what=found)
    return HostNumber(op, (left, right))


Sizes: TypeAlias = tuple[HostNumber, ...]


@dataclass
class HostNumbers:
    """Reads the numbers of one compute function. Variables that are set twice are not followed."""

    buffers: HostBuffers
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """The integers of the module, by name."""

    def number(self, value: Value) -> HostNumber:
        """The number that a value is."""
        op = self.buffers.made.get(value)
        match op:
            case Constant() if isinstance(op.literal, int):
                return HostNumber("constant", what=int(op.literal))
            case Load() if not op.indices:
                return HostNumber("length", what=op.path, buffer=self.buffers.key(op.base))
            case Extent():
                return HostNumber("length", what=op.axis, buffer=self.buffers.key(op.base))
            case VarLoad():
                return self.named(self.buffers.names.get(op.var, "?"))
            case HostValue():
                return self._read(expression_tree(op.code, len(op.inputs)), op)
            case _:
                return HostNumber("name", what=id(value))

    def named(self, name: str) -> HostNumber:
        """The number that a local name is."""
        init = self.buffers.inits.get(name)
        if init is None and name in self.constants and name not in self.buffers.names.values():
            return HostNumber("constant", what=self.constants[name])
        found = HostNumber("name", what=name) if init is None else self.number(init)
        if any(leaf.buffer in self.buffers.changed for leaf in found.leaves()):
            return HostNumber("name", what=name)  # the name was another buffer's then
        return found

    def _read(self, node: host_trees.Node | None, op: HostValue) -> HostNumber:
        match node:
            case host_trees.Number():
                return HostNumber("constant", what=node.number)
            case host_trees.Hole():
                return self.number(op.inputs[node.number])
            case host_trees.Name():
                return self.named(node.name)
            case host_trees.Operation(sign, (left, right)) if sign in _SIGNS:
                return _computed(_SIGNS[sign], self._read(left, op), self._read(right, op))
            case host_trees.Operation("-", (inner,)):
                return _computed("sub", HostNumber("constant", what=0), self._read(inner, op))
            case _:
                return HostNumber("name", what=node.code if node is not None else id(op))

    # -- ranges

    def sizes(self, value: Value) -> tuple[Sizes, Sizes]:
        """The range of a dispatch, axis by axis, and its groups, where they are asked for."""
        op = self.buffers.made.get(value)
        if isinstance(op, VarLoad):
            init = self.buffers.inits.get(self.buffers.names.get(op.var, "?"))
            return self.sizes(init) if init is not None else ((self.number(value),), ())
        if not isinstance(op, HostValue):
            return (self.number(value),), ()
        node = expression_tree(op.code, len(op.inputs))
        if isinstance(node, host_trees.Call):
            return self._ndrange(node, op)
        return self._axes(node, op), ()

    def _ndrange(self, call: host_trees.Call, op: HostValue) -> tuple[Sizes, Sizes]:
        name = call.function
        called = name.name if isinstance(name, host_trees.Name | host_trees.Member) else ""
        if called != "NDRange" or not call.args:
            return (self._read(call, op),), ()
        places = len(call.args) - len(call.keywords)
        given = dict(zip(call.keywords, call.args[places:], strict=True))
        local = call.args[1] if places > 1 else given.get("local")
        return self._axes(call.args[0], op), self._axes(local, op) if local is not None else ()

    def _axes(self, node: host_trees.Node | None, op: HostValue) -> Sizes:
        if isinstance(node, host_trees.Display):
            return tuple(self._read(item, op) for item in node.items)
        return (self._read(node, op),)
