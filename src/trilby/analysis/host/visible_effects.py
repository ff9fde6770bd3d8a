"""What the host does in a compute function that cannot be taken back, so that it may run again.

A compute function can be run once more from its start if the first run left no trace outside:
kernels are undone by whoever runs it, local names are made anew. Writes to buffers, changes of
objects that were not made here, and calls of code that is not known are traces. Operators,
attributes and loops are taken for harmless, and well-known names for what they stand for.
"""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from trilby.analysis.host import known_calls
from trilby.analysis.host.trees import (
    expressions_in,
    indices_of,
    is_unpacked,
    keywords,
    number_of,
    targets_in,
    written_by_module,
)
from trilby.analysis.reach import ComputeGraph
from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand
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
    variables, `context` is the name of the compute context. `operands` are the trees of
    operands, where they have one; `data` says of each whether it is a buffer or a view.
    `gives_buffer` is true where the result is a buffer.
    """

    own: frozenset[str]
    local: frozenset[str]
    context: str
    operands: tuple[ast.expr | None, ...]
    data: tuple[bool, ...]
    gives_buffer: bool

    # --------------------------------------------------------------------------- statements

    def run(self, statements: Iterable[ast.stmt]) -> str:
        """What statements may do for good; empty for nothing."""
        return _first(map(self._statement, statements))

    def _statement(self, node: ast.AST) -> str:
        match node:
            case ast.FunctionDef(decorator_list=[]):
                return ""
            case ast.Global() | ast.Nonlocal():
                return SETS_OUTER
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return CALLS
            case ast.With() | ast.AsyncWith() | ast.AsyncFor():
                return CALLS
            case ast.Assign(targets=targets, value=value):
                return _first(map(self.target, targets)) or self.effect(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.target(target) or self.effect(value)
            case ast.AugAssign(target=target, value=value):
                is_own = isinstance(target, ast.Name) and target.id in self.own
                return ("" if is_own else CHANGES) or self.effect(value)
            case ast.Delete(targets=targets):
                return _first(map(self.target, targets))
            case _:
                return _first(map(self._part, ast.iter_child_nodes(node)))

    def _part(self, part: ast.AST) -> str:
        return self.effect(part) if isinstance(part, ast.expr) else self._statement(part)

    def target(self, target: ast.expr) -> str:
        """A name is bound anew; a place in an object has to be in one that was made here."""
        match target:
            case ast.Name():
                return ""
            case ast.Tuple() | ast.List() | ast.Starred():
                return _first(map(self.target, expressions_in(target)))
            case ast.Subscript(value=ast.Name(id=name)) if name in self.own:
                return _first(map(self.effect, indices_of(target)))
            case _:
                return CHANGES

    # -------------------------------------------------------------------------- expressions

    def effect(self, node: ast.AST) -> str:
        """What an expression may do for good; empty for nothing."""
        match node:
            case ast.Lambda():
                return ""
            case ast.Await():
                return CALLS
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                hidden = (name for loop in node.generators for name in targets_in(loop.target))
                return self._without(frozenset(hidden)).inside(node)
            case ast.Call() if not self._is_harmless(node):
                written = self._written(node)
                return CALLS if written is None else WRITES if written else self.inside(node)
            case _:
                return self.inside(node)

    def _written(self, call: ast.Call) -> frozenset[int] | None:
        """The arguments that a function of a well-known module writes; None for any other."""
        match self._tree_of(call.func):
            case ast.Attribute(value=ast.Name(id=name), attr=method) if name not in self.local:
                return written_by_module(call, name, method)
            case _:
                return None

    def inside(self, node: ast.AST) -> str:
        """The same of the parts of an expression."""
        return _first(map(self.effect, ast.iter_child_nodes(node)))

    def _without(self, hidden: frozenset[str]) -> "Texts":
        """Inside of a comprehension some names stand for something else."""
        return replace(self, own=self.own - hidden, local=self.local | hidden)

    def _tree_of(self, node: ast.expr) -> ast.expr | None:
        """A tree, or that of the operand that it stands for."""
        return self.operands[node.number] if isinstance(node, Operand) else node

    def _is_harmless(self, call: ast.Call) -> bool:
        return (
            self.is_known(call, HARMLESS | OURS)
            or self.makes_buffer(call)
            or self.is_contexts(call)
            or self._is_method(call)
        )

    def is_known(self, call: ast.Call, names: frozenset[str]) -> bool:
        """A call of a function by a well-known name, or of an exception of Python's own."""
        match self._tree_of(call.func):
            case ast.Name(id=name) if name not in self.local:
                return (name in names and not _calls_back(name, call)) or _is_exception(name)
            case _:
                return False

    def makes_buffer(self, call: ast.Call) -> bool:
        """`S32Array.create(…)`, known to give a buffer."""
        match self._tree_of(call.func):
            case ast.Attribute(value=ast.Name(id=name), attr=maker) if name not in self.local:
                return self.gives_buffer and maker in known_calls.MAKERS
            case _:
                return False

    def is_contexts(self, node: ast.expr) -> bool:
        """A chain of calls that begins with the compute context: `cc.put(a).put(b)`."""
        method = self._tree_of(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(method, ast.Attribute):
            return False
        if method.attr not in CONTEXT_METHODS:
            return False
        if method.attr == "dispatch" and {"progress", ""}.intersection(keywords(node)):
            return False  # what is told of progress may do anything
        return self._is_context(method.value) or self.is_contexts(method.value)

    def _is_context(self, node: ast.expr) -> bool:
        match self._tree_of(node):
            case ast.Name(id=name):
                return name == self.context
            case ast.Attribute(value=owner, attr="accelerator"):
                return self._is_context(owner)
            case _:
                return False

    def _is_method(self, call: ast.Call) -> bool:
        match self._tree_of(call.func):
            case ast.Attribute(value=ast.Name(id=name), attr=method) if (
                name in THIS_PACKAGE and name not in self.local
            ):
                return method in OURS
            case ast.Attribute(value=ast.Name(id=name), attr=method) if name in self.own:
                return method in known_calls.CONTAINER_METHODS
            case ast.Attribute(value=Operand(number), attr=method) if self.data[number]:
                return method in known_calls.READING_METHODS
            case ast.Attribute(attr=method):
                return method in LOOKING_METHODS
            case _:
                return False


def _calls_back(name: str, call: ast.Call) -> bool:
    """Whether a function of Python is given another one that it calls."""
    is_called_until = name == "iter" and len(call.args) + len(call.keywords) > 1
    return "key" in keywords(call) or is_unpacked(call) or is_called_until


def _first(effects: Iterable[str]) -> str:
    return next(filter(None, effects), "")


def _is_exception(name: str) -> bool:
    found: object = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


# ---------------------------------------------------------------------------------- visible effects

_NEW = (
    *(ast.Tuple, ast.List, ast.Set, ast.Dict),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr),
)
"""Expressions whose value is an object of their own."""


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
            case HostValue(inputs=(old, _), code=code) if code.sign:
                maker = self.makers.get(old)
                return isinstance(maker, VarLoad) and maker.var is var
            case HostValue() as op:
                return self._makes(op)
            case _:
                return False

    def _makes(self, op: HostValue) -> bool:
        """Whether the value of some code is a new object."""
        tree = op.code.expression
        if isinstance(tree, _NEW) or number_of(tree) is not None:
            return True
        if not isinstance(tree, ast.Call):
            return False
        is_wrapped = isinstance(tree.func, ast.Attribute) and tree.func.attr == "bind"
        is_own_buffer = self._texts(op).makes_buffer(tree) and not is_wrapped
        return is_own_buffer or self._texts(op).is_known(tree, MAKING)

    # ------------------------------------------------------------------------------- effects

    def effect(self, op: Op) -> str:
        """What an op may do for good; empty for nothing."""
        match op:
            case Store(base):
                return "" if self._is_own_buffer(base) else WRITES
            case HostValue(inputs=(old, _), code=code) if code.sign:
                return "" if self._is_own_value(old) else CHANGES
            case HostValue(code=code):
                return self._texts(op).effect(code.expression)
            case HostRun(code=code):
                return self._texts(op).run(code.statements)
            case HostFor(target=target):
                return self._texts(op).target(target.target)
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

    def _texts(self, op: HostValue | HostRun | HostFor) -> Texts:
        result = op.result.type if op.result else None
        inputs = () if isinstance(op, HostFor) else op.inputs
        return Texts(
            self.own,
            self.local,
            self.context,
            tuple(map(self._tree_of, inputs)),
            tuple(map(self._is_data, inputs)),
            gives_buffer=isinstance(result, BufferType | NDArrayType),
        )

    def _tree_of(self, value: Value) -> ast.expr | None:
        """The tree of a value that is a name, or code without operands."""
        if value.type == COMPUTE_CONTEXT:
            return ast.Name(self.context, ast.Load())
        match self.makers.get(value):
            case VarLoad(var) if var in self.names:
                return ast.Name(self.names[var], ast.Load())
            case HostValue(inputs=(), code=code):
                return code.expression
            case _:
                return None

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
        return self._texts(maker).is_contexts(maker.code.expression)


def _context_name(func: Func) -> str:
    names = (param.hint for param in func.params if param.type == COMPUTE_CONTEXT)
    return next(names, "")


def _imported(func: Func) -> Iterator[str]:
    """The names of modules that nothing but their own import sets."""
    setters: dict[str, list[str]] = {}
    for op in walk(func.body):
        if isinstance(op, HostRun | HostFor | HostWith):
            for name in op.sets:
                code = op.code.text if isinstance(op, HostRun) else ""
                setters.setdefault(name, []).append(code)
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
            found |= op.code.names.wild | op.code.names.nonlocals | op.code.names.declared
    return found
