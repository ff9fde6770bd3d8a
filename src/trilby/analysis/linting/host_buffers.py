"""Which arguments of a dispatch are one buffer, or may be: names, and expressions of names.

Two names are taken for two buffers. `b = a`, the same expression twice, and a helper that is
called with one buffer twice make one of them; `b = a if flag else c` may.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import combinations

from trilby.analysis import host_trees
from trilby.analysis.host_code import expression_tree
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostValue, HostWith
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of two buffers, by a test."""

    test: str
    arms: tuple[object, object]

    def may_be(self, other: "Choice | object") -> bool:
        """Whether both can be one buffer at the same time."""
        if not isinstance(other, Choice):
            return other in self.arms
        if self.test == other.test:
            return any(a == b for a, b in zip(self.arms, other.arms, strict=True))
        return bool(set(self.arms) & set(other.arms))


@dataclass
class HostBuffers:
    """Names the buffers of one compute function; `same` are parameters that are another one."""

    func: Func
    same: Mapping[str, str] = field(default_factory=dict[str, str])
    made: dict[Value, Op] = field(default_factory=dict[Value, Op])
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    inits: dict[str, Value] = field(default_factory=dict[str, Value])
    """What the names are that are set once."""
    changed: set[str] = field(default_factory=set[str])
    """The names that are set again."""

    def __post_init__(self) -> None:
        ops = list(walk(self.func.body))
        self.made = {op.result: op for op in ops if op.result is not None}
        self.names = {op.value: op.name for op in ops if isinstance(op, Var)}
        for op in ops:
            if isinstance(op, VarStore):
                self.changed.add(self.names.get(op.var, ""))
            elif isinstance(op, HostFor | HostRun | HostWith):
                self.changed.update(op.sets)
        for op in ops:
            if isinstance(op, Var) and op.init and op.name not in self.changed:
                self.inits[op.name] = op.init[0]

    def key(self, value: Value) -> object:
        """What names the buffer of a value; equal keys at one dispatch are one buffer."""
        op = self.made.get(value)
        if isinstance(op, VarLoad):
            return self._named(self.names.get(op.var, ""))
        node = self._tree(op)
        if isinstance(node, host_trees.Name):
            return self._named(node.name)
        return ("text", node.code) if node is not None and node.names is not None else value

    def _named(self, name: str) -> object:
        """What a name is another name for; itself otherwise."""
        op = self.made.get(self.inits[name]) if name in self.inits else None
        node = self._tree(op)
        if isinstance(op, VarLoad):
            other = self.names.get(op.var, "")
        else:
            other = node.name if isinstance(node, host_trees.Name) else ""
        if other and other not in self.changed and other in self.names.values():
            return self._named(other)
        return self.same.get(name, name)

    def _tree(self, op: Op | None) -> host_trees.Node | None:
        return expression_tree(op.code, len(op.inputs)) if isinstance(op, HostValue) else None

    def choice(self, value: Value) -> Choice | object:
        """A choice of two buffers, or the key of the only one."""
        op = self.made.get(value)
        if isinstance(op, VarLoad) and self.names.get(op.var) in self.inits:
            op = self.made.get(self.inits[self.names[op.var]])
        node = self._tree(op)
        if not isinstance(node, host_trees.Choice) or not isinstance(op, HostValue):
            return self.key(value)
        return Choice(node.test.code, (self._arm(node.then, op), self._arm(node.otherwise, op)))

    def _arm(self, node: host_trees.Node, op: HostValue) -> object:
        if isinstance(node, host_trees.Hole):
            return self.key(op.inputs[node.number])
        return self._named(node.name) if isinstance(node, host_trees.Name) else ("text", node.code)

    def may_be_one(self, values: Mapping[int, Value]) -> Iterator[tuple[int, int]]:
        """The numbers of arguments that are one buffer if a test goes that way."""
        for (first, one), (second, other) in combinations(values.items(), 2):
            chosen, against = self.choice(one), self.choice(other)
            if self.key(one) == self.key(other) or _kind(one) != _kind(other):
                continue
            if isinstance(chosen, Choice):
                if chosen.may_be(against):
                    yield first, second
            elif isinstance(against, Choice) and against.may_be(chosen):
                yield first, second


def _kind(value: Value) -> str:
    type_ = value.type
    if isinstance(type_, BufferType):
        return type_.qualname
    return "n-d array" if isinstance(type_, NDArrayType) else ""
