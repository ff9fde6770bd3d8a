"""Every op and every scalar type is known to everything that must know all of them.

The LLVM generator and the interpreter are checked beside their own tests.
"""

from trilby.analysis.touching.following import RULES as FOLLOWED
from trilby.codegen.cstatements import OP_RULES as IN_C
from trilby.codegen.opencl_c import OPENCL
from trilby.codegen.python_blocks import EMITTED
from trilby.data.dtypes import SCALARS
from trilby.linting.walk import RULES as LINTED
from trilby.model.ops import OPS
from trilby.model.ops.core import LOWERED_OPS, Yield
from trilby.model.ops.host import HOST_OPS
from trilby.model.ops.transfer import TRANSFER_OPS

COMPUTE_OPS = {*HOST_OPS, *TRANSFER_OPS}
KERNEL_OPS = {kind for kind in OPS.values() if kind not in {*COMPUTE_OPS, *LOWERED_OPS}}

TOUCHES_NO_BUFFER = {"barrier", "local", "print", "private", "yield"}
"""Ops that footprints pass over. Blocks end with `yield`, which the op around them reads."""
IS_NO_ACCESS = {"print", "yield"}
"""Ops that lints pass over."""


def test_every_op_of_kernels_is_written_in_c() -> None:
    assert set(IN_C) == KERNEL_OPS - {Yield}  # the op around a block takes what it yields


def test_footprints_follow_every_op_that_may_touch_a_buffer() -> None:
    assert {kind.mnemonic for kind in KERNEL_OPS - FOLLOWED.keys()} == TOUCHES_NO_BUFFER


def test_lints_follow_every_op_that_may_be_an_access() -> None:
    assert {kind.mnemonic for kind in KERNEL_OPS - LINTED.keys()} == IS_NO_ACCESS


def test_every_op_of_compute_functions_is_written_in_python() -> None:
    assert COMPUTE_OPS - EMITTED.keys() == set()


def test_every_scalar_has_a_name_in_opencl_c() -> None:
    assert OPENCL.scalars.keys() == set(SCALARS.values())
