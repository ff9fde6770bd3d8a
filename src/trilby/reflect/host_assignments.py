"""Assignments of compute functions as stores: to variables, to buffers, and the rest as text."""

import ast
from dataclasses import dataclass
from typing import TypeAlias

from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType
from trilby.model.build import Builder
from trilby.model.ops.core import Var, VarStore
from trilby.model.ops.host import HostRun, HostValue, HostView
from trilby.model.ops.memory import Load, Store
from trilby.model.value import OBJECT, Value, VarType
from trilby.reflect.host_expressions import Expressions, Host
from trilby.reflect.host_names import names_in
from trilby.reflect.host_text import escaped
from trilby.reflect.host_types import Place
from trilby.reflect.host_variables import opposite

Assignment: TypeAlias = ast.Assign | ast.AnnAssign | ast.AugAssign

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}


@dataclass(frozen=True, slots=True)
class Assignments:
    """Appends the ops of assignments to a block."""

    host: Host
    out: Builder

    @property
    def expressions(self) -> Expressions:
        """For the expressions in the assignments."""
        return Expressions(self.host, self.out)

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
        if not self._concerns_model(targets, value):
            return False
        pairs = opposite(targets[0], value) if len(targets) == 1 else []
        if pairs and self._is_simple(targets[0]):
            values = [self.expressions.value(bound) for _, bound in pairs]
            for (target, _), bound in zip(pairs, values, strict=True):
                self.store(target, bound, node)
        else:
            bound = self.expressions.value(value, only_read=self._only_stored(targets))
            for target in targets:
                self.store(target, bound, node)
        return True

    def _concerns_model(self, targets: list[ast.expr], value: ast.expr) -> bool:
        """Whether anything in an assignment is a variable or an access."""
        if self.host.order.holes(value):
            return True
        return any(
            self._is_variable(part) or (isinstance(part, ast.expr) and self._is_access(part))
            for target in targets
            for part in ([target] if isinstance(target, ast.Name) else ast.walk(target))
            if not isinstance(part, ast.Name) or target is part or self._is_paired(target, value)
        )

    def _is_paired(self, target: ast.expr, value: ast.expr) -> bool:
        return bool(opposite(target, value)) and self._is_simple(target)

    def _is_simple(self, target: ast.expr) -> bool:
        """Whether the targets in a tuple are names or places, with no tuples among them."""
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        return not any(isinstance(item, ast.Tuple | ast.List | ast.Starred) for item in items)

    def _is_variable(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self.host.typing.locals.plain

    def _is_access(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute | ast.Subscript) and self.host.is_modelled(node)

    def _only_stored(self, targets: list[ast.expr]) -> bool:
        """Whether all that happens to a value is that it is copied into buffers."""
        return all(self._writable(target) for target in targets)
