"""From a compute function to its IR.

`if`, `while`, `for` and `with` keep their structure, assignments become stores. Whatever the IR
need not understand is kept as host code and runs unchanged, so any Python is welcome here.
Compiling IR back to Python is not this package's part.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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
from trilby.reflect.functions import Compute, Helper, Kernel, Reflectable
from trilby.reflect.host_expressions import HostExpressions, Pages, punched
from trilby.reflect.host_launch import (
    AnyCompute,
    AnyHelper,
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
    bindings,
    locals_of,
    opposite,
    reads_its_frame,
    typing_of,
)

# ---------------------------------------------------------------------------------- host statements

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ENDS = (ast.Return, ast.Break, ast.Continue)


class Statements(HostExpressions):
    """Appends the ops of statements to a block."""

    __slots__ = ()

    def block(self, body: Sequence[ast.stmt]) -> Block:
        """The statements of a block inside of an op."""
        inner = replace(self, out=self.out.nested())
        inner.statements(body)
        return inner.out.block()

    def statements(self, body: Sequence[ast.stmt], *, declare: bool = False) -> None:
        """Statements, which `declare` the variables that appear first in them."""
        for number, statement in enumerate(body):
            # what follows a `return` never runs, but says which names are local
            end = len(body) if isinstance(statement, _ENDS) else number + 1
            if declare:
                self._declare(*body[number:end])
            if end > number + 1:
                self.text(body[number:])
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        where = self.location(node)
        match node:
            case ast.Pass():
                pass
            case ast.Expr(value=value):
                self.effect(value)
            case ast.AugAssign():
                self._augmented(node)
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign([target], value, node)
            case ast.Return(value=value):
                self.out.run(Return, (self.value(value),) if value else (), location=where)
            case ast.Break():
                self.out.run(Break, location=where)
            case ast.Continue():
                self.out.run(Continue, location=where)
            case ast.If(test=test, body=body, orelse=orelse):
                condition = self.value(test, only_read=True)
                self.out.run(
                    HostIf, condition, self.block(body), self.block(orelse), location=where
                )
            case ast.While(test=test, body=body, orelse=orelse):
                blocks = (self._test(test), self.block(body), self.block(orelse))
                self.out.run(HostWhile, *blocks, location=where)
            case ast.For(target=target, body=body, orelse=orelse) if not self._writes(target):
                iterable = self.value(node.iter)
                blocks = (self.block(body), self.block(orelse))
                self.out.run(HostFor, iterable, *blocks, *self._target(target), location=where)
            case ast.With(items=items) if not any(
                item.optional_vars and self._writes(item.optional_vars) for item in items
            ):
                self._with(node)
            case _:
                self.text([node])

    def text(self, nodes: Sequence[ast.stmt]) -> None:
        """Statements that are kept as they are."""
        own = self.typing.locals.own
        line, _ = self.pages.start(nodes[0])
        last = self.location(nodes[-1])
        where = replace(
            self.location(nodes[0]),
            line=line,
            end_line=last.end_line,
            end_column=last.end_column,
        )
        code = self.pages.statements(nodes)
        self.out.run(HostRun, code, own(code.names.reads), own(code.names.sets), location=where)

    def _declare(self, *nodes: ast.stmt) -> None:
        """Declare the variables that appear here first, but for those that an op here creates."""
        created = _created(nodes[0]) if len(nodes) == 1 else set[str]()
        found = names_in(*nodes)
        for name in found.touched:
            is_new = name in self.typing.locals.plain and name not in self.variables
            if is_new and (name in found.reads or name not in created):
                self.declare(name, (), nodes[0])

    def declare(self, name: str, init: tuple[Value, ...], node: ast.AST) -> None:
        """A variable, with or without its first value."""
        holds = VarType(self.typing.variables.get(name) or OBJECT)
        where = self.location(node)
        made = self.out.value(Var, init, name, type=holds, hint=name, location=where)
        if name in self.typing.locals.plain:
            self.variables[name] = made

    # --------------------------------------------------------------------------- structure

    def _test(self, node: ast.expr) -> Block:
        inner = replace(self, out=self.out.nested())
        tested = inner.value(node, only_read=True)
        inner.out.run(Yield, tested, location=self.location(node))
        return inner.out.block()

    def _with(self, node: ast.With) -> None:
        """`with a, b:` is `with a:` around `with b:`."""
        item, *others = node.items
        manager = self.value(item.context_expr)
        inner = [ast.copy_location(ast.With(others, node.body), node)] if others else node.body
        body = self.block(inner)
        target = self._target(item.optional_vars) if item.optional_vars else (HostCode(""), ())
        self.out.run(HostWith, manager, body, *target, location=self.location(node))

    def _target(self, node: ast.expr) -> tuple[HostCode, tuple[str, ...]]:
        code = self.pages.code(node)
        return code, self.typing.locals.own(code.names.sets)

    def _writes(self, target: ast.expr) -> bool:
        """Whether binding a target writes to a buffer."""
        return any(
            isinstance(part, ast.Attribute | ast.Subscript) and self.is_modelled(part)
            for part in ast.walk(target)
        )

    # --------------------------------------------------------------------------- assignments
    # They are stores to variables and to buffers; the rest is text.

    def _assign(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        pairs = self._pairs(targets, value)
        stored = [target for target, _ in pairs] or targets
        if not self.holes(value) and not any(map(self._concerns_model, stored)):
            self.text([node])
            return
        if pairs:
            values = [self.value(bound) for _, bound in pairs]
        else:
            is_copied = all(self._writable(target) for target in targets)
            values = [self.value(value, only_read=is_copied)] * len(targets)
        for target, bound in zip(stored, values, strict=True):
            self._store(target, bound, node)

    def _pairs(self, targets: list[ast.expr], value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """What is assigned to what in `a, b = b, a`; nothing if this is no such assignment."""
        pairs = opposite(targets[0], value) if len(targets) == 1 else []
        nested = any(isinstance(target, ast.Tuple | ast.List) for target, _ in pairs)
        return [] if nested else pairs

    def _concerns_model(self, target: ast.expr) -> bool:
        """Whether assigning to a target is something that the model understands."""
        if isinstance(target, ast.Name):
            return target.id in self.typing.locals.plain
        return self._writable(target) is not None or bool(self._target_holes(target))

    def _target_holes(self, target: ast.expr) -> list[ast.expr]:
        """Unpacking comes before the targets in a tuple are evaluated, so these stay whole."""
        unpacks = isinstance(target, ast.Tuple | ast.List | ast.Starred)
        return [] if unpacks else self.within(target)

    def _writable(self, target: ast.expr) -> HostPlace | None:
        """The number, or the slice of numbers, in a buffer that a target names."""
        if not isinstance(target, ast.Attribute | ast.Subscript):
            return None
        place = self.typing.place(target)
        if place is None or not isinstance(place.type, ScalarType):
            return None
        base = self.typing.of(place.root)
        if isinstance(base, BufferType) and place.path in base.length_names:
            return None
        return place if place.whole or isinstance(target, ast.Subscript) else None

    def _store(self, target: ast.expr, bound: Value, node: ast.stmt) -> None:
        where = self.location(node)
        place = self._writable(target)
        if isinstance(target, ast.Name) and target.id in self.typing.locals.plain:
            self._store_variable(target.id, bound, node)
        elif place:
            base, indices = self.parts(place)
            self.out.run(Store, base, indices, bound, place.path, location=where)
        else:
            holes = self._target_holes(target)
            inputs = (bound, *(self.value(hole, only_read=True) for hole in holes))
            text = self.pages.template(target, holes, first=1) + " = {0}"
            stored = ast.copy_location(new_operand(0), node)
            tree = ast.copy_location(ast.Assign([punched(target, holes, first=1)], stored), node)
            code, own = HostCode(text, len(inputs), [tree]), self.typing.locals.own
            uses, sets = own(code.names.reads), own(code.names.sets)
            self.out.run(HostRun, code, uses, sets, inputs, location=where)

    def _store_variable(self, name: str, bound: Value, node: ast.stmt) -> None:
        if name in self.variables:
            self.out.run(VarStore, self.variables[name], bound, location=self.location(node))
        else:
            self.declare(name, (bound,), node)

    def _augmented(self, node: ast.AugAssign) -> None:
        """`x += 1`."""
        where = self.location(node)
        place = self._writable(node.target)
        if isinstance(node.target, ast.Name) and self._concerns_model(node.target):
            old = self.value(node.target)
            self._store_variable(node.target.id, self._changed(old, node), node)
        elif place:
            base, indices = self.parts(place)
            kind, held = (Load, place.type) if place.whole else (HostView, OBJECT)
            old = self.out.value(kind, base, indices, place.path, type=held, location=where)
            new = self._changed(old, node)
            self.out.run(Store, base, indices, new, place.path, location=where)
        else:
            self.text([node])

    def _changed(self, old: Value, node: ast.AugAssign) -> Value:
        """The value that `+=` makes of the old one; objects that can change do so in place."""
        operand = self.value(node.value, only_read=True)
        code = in_place(SIGNS[type(node.op)])
        where = self.location(node)
        return self.out.value(HostValue, (old, operand), code, (), type=OBJECT, location=where)


def _created(node: ast.stmt) -> set[str]:
    """The names that a statement gives their first value, if it is the first to name them."""
    match node:
        case ast.Assign(targets=[_]) | ast.AnnAssign():
            return {name for name, value, _ in bindings([node]) if value}
        case ast.Assign(targets=targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
        case _:
            return set()


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
    targets: tuple[tuple[ast.expr, AnyKernel | AnyCompute | AnyHelper], ...]
    """Where decorated functions are named, and which they were."""
    says_what_moves: bool
    """True where it puts and gets itself, so that nobody should plan copies for it."""

    @property
    def helpers(self) -> Iterable[AnyHelper]:
        """The device functions that it names, as it calls them; each once."""
        return dict.fromkeys(target for _, target in self.targets if isinstance(target, Helper))

    def is_current(self) -> bool:
        """False once a name stands for another decorated function than it did."""
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
    captured = capture(compute.function)
    written = _definition(compute, captured)
    outside = Typing(captured, locals_of(written), {})
    node, changed = direct_form(captured, written, outside.resolve)
    local = locals_of(node) if changed else outside.locals
    typing = typing_of(compute, captured, node, local)
    check_dispatches(typing, node)
    pages = Pages(captured.lines, changed)
    out = Builder(captured.head)
    statements = Statements(captured, pages, typing, symbols, out)
    found = tuple(targets(typing, node))
    return ReflectedCompute(
        _func(compute, statements, node),
        {symbols(target): target for _, target in found if isinstance(target, Kernel)},
        {symbols(target): target for _, target in found if isinstance(target, Compute)},
        captured,
        typing,
        found,
        compute.explicit or says_what_moves(typing, node),
    )


def _func(compute: AnyCompute, statements: Statements, node: ast.FunctionDef) -> Func:
    typing, where = statements.typing, statements.captured.head
    params = [Value(typing.variables.get(name) or OBJECT, name) for name in typing.locals.params]
    for param in params:
        statements.declare(param.hint, (param,), node)
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if reads_its_frame(node):
        # variables of ours, or text cut into values, would show
        for statement in body:
            statements.text([statement])
    else:
        statements.statements(body, declare=True)
    returns = [one for one in _own_parts(node) if isinstance(one, ast.Return) and one.value]
    result, symbol = OBJECT if returns else NONE, statements.symbol_of(compute)
    return Func(symbol, tuple(params), result, statements.out.block(), "compute", where)


def _own_parts(node: ast.AST) -> list[ast.AST]:
    """What belongs to a function itself and not to a function inside of it."""
    found = [node]
    for part in found:
        if part is node or not isinstance(part, _FUNCTIONS):
            found += ast.iter_child_nodes(part)
    return found


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
            location=captured.head,
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
