"""The ops, one file for each family, and the table of all of them."""

from trilby.model.op import Op
from trilby.model.ops import arith, control, core, debug, grid, host, memory, structs, transfer

OPS: dict[str, type[Op]] = {
    kind.mnemonic: kind
    for family in (core, arith, control, memory, structs, grid, debug, host, transfer)
    for kind in vars(family).values()
    if isinstance(kind, type) and issubclass(kind, Op) and kind.mnemonic
}
"""Every op class by its mnemonic."""
