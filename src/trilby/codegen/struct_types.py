"""Typedefs from schemas, as in HAT's documents, and the way to what has no fixed offset.

The fixed part of a buffer is a struct. A length-bound array, and whatever follows one, has
no member there: it is reached through a small function, `S32Array_array(s)`.
"""

from collections.abc import Iterator
from dataclasses import replace

from trilby.codegen.dialect import Dialect
from trilby.codegen.identifiers import Identifiers, own_name, plain
from trilby.data.dtypes import ScalarType, Type
from trilby.data.layout import field_align, first_bound, header_size, layout, size_of, stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    Field,
    Leaf,
    PadType,
    StructType,
    in_global,
    sizes_of,
    walk_path,
)
from trilby.model.value import RefType, Space, space_of

TAIL = "(tail)"
"""Stands among the names of fields for the padding behind them."""


_CONSTANT = "_constant"


class Structs:
    """The structs of one generated text, each with its name there."""

    def __init__(self, dialect: Dialect, names: Identifiers) -> None:
        self._dialect = dialect
        self._names = names
        self._stems: dict[StructType, str] = {}
        self._members: dict[StructType, dict[str, str]] = {}
        self._accessed: dict[BufferType, None] = {}

    def type_name(self, struct: StructType) -> str:
        """The typedef: `S32Array_t`."""
        return f"{self._stems[in_global(struct)]}_t"

    def member(self, struct: StructType, field: str) -> str:
        """The name of a member, which is the field's unless that is a keyword."""
        return self._members[in_global(struct)][field]

    def accessor(self, struct: StructType, field: str) -> str:
        """The function that finds a field that has no fixed place: `S32Array_array`.

        Each kind of memory has one of its own: `S32Array_array_constant`.
        """
        ending = _CONSTANT if space_of(struct) == "constant" else ""
        return f"{self._stems[in_global(struct)]}_{self.member(struct, field)}{ending}"

    def accessor_sizes(self, struct: StructType, field: str) -> dict[str, ScalarType]:
        """The lengths that this function takes: none for the array where the header ends."""
        if not isinstance(struct, BufferType) or struct.fields[first_bound(struct)].name == field:
            return {}
        return sizes_of(struct)

    def add(self, type_: Type) -> None:
        """Make a struct, and those within it, part of the text."""
        match type_:
            case RefType(to=inner) | ArrayType(element=inner):
                self.add(inner)
            case StructType():
                for field in type_.fields:
                    self.add(field.type)
                if in_global(type_) not in self._stems:
                    self._name(in_global(type_))
                if isinstance(type_, BufferType):
                    self._accessed[type_] = None
            case _:
                pass

    def text(self) -> Iterator[str]:
        """The typedefs, inner before outer, each followed by its accessors."""
        for struct in self._stems:
            yield self._typedef(struct)
            for accessed in self._accessed:
                if in_global(accessed) == struct:
                    yield from self._accessors(accessed)

    def stored(self, type_: Type) -> str:
        """The spelling of a type in memory."""
        match type_:
            case ScalarType():
                return self._dialect.stored.get(type_, self._dialect.scalars[type_])
            case StructType():
                return self.type_name(type_)
            case ArrayType():
                return self.stored(type_.element)
            case _:
                raise TypeError(type_)

    def pointer(self, type_: Type, space: Space = "global") -> str:
        """A pointer to such a place in device memory, ready to stand before a name."""
        return f"{self._dialect.spaces[space]} {self.stored(type_)} *".lstrip()

    def leaf(self, struct: StructType, leaf: Leaf) -> str:
        """The way from a struct to one of its numbers: `position.x`, `m[0][1]`."""
        indices = iter(leaf.indices)
        text = ""
        for step, here in walk_path(struct, leaf.path):
            if step == INDEX and isinstance(here, ArrayType):
                text += "".join(f"[{next(indices)}]" for _ in here.dims)
            elif isinstance(here, StructType):
                text += f".{self.member(here, step)}"
        return text

    # -- typedefs ---------------------------------------------------------------------

    def _typedef(self, struct: StructType) -> str:
        name = self._stems[struct]
        word = "union" if struct.is_union else "struct"
        align = f" __attribute__((aligned({struct.align})))" if struct.align else ""
        body = "\n".join(f"    {member};" for member in self._declarations(struct))
        return f"typedef {word} {name}_s {{\n{body}\n}}{align} {name}_t;"

    def _declarations(self, struct: StructType) -> Iterator[str]:
        fixed = struct.fields
        if isinstance(struct, BufferType):
            fixed = struct.fields[: first_bound(struct)]
        for field in fixed:
            yield self._declaration(struct, field)
        if isinstance(struct, BufferType) and len(fixed) < len(struct.fields):
            used = layout(replace(struct, fields=fixed, align=None)).size
            tail = header_size(struct) - used
            if tail:
                yield f"char {self.member(struct, TAIL)}[{tail}]"

    def _declaration(self, struct: StructType, field: Field) -> str:
        name = self.member(struct, field.name)
        # An array of bytes that stands for wider elements is aligned as they are.
        is_bytes = isinstance(field.type, ArrayType) and field.type.stride is not None
        wanted = field_align(field) if is_bytes else field.align
        align = f" __attribute__((aligned({wanted})))" if wanted else ""
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
        end = ""
        space = space_of(struct)
        owner = self.pointer(struct, space)
        bytes_ = f"{self._dialect.spaces[space]} char *".lstrip()
        for field in struct.fields[first_bound(struct) :]:
            if isinstance(field.type, PadType):
                end += f" + {field.type.size}"
                continue
            pointer = self.pointer(field.type, space)
            accessor = self.accessor(struct, field.name)
            taken = self.accessor_sizes(struct, field.name)
            sizes = {self._length(struct, name): kind for name, kind in taken.items()}
            given = (f"{self.stored(kind)} {name}" for name, kind in sizes.items())
            params = ", ".join([f"{owner}s", *given])
            head = f"{self._dialect.helper} {pointer}{accessor}({params})"
            # The first length-bound array begins where the header ends.
            place = f"({bytes_})s + {_aligned(field_align(field))}" if end else "s + 1"
            counted = f"    long end = {end};\n" if end else ""
            yield f"{head} {{\n{counted}    return ({pointer})({place});\n}}"
            passed = ", ".join(["s", *sizes])
            begin = f"({bytes_}){accessor}({passed}) - ({bytes_})s"
            end = f"{begin} + {self._byte_count(struct, field.type)}"

    def _byte_count(self, struct: BufferType, type_: Type) -> str:
        if not isinstance(type_, ArrayType):
            return str(size_of(type_))
        dims = (f"(long){self._length(struct, d)}" if isinstance(d, str) else d for d in type_.dims)
        factors = [*map(str, dims), str(stride_of(type_))]
        return " * ".join(factor for factor in factors if factor != "1")

    def _length(self, struct: BufferType, name: str) -> str:
        """The parameter of an accessor for a length: `s_length`."""
        return f"s_{self.member(struct, name)}"

    # -- names ------------------------------------------------------------------------

    def _name(self, struct: StructType) -> None:
        own = Identifiers(self._dialect.is_reserved)
        members: dict[str, str] = {}
        for field in struct.fields:
            is_padding = isinstance(field.type, PadType)
            wanted = f"padding{field.name.rstrip('_')}" if is_padding else field.name
            members[field.name] = own.fresh(wanted)
        members[TAIL] = own.fresh("tail_padding")
        found = struct.fields[first_bound(struct) :] if isinstance(struct, BufferType) else ()
        endings = [f"_{members[f.name]}{space}" for f in found for space in ("", _CONSTANT)]
        # The types of C libraries begin with small letters, `size_t` and `time_t`.
        wanted = plain(struct.name)
        wanted = wanted if wanted[0].isupper() else own_name(wanted)
        self._stems[struct] = self._names.stem(wanted, ("_s", "_t", *endings))
        self._members[struct] = members


def _aligned(align: int) -> str:
    """The first aligned place behind the field before, counted from the buffer's start."""
    return f"(end + {align - 1}) / {align} * {align}" if align > 1 else "end"


def is_fixed(struct: StructType, name: str) -> bool:
    """True where a field is a member of the struct, false where a function reaches it."""
    if not isinstance(struct, BufferType):
        return True
    return any(field.name == name for field in struct.fields[: first_bound(struct)])
