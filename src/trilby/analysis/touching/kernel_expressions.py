"""What the integers and bools of a kernel are, as expressions in what a launch knows.

An expression is built of ids, sizes, scalar arguments, lengths, extents and loop variables.
What comes out of data, or is too deep to follow, is `opaque`: a number that nobody knows, but
the same one wherever that expression stands. Equal expressions are one object, and an
expression is numbered after all that it is made of, so that they can be evaluated in order.

Operations mean those of the kernel: they wrap at the width of their type.
"""

from collections.abc import Mapping
from typing import TypeAlias

from trilby.analysis.access import AccessMode
from trilby.data.dtypes import BOOL, I64, ScalarType
from trilby.dataclass import dataclass
from trilby.source import Location

DEEPEST = 64
"""Conditions that are nested deeper than this are opaque: nobody could use them."""


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A number or truth value: `op` with its operands, or a leaf that `what` tells apart.

    | op                                            | args             | what           |
    |-----------------------------------------------|------------------|----------------|
    | `constant`                                    |                  | the number     |
    | `grid`                                        |                  | a field of kc  |
    | `group_start`                                 |                  | an axis        |
    | `scalar`                                      |                  | a parameter    |
    | `length`                                      |                  | parameter,name |
    | `extent`                                      |                  | parameter,axis |
    | `opaque`                                      |                  | its own number |
    | `index` `turn` `turns`                        | start, stop, step| the loop       |
    | `add` `sub` `mul` `floordiv` `mod` `min` `max`| two              |                |
    | `cast` `abs`                                  | one              |                |
    | `select`                                      | condition, a, b  |                |
    | `lt` `le` `eq` `ne`                           | two integers     |                |
    | `and` `or`                                    | two bools        |                |
    | `not`                                         | one bool         |                |

    `group_start` is `group_x * local_max_x`. A loop has its variable (`index`), how many turns
    are behind (`turn`), and how many there are in all (`turns`). `newest` is the number of the
    youngest opaque or loop expression within.
    """

    op: str
    args: "tuple[Expr, ...]"
    what: object
    type: ScalarType
    number: int
    newest: int
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class RangeLoop:
    """A loop over `range(start, stop, step)`: of `for i in range(n)` the `name` is `i`.

    `counts` is true where a `while` counts by itself: its variable wraps, a range's does not.
    """

    number: int
    name: str
    start: Expr
    stop: Expr
    step: Expr
    counts: bool = False


Key: TypeAlias = tuple[str, tuple[int, ...], object, ScalarType]


class Expressions:
    """Makes expressions, each of them once: `constant(1)` is the same object each time."""

    def __init__(self) -> None:
        self._made: dict[Key, Expr] = {}
        self._count = 0
        self.true = self.constant(1, BOOL)
        self.false = self.constant(0, BOOL)

    @property
    def count(self) -> int:
        """How many there are; those made later have no lower number."""
        return self._count

    def make(
        self, op: str, args: tuple[Expr, ...] = (), what: object = None, type_: ScalarType = I64
    ) -> Expr:
        """The expression of that meaning."""
        key = (op, tuple(arg.number for arg in args), what, type_)
        found = self._made.get(key)
        if found is None:
            found = self._new(op, args, what, type_)
            self._made[key] = found
        return found

    def _new(self, op: str, args: tuple[Expr, ...], what: object, type_: ScalarType) -> Expr:
        number = self._count
        self._count += 1
        newest = max((arg.newest for arg in args), default=-1)
        if isinstance(what, RangeLoop):
            newest = max(newest, what.number)
        depth = 1 + max((arg.depth for arg in args), default=0)
        return Expr(op, args, what, type_, number, newest, depth)

    def constant(self, number: int, type_: ScalarType = I64) -> Expr:
        """A number."""
        return self.make("constant", (), int(number), type_)

    def opaque(self, type_: ScalarType) -> Expr:
        """A number of that type of which nothing is known."""
        number = self._count
        self._count += 1
        return Expr("opaque", (), number, type_, number, number, 1)

    def loop(
        self, name: str, bounds: tuple[Expr, Expr, Expr], *, counts: bool = False
    ) -> tuple[RangeLoop, Expr]:
        """A new loop, and its variable."""
        number = self._count
        self._count += 1
        made = RangeLoop(number, name, *bounds, counts)
        return made, self.make("index", bounds, made, bounds[0].type)

    def of_loop(self, op: str, loop: RangeLoop) -> Expr:
        """`turn` or `turns` of a loop."""
        return self.make(op, (loop.start, loop.stop, loop.step), loop, I64)

    def both(self, left: Expr, right: Expr) -> Expr:
        """`left and right`."""
        if left is self.true or right is self.false or left is right:
            return right
        if right is self.true or left is self.false:
            return left
        return self._shallow("and", left, right)

    def either(self, left: Expr, right: Expr) -> Expr:
        """`left or right`."""
        if left is self.false or right is self.true or left is right:
            return right
        if right is self.false or left is self.true:
            return left
        return self._shallow("or", left, right)

    def _shallow(self, op: str, left: Expr, right: Expr) -> Expr:
        if max(left.depth, right.depth) >= DEEPEST:
            return self.opaque(BOOL)
        return self.make(op, (left, right), None, BOOL)

    def negated(self, condition: Expr) -> Expr:
        """`not condition`."""
        if condition is self.true:
            return self.false
        if condition is self.false:
            return self.true
        if condition.op == "not":
            return condition.args[0]
        return self.make("not", (condition,), None, BOOL)

    def select(self, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        """`then if condition else otherwise`."""
        if condition is self.true or then is otherwise:
            return then
        if condition is self.false:
            return otherwise
        if then.type is BOOL:
            chosen = self.both(condition, then)
            return self.either(chosen, self.both(self.negated(condition), otherwise))
        return self.make("select", (condition, then, otherwise), None, then.type)


# ------------------------------------------------------------------------------------------ touches
# Every access of a kernel to its buffers: where, under which conditions, in which loops.
#
# This is the symbolic form of a footprint. It is found once for a kernel, by following its models
# and those of its helpers in the order in which they run.


@dataclass(frozen=True, slots=True, eq=False)
class ConditionScope:
    """The condition or loop around some accesses, within a parent scope; the outermost has none.

    Where `guard` is true, or once in every iteration of `loop`: under `if kc.x < n` the guard is
    `kc.x < n`.
    """

    number: int = 0
    parent: "ConditionScope | None" = None
    guard: Expr | None = None
    loop: RangeLoop | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A place in a parameter of the kernel that a value stands for where `condition` holds.

    In `c = a if n else b`, `c` is `Target(1, "", (), n)` or `Target(2, "", (), not n)`.
    """

    parameter: int
    path: str
    indices: tuple[Expr, ...]
    condition: Expr


Leaves: TypeAlias = Mapping[str, Expr | None]
Known: TypeAlias = Expr | tuple[Target, ...] | Leaves | None
"""What is known of a value: a number, places, the leaves of a struct, or nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelTouch:
    """One access: to which parameter (by its number), at which path and indices, and when.

    `a.array[kc.x]` of the first buffer is `KernelTouch(1, "array[]", (<kc.x>,), READS, …)`.
    """

    parameter: int
    path: str
    indices: tuple[Expr, ...]
    does: AccessMode
    scope: ConditionScope
    location: Location

    @property
    def place(self) -> tuple[object, ...]:
        """The same for every access to the same place in the same scope."""
        return (self.parameter, self.path, *(index.number for index in self.indices))
