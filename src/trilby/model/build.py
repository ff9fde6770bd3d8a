"""Making blocks op by op. Nothing here knows what the ops mean."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from trilby.data.dtypes import Type
from trilby.model.op import Block, Op
from trilby.model.value import Value
from trilby.source import NOWHERE, Location

OpT = TypeVar("OpT", bound=Op)


class Builder:
    """Collects ops in order; `block()` freezes them.

    ```
    b = Builder()
    two = b.value(Constant, 2, type=I32)
    twice = b.value(Mul, two, param, type=I32, hint="twice")
    b.run(Return, (twice,))
    body = b.block()
    ```
    """

    __slots__ = ("_ops", "location")

    def __init__(self, location: Location = NOWHERE) -> None:
        self._ops: list[Op] = []
        self.location = location
        """The place of ops that are made without one; may be set at any time."""

    def emit(self, op: OpT) -> OpT:
        """Append an op that is already made."""
        self._ops.append(op)
        return op

    def __len__(self) -> int:
        return len(self._ops)

    def insert(self, position: int, op: OpT) -> OpT:
        """Put an op before the one that stands at `position`."""
        self._ops.insert(position, op)
        return op

    def value(
        self,
        kind: Callable[..., Op],
        *fields: object,
        type: Type,  # noqa: A002 -- the word that `Value` uses
        hint: str = "",
        location: Location | None = None,
    ) -> Value:
        """Append an op of class `kind` with these fields and give its fresh result."""
        result = Value(type, hint)
        self.emit(kind(*fields, result=result, location=location or self.location))
        return result

    def run(
        self, kind: Callable[..., Op], *fields: object, location: Location | None = None
    ) -> None:
        """Append an op that has no result."""
        self.emit(kind(*fields, location=location or self.location))

    def nested(self) -> "Builder":
        """A builder for a block inside an op that is still to come."""
        return Builder(self.location)

    def block(self, params: Sequence[Value] = ()) -> Block:
        """The ops so far, frozen."""
        return Block(tuple(self._ops), tuple(params))
