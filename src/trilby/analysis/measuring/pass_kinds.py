"""Which passes of a launch touch the same: one of each kind stands for all of them.

A kernel that flips two buffers looks at `pass_id % 2`, one that begins otherwise than it goes on
at `pass_id == 0`. Where the number of the pass is used in no other way, the passes fall into a few
kinds: between two numbers that it is compared with, those with the same remainder.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import lcm

from trilby.analysis.measuring.evaluate import Evaluation
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.dataclass import dataclass

MOST_KINDS = 32
"""With more kinds than this the passes are not told apart."""

_COMPARISONS = frozenset({"lt", "le", "eq", "ne"})


@dataclass(frozen=True, slots=True)
class PassKinds:
    """The kinds of passes: `starts` cut them, and within a cut those `period` apart are one.

    A kernel that begins otherwise at `pass_id == 0`, and flips two buffers by `pass_id % 2`, has
    `PassKinds((0, 1), 2)`.
    """

    starts: tuple[int, ...]
    period: int

    def first_of(self, number: int) -> int:
        """The first pass of the same kind."""
        start = max(cut for cut in self.starts if cut <= number)
        return start + (number - start) % self.period

    def met(self, passes: range) -> list[int]:
        """One pass of each kind, in the order in which some passes meet them."""
        cuts = [passes.start, *(cut for cut in self.starts if cut in passes[1:]), passes.stop]
        found: dict[int, None] = {}
        for start, stop in pairwise(cuts):
            numbers = range(start, min(stop, start + self.period))
            found |= dict.fromkeys(map(self.first_of, numbers))
        return list(found)


def looks_at_passes(expressions: Iterable[Expr]) -> bool:
    """Whether anything depends on the number of the pass."""
    return any(map(_is_pass, expressions))


def pass_kinds(
    expressions: Sequence[Expr], used: Iterable[Expr], numbers: Evaluation, last: int
) -> PassKinds | None:
    """The kinds of the passes of a launch up to the last; None where they cannot be told.

    `used` are the expressions that are indices or bounds of loops. `numbers` are those of any
    pass: what does not depend on it is the same in all.
    """
    uses = _PassNumberUses(numbers, last)
    if not all(map(uses.follow, expressions)) or any(e.number in uses.shifts for e in used):
        return None
    starts = tuple(sorted(start for start in uses.starts if start >= 0))
    return PassKinds(starts, uses.period) if uses.period * len(starts) <= MOST_KINDS else None


class _PassNumberUses:
    """The uses of the number of the pass.

    `shifts` are the expressions that are this number and some other; `depending` are all that
    depend on it. Of `(pass_id + 1) % 2` the sum is in `shifts` with 1, and `period` is 2.
    """

    def __init__(self, numbers: Evaluation, last: int) -> None:
        self._numbers = numbers
        self._last = last
        self.shifts: dict[int, int] = {}
        self.depending: set[int] = set()
        self.period = 1
        self.starts = {0}

    def follow(self, expr: Expr) -> bool:
        """Look at an expression behind all that it is made of; false where it cannot be told."""
        if _is_pass(expr):
            return self._is_shifted(expr, 0)
        shifted = [arg for arg in expr.args if arg.number in self.shifts]
        if not shifted:
            if any(arg.number in self.depending for arg in expr.args):
                self.depending.add(expr.number)
            return True
        self.depending.add(expr.number)
        shift = self.shifts[shifted[0].number]
        if expr.op == "cast":
            return self._is_shifted(expr, shift)
        other = self._other(expr, shifted)
        if other is None:
            return False
        return self._combined(expr, shift, other, is_left=expr.args[0] is shifted[0])

    def _combined(self, expr: Expr, shift: int, other: int, *, is_left: bool) -> bool:
        if expr.op == "add":
            return self._is_shifted(expr, shift + other)
        if expr.op == "sub" and is_left:
            return self._is_shifted(expr, shift - other)
        if expr.op == "mod" and is_left and other:
            self.period = lcm(self.period, abs(other))
            return True
        self.starts |= {other - shift, other - shift + 1}
        return expr.op in _COMPARISONS

    def _is_shifted(self, expr: Expr, shift: int) -> bool:
        """Note such an expression; false where it would wrap."""
        self.depending.add(expr.number)
        self.shifts[expr.number] = shift
        return expr.type.lowest <= shift and shift + self._last <= expr.type.highest

    def _other(self, expr: Expr, shifted: Sequence[Expr]) -> int | None:
        """The other operand, where that is one known number in all passes and work items."""
        if len(shifted) != 1 or len(expr.args) != _OPERANDS:
            return None
        other = expr.args[1] if expr.args[0] is shifted[0] else expr.args[0]
        value = self._numbers.values.get(other.number)
        return value if isinstance(value, int) and other.number not in self.depending else None


_OPERANDS = 2


def _is_pass(expr: Expr) -> bool:
    return expr.op == "grid" and expr.what == "pass_id"
