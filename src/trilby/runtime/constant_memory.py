"""What a launch must keep to where buffers lie in constant memory: their size, and who writes."""

from collections.abc import Iterable

from trilby.analysis.access import Access, AccessTable, ParameterAccess
from trilby.backend.base import DeviceInfo
from trilby.data.schema import in_global, spoken
from trilby.data.segment import Segment
from trilby.errors import ArgumentValueError
from trilby.model.value import space_of


def check_constant_memory(
    buffers: Iterable[Segment], table: AccessTable, device: DeviceInfo
) -> None:
    """Refuse a buffer that is too large for constant memory, or written by the same launch."""
    launched = list(zip(buffers, table.parameters, strict=True))
    for segment, parameter in launched:
        if space_of(parameter.type) == "constant":
            _check_size(segment, parameter, device)
            writers = (p for other, p in launched if other is segment and Access.WRITES in p.whole)
            for writer in writers:
                raise _written(parameter, writer)


def _check_size(segment: Segment, parameter: ParameterAccess, device: DeviceInfo) -> None:
    if not device.constant_bytes or segment.nbytes <= device.constant_bytes:
        return
    plain = spoken(in_global(parameter.type))
    raise ArgumentValueError(
        f"`{parameter.name}` has {segment.nbytes:,} bytes, and a buffer in the constant memory of "
        f"{device.name} has at most {device.constant_bytes:,}",
        advice=f"declare it `{parameter.name}: {plain}`: it then lies in global memory",
    )


def _written(constant: ParameterAccess, writer: ParameterAccess) -> ArgumentValueError:
    return ArgumentValueError(
        f"`{constant.name}` and `{writer.name}` are one buffer, and the kernel writes to it while "
        "it lies in constant memory",
        advice=f"pass a copy for `{constant.name}`, or declare it without `tb.Constant`",
    )
