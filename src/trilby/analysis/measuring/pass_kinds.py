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
    pass: what does not depend on it is the same in all. In `(pass_id + 1) % 2` the sum is this
    number shifted by 1, and the period is 2.
    """
    shifts: dict[int, int] = {}  # the expressions that are this number and some other
    depending: set[int] = set()  # all that depend on it
    period, starts = 1, {0}
    for expr in expressions:
        shifted = next((arg for arg in expr.args if arg.number in shifts), None)
        if shifted is None and not _is_pass(expr):
            if any(arg.number in depending for arg in expr.args):
                depending.add(expr.number)
            continue
        depending.add(expr.number)
        shift = 0
        if shifted is not None:
            shift, is_left = shifts[shifted.number], expr.args[0] is shifted
            rest = [arg.number for arg in expr.args if arg is not shifted]
            other = numbers.values.get(rest[0]) if len(rest) == 1 else None
            is_known = isinstance(other, int) and rest[0] not in depending
            match expr.op:
                case "cast":
                    pass
                case _ if not is_known or not isinstance(other, int):
                    return None  # it depends on the work item, or on another use of the pass
                case "add":
                    shift += other
                case "sub" if is_left:
                    shift -= other
                case "mod" if is_left and other:
                    period = lcm(period, abs(other))
                    continue
                case "lt" | "le" | "eq" | "ne":
                    starts |= {other - shift, other - shift + 1}
                    continue
                case _:
                    return None
        shifts[expr.number] = shift
        if shift < expr.type.lowest or shift + last > expr.type.highest:
            return None  # it may wrap
    if any(expr.number in shifts for expr in used):
        return None
    cuts = tuple(sorted(start for start in starts if start >= 0))
    return PassKinds(cuts, period) if period * len(cuts) <= MOST_KINDS else None


def _is_pass(expr: Expr) -> bool:
    return expr.op == "grid" and expr.what == "pass_id"
