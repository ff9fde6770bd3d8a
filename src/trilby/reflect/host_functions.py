"""From a compute function to its IR.

`if`, `while`, `for` and `with` keep their structure, assignments become stores. Whatever the IR
need not understand is kept as host code and runs unchanged, so any Python is welcome here.
Compiling IR back to Python is not this package's part.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, UnsupportedSyntaxError
from trilby.model.build import Builder
from trilby.model.host_code import SIGNS, HostCode, in_place, names_in, new_operand
from trilby.model.op import Block, Func
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var, VarStore, Yield
from trilby.model.ops.host import HostFor, HostIf, HostRun, HostValue, HostView, HostWhile, HostWith
from trilby.model.ops.memory import Load, Store
from trilby.model.value import NONE, OBJECT, Value, VarType
from trilby.reflect.capture import Captured, capture
from trilby.reflect.functions import Kernel, Reflectable
from trilby.reflect.host_expressions import HostExpressions, HostFunction, Pages, punched
from trilby.reflect.host_launch import (
    AnyCompute,
    AnyKernel,
    Symbols,
    check_dispatches,
    direct_form,
    says_what_moves,
    targets,
)
from trilby.reflect.host_scope import (
    HostPlace,
    Typing,
    locals_of,
    opposite,
    reads_its_frame,
    typing_of,
)
from trilby.source import Location

# --------------------------------------------------------------------------------- host assignments
# Assignments of compute functions as stores: to variables, to buffers, and the rest as text.

Assignment: TypeAlias = ast.Assign | ast.AnnAssign | ast.AugAssign


@dataclass(frozen=True, slots=True)
class Assignments:
    """Appends the ops of assignments to a block."""

    host: HostFunction
    out: Builder

    @property
    def expressions(self) -> HostExpressions:
        """For the expressions in the assignments."""
        return HostExpressions(self.host, self.out)

    def lower(self, node: Assignment) -> bool:
        """Lower an assignment; false, and nothing done, where it is better kept as text."""
        match node:
            case ast.AugAssign():
                return self._augmented(node)
            case ast.AnnAssign(value=None):
                return False
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self._plain([target], value, node)
            case ast.Assign(targets=targets, value=value):
                return self._plain(targets, value, node)
            case _:
                return False

    def _plain(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> bool:
        pairs = self._pairs(targets, value)
        stored = [target for target, _ in pairs] or targets
        if not self.host.order.holes(value) and not any(map(self._concerns_model, stored)):
            return False
        if pairs:
            values = [self.expressions.value(bound) for _, bound in pairs]
        else:
            is_copied = all(self._writable(target) for target in targets)
            values = [self.expressions.value(value, only_read=is_copied)] * len(targets)
        for target, bound in zip(stored, values, strict=True):
            self._store(target, bound, node)
        return True

    def _pairs(self, targets: list[ast.expr], value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """What is assigned to what in `a, b = b, a`; nothing if this is no such assignment."""
        pairs = opposite(targets[0], value) if len(targets) == 1 else []
        nested = any(isinstance(target, ast.Tuple | ast.List) for target, _ in pairs)
        return [] if nested else pairs

    def _concerns_model(self, target: ast.expr) -> bool:
        """Whether assigning to a target is something that the model understands."""
        if isinstance(target, ast.Name):
            return target.id in self.host.typing.locals.plain
        return self._writable(target) is not None or bool(self._target_holes(target))

    def _target_holes(self, target: ast.expr) -> list[ast.expr]:
        """Unpacking comes before the targets in a tuple are evaluated, so these stay whole."""
        unpacks = isinstance(target, ast.Tuple | ast.List | ast.Starred)
        return [] if unpacks else self.host.order.within(target)

    def _writable(self, target: ast.expr) -> HostPlace | None:
        """The number, or the slice of numbers, in a buffer that a target names."""
        if not isinstance(target, ast.Attribute | ast.Subscript):
            return None
        place = self.host.typing.place(target)
        if place is None or not isinstance(place.type, ScalarType):
            return None
        base = self.host.typing.of(place.root)
        if isinstance(base, BufferType) and place.path in base.length_names:
            return None
        return place if place.whole or isinstance(target, ast.Subscript) else None

    # ------------------------------------------------------------------------------ storing

    def _store(self, target: ast.expr, bound: Value, node: ast.stmt) -> None:
        where = self.host.location(node)
        place = self._writable(target)
        if isinstance(target, ast.Name) and target.id in self.host.typing.locals.plain:
            self._store_variable(target.id, bound, node)
        elif place:
            base, indices = self.expressions.parts(place)
            self.out.run(Store, base, indices, bound, place.path, location=where)
        else:
            holes = self._target_holes(target)
            inputs = (bound, *map(self.expressions.index, holes))
            text = self.host.pages.template(target, holes, first=1) + " = {0}"
            stored = ast.copy_location(new_operand(0), node)
            tree = ast.copy_location(ast.Assign([punched(target, holes, first=1)], stored), node)
            code, own = HostCode(text, len(inputs), [tree]), self.host.typing.locals.own
            uses, sets = own(code.names.reads), own(code.names.sets)
            self.out.run(HostRun, code, uses, sets, inputs, location=where)

    def _store_variable(self, name: str, bound: Value, node: ast.stmt) -> None:
        where = self.host.location(node)
        if name in self.host.variables:
            self.out.run(VarStore, self.host.variables[name], bound, location=where)
            return
        holds = VarType(self.host.typing.variables[name] or OBJECT)
        made = self.out.value(Var, (bound,), name, type=holds, hint=name, location=where)
        self.host.variables[name] = made

    # ---------------------------------------------------------------------------- `x += 1`

    def _augmented(self, node: ast.AugAssign) -> bool:
        where = self.host.location(node)
        place = self._writable(node.target)
        if isinstance(node.target, ast.Name) and self._concerns_model(node.target):
            old = self.expressions.value(node.target)
            new = self._changed(old, node)
            self._store_variable(node.target.id, new, node)
        elif place:
            base, indices = self.expressions.parts(place)
            kind, held = (Load, place.type) if place.whole else (HostView, OBJECT)
            old = self.out.value(kind, base, indices, place.path, type=held, location=where)
            new = self._changed(old, node)
            self.out.run(Store, base, indices, new, place.path, location=where)
        else:
            return False
        return True

    def _changed(self, old: Value, node: ast.AugAssign) -> Value:
        """The value that `+=` makes of the old one; objects that can change do so in place."""
        operand = self.expressions.value(node.value, only_read=True)
        code = in_place(SIGNS[type(node.op)])
        where = self.host.location(node)
        return self.out.value(HostValue, (old, operand), code, (), type=OBJECT, location=where)


# ---------------------------------------------------------------------------------- host statements

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ENDS = (ast.Return, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True)
class Statements:
    """Appends the ops of statements to a block."""

    host: HostFunction
    out: Builder

    @property
    def expressions(self) -> HostExpressions:
        """For the expressions in the statements."""
        return HostExpressions(self.host, self.out)

    def top(self, body: Sequence[ast.stmt]) -> None:
        """The statements of the function itself. Variables are declared where they first appear."""
        for number, statement in enumerate(body):
            self._declare(statement)
            if self._is_followed(statement, body[number + 1 :]):
                self._declare(*body[number:])
                self.text(body[number:])
                return
            self.statement(statement)

    def block(self, body: Sequence[ast.stmt]) -> Block:
        """The statements of a block."""
        inner = Statements(self.host, self.out.nested())
        for number, statement in enumerate(body):
            if self._is_followed(statement, body[number + 1 :]):
                inner.text(body[number:])
                break
            inner.statement(statement)
        return inner.out.block()

    def _is_followed(self, statement: ast.stmt, rest: Sequence[ast.stmt]) -> bool:
        """Whether statements follow that never run: they still say which names are local."""
        return isinstance(statement, _ENDS) and bool(rest)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        match node:
            case ast.Expr(value=value):
                self.expressions.effect(value)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                if not Assignments(self.host, self.out).lower(node):
                    self.text([node])
            case ast.Return() | ast.Break() | ast.Continue():
                self._end(node)
            case ast.If() | ast.While() | ast.For() | ast.With():
                self._compound(node)
            case ast.Pass():
                pass
            case _:
                self.text([node])

    def text(self, nodes: Sequence[ast.stmt]) -> None:
        """Statements that are kept as they are."""
        own = self.host.typing.locals.own
        line, _ = self.host.pages.start(nodes[0])
        last = self.host.location(nodes[-1])
        where = replace(
            self.host.location(nodes[0]),
            line=line,
            end_line=last.end_line,
            end_column=last.end_column,
        )
        code = self.host.pages.statements(nodes)
        self.out.run(HostRun, code, own(code.names.reads), own(code.names.sets), location=where)

    def _declare(self, *nodes: ast.stmt) -> None:
        """Declare the variables that appear here first, but for those that an op here creates."""
        created = set(_created(nodes[0])) if len(nodes) == 1 else set[str]()
        found = names_in(*nodes)
        for name in found.touched:
            is_new = name in self.host.typing.locals.plain and name not in self.host.variables
            if is_new and (name in found.reads or name not in created):
                self.declare(name, (), nodes[0])

    def declare(self, name: str, init: tuple[Value, ...], node: ast.AST) -> None:
        """A variable, with or without its first value."""
        holds = VarType(self.host.typing.variables.get(name) or OBJECT)
        where = self.host.location(node)
        made = self.out.value(Var, init, name, type=holds, hint=name, location=where)
        if name in self.host.typing.locals.plain:
            self.host.variables[name] = made

    # --------------------------------------------------------------------------- structure

    def _end(self, node: ast.Return | ast.Break | ast.Continue) -> None:
        where = self.host.location(node)
        match node:
            case ast.Return(value=None):
                self.out.run(Return, (), location=where)
            case ast.Return(value=ast.expr() as value):
                self.out.run(Return, (self.expressions.value(value),), location=where)
            case ast.Break():
                self.out.run(Break, location=where)
            case _:
                self.out.run(Continue, location=where)

    def _compound(self, node: ast.If | ast.While | ast.For | ast.With) -> None:
        match node:
            case ast.If():
                condition = self.expressions.value(node.test, only_read=True)
                blocks = (self.block(node.body), self.block(node.orelse))
                self.out.run(HostIf, condition, *blocks, location=self.host.location(node))
            case ast.While():
                blocks = (self._test(node.test), self.block(node.body), self.block(node.orelse))
                self.out.run(HostWhile, *blocks, location=self.host.location(node))
            case ast.For():
                self._for(node)
            case ast.With():
                self._with(node, node.items)

    def _test(self, node: ast.expr) -> Block:
        inner = self.out.nested()
        tested = HostExpressions(self.host, inner).value(node, only_read=True)
        inner.run(Yield, tested, location=self.host.location(node))
        return inner.block()

    def _for(self, node: ast.For) -> None:
        if self._is_place(node.target):
            self.text([node])
            return
        iterable = self.expressions.value(node.iter)
        blocks = (self.block(node.body), self.block(node.orelse))
        target = self._target(node.target)
        self.out.run(HostFor, iterable, *blocks, *target, location=self.host.location(node))

    def _with(self, node: ast.With, items: Sequence[ast.withitem]) -> None:
        """`with a, b:` is `with a:` around `with b:`."""
        if any(item.optional_vars and self._is_place(item.optional_vars) for item in items):
            self.text([node])
            return
        item, *others = items
        manager = self.expressions.value(item.context_expr)
        inner = Statements(self.host, self.out.nested())
        if others:
            inner._with(node, others)
            body = inner.out.block()
        else:
            body = self.block(node.body)
        target = self._target(item.optional_vars) if item.optional_vars else (HostCode(""), ())
        self.out.run(HostWith, manager, body, *target, location=self.host.location(node))

    def _target(self, node: ast.expr) -> tuple[HostCode, tuple[str, ...]]:
        code = self.host.pages.code(node)
        return code, self.host.typing.locals.own(code.names.sets)

    def _is_place(self, target: ast.expr) -> bool:
        """Whether binding a target writes to a buffer."""
        return any(
            isinstance(part, ast.Attribute | ast.Subscript) and self.host.is_modelled(part)
            for part in ast.walk(target)
        )


def _created(node: ast.stmt) -> Iterator[str]:
    """The names that a statement gives their first value, if it is the first to name them."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _created_by(target, value, alone=len(targets) == 1)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name
        case _:
            return


def _created_by(target: ast.expr, value: ast.expr, *, alone: bool) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif alone:
        for inner, opposed in opposite(target, value):
            yield from _created_by(inner, opposed, alone=True)


# --------------------------------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True, eq=False)
class ReflectedCompute:
    """The model of a compute function, and the decorated functions that it names.

    `kernels` and `callees` also hold those that only its text names, by their symbols.
    """

    func: Func
    kernels: Mapping[str, AnyKernel]
    callees: Mapping[str, AnyCompute]
    captured: Captured
    typing: Typing
    targets: tuple[tuple[ast.expr, AnyKernel | AnyCompute], ...]
    """Where kernels and compute functions are named, and which they were."""
    says_what_moves: bool
    """True where it puts and gets itself, so that nobody should plan copies for it."""

    def is_current(self) -> bool:
        """False once a name stands for another kernel or compute function than it did."""
        return all(self.typing.resolve(name) is target for name, target in self.targets)


def symbol_of(function: Reflectable) -> str:
    """The symbol of a decorated function where nobody decides otherwise."""
    return function.symbol


def reflect_compute(compute: AnyCompute, symbols: Symbols = symbol_of) -> ReflectedCompute:
    """The model of a compute function.

    >>> print(to_text(reflect_compute(square_all).func))
    compute @"squares.square_all" (%0 : ComputeContext, %1 : S32Array) -> None {
      %2 : Var<ComputeContext> = var %0 @"cc"
      %3 : Var<S32Array> = var %1 @"s32"
      %4 : ComputeContext = var.load %2
      %5 : S32Array = var.load %3
    ! %6 : i32 = load %5 @"length"
      %7 : S32Array = var.load %3
      dispatch %4 %6 %7 @"squares.square_kernel"
    }
    """
    original = capture(compute.function)
    written = _definition(compute, original)
    outside = Typing(original, locals_of(written), {})
    captured, node = direct_form(original, written, outside.resolve)
    local = outside.locals if node is written else locals_of(node)
    typing = typing_of(compute, captured, node, local)
    check_dispatches(typing, node)
    host = HostFunction(captured, Pages.around(captured.lines, node), typing, symbols)
    found = tuple(targets(typing, node))
    return ReflectedCompute(
        _func(compute, host, node),
        {symbols(target): target for _, target in found if isinstance(target, Kernel)},
        {symbols(target): target for _, target in found if not isinstance(target, Kernel)},
        original,
        typing,
        found,
        compute.explicit or says_what_moves(typing, node),
    )


def _func(compute: AnyCompute, host: HostFunction, node: ast.FunctionDef) -> Func:
    types = host.typing.variables
    params = tuple(Value(types.get(name) or OBJECT, name) for name in host.typing.locals.params)
    result = OBJECT if any(_returned_values(node)) else NONE
    where = _head(host.captured, node)
    return Func(
        host.symbol_of(compute), params, result, _body(host, node, params), "compute", where
    )


def _body(host: HostFunction, node: ast.FunctionDef, params: tuple[Value, ...]) -> Block:
    statements = Statements(host, Builder(_head(host.captured, node)))
    for param in params:
        statements.declare(param.hint, (param,), node)
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if reads_its_frame(node):
        # variables of ours, or text cut into values, would show
        for statement in body:
            statements.text([statement])
    else:
        statements.top(body)
    return statements.out.block()


def _head(captured: Captured, node: ast.FunctionDef) -> Location:
    """The line of `def`, without the body."""
    whole = captured.location(node)
    return replace(whole, end_line=whole.line, end_column=len(captured.lines[whole.line - 1]))


def _own_parts(node: ast.AST) -> list[ast.AST]:
    """What belongs to a function itself and not to a function inside of it."""
    found = [node]
    for part in found:
        if part is node or not isinstance(
            part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            found += ast.iter_child_nodes(part)
    return found


def _returned_values(node: ast.FunctionDef) -> Iterator[ast.expr]:
    for part in _own_parts(node):
        if isinstance(part, ast.Return) and part.value:
            yield part.value


# ---------------------------------------------------------------------------------------- refusals


def _definition(compute: AnyCompute, captured: Captured) -> ast.FunctionDef:
    """The function's tree, if it can be run by a compute context at all."""
    node = captured.node
    if isinstance(node, ast.Lambda):
        raise _refused(captured, node, "a lambda", "write the compute function with `def`")
    if isinstance(node, ast.AsyncFunctionDef):
        advice = (
            "use a plain `def`: dispatches are asynchronous already, and nothing waits for them "
            "before their results are read"
        )
        raise _refused(captured, node, "an `async def`", advice)
    for part in _own_parts(node):
        if isinstance(part, ast.Yield | ast.YieldFrom):
            advice = "pass a function and call it with each result, or return a list"
            raise _refused(captured, part, "a generator", advice)
    if not node.args.posonlyargs and not node.args.args:
        raise ArgumentTypeError(
            f"the compute function `{compute.name}` takes no compute context",
            advice=f"write `def {compute.name}(cc: ComputeContext, …):`",
            location=_head(captured, node),
        )
    first = [*node.args.posonlyargs, *node.args.args][0]
    if first.arg in {"self", "cls"}:
        raise ArgumentTypeError(
            f"the compute function `{compute.name}` is a method, and its first parameter has to be "
            "the compute context",
            advice="write `@staticmethod` above `@tb.compute`, and pass what it needs",
            location=captured.location(first),
        )
    return node


def _refused(captured: Captured, node: ast.AST, what: str, advice: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"a compute function cannot be {what}", advice=advice, location=captured.location(node)
    )
