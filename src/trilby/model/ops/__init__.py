"""The ops, one file for each family, and the table of all of them."""

from trilby.model.op import Op
from trilby.model.ops.arith import ARITH_OPS
from trilby.model.ops.control import CONTROL_OPS
from trilby.model.ops.core import CORE_OPS, LOWERED_OPS
from trilby.model.ops.debug import DEBUG_OPS
from trilby.model.ops.grid import GRID_OPS
from trilby.model.ops.host import HOST_OPS
from trilby.model.ops.memory import MEMORY_OPS
from trilby.model.ops.structs import STRUCT_OPS
from trilby.model.ops.transfer import TRANSFER_OPS

OPS: dict[str, type[Op]] = {
    kind.mnemonic: kind
    for kind in (
        *CORE_OPS,
        *LOWERED_OPS,
        *ARITH_OPS,
        *CONTROL_OPS,
        *MEMORY_OPS,
        *STRUCT_OPS,
        *GRID_OPS,
        *DEBUG_OPS,
        *HOST_OPS,
        *TRANSFER_OPS,
    )
}
"""Every op class by its mnemonic."""
