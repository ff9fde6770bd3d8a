"""Where a work item stands in the range that was launched."""

from dataclasses import dataclass
from typing import ClassVar

from trilby.model.op import Op
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Grid(Op):
    """A field of the kernel context: `x`, `max_x`, `local_x`, `group_x`, …"""

    mnemonic: ClassVar[str] = "grid"
    context: Value
    field: str


GRID_OPS = (Grid,)
