"""The effects of each op of a compute function: buffers touched, launches, what lasts.

`HostOps` is the one engine for questions about host code. The transfer plan walks over a function
in the order of its control flow and calls `visit` and `bind` for each op; the tracking and the
fallback ask for what may happen `anywhere`. Launches and calls of other compute functions are left
to them.
"""

import ast
from collections.abc import Collection, Iterable
from dataclasses import field, replace
from typing import TypeAlias

from trilby.analysis.access import is_length
from trilby.analysis.alias import (
    ELSEWHERE,
    NOTHING,
    NUMBER,
    BufferPart,
    HostHeap,
    Literally,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Seen,
    Thing,
    Things,
)
from trilby.analysis.bound import names_of, names_set
from trilby.analysis.host.reader import WRITES, Effects, HostTouch, Reader
from trilby.analysis.host.trees import (
    arguments,
    expression_of,
    is_dotted,
    is_slice,
    is_whole_slice,
    plain_names,
)
from trilby.analysis.host.value_sorts import Sorts
from trilby.data.dtypes import ScalarType
from trilby.data.schema import INDEX, BufferType, NDArrayType, PadType, index_count, join_path
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand, substituted
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostValue, HostView, HostWith
from trilby.model.ops.memory import Extent, Load, Place, Store
from trilby.model.value import COMPUTE_CONTEXT, Value

# ----------------------------------------------------------------------------------------- host ops

Access: TypeAlias = Load | Store | HostView | Place


@dataclass(slots=True)
class HostOps:
    """The ops of one function, and what its values stood for when they were last visited.

    After the ops of `c = a if n else b` were visited, `seen` of the load of `c` has two things: the
    parameters `a` and `b`.
    """

    func: Func
    things: Things = field(default_factory=Things)
    values: dict[Value, Seen] = field(default_factory=dict[Value, Seen])
    ever: dict[Value, Points] = field(default_factory=dict[Value, Points])
    names: dict[str, Value] = field(default_factory=dict[str, Value])
    called: dict[Value, str] = field(default_factory=dict[Value, str])
    """The names by their variables."""
    makers: dict[Value, Op] = field(default_factory=dict[Value, Op])
    """The op that gives each value."""
    sorts: Sorts = field(default_factory=lambda: Sorts({}, {}))
    """What is known to be a number, a buffer, a list."""
    renamed: frozenset[str] = frozenset()
    """Well-known names that stand for something else."""

    @classmethod
    def of(
        cls, func: Func, fixed: Collection[str] = (), renamed: frozenset[str] = frozenset()
    ) -> "HostOps":
        """Make ready to look at a function. The arguments of `fixed` parameters cannot change."""
        ops = cls(func, renamed=renamed)
        for op in walk(func.body):
            if op.result:
                ops.makers[op.result] = op
            if isinstance(op, Var):
                ops.names[op.name] = op.value
        texts = [op.code for op in walk(func.body) if isinstance(op, HostRun)]
        set_by_inner_functions = {name for code in texts for name in code.names.nonlocals}
        for name in set_by_inner_functions | _imported(func):
            ops.names.pop(name, None)
        ops.called = {var: name for name, var in ops.names.items()}
        ops.sorts = Sorts(ops.makers, ops.names)
        ops.sorts.find(func)
        for param in func.params:
            kind = "context" if param.type == COMPUTE_CONTEXT else "parameter"
            thing = ops.things.make(param, kind, param.hint, param.type)
            fresh = param.hint in fixed
            ops.values[param] = Seen(frozenset({thing}), where=param, fresh=fresh)
        return ops

    def seen(self, value: Value) -> Seen:
        """What a value stands for."""
        if value in self.values:
            return self.values[value]
        if value.type == COMPUTE_CONTEXT:
            return self.seen(self.func.params[0])
        return NUMBER if isinstance(value.type, ScalarType) else ELSEWHERE

    def visit(self, op: Op, memory: HostHeap, *, many: bool = False) -> Effects:
        """Look at an op where memory is as given; memory changes along. `many`: in a loop."""
        match op:
            case Constant(literal):
                number = int(literal) if isinstance(literal, int) else None
                self.values[op.value] = Seen(number=number, fresh=True)
            case Var(init=(first,)):
                self._store(op.value, self.seen(first), memory)
            case VarStore(var, stored):
                self._store(var, self.seen(stored), memory)
            case VarLoad(var):
                self.values[op.value] = memory.loaded(var)
            case Load() | Store() | HostView() | Place():
                return self._access(op)
            case HostValue():
                return self._value(op, memory, many=many)
            case HostRun():
                return self._run(op, memory, many=many)
            case _:
                pass
        return Effects()

    def _store(self, var: Value, seen: Seen, memory: HostHeap) -> None:
        memory.store(var, seen)
        self._note(var, seen.things)

    def _note(self, var: Value, points: Points) -> None:
        if points:
            self.ever[var] = self.ever.get(var, NOTHING) | points

    def _note_names(self, names: Iterable[str], memory: HostHeap) -> None:
        for name in names:
            if name in self.names:
                self._note(self.names[name], memory.held.get(self.names[name], NUMBER).things)

    # ------------------------------------------------------------------------------ accesses

    def _access(self, op: Access) -> Effects:
        base = self.seen(op.base)
        seen = self._below(op, base)
        if isinstance(op, HostView | Place):
            self.values[op.value] = seen
            return Effects()
        if isinstance(op, Store):
            stored = self.seen(op.stored)
            touches = [HostTouch(seen, reads=False, writes=True)]
            if self.things.are_buffers(stored.things):
                surely = seen.things.isdisjoint(stored.things)  # what is there is not read
                touches.insert(0, HostTouch(stored, reads=True, writes=False, surely=surely))
            return Effects(touches, lasting="" if base.fresh else WRITES)
        if is_length(op.base.type, op.path):
            return Effects()
        return Effects([HostTouch(seen, reads=True, writes=False)])

    def _below(self, op: Access, base: Seen) -> Seen:
        """The place that an access names."""
        part = None
        is_place = not base.is_part or (base.part is not None and not base.part.is_view)
        if is_place and all(map(self.sorts.is_index, op.indices)):
            before = base.part or BufferPart("", ())
            path = join_path(before.path, op.path)
            indices = (*before.indices, *map(self.reference, op.indices))
            trees = [expression_of(self.makers.get(index)) for index in op.indices]
            spans = [tree for tree in trees if tree is not None and is_slice(tree)]
            type_ = op.base.type
            is_short = isinstance(type_, BufferType) and len(op.indices) < index_count(
                type_, op.path
            )
            is_view = isinstance(op, HostView) or bool(spans)
            whole = is_view and len(spans) == len(trees) and all(map(is_whole_slice, spans))
            part = BufferPart(path, indices, is_view=is_view or is_short, whole=whole)
        where = base.where if part else None
        return Seen(base.things, is_part=True, part=part, where=where, fresh=base.fresh)

    def reference(self, value: Value) -> Reference:
        """How a value can be had where it was not made yet, or the value itself."""
        maker = self.makers.get(value)
        match maker:
            case Constant(literal):
                return Literally(literal, value.type)
            case VarLoad(var):
                return Reload(var)
            case HostValue(inputs=(), code=code, uses=uses):
                tree = code.expression
                is_plain = plain_names(tree) is not None and self.sorts.may_repeat(tree)
                return PlainExpression(code.text, uses) if is_plain else value
            case Load(base, (), path) if is_length(base.type, path):
                return self._member(base, path) or value
            case Extent(base, axis):
                return self._member(base, f"shape[{axis}]") or value
            case _:
                return value

    def _member(self, base: Value, path: str) -> PlainExpression | None:
        """`a.length`, where `a` is a variable."""
        maker = self.makers.get(base)
        name = self.called.get(maker.var) if isinstance(maker, VarLoad) else None
        return PlainExpression(f"{name}.{path}", (name,)) if name else None

    # --------------------------------------------------------------------------------- texts

    def reader(
        self, op: Op, memory: HostHeap, operands: tuple[Value, ...], *, many: bool
    ) -> Reader:
        """What runs the code of an op."""
        seen = tuple(map(self.seen, operands))
        buffers = op.result is not None and isinstance(op.result.type, BufferType | NDArrayType)
        return Reader(
            op,
            self.things,
            memory,
            self.names,
            self.sorts,
            seen,
            self.ever,
            many,
            renamed=self.renamed,
            gives_buffer=buffers,
        )

    def _value(self, op: HostValue, memory: HostHeap, *, many: bool) -> Effects:
        reader = self.reader(op, memory, op.inputs, many=many)
        if op.code.sign:
            found = reader.changed(*reader.operands)
        else:
            tree = self.tree_of(op)
            found = self._made(op, tree, reader, many=many) or reader.value(tree)
        if op.result and op.result.type == COMPUTE_CONTEXT:  # `cc.put(a)` gives `cc` back
            found = Seen(frozenset(thing for thing in found.things if thing.kind == "context"))
        if op.result:
            if isinstance(op.result.type, BufferType | NDArrayType):
                for thing in found.things:  # reflection knows it to be a buffer
                    self.things.is_buffer(thing, op.result.type)
            if found.where is None and found.part is None:
                found = replace(found, where=op.result)
            self.values[op.result] = found
        return reader.effects

    def _made(self, op: HostValue, tree: ast.expr, reader: Reader, *, many: bool) -> Seen | None:
        """The buffer that a class method of its class makes, if this is such a call."""
        if not op.result or not isinstance(op.result.type, BufferType):
            return None
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
            return None
        maker = tree.func.attr
        if maker not in {"create", "of"}:
            return None
        reader.look(*map(reader.value, arguments(tree)))
        reader.effects.launches = False
        kind = "created" if maker == "create" else "filled"
        thing = self.things.make(op, kind, str(op.result.type), op.result.type, many=many)
        return Seen(frozenset({thing}), where=op.result, fresh=True)

    def tree_of(self, op: HostValue) -> ast.expr:
        """The tree of a value; functions that were named just before have their names there."""

        def find(node: ast.AST) -> ast.AST | None:
            function = node.func if isinstance(node, ast.Call) else None
            if not isinstance(node, ast.Call) or not isinstance(function, Operand):
                return None
            named = expression_of(self.makers.get(op.inputs[function.number]))
            if named is None or not is_dotted(named):
                return None
            args = [substituted(arg, find) for arg in node.args]
            keywords = [substituted(keyword, find) for keyword in node.keywords]
            return ast.Call(named, args, keywords)

        return substituted(op.code.expression, find) if op.inputs else op.code.expression

    def _run(self, op: HostRun, memory: HostHeap, *, many: bool) -> Effects:
        runner = self.reader(op, memory, op.inputs, many=many)
        runner.run(op.code.statements)
        self._note_names(op.sets, memory)
        return runner.effects

    def anywhere(self) -> tuple[HostHeap, dict[Op, Effects]]:
        """What variables may hold at any point of the function, and what each op then does."""
        memory = HostHeap(is_weak=True)
        ops = tuple(walk(self.func.body))
        found: dict[Op, Effects] = {}
        news = True
        while news:
            before = memory.copy()
            for op in ops:
                if isinstance(op, HostFor | HostWith):
                    found[op] = self.bind(op, memory, first=None)
                else:
                    found[op] = self.visit(op, memory, many=True)
            news = before.join(memory)
        return memory, found

    def bind(self, op: HostFor | HostWith, memory: HostHeap, *, first: int | None) -> Effects:
        """Let the target of a loop or a `with` stand for what it gets; `first`: its number."""
        value = op.iterable if isinstance(op, HostFor) else op.manager
        runner = self.reader(op, memory, (), many=True)
        if isinstance(op, HostWith):
            runner.hand(self.seen(value))
            bound = Seen(memory.reach(self.seen(value).things), self.seen(value).is_part)
            if not self.things.are_buffers(self.seen(value).things):  # whatever it gives out
                bound = replace(bound, things=bound.things | {runner.found("with")})
        elif self.sorts.range_of(op):
            bound = Seen(number=first)
        else:
            bound = runner.elements(self.seen(value))
        if op.target.text:
            runner.bind(op.target.target, bound)
        self._note_names(op.sets, memory)
        return Effects(runner.effects.touches, lasting=runner.effects.lasting)

    def is_whole(self, seen: Seen) -> bool:
        """Whether a place is all the data of each buffer that it may be in."""
        return not seen.is_part or all(self._is_all_of(thing, seen.part) for thing in seen.things)

    def _is_all_of(self, thing: Thing, part: BufferPart | None) -> bool:
        type_ = self.things.types.get(thing)
        if part is None or not (part.whole or not part.indices):
            return False
        if isinstance(type_, BufferType):
            data = [
                field_.name
                for field_ in type_.fields
                if field_.name not in type_.length_names and not isinstance(field_.type, PadType)
            ]
            return len(data) == 1 and part.path.removesuffix(INDEX) == data[0]
        return isinstance(type_, NDArrayType)


def _imported(func: Func) -> set[str]:
    """The names of modules that nothing but their own import sets."""
    found: set[str] = set()
    others: set[str] = set()
    names = names_of(func)
    for op in walk(func.body):
        if isinstance(op, HostRun) and all(map(_is_plain_import, op.code.statements)):
            found.update(op.sets)
        elif not isinstance(op, Var) or op.init:
            others.update(names_set(op, names))
    return found - others


def _is_plain_import(node: ast.stmt) -> bool:
    """`import math`, `import numpy as np`: the usual name of a module."""
    return isinstance(node, ast.Import) and all(
        alias.asname in {None, alias.name} or (alias.name, alias.asname) == ("numpy", "np")
        for alias in node.names
    )
