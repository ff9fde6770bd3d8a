"""Statements of compute functions as ops.

`if`, `while`, `for` and `with` keep their structure; assignments become stores; everything
else is kept as text, whole.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from trilby.dataclass import dataclass
from trilby.model.build import Builder
from trilby.model.op import Block
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var, Yield
from trilby.model.ops.host import HostFor, HostIf, HostRun, HostWhile, HostWith
from trilby.model.value import OBJECT, Value, VarType
from trilby.reflect.host_assignments import Assignments
from trilby.reflect.host_expressions import Expressions, Host
from trilby.reflect.host_names import names_in
from trilby.reflect.host_variables import opposite

_ENDS = (ast.Return, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True)
class Statements:
    """Appends the ops of statements to a block."""

    host: Host
    out: Builder

    @property
    def expressions(self) -> Expressions:
        """For the expressions in the statements."""
        return Expressions(self.host, self.out)

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
        found = names_in(*nodes)
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
        self.out.run(HostRun, code, own(found.reads), own(found.sets), location=where)

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
        tested = Expressions(self.host, inner).value(node, only_read=True)
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
        target = self._target(item.optional_vars) if item.optional_vars else ("", ())
        self.out.run(HostWith, manager, body, *target, location=self.host.location(node))

    def _target(self, node: ast.expr) -> tuple[str, tuple[str, ...]]:
        sets = self.host.typing.locals.own(names_in(node).sets)
        return self.host.pages.expression(node), sets

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
