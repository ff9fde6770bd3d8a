"""What the host does in a compute function that cannot be taken back, so that it may run again.

A compute function can be run once more from its start if the first run left no trace outside:
kernels are undone by whoever runs it, local names are made anew. Writes to buffers, changes of
objects that were not made here, and calls of code that is not known are traces. Operators,
attributes and loops are taken for harmless, and well-known names for what they stand for.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from trilby.analysis.effect_texts import CALLS, CHANGES, SETS_OUTER, WRITES, Texts
from trilby.analysis.host_code import expression_tree, statement_trees
from trilby.analysis.host_trees import Call, Comprehension, Display, Name, Node, Number, Operation
from trilby.analysis.known_calls import NOTHING, READING
from trilby.analysis.reach import ComputeGraph
from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.holes import identifiers, in_place_sign
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.host import (
    DispatchPasses,
    HostCall,
    HostFor,
    HostRun,
    HostValue,
    HostView,
    HostWith,
)
from trilby.model.ops.memory import Load, Place, Store
from trilby.model.value import COMPUTE_CONTEXT, Value
from trilby.source import Location

_OUTER = re.compile(r"^\s*(?:global|nonlocal)\b", re.MULTILINE)
_RUNS_MORE = re.compile(r"^\s*(?:async|with|class|@)", re.MULTILINE)
_BOUND_INSIDE = re.compile(r"([^\W\d]\w*)\s*:=")
_PLAIN_TARGET = re.compile(r"[\w\s,()*]*")


@dataclass(frozen=True, slots=True)
class VisibleEffect:
    """Something that was done for good: what it is, and where it stands."""

    what: str
    location: Location


def visible_effects(
    graph: ComputeGraph,
    line: int | None = None,
    fixed: Collection[str] = (),
    renamed: frozenset[str] = frozenset(),
) -> list[VisibleEffect]:
    """What may have been done for good when a compute function has come to a line of its own.

    Without a line: when it has come to its end. `fixed` are the parameters whose arguments
    cannot be changed: numbers, texts. `renamed` are well-known names with another meaning.
    """
    functions = {func.name: func for func in graph.functions}
    entry = graph.entry
    reached = entry.body if line is None else _until(entry.body, line)
    return list(_of_block(_Looking.at(entry, fixed, renamed), reached, functions))


def _until(body: Block, line: int) -> Block:
    """The ops of a body that may have run, the loops among them as a whole."""
    starts = [(op, min(_lines(op))) for op in body.ops]
    last = max((max(_lines(op)) for op, start in starts if start <= line), default=line)
    return Block(tuple(op for op, start in starts if start <= max(last, line)))


def _lines(op: Op) -> list[int]:
    """The first and the last line of an op and of all within."""
    inside = (one for one in walk(Block((op,))) if not isinstance(one, Var))
    return [n for one in inside for n in (one.location.line, one.location.end_line) if n] or [0]


def _of_block(
    looking: "_Looking", body: Block, functions: dict[str, Func]
) -> Iterator[VisibleEffect]:
    for op in walk(body):
        if isinstance(op, HostCall):
            callee = functions[op.callee]
            looked = _Looking.at(callee, (), looking.renamed)
            yield from _of_block(looked, callee.body, functions)
        elif what := looking.effect(op):
            yield VisibleEffect(what, op.location)


@dataclass(frozen=True, slots=True)
class _Looking:
    """A look at one function. `own` are the variables whose objects were all made in it.

    `local` are the names that do not mean what they usually do, `renamed` those from outside.
    """

    makers: dict[Value, Op]
    names: dict[Value, str]
    context: str
    fixed: frozenset[Value]
    local: frozenset[str]
    renamed: frozenset[str]
    own: frozenset[str] = frozenset()

    @classmethod
    def at(
        cls, func: Func, fixed: Collection[str] = (), renamed: frozenset[str] = frozenset()
    ) -> "_Looking":
        makers = {op.result: op for op in walk(func.body) if op.result}
        names = {op.value: op.name for op in walk(func.body) if isinstance(op, Var)}
        unchanging = frozenset(param for param in func.params if param.hint in fixed)
        local = frozenset(names.values()) - frozenset(_imported(func))
        looking = cls(makers, names, _context_name(func), unchanging, local | renamed, renamed)
        own = {names[var] for var in names if looking.is_own(func, var)}
        return replace(looking, own=frozenset(own - _set_by_texts(func)))

    def is_own(self, func: Func, var: Value) -> bool:
        """Whether a variable never holds anything but what was made here."""
        stored: list[Value] = []
        for op in walk(func.body):
            if isinstance(op, Var) and op.value is var:
                stored += op.init
            elif isinstance(op, VarStore) and op.var is var:
                stored.append(op.stored)
        return all(value in self.fixed or self._is_new(value, var) for value in stored)

    def _is_new(self, value: Value, var: Value) -> bool:
        match self.makers.get(value):
            case Constant():
                return True
            case Load():
                return isinstance(value.type, ScalarType)
            case HostValue(inputs=(old, _), code=code) if in_place_sign(code):
                maker = self.makers.get(old)
                return isinstance(maker, VarLoad) and maker.var is var
            case HostValue() as op:
                return self._makes(op)
            case _:
                return False

    def _makes(self, op: HostValue) -> bool:
        """Whether the value of a text is a new object."""
        tree = expression_tree(op.code, len(op.inputs))
        if isinstance(tree, Display | Comprehension | Operation | Number):
            return True
        return isinstance(tree, Call) and (
            self._texts(op).makes_buffer(tree) or self._texts(op).is_known(tree, NOTHING | READING)
        )

    # ------------------------------------------------------------------------------- effects

    def effect(self, op: Op) -> str:
        """What an op may do for good; empty for nothing."""
        match op:
            case Store(base):
                return "" if self._is_own_buffer(base) else WRITES
            case HostValue(inputs=(old, _), code=code) if in_place_sign(code):
                return "" if self._is_own_value(old) else CHANGES
            case HostValue(code=code):
                return self._texts(op).effect(expression_tree(code, len(op.inputs)))
            case HostRun(code=code):
                return self._of_statements(op, code)
            case HostFor(target=target):
                return "" if _PLAIN_TARGET.fullmatch(target) else CHANGES
            case HostWith() | DispatchPasses():
                return "" if self._runs_no_other(op) else CALLS
            case _:
                return ""

    def _runs_no_other(self, op: HostWith | DispatchPasses) -> bool:
        """Whether passes tell their progress to nobody, and a `with` is one of ours."""
        if isinstance(op, HostWith):
            return self._is_contexts(op.manager)
        given = op.given.get("progress")
        return given is None or isinstance(self.makers.get(given), Constant)

    def _of_statements(self, op: HostRun, code: str) -> str:
        if _OUTER.search(code):
            return SETS_OUTER
        if _RUNS_MORE.search(code):
            return CALLS
        return self._texts(op).run(statement_trees(code, len(op.inputs)))

    def _texts(self, op: HostValue | HostRun) -> Texts:
        result = op.result.type if op.result else None
        return Texts(
            self.own,
            self.local,
            self.context,
            tuple(map(self._text_of, op.inputs)),
            tuple(map(self._is_data, op.inputs)),
            gives_buffer=isinstance(result, BufferType | NDArrayType),
        )

    def _text_of(self, value: Value) -> Node:
        """The tree of a value that is a name, or a text without operands."""
        if value.type == COMPUTE_CONTEXT:
            return Name(self.context)
        match self.makers.get(value):
            case VarLoad(var) if var in self.names:
                return Name(self.names[var])
            case HostValue(inputs=(), code=code):
                return expression_tree(code, 0)
            case _:
                return Node()

    def _is_data(self, value: Value) -> bool:
        """True for buffers and the views of them, whose methods are ours."""
        if isinstance(value.type, BufferType | NDArrayType):
            return True
        return isinstance(self.makers.get(value), HostView | Place)

    def _is_own_value(self, value: Value) -> bool:
        if isinstance(value.type, ScalarType):
            return True
        maker = self.makers.get(value)
        return isinstance(maker, VarLoad) and self.names.get(maker.var) in self.own

    def _is_own_buffer(self, value: Value) -> bool:
        maker = self.makers.get(value)
        while isinstance(maker, Place | HostView):
            maker = self.makers.get(maker.base)
        return isinstance(maker, VarLoad) and self.names.get(maker.var) in self.own

    def _is_contexts(self, manager: Value) -> bool:
        """`with cc.explicit():`."""
        maker = self.makers.get(manager)
        if not isinstance(maker, HostValue):
            return False
        return self._texts(maker).is_contexts(expression_tree(maker.code, len(maker.inputs)))


def _context_name(func: Func) -> str:
    names = (param.hint for param in func.params if param.type == COMPUTE_CONTEXT)
    return next(names, "")


def _imported(func: Func) -> Iterator[str]:
    """The names of modules that nothing but their own import sets."""
    setters: dict[str, list[str]] = {}
    for op in walk(func.body):
        if isinstance(op, HostRun | HostFor | HostWith):
            for name in op.sets:
                setters.setdefault(name, []).append(getattr(op, "code", ""))
    stored = {op.var for op in walk(func.body) if isinstance(op, VarStore)}
    taken = {op.name for op in walk(func.body) if isinstance(op, Var) and op.init}
    taken |= {op.name for op in walk(func.body) if isinstance(op, Var) and op.value in stored}
    for name, codes in setters.items():
        is_own_import = all(code.strip() in _imports_of(name) for code in codes)
        if is_own_import and name not in taken:
            yield name


def _imports_of(name: str) -> tuple[str, ...]:
    return (f"import {name}", f"import numpy as {name}") if name == "np" else (f"import {name}",)


def _set_by_texts(func: Func) -> set[str]:
    """The names that are bound by loops and statements, and not by ops of their own."""
    found: set[str] = set()
    for op in walk(func.body):
        if isinstance(op, HostRun | HostFor | HostWith):
            found |= set(op.sets)
        if isinstance(op, HostRun | HostValue):
            found |= set(_BOUND_INSIDE.findall(op.code))
        if isinstance(op, HostRun) and _OUTER.search(op.code):
            found |= identifiers(op.code)
    return found
