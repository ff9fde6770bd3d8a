"""Conditions of a launch, as comparisons of numbers with zero."""

from typing import TypeAlias

from trilby.analysis.measuring.affine import Form, Number, ends, scaled, shifted
from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class AtMostZero:
    """`form <= 0`."""

    form: Form


@dataclass(frozen=True, slots=True, eq=False)
class Zero:
    """`form == 0`."""

    form: Form


@dataclass(frozen=True, slots=True, eq=False)
class NotZero:
    """`form != 0`."""

    form: Form


@dataclass(frozen=True, slots=True, eq=False)
class Both:
    """Two conditions at once."""

    left: "Condition"
    right: "Condition"


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """One of two conditions, or both."""

    left: "Condition"
    right: "Condition"


Condition: TypeAlias = bool | AtMostZero | Zero | NotZero | Both | Either | None
"""True, false, not known (None), or one that depends on where a work item stands."""


def at_most_zero(number: Number) -> Condition:
    """`number <= 0`."""
    if isinstance(number, int):
        return number <= 0
    if number.high <= 0:
        return True
    return False if number.low > 0 else AtMostZero(number)


def is_zero(number: Number) -> Condition:
    """`number == 0`."""
    if isinstance(number, int):
        return number == 0
    low, high = ends(number)
    return Zero(number) if low <= 0 <= high else False


def both(left: Condition, right: Condition) -> Condition:
    """`left and right`."""
    if left is False or right is False:
        return False
    if left is True:
        return right
    return left if right is True else Both(left, right)


def either(left: Condition, right: Condition) -> Condition:
    """`left or right`."""
    if left is True or right is True:
        return True
    if left is False:
        return right
    return left if right is False else Either(left, right)


def negated(condition: Condition) -> Condition:
    """`not condition`."""
    match condition:
        case None:
            return None
        case bool():
            return not condition
        case AtMostZero(form):
            return at_most_zero(shifted(scaled(form, -1), 1))
        case Zero(form):
            return NotZero(form)
        case NotZero(form):
            return Zero(form)
        case Both(left, right):
            return either(negated(left), negated(right))
        case Either(left, right):
            return both(negated(left), negated(right))
