"""Where copies are placed in a compute function: the plan that a transform carries out.

Pure data. A plan belongs to one function, and its keys are ops of that function.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.analysis.alias import PlainExpression, Reference
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op

Side: TypeAlias = Literal["device", "host"]
"""Where data is copied to."""


@dataclass(frozen=True, slots=True)
class NewerFlag:
    """A local variable that says at run time whether a buffer is newer on the other side."""

    name: str
    at_first: bool


@dataclass(frozen=True, slots=True)
class SetFlag:
    """Note that a side has newer content, or that it has been copied."""

    flag: NewerFlag
    value: bool


@dataclass(frozen=True, slots=True)
class PlannedCopy:
    """Bring a buffer, or the part of it at `path`, to a side.

    It is `certain` where the use that needs it surely follows.
    """

    to: Side
    what: Reference
    path: str = ""
    indices: tuple[Reference, ...] = ()
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Owe:
    """What the device has newer is fetched when the caller looks."""

    what: Reference


@dataclass(frozen=True, slots=True)
class When:
    """Actions under a condition."""

    condition: "NewerFlag | PlainExpression"
    then: "tuple[Action, ...]"
    otherwise: "tuple[Action, ...]" = ()


Action: TypeAlias = PlannedCopy | Owe | SetFlag | When


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """What to put before and after the ops of a function, and at its end.

    `writers` are the ops in which the host may write: a copy must not move across them.
    """

    func: Func
    before: Mapping[Op, tuple[Action, ...]] = field(default_factory=dict[Op, tuple[Action, ...]])
    after: Mapping[Op, tuple[Action, ...]] = field(default_factory=dict[Op, tuple[Action, ...]])
    at_end: tuple[Action, ...] = ()
    flags: tuple[NewerFlag, ...] = ()
    writers: frozenset[Op] = frozenset()
