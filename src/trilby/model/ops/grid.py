"""Where a work item stands in the range that was launched, and waiting for others."""

from trilby.dataclass import dataclass
from trilby.model.op import Op
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Grid(Op, mnemonic="grid"):
    """A field of the kernel context: `x`, `max_x`, `local_x`, `group_x`, …"""

    context: Value
    field: str


@dataclass(frozen=True, slots=True, eq=False)
class Barrier(Op, mnemonic="barrier", result=False):
    """Wait for all work items of the group; what they wrote before is seen behind it.

    `scope` says which memory that holds for: `local`, `global` or `both`.
    """

    context: Value
    scope: str


BARRIER_SCOPES = ("local", "global", "both")
