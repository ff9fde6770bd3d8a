"""What the operations of terms come to on plain numbers."""

from collections.abc import Callable, Mapping

from trilby.data.dtypes import ScalarType


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
