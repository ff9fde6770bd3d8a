"""Assignments of compute functions as stores: to variables, to buffers, and the rest as text."""

import ast
from typing import TypeAlias

from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType
from trilby.dataclass import dataclass
from trilby.model.build import Builder
from trilby.model.ops.core import Var, VarStore
from trilby.model.ops.host import HostRun, HostValue, HostView
from trilby.model.ops.memory import Load, Store
from trilby.model.value import OBJECT, Value, VarType
from trilby.reflect.host_expressions import Expressions, Host
from trilby.reflect.host_names import names_in
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

    def _writable(self, target: ast.expr) -> Place | None:
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
            code = self.host.pages.template(target, holes, first=1) + " = {0}"
            found, own = names_in(target, without=holes), self.host.typing.locals.own
            uses, sets = own(found.reads), own(found.sets)
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
        code = f"{{0}} {_SIGNS[type(node.op)]}= {{1}}"
        where = self.host.location(node)
        return self.out.value(HostValue, (old, operand), code, (), type=OBJECT, location=where)
