"""The number of a term, where the numbers of its leaves are known."""

from collections.abc import Mapping

from trilby.analysis.linting.walk_numbers import folded
from trilby.analysis.touching.expressions import Expr


def evaluated(term: Expr, leaves: Mapping[int, int]) -> int | None:
    """What a term comes to, by the numbers of its leaves; None where one is missing."""
    return _Evaluation(dict(leaves)).of(term)


class _Evaluation:
    def __init__(self, known: dict[int, int]) -> None:
        self.known: dict[int, int | None] = {**known}

    def of(self, term: Expr) -> int | None:
        if term.number not in self.known:
            self.known[term.number] = self._made(term)
        return self.known[term.number]

    def _made(self, term: Expr) -> int | None:
        if term.op == "constant":
            return term.what if isinstance(term.what, int) else None
        if not term.args:
            return None
        if term.op == "select":
            condition = self.of(term.args[0])
            return None if condition is None else self.of(term.args[1 if condition else 2])
        if term.op in {"and", "or"}:
            return self._logical(term)
        args = [self.of(arg) for arg in term.args]
        known = [arg for arg in args if arg is not None]
        if len(known) != len(args):
            return None
        return int(not known[0]) if term.op == "not" else folded(term.op, known, term.type)

    def _logical(self, term: Expr) -> int | None:
        """`and` is known where one side is false, `or` where one is true."""
        decisive = term.op == "or"
        sides = [self.of(arg) for arg in term.args]
        if any(side is not None and bool(side) is decisive for side in sides):
            return int(decisive)
        return None if None in sides else int(not decisive)
