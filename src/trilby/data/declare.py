"""From the class that a user writes to its schema.

Reads annotations and markers, checks that they have a layout, and says in the user's own
terms what is wrong where they do not. Knows no memory.
"""

import inspect
import linecache
import re
from collections import ChainMap
from collections.abc import Mapping
from types import FrameType
from typing import (
    ClassVar,
    ForwardRef,
    TypeGuard,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

import numpy as np

from trilby.arguments import brief, whole_number
from trilby.data.dtypes import BOOL, F32, I32, I64, U32, U64, ScalarType, Type, scalar_of
from trilby.data.layout import align_of, numpy_dtype
from trilby.data.markers import Atomic, FieldMarker
from trilby.data.record import Element, Record
from trilby.data.schema import ArrayType, BufferType, Field, PadType, StructType
from trilby.data.segment import PAGE
from trilby.data.views import Array
from trilby.dataclass import dataclass
from trilby.errors import SchemaError
from trilby.source import Location

# --------------------------------------------------------------------------------------- class body
# The body of a class as its author wrote it: annotations, names in scope, source lines.
#
# This module knows how Python scopes names in class bodies. It knows nothing of what the
# annotations mean.


@dataclass(frozen=True, slots=True)
class ClassBody:
    """What stands in a class body. `file` and `line` are where its class statement begins."""

    cls: type
    annotations: Mapping[str, object]
    scope: Mapping[str, object]
    module: dict[str, object]
    file: str
    line: int

    def annotation(self, name: str) -> object:
        """The annotation of a field; one that is text is evaluated where it stands."""
        found = self.annotations[name]
        return self.evaluate(name, found) if isinstance(found, str) else found

    def evaluate(self, name: str, text: str) -> object:
        """What the text of an annotation means in this body."""
        try:
            # the author's own annotation, evaluated as typing.get_type_hints does it
            found = cast("object", eval(text, self.module, self.scope))  # noqa: S307
            is_quoted = text[:1] in {"'", '"'}  # where annotations are text anyway, twice
            return self.evaluate(name, found) if is_quoted and isinstance(found, str) else found
        except Exception as error:
            raise self.error(
                name,
                f"the annotation `{text}` of `{name}` cannot be evaluated: {error}",
                advice="declare or import the type before the class, or in its body; what is "
                "imported only under TYPE_CHECKING is not there when the class is made",
            ) from error

    def default(self, name: str) -> object:
        """What stands at the right of a field, or None."""
        return vars(self.cls).get(name)

    def error(self, name: str, problem: str, *, advice: str) -> SchemaError:
        """An error about one field, or, where `name` is empty, about the class."""
        return SchemaError(problem, advice=advice, location=self.location(name))

    def location(self, name: str) -> Location | None:
        """Where a field is declared; the class statement, if the field cannot be found."""
        if not self.line:
            return None
        lines = linecache.getlines(self.file, self.module)
        found = _line_of(name, lines, self.line) if name else None
        line = found or self.line
        text = lines[line - 1].rstrip() if line <= len(lines) else ""
        column = len(text) - len(text.lstrip())
        return Location(self.file, line, column, line, len(text))


def read_body(cls: type, frame: FrameType | None) -> ClassBody:
    """Read the body of a class that has just been made; `frame` is around its statement."""
    frames = _enclosing(cls, frame)
    scope = ChainMap(dict(vars(cls)), *(dict(around.f_locals) for around in frames))
    return ClassBody(
        cls,
        inspect.get_annotations(cls),
        scope,
        frame.f_globals if frame else {},
        frames[0].f_code.co_filename if frames else "",
        frames[0].f_lineno if frames else 0,
    )


def _enclosing(cls: type, frame: FrameType | None) -> list[FrameType]:
    """The frames of the class bodies and functions around a class, innermost first."""
    scopes = _enclosing_names(cls.__qualname__)
    found: list[FrameType] = []
    while frame is not None and len(found) < len(scopes):
        if frame.f_code.co_qualname == scopes[len(found)]:
            found.append(frame)
        frame = frame.f_back
    return found


def _enclosing_names(qualname: str) -> list[str]:
    """`f.<locals>.Outer.Inner` stands in `f.<locals>.Outer`, in `f`, in the module."""
    names: list[str] = []
    while "." in qualname:
        qualname = qualname.rpartition(".")[0].removesuffix(".<locals>")
        names.append(qualname)
    return [*names, "<module>"]


def _line_of(name: str, lines: list[str], class_line: int) -> int | None:
    """The number of the line in a class body that declares a name."""
    declares = re.compile(rf"\s+{re.escape(name)}\s*[:=]")
    head = lines[class_line - 1] if class_line <= len(lines) else ""
    depth = len(head) - len(head.lstrip())
    for number, text in enumerate(lines[class_line:], class_line + 1):
        if declares.match(text):
            return number
        if text.strip() and len(text) - len(text.lstrip()) <= depth and text.strip()[0] != "#":
            return None
    return None


# ------------------------------------------------------------------------------------------ declare

C = TypeVar("C")

ATOMICS = (I32, U32, I64, U64, F32)

ARRAY_ADVICE = 'write `{name}: tb.Array[f32] = tb.array("length")`; it may have more dimensions'
TEXT_ADVICE = "write `{name}: tb.Array[u8] = tb.array(16)`; text has no size of its own"
GENERAL_ADVICE = (
    "use a scalar (i8 … u64, f16, bf16, f32, f64, bool), a tb.Struct or tb.Union class, or tb.Array"
)
ADVICE: Mapping[object, str] = {
    int: "write `{name}: i32`, which has a width, or another one of i8 … u64",
    float: "write `{name}: f32`, which has a width, or f16 or f64",
    **dict.fromkeys((list, tuple, set, np.ndarray, Array), ARRAY_ADVICE),
    **dict.fromkeys((str, bytes, bytearray), TEXT_ADVICE),
}


def declare(
    cls: type, frame: FrameType | None, root: type, *, align: int | None = None
) -> tuple[StructType, Mapping[str, Element]]:
    """Read the body of a class that extends `root`: `Struct`, `Union` or `Buffer`.

    The result is its schema, and for every field what it, or an element of it, is to accessors.
    Fields of another declared class that it extends come first.
    """
    kind = root.__name__.lower()
    body = read_body(cls, frame)
    _check_unannotated(body)
    align = _check_align(body, "", align)
    inherited = cast("StructType | None", getattr(cls, "__schema__", None))
    fields = list(inherited.fields) if inherited else []
    elements: dict[str, Element] = dict(getattr(cls, "__elements__", {}))
    for name in body.annotations:
        if _is_class_variable(body, name):
            continue
        _check_name(body, name, root, fields)
        field, element = _field(body, name)
        _check_lengths(body, field, fields, kind)
        fields.append(field)
        if element is not None:
            elements[name] = element
    if all(isinstance(field.type, PadType) for field in fields):
        problem = f"`{cls.__name__}` has no fields"
        raise body.error("", problem, advice="declare at least one: `x: f32`")
    make = BufferType if kind == "buffer" else StructType
    qualname = cls.__qualname__.rpartition("<locals>.")[2]
    wider = max(align or 0, (inherited.align if inherited else None) or 0) or None
    return make(qualname, tuple(fields), kind == "union", wider), elements


def element_of(annotation: object) -> Element | None:
    """The scalar type or the record class that a resolved annotation names, or None."""
    if annotation is bool:
        return BOOL
    if isinstance(annotation, ScalarType):
        return annotation
    if is_subclass(annotation, Record) and hasattr(annotation, "__schema__"):
        return annotation
    return None


def is_subclass(annotation: object, base: type[C]) -> TypeGuard[type[C]]:
    """True for a class that extends `base`; other things than classes do not."""
    return isinstance(annotation, type) and issubclass(annotation, base)


def _field(body: ClassBody, name: str) -> tuple[Field, Element | None]:
    """One field. Padding is no element for anyone."""
    default = body.default(name)
    if _is_marker(default, "pad"):
        size = _positive(body, name, default.nbytes, "the size of padding")
        return Field(name, PadType(size)), None
    annotation = body.annotation(name)
    if annotation is Array or get_origin(annotation) is Array:
        return _array_field(body, name, annotation, default)
    if default is not None and not _is_marker(default, "field"):
        raise body.error(
            name,
            f"`{name}` is given `{brief(default)}`, and a field has no default value",
            advice=f"tb.array goes with an annotation like `{name}: tb.Array[f32]`"
            if _is_marker(default, "array")
            else "leave it out; memory starts as zeros",
        )
    align = _check_align(body, name, default.align if default else None)
    if annotation is Atomic or get_origin(annotation) is Atomic:
        scalar = _atomic(body, name, annotation)
        return Field(name, scalar, atomic=True, align=align), scalar
    element = _element(body, name, annotation)
    return Field(name, _type_of(element), align=align), element


def _is_marker(default: object, function: str) -> TypeGuard[FieldMarker]:
    return isinstance(default, FieldMarker) and default.function == function


def _array_field(
    body: ClassBody, name: str, annotation: object, marker: object
) -> tuple[Field, Element]:
    if not get_args(annotation):
        raise body.error(
            name,
            f"`{name}` does not say what it is an array of",
            advice=f'write `{name}: tb.Array[f32] = tb.array("length")`',
        )
    if not _is_marker(marker, "array") or not marker.dims:
        raise body.error(
            name,
            f"the array `{name}` has no dimensions",
            advice=f'write `= tb.array("length")` or `= tb.array(16)` behind `{name}`',
        )
    element = _element(body, name, get_args(annotation)[0])
    dims = tuple(
        dim if isinstance(dim, str) else _positive(body, name, dim, "a dimension")
        for dim in marker.dims
    )
    stride = _stride(body, name, marker.stride, _type_of(element))
    align = _check_align(body, name, marker.align)
    return Field(name, ArrayType(_type_of(element), dims, stride), align=align), element


def _element(body: ClassBody, name: str, annotation: object) -> Element:
    if isinstance(annotation, ForwardRef):
        annotation = body.evaluate(name, annotation.__forward_arg__)
    element = element_of(annotation)
    if element is None:
        raise body.error(
            name,
            f"`{name}` is annotated `{_shown(annotation)}`, which has no size in memory",
            advice=_advice(name, annotation),
        )
    return element


def _atomic(body: ClassBody, name: str, annotation: object) -> ScalarType:
    advice = f"use one of {', '.join(map(str, ATOMICS))}: `{name}: tb.Atomic[i32]`"
    if not get_args(annotation):
        raise body.error(name, f"`{name}` does not say what is atomic", advice=advice)
    found = _element(body, name, get_args(annotation)[0])
    if not isinstance(found, ScalarType) or found not in ATOMICS:
        problem = f"`{name}` is atomic, and devices have no atomic operations on `{_shown(found)}`"
        raise body.error(name, problem, advice=advice)
    return found


def _positive(body: ClassBody, name: str, value: object, what: str) -> int:
    number = whole_number(value)
    if number is None or not 1 <= number <= I32.highest:
        raise body.error(
            name,
            f"{what} cannot be {brief(value)} (`{name}`)",
            advice=f"give a whole number from 1 to {I32.highest}",
        )
    return number


def _stride(body: ClassBody, name: str, stride: object, element: Type) -> int | None:
    if stride is None:
        return None
    size, align = numpy_dtype(element).itemsize, align_of(element)
    number = _positive(body, name, stride, "a stride")
    if number < size or number % align:
        raise body.error(
            name,
            f"elements of {size} bytes, aligned to {align}, cannot stand every {number} bytes",
            advice=f"give a multiple of {align} that is at least {size}",
        )
    return number


def _check_align(body: ClassBody, name: str, align: object) -> int | None:
    if align is None:
        return None
    number = whole_number(align)
    if number is None or not 1 <= number <= PAGE or number & (number - 1):
        raise body.error(
            name,
            f"an alignment cannot be {brief(align)}",
            advice=f"give a power of two up to {PAGE}",
        )
    return number


def _check_name(body: ClassBody, name: str, root: type, fields: list[Field]) -> None:
    is_padding = _is_marker(body.default(name), "pad")
    problem = advice = ""
    if name.startswith("_") != is_padding:
        if is_padding:
            problem = f"padding holds nothing, and `{name}` is a name to use"
            advice = "call it `_`, `_1`, `_2`, …"
        else:
            problem = f"the field `{name}` begins with an underscore, which is for padding"
            advice = f"call it `{name.lstrip('_') or 'x'}`, or write `{name}: Any = tb.pad(4)`"
    elif not is_padding and hasattr(root, name):
        problem = f"a field cannot be called `{name}`, which every {root.__name__} has already"
        advice = f"call it otherwise, for example `{name}_`"
    elif any(field.name == name for field in fields):
        problem = f"`{name}` is declared already in the class that `{body.cls.__name__}` extends"
        advice = "give it another name"
    if problem:
        raise body.error(name, problem, advice=advice)


def _check_lengths(body: ClassBody, field: Field, before: list[Field], kind: str) -> None:
    """Lengths must be known from what stands before the array that they are for."""
    if not isinstance(field.type, ArrayType) or not field.type.is_bound:
        return
    if kind != "buffer":
        raise body.error(
            field.name,
            f"`{field.name}` is bound to a length, and a {kind} has one size",
            advice="give it a fixed size, `tb.array(16)`, or move the array to the tb.Buffer",
        )
    for dim in field.type.dims:
        if isinstance(dim, str):
            _check_length(body, field.name, dim, before)


def _check_length(body: ClassBody, name: str, dim: str, before: list[Field]) -> None:
    found = next((field for field in before if field.name == dim), None)
    arrays = [f for f in before if isinstance(f.type, ArrayType) and f.type.is_bound]
    if found is not None and arrays and before.index(found) > before.index(arrays[0]):
        array = arrays[0].name
        raise body.error(
            name,
            f"`{name}` is bound to `{dim}`, which lies behind the array `{array}`",
            advice=f"declare all lengths before `{array}`: a device must find them first",
        )
    if found is None:
        later = dim in body.annotations
        raise body.error(
            name,
            f"`{name}` is bound to `{dim}`, which is "
            + ("declared after it" if later else f"no field of `{body.cls.__name__}`"),
            advice=f"declare `{dim}: i32` before `{name}`",
        )
    if not isinstance(found.type, ScalarType) or not found.type.is_integer or found.atomic:
        what = f"atomic {found.type}" if found.atomic else str(found.type)
        raise body.error(
            name,
            f"`{name}` is bound to `{dim}`, which is no length but {what}",
            advice=f"declare `{dim}: i32`",
        )


def _check_unannotated(body: ClassBody) -> None:
    for name, value in vars(body.cls).items():
        if isinstance(value, FieldMarker | ScalarType) and name not in body.annotations:
            raise body.error(
                name,
                f"`{name}` has no annotation",
                advice=f"write `{name}: {value}`"
                if isinstance(value, ScalarType)
                else f"write its type behind the name: `{name}: tb.Array[f32] = ...`, or "
                "`_: Any = tb.pad(4)`",
            )


def _is_class_variable(body: ClassBody, name: str) -> bool:
    annotation = body.annotations[name]
    if isinstance(annotation, str):
        return re.match(r"(\w+\.)*ClassVar\b", annotation) is not None
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _type_of(element: Element) -> Type:
    return element if isinstance(element, ScalarType) else element.__schema__


def _shown(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _advice(name: str, annotation: object) -> str:
    """What to write instead of an annotation that says nothing about size."""
    origin: object = get_origin(annotation) or annotation
    if origin is Atomic:
        return "write the plain type; elements of any array can be changed atomically"
    if is_subclass(origin, np.generic):
        scalar = scalar_of(np.dtype(origin))
        return f"write `{name}: {scalar}`" if scalar else GENERAL_ADVICE
    if hasattr(origin, "__schema__"):
        return "a buffer owns its memory and cannot stand in another; make it a tb.Struct"
    found = ADVICE.get(origin) if isinstance(origin, type) else None
    return found.format(name=name) if found else GENERAL_ADVICE
