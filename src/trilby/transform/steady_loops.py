"""Loops of a compute function that do nothing but dispatch, the same again after some turns.

`for _ in range(n): cc.dispatch(…); a, b = b, a` is one: after two turns all names stand for what
they stood for before, and nothing that the loop does depends on anything else. Such turns may be
repeated without running their Python. What a loop must not have: a look at data, a call, a value
that is computed and kept, the number of the turn but as `g % 2`.
"""

import ast
from collections.abc import Mapping
from math import lcm
from typing import NamedTuple

from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType
from trilby.model.host_code import Operand
from trilby.model.op import Op
from trilby.model.ops.core import Constant, VarLoad, VarStore
from trilby.model.ops.host import Dispatch, DispatchPasses, HostFor, HostValue
from trilby.model.ops.memory import Extent, Load
from trilby.model.ops.transfer import ToDevice
from trilby.model.value import Value

FIRST_ROUNDS = 8
"""A loop may begin otherwise: a name is set in its first turns. So many rounds are run first."""

MOST_TURNS = 16
"""A loop that repeats itself later than that is none of these."""

_NUMBER_SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


class SteadyLoop(NamedTuple):
    """After so many turns of so many dispatches each, a loop does the same again."""

    turns: int
    dispatches: int


def steady_loop(loop: HostFor, names: Mapping[Value, str]) -> SteadyLoop | None:
    """When a loop repeats itself; None where that is not known. `names` are those of variables."""
    target = loop.target.target
    if loop.otherwise.ops or not isinstance(target, ast.Name):
        return None
    body = _Body(target.id, names)
    if not all(map(body.is_steady, loop.body.ops)):
        return None
    turns = body.turns()
    return SteadyLoop(turns, body.dispatches) if body.dispatches and turns else None


class _Body:
    """The turn of a loop, op by op.

    `_held` says of variables that were set which one had their value before the turn, and
    `_loaded` the same of values. `_shapes` are values that are shapes of arrays.
    """

    def __init__(self, target: str, names: Mapping[Value, str]) -> None:
        self.dispatches = 0
        self._target = target
        self._names = names
        self._modulus = 1
        self._loaded: dict[Value, Value] = {}
        self._held: dict[Value, Value] = {}
        self._shapes: set[Value] = set()

    def is_steady(self, op: Op) -> bool:
        """Whether an op does the same in a turn with the same names."""
        match op:
            case VarLoad(var):
                self._loaded[op.value] = self._held.get(var, var)
                return self._names.get(var, self._target) != self._target
            case VarStore(var, stored) if stored in self._loaded:
                self._held[var] = self._loaded[stored]
                return True
            case Constant() | Extent() | ToDevice():  # which has nothing to do in a later turn
                return True
            case Load(base, (), path):
                return isinstance(base.type, BufferType) and path in base.type.length_names
            case HostValue():
                return self._is_steady_value(op)
            case Dispatch() if not isinstance(op, DispatchPasses):
                self.dispatches += 1
                return True
            case _:
                return False

    def _is_steady_value(self, op: HostValue) -> bool:
        if op.code.sign:
            return False
        tree = op.code.expression
        if self._is_shape(tree, op.inputs):
            self._shapes.add(op.value)
        return self._is_object(tree, op.inputs)

    def turns(self) -> int:
        """After how many turns all is as before; 0 where that is not known soon enough."""
        turns = self._modulus
        for var in self._held:
            way = [var]
            while (origin := self._held.get(way[-1], way[-1])) not in way:
                way.append(origin)
            turns = lcm(turns, len(way) - way.index(origin))
        return turns if turns <= MOST_TURNS and len(self._held) < FIRST_ROUNDS else 0

    # ------------------------------------------------------------------------------- texts

    def _is_object(self, node: ast.expr, inputs: tuple[Value, ...]) -> bool:
        """Whether an expression gives the same object, and looks at no data."""
        match node:
            case Operand():
                return True
            case ast.Name(name):
                return name != self._target
            case ast.Tuple(parts) | ast.List(parts):
                return all(self._is_object(part, inputs) for part in parts)
            case ast.IfExp(test, then, otherwise):
                both = (then, otherwise)
                return self._is_number(test, inputs) and all(
                    self._is_object(o, inputs) for o in both
                )
            case _:
                return self._is_number(node, inputs) or self._is_shape(node, inputs)

    def _is_number(self, node: ast.expr, inputs: tuple[Value, ...]) -> bool:
        """Whether an expression is surely a number, and the same when its turn comes again."""
        match node:
            case ast.Constant(int() | float()):
                return True
            case Operand(number):
                return isinstance(inputs[number].type, ScalarType)
            case ast.BinOp(ast.Name(name), ast.Mod(), ast.Constant(int(modulus))) if (
                name == self._target
            ):
                self._modulus = lcm(self._modulus, abs(modulus) or 1)
                return modulus != 0
            case ast.BinOp(left, sign, right):
                numbers = self._is_number(left, inputs) and self._is_number(right, inputs)
                return isinstance(sign, _NUMBER_SIGNS) and numbers
            case ast.Compare(left, _, others):
                return all(self._is_number(one, inputs) for one in (left, *others))
            case ast.Subscript(value, ast.Constant(int())):
                return self._is_shape(value, inputs)
            case _:
                return False

    def _is_shape(self, node: ast.expr, inputs: tuple[Value, ...]) -> bool:
        """`a.shape` of an array, or a slice of it."""
        match node:
            case Operand(number):
                return inputs[number] in self._shapes
            case ast.Attribute(Operand(number), "shape"):
                return isinstance(inputs[number].type, NDArrayType)
            case ast.Subscript(value, ast.Slice()):
                return self._is_shape(value, inputs)
            case _:
                return False
