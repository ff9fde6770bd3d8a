"""Typedefs from schemas, as in HAT's documents, and the way to what has no fixed offset.

The fixed part of a buffer is a struct. A length-bound array, and whatever follows one, has
no member there: it is reached through a small function, `S32Array_array(s)`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trilby.codegen.dialect import Dialect
from trilby.codegen.names import Names
from trilby.data.dtypes import ScalarType, Type
from trilby.data.layout import field_align, header_size, layout, size_of, stride_of
from trilby.data.schema import ArrayType, BufferType, Field, PadType, StructType
from trilby.model.value import RefType


class Structs:
    """The structs of one generated text, each with its name there."""

    def __init__(self, dialect: Dialect, names: Names) -> None:
        self._dialect = dialect
        self._names = names
        self._known: dict[StructType, str] = {}

    def name(self, struct: StructType) -> str:
        """The typedef's name without its ending: `S32Array`."""
        return self._known[struct]

    def add(self, type_: Type) -> None:
        """Make a struct, and those within it, part of the text."""
        match type_:
            case RefType(to=inner) | ArrayType(element=inner):
                self.add(inner)
            case StructType():
                for field in type_.fields:
                    self.add(field.type)
                if type_ not in self._known:
                    self._known[type_] = self._names.fresh(type_.name)
            case _:
                pass

    def text(self) -> Iterator[str]:
        """The typedefs, inner before outer, each followed by its accessors."""
        for struct in self._known:
            yield self._typedef(struct)
            if isinstance(struct, BufferType):
                yield from self._accessors(struct)

    def stored(self, type_: Type) -> str:
        """The spelling of a type in memory."""
        match type_:
            case ScalarType():
                return self._dialect.stored.get(type_, self._dialect.scalars[type_])
            case StructType():
                return f"{self._known[type_]}_t"
            case ArrayType():
                return self.stored(type_.element)
            case _:
                raise TypeError(type_)

    def pointer(self, type_: Type) -> str:
        """A pointer to such a place in device memory, ready to stand before a name."""
        return f"{self._dialect.global_space} {self.stored(type_)} *".lstrip()

    # -- typedefs ---------------------------------------------------------------------

    def _typedef(self, struct: StructType) -> str:
        name = self._known[struct]
        word = "union" if struct.is_union else "struct"
        members = list(self._members(struct))
        align = f" __attribute__((aligned({struct.align})))" if struct.align else ""
        body = "\n".join(f"    {member};" for member in members)
        return f"typedef {word} {name}_s {{\n{body}\n}}{align} {name}_t;"

    def _members(self, struct: StructType) -> Iterator[str]:
        fixed = struct.fields
        if isinstance(struct, BufferType):
            fixed = struct.fields[: first_bound(struct)]
        for field in fixed:
            yield self._member(field)
        if isinstance(struct, BufferType) and len(fixed) < len(struct.fields):
            used = layout(replace(struct, fields=fixed, align=None)).size
            tail = header_size(struct) - used
            if tail:
                yield f"char tail_padding[{tail}]"

    def _member(self, field: Field) -> str:
        name = member_name(field)
        align = f" __attribute__((aligned({field.align})))" if field.align else ""
        match field.type:
            case PadType(size):
                return f"char {name}[{size}]{align}"
            case ArrayType() as array if array.stride is not None:
                total = size_of(array)
                return f"char {name}[{total}]{align}"
            case ArrayType() as array:
                dims = "".join(f"[{dim}]" for dim in array.dims)
                return f"{self.stored(array.element)} {name}{dims}{align}"
            case _:
                return f"{self.stored(field.type)} {name}{align}"

    # -- accessors --------------------------------------------------------------------

    def _accessors(self, struct: BufferType) -> Iterator[str]:
        """One function for each field from the first length-bound array on."""
        start = first_bound(struct)
        name = self._known[struct]
        end = ""
        for number, field in enumerate(struct.fields[start:]):
            if isinstance(field.type, PadType):
                end = f"({end}) + {field.type.size}"
                continue
            pointer = self.pointer(field.type)
            head = f"{self._dialect.helper} {pointer}{name}_{field.name}"
            param = f"{self.pointer(struct)}s"
            place = "s + 1" if number == 0 else self._at(end, field_align(field))
            yield f"{head}({param}) {{\n    return ({pointer})({place});\n}}"
            begin = f"({self._dialect.global_space} char *){name}_{field.name}(s)"
            end = f"{begin} + {self._byte_count(field.type)}"

    def _at(self, end: str, align: int) -> str:
        """The next aligned address after `end`, counted from the buffer's start."""
        start = f"({self._dialect.global_space} char *)s"
        return f"{start} + ((({end}) - {start} + {align - 1}) / {align} * {align})"

    def _byte_count(self, type_: Type) -> str:
        if isinstance(type_, ArrayType):
            dims = " * ".join(f"(long)s->{d}" if isinstance(d, str) else str(d) for d in type_.dims)
            return f"{dims} * {stride_of(type_)}"
        return str(size_of(type_))


def first_bound(struct: BufferType) -> int:
    """The number of fields before the first length-bound array."""
    for number, field in enumerate(struct.fields):
        if isinstance(field.type, ArrayType) and field.type.is_bound:
            return number
    return len(struct.fields)


def is_fixed(struct: StructType, name: str) -> bool:
    """True where a field is a member of the struct, false where a function reaches it."""
    if not isinstance(struct, BufferType):
        return True
    return name in names_of(struct.fields[: first_bound(struct)])


def names_of(fields: Sequence[Field]) -> frozenset[str]:
    """The names of some fields."""
    return frozenset(field.name for field in fields)


def member_name(field: Field) -> str:
    """The name of a member; padding gets one that says so."""
    return f"padding{field.name}" if isinstance(field.type, PadType) else field.name
