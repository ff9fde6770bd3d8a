"""How a variable changes from turn to turn of a loop, read off one turn that was tried.

`before` is the variable at the beginning of a turn, `after` the term that the turn leaves.
"""

from trilby.analysis.linting.terms import Terms, leaves_of
from trilby.analysis.touching.expressions import Expr

MOST_PICKED = 4


def amount_of_growth(terms: Terms, before: Expr, after: Expr) -> Expr | None:
    """`d` where a turn adds `d` to the variable, and `d` does not depend on it."""
    match after.op, after.args:
        case "add", (left, right) if left is before:
            found = right
        case "add", (left, right) if right is before:
            found = left
        case "sub", (left, right) if left is before:
            found = terms.make("sub", (terms.constant(0, right.type), right), None, right.type)
            if right.op == "constant" and isinstance(right.what, int):
                found = terms.constant(-right.what, right.type)
        case "add", (left, right):
            inner = amount_of_growth(terms, before, left)
            found = terms.plus(inner, right) if inner is not None else None
        case _:
            return None
    return found


def bounds_of_growth(before: Expr, after: Expr) -> tuple[int, int] | None:
    """The least and the most that a turn adds; None where that is not known."""
    if after is before:
        return 0, 0
    match after.op, after.args:
        case "select", (_, then, otherwise):
            arms = bounds_of_growth(before, then), bounds_of_growth(before, otherwise)
            if arms[0] is None or arms[1] is None:
                return None
            return min(arms[0][0], arms[1][0]), max(arms[0][1], arms[1][1])
        case (("add" | "sub"), (left, right)) if right.op == "constant":
            inner = bounds_of_growth(before, left)
            number = right.what if isinstance(right.what, int) else 0
            by = number if after.op == "add" else -number
            return None if inner is None else (inner[0] + by, inner[1] + by)
        case "add", (left, right) if left.op == "constant":
            inner = bounds_of_growth(before, right)
            by = left.what if isinstance(left.what, int) else 0
            return None if inner is None else (inner[0] + by, inner[1] + by)
        case _:
            return None


def picked_leaves(before: Expr, after: Expr) -> list[Expr] | None:
    """What a turn may set the variable to, where it keeps it otherwise: `if …: best = k`."""
    if after is before:
        return []
    if after.op != "select":
        return [after]
    found: list[Expr] = []
    for arm in after.args[1:]:
        inner = picked_leaves(before, arm)
        if inner is None:
            return None
        found += inner
    return found if len(found) <= MOST_PICKED else None


def shrinks(before: Expr, after: Expr) -> bool:
    """True for `v // c` with a number c of 1 or more: between 0 and what it was."""
    match after.op, after.args:
        case "floordiv", (left, right) if left is before and right.op == "constant":
            return isinstance(right.what, int) and right.what >= 1
        case _:
            return False


def below(after: Expr) -> int | None:
    """`c` for `… % c`: a turn leaves a number from 0 to below it."""
    match after.op, after.args:
        case "mod", (_, right) if right.op == "constant" and isinstance(right.what, int):
            return right.what if right.what > 0 else None
        case _:
            return None


def multiplies(before: Expr, after: Expr) -> bool:
    """True for `v * c` with a number c of 1 or more: never less than it was, if positive."""
    match after.op, after.args:
        case "mul", (left, right):
            other = right if left is before else left if right is before else None
            what = other.what if other is not None and other.op == "constant" else None
            return isinstance(what, int) and what >= 1
        case _:
            return False


def depends_on(term: Expr, leaves: frozenset[int]) -> bool:
    """Whether a term is made of one of some leaves."""
    return any(leaf.number in leaves for leaf in leaves_of((term,)))
