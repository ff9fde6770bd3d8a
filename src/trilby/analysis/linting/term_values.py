"""The number of a term, where the numbers of its leaves are known."""

from collections.abc import Callable, Mapping

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import ScalarType

# ------------------------------------------------------------------------------------- walk numbers
# What the operations of terms come to on plain numbers.


def _least(left: int, right: int) -> int:
    return min(left, right)


def _most(left: int, right: int) -> int:
    return max(left, right)


_MEANING: Mapping[str, Callable[..., int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "floordiv": int.__floordiv__,
    "mod": int.__mod__,
    "min": _least,
    "max": _most,
    "abs": int.__abs__,
    "cast": int,
    "lt": int.__lt__,
    "le": int.__le__,
    "eq": int.__eq__,
    "ne": int.__ne__,
}


def folded(op: str, numbers: list[int], type_: ScalarType) -> int | None:
    """An operation on numbers; None where it has no meaning."""
    meaning = _MEANING.get(op)
    divides_by_zero = op in {"floordiv", "mod"} and numbers[-1] == 0
    return None if meaning is None or divides_by_zero else int(type_(meaning(*numbers)))


# ----------------------------------------------------------------------------------------- evaluate


def evaluated(term: Expr, leaves: Mapping[int, int]) -> int | None:
    """What a term comes to, by the numbers of its leaves; None where one is missing."""
    return _TermEvaluation(dict(leaves)).of(term)


class _TermEvaluation:
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
