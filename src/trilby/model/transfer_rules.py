"""What the ops that transforms put into compute models demand; a part of `rules`."""

from collections.abc import Iterator

from trilby.data.schema import BufferType, NDArrayType, type_at
from trilby.model.op import Func
from trilby.model.ops.transfer import Owed, ToDevice, ToHost, Tracking
from trilby.model.value import COMPUTE_CONTEXT, OBJECT, RefType, Value

TransferOp = Tracking | ToDevice | ToHost | Owed


def transfer_problems(op: TransferOp, func: Func) -> Iterator[str]:
    """How an op that moves or tracks data breaks its rules."""
    if func.kind != "compute":
        yield "it belongs to compute functions"
    if op.context.type not in {COMPUTE_CONTEXT, OBJECT}:
        yield f"`{op.context.type}` is not the compute context"
    if not has_data(op.buffer):
        yield f"`{op.buffer.type}` is not a buffer, nor a part of one"
    elif isinstance(op, ToHost):
        yield from _part(op)


def has_data(value: Value) -> bool:
    """Whether a value is, by its type, a buffer or a part of one, or may be."""
    return value.type == OBJECT or isinstance(value.type, BufferType | NDArrayType | RefType)


def _part(op: ToHost) -> Iterator[str]:
    base = op.buffer.type.to if isinstance(op.buffer.type, RefType) else op.buffer.type
    if op.path and (base == OBJECT or type_at(base, op.path) is None):
        yield f'`{base}` has no place "{op.path}"'
    if op.indices and "[]" not in op.path:
        yield f'"{op.path}" takes no indices, and {len(op.indices)} are given'
