"""What shows that something goes wrong: work items, an element, and a launch.

Nothing here knows how it was found.
"""

from collections.abc import Mapping
from dataclasses import field

from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass

Item = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Witness:
    """Work items that collide, or one that fails, and the launch in which it happens.

    `items` are global ids `(x, y, z)`, `element` says where they meet (`out.array[3]`), and
    `range` and `arguments` what to launch: numbers by parameter, lengths as `a.length`.
    `confirmed` is true where the interpreter ran it and saw the same.
    """

    items: tuple[Item, ...]
    element: str
    range: NDRange
    arguments: Mapping[str, int] = field(default_factory=dict[str, int])
    confirmed: bool = False

    def __str__(self) -> str:
        who = " and ".join(str(self.item_text(item)) for item in self.items)
        numbers = ", ".join(f"{name}={number}" for name, number in self.arguments.items())
        given = f" with {numbers}" if numbers else ""
        plural = "s" if len(self.items) > 1 else ""
        return f"work item{plural} {who} at {self.element}, in {range_text(self.range)}{given}"

    def item_text(self, item: Item) -> str:
        """An id with as many entries as the range has dimensions."""
        shown = item[: len(self.range.size)]
        return str(shown[0]) if len(shown) == 1 else str(shown)


def range_text(ndrange: NDRange) -> str:
    """A range as it is written in a program."""
    size = ndrange.size[0] if len(ndrange.size) == 1 else ndrange.size
    if ndrange.local is None:
        return f"range={size}"
    local = ndrange.local[0] if len(ndrange.local) == 1 else ndrange.local
    return f"range=NDRange({size}, local={local})"


@dataclass(frozen=True, slots=True)
class Example:
    """The numbers that a solver found: those of the launch, and those of each work item.

    `lengths` are by parameter and name or axis, `scalars` by parameter, and `indices` those at
    which the items meet.
    """

    range: NDRange
    items: tuple[Item, ...]
    indices: tuple[int, ...]
    lengths: Mapping[tuple[int, object], int]
    scalars: Mapping[object, int]


@dataclass(frozen=True, slots=True)
class Proved:
    """It never happens."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Neither proved nor found, and why."""

    reason: str


Outcome = Proved | Undecided | Example
