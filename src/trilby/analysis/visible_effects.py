"""What the host does in a compute function that cannot be taken back, so that it may run again.

A compute function can be run once more from its start if the first run left no trace outside:
kernels are undone by whoever runs it, local names are made anew. Writes to buffers, changes of
objects that were not made here, and calls of code that is not known are traces. Operators,
attributes and loops are taken for harmless, and well-known names for what they stand for.
"""

import builtins
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, replace
from typing import cast

from trilby.analysis import known_calls
from trilby.analysis.host_code import (
    Assign,
    CallExpression,
    Change,
    Comprehension,
    Define,
    Delete,
    Display,
    Hole,
    Item,
    Member,
    Name,
    Node,
    Number,
    OneOf,
    Operation,
    Statement,
    expression_tree,
    statement_trees,
)
from trilby.analysis.host_touches import is_unpacked, written_by_module
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

# ------------------------------------------------------------------------------------- effect texts
# What the text of a host op may do for good, beyond the names of its function.

WRITES = "writes to a buffer"
CHANGES = "may change an object from outside"
CALLS = "calls code that is not known"
SETS_OUTER = "sets a name of an outer scope"

HARMLESS = known_calls.NOTHING | known_calls.READING - {"print", "next", "map", "filter"}
"""Functions that leave no trace and call nothing that they are given."""

MAKING = (known_calls.NOTHING | known_calls.READING) - {"next", "iter", "min", "max", "sum"}
"""Functions whose result is new: the others may give one of the objects that they are given."""

OURS = frozenset(
    {"NDRange", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}
)
"""Classes of this package that host code calls by their names."""

THIS_PACKAGE = frozenset({"tb", "trilby"})

CONTEXT_METHODS = frozenset({"put", "get", "field", "explicit", "dispatch", "array"})
"""Methods of the compute context, and of its accelerator, whose effects the run time knows."""

LOOKING_METHODS = frozenset({"items", "keys", "values"})


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of one op.

    `own` are the variables whose objects were made in the function, `local` all of its
    variables, `context` is the name of the compute context. `operands` are the texts of
    operands, where they have one; `data` says of each whether it is a buffer or a view.
    `gives_buffer` is true where the result is a buffer.
    """

    own: frozenset[str]
    local: frozenset[str]
    context: str
    operands: tuple[Node, ...]
    data: tuple[bool, ...]
    gives_buffer: bool

    # --------------------------------------------------------------------------- statements

    def run(self, statements: Iterable[Statement]) -> str:
        """What statements may do for good; empty for nothing."""
        return _first(self._statement(statement) for statement in statements)

    def _statement(self, statement: Statement) -> str:
        match statement:
            case Define():
                return ""
            case Assign(targets, value):
                return _first(map(self._target, targets)) or self.effect(value)
            case Change(target, value):
                is_own = isinstance(target, Name) and target.name in self.own
                return ("" if is_own else CHANGES) or self.effect(value)
            case Delete(targets):
                return _first(map(self._target, targets))
            case _:
                return _first(map(self._part, _parts(statement)))

    def _part(self, part: Node | Statement) -> str:
        return self._statement(part) if isinstance(part, Statement) else self.effect(part)

    def _target(self, target: Node) -> str:
        """A name is bound anew; a place in an object has to be in one that was made here."""
        match target:
            case Name():
                return ""
            case Display(items) | OneOf(items):
                return _first(map(self._target, items))
            case Item(Name(name), indices) if name in self.own:
                return _first(map(self.effect, indices))
            case _:
                return CHANGES

    # -------------------------------------------------------------------------- expressions

    def effect(self, node: Node) -> str:
        """What an expression may do for good; empty for nothing."""
        if isinstance(node, Comprehension):
            return self._without(_names(target for target, _ in node.loops)).inside(node)
        if isinstance(node, CallExpression) and not self._is_harmless(node):
            written = self._written(node)
            return CALLS if written is None else WRITES if written else self.inside(node)
        return self.inside(node)

    def _written(self, call: CallExpression) -> frozenset[int] | None:
        """The arguments that a function of a well-known module writes; None for any other."""
        match self._text_of(call.function):
            case Member(Name(name), method) if name not in self.local:
                return written_by_module(call, name, method)
            case _:
                return None

    def inside(self, node: Node) -> str:
        """The same of the parts of an expression."""
        return _first(map(self._part, _parts(node)))

    def _without(self, hidden: frozenset[str]) -> "Texts":
        """Inside of a comprehension some names stand for something else."""
        return replace(self, own=self.own - hidden, local=self.local | hidden)

    def _text_of(self, node: Node) -> Node:
        """A tree, or that of the operand that it stands for."""
        return self.operands[node.number] if isinstance(node, Hole) else node

    def _is_harmless(self, call: CallExpression) -> bool:
        return (
            self.is_known(call, HARMLESS | OURS)
            or self.makes_buffer(call)
            or self.is_contexts(call)
            or self._is_method(call)
        )

    def is_known(self, call: CallExpression, names: frozenset[str]) -> bool:
        """A call of a function by a well-known name, or of an exception of Python's own."""
        match self._text_of(call.function):
            case Name(name) if name not in self.local:
                return (name in names and not _calls_back(name, call)) or _is_exception(name)
            case _:
                return False

    def makes_buffer(self, call: CallExpression) -> bool:
        """`S32Array.create(…)`, known to give a buffer."""
        match self._text_of(call.function):
            case Member(Name(name), maker) if name not in self.local:
                return self.gives_buffer and maker in known_calls.MAKERS
            case _:
                return False

    def is_contexts(self, node: Node) -> bool:
        """A chain of calls that begins with the compute context: `cc.put(a).put(b)`."""
        match node:
            case CallExpression(function, _, keywords):
                method = self._text_of(function)
            case _:
                return False
        if not isinstance(method, Member) or method.name not in CONTEXT_METHODS:
            return False
        if method.name == "dispatch" and {"progress", ""}.intersection(keywords):
            return False  # what is told of progress may do anything
        return self._is_context(method.owner) or self.is_contexts(method.owner)

    def _is_context(self, node: Node) -> bool:
        match self._text_of(node):
            case Name(name):
                return name == self.context
            case Member(owner, "accelerator"):
                return self._is_context(owner)
            case _:
                return False

    def _is_method(self, call: CallExpression) -> bool:
        match self._text_of(call.function):
            case Member(Name(name), method) if name in THIS_PACKAGE and name not in self.local:
                return method in OURS
            case Member(Name(name), method) if name in self.own:
                return method in known_calls.CONTAINER_METHODS
            case Member(Hole(number), method) if self.data[number]:
                return method in known_calls.READING_METHODS
            case Member(_, method):
                return method in LOOKING_METHODS
            case _:
                return False


def _calls_back(name: str, call: CallExpression) -> bool:
    """Whether a function of Python is given another one that it calls."""
    return "key" in call.keywords or is_unpacked(call) or (name == "iter" and len(call.args) > 1)


def _first(effects: Iterable[str]) -> str:
    return next(filter(None, effects), "")


def _parts(tree: Node | Statement) -> list[Node | Statement]:
    """The trees within a tree, in order."""
    found: list[Node | Statement] = []
    for field in fields(tree):
        _collect(getattr(tree, field.name), found)
    return found


def _collect(thing: object, found: list[Node | Statement]) -> None:
    if isinstance(thing, Node | Statement):
        found.append(thing)
    elif isinstance(thing, tuple):
        for one in cast("tuple[object, ...]", thing):
            _collect(one, found)


def _names(targets: Iterable[Node]) -> frozenset[str]:
    found: set[str] = set()
    for target in targets:
        if isinstance(target, Name):
            found.add(target.name)
        elif isinstance(target, Display | OneOf):
            found |= _names(part for part in _parts(target) if isinstance(part, Node))
    return frozenset(found)


def _is_exception(name: str) -> bool:
    found: object = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


# ---------------------------------------------------------------------------------- visible effects

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
        if not isinstance(tree, CallExpression):
            return False
        is_wrapped = isinstance(tree.function, Member) and tree.function.name == "bind"
        is_own_buffer = self._texts(op).makes_buffer(tree) and not is_wrapped
        return is_own_buffer or self._texts(op).is_known(tree, MAKING)

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
