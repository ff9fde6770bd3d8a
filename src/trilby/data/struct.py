"""`Struct` and `Union`: the classes that users extend to name bytes."""

import inspect
from types import FrameType
from typing import Any, cast, dataclass_transform

from trilby.data.declare import Declaration, Kind, declare
from trilby.data.layout import layout, numpy_dtype
from trilby.data.markers import field
from trilby.data.members import ArrayMember, SingleMember
from trilby.data.record import Record
from trilby.data.schema import ArrayType


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Struct(Record):
    """Members one after the other, as in C. The order of annotations is the order in memory.

        class Particle(tb.Struct):
            x: f32
            y: f32
            alive: bool
            trace: tb.Array[f32] = tb.array(16)

    A struct lives in a buffer, where `table.particle[3]` is an accessor for it, or on its
    own: `Particle(x=1.0, y=2.0, alive=True)`. `table.particle[3] = p` copies; a tuple of
    all members or a dict will do instead of `p`. The class keyword `align=16` raises its
    alignment.
    """

    __slots__ = ()

    def __init_subclass__(cls, *, align: int | None = None) -> None:
        _prepare(cls, inspect.currentframe(), Struct, "struct", align)


class Union(Record):
    """Members one over the other, as in C. It is as large as its largest member.

    class Bits(tb.Union):
        number: f32
        pattern: u32
    """

    __slots__ = ()

    def __init_subclass__(cls, *, align: int | None = None) -> None:
        _prepare(cls, inspect.currentframe(), Union, "union", align)


def _prepare(
    cls: type[Record], frame: FrameType | None, root: type, kind: Kind, align: int | None
) -> None:
    declaration = declare(cls, frame.f_back if frame else None, root, kind, align=align)
    cls.__schema__ = declaration.schema
    cls.__layout__ = layout(declaration.schema)
    cls.__dtype__ = numpy_dtype(declaration.schema)
    cls.__elements__ = declaration.elements
    install_members(cls, declaration, ArrayMember)


def install_members(cls: type, declaration: Declaration, array_member: type[ArrayMember]) -> None:
    """Put a descriptor on the class for every field that holds something."""
    for name, element in declaration.elements.items():
        member = cast("Any", declaration.schema.field(name)).type
        kind = array_member if isinstance(member, ArrayType) else SingleMember
        setattr(cls, name, kind(name, element))
