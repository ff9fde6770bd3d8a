"""Reading the text of models back. The grammar is that of `text`; `//` begins a comment.

Values may have any name (`%total`), which becomes their hint unless it is a number. What
a model means is checked by `verify`, not here. No op has a case of its own: operands,
attributes and blocks go to fields by their roles.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from types import UnionType
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin

from trilby.arguments import closest
from trilby.data.dtypes import SCALARS, ScalarType, Type
from trilby.data.schema import ArrayType, NDArrayType, StructType, in_constant, in_global
from trilby.errors import ModelError
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, Raw, RawBody, blocks, roles, walk
from trilby.model.ops import OPS
from trilby.model.value import (
    COMPUTE_CONTEXT,
    KERNEL_CONTEXT,
    NONE,
    OBJECT,
    SPACES,
    NamedType,
    RefType,
    Space,
    Value,
    VarType,
)
from trilby.source import NOWHERE, Location

T = TypeVar("T")


def parse(text: str, types: Mapping[str, Type]) -> Func:
    """The one function of a text. `types` gives structs and buffers by their names.

    `parse(to_text(f), named_types(f))` is a copy of `f`.
    """
    found = parse_all(text, types)
    if len(found) == 1:
        return found[0]
    raise ModelError(
        f"the text has {len(found)} functions, and one is expected",
        advice="read a text of several functions with parse_all",
    )


def parse_all(text: str, types: Mapping[str, Type]) -> tuple[Func, ...]:
    """All functions of a text, in order."""
    return tuple(_Parser(text, types).functions())


def named_types(*functions: Func) -> dict[str, Type]:
    """The types that the texts of functions only name: what `parse` has to be given."""
    held = (_held(t) for func in functions for t in _value_types(func))
    return {str(t): t for t in held if isinstance(t, StructType | NamedType)}


def _value_types(func: Func) -> Iterator[Type]:
    yield func.result
    yield from (value.type for value in func.params)
    for op in walk(func.body):
        if op.result:
            yield op.result.type
        yield from (value.type for block in blocks(op) for value in block.params)


def _held(outer: Type) -> Type:
    match outer:
        case VarType(of=inner) | RefType(to=inner) | ArrayType(element=inner):
            return _held(inner)
        case _:
            return in_global(outer)


_STRING = r'"(?:[^"\\\n]|\\.)*"'
_TOKEN = re.compile(
    rf"""(?P<skip>[ \t\r]+|//[^\n]*)
    |(?P<loc>loc\((?:{_STRING}\ )?\d+:\d+-\d+:\d+\))
    |(?P<string>{_STRING})
    |(?P<value>%\w+)
    |(?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-inf)
    |(?P<name>[^\W\d]\w*(?:\.(?:<\w+>|\w+))*)
    |(?P<mark>->|[\n@(){{}}<>\[\],:=!+])""",
    re.VERBOSE,
)
_LOCATION = re.compile(rf"loc\(({_STRING})? ?(\d+):(\d+)-(\d+):(\d+)\)")
_SHOWN = {"end": "the end of the text", "\n": "the end of the line"}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


_WORDS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}
_NAMED = (*SCALARS.values(), KERNEL_CONTEXT, COMPUTE_CONTEXT, OBJECT, NONE)


class _Parser:
    """The text as a row of tokens, errors that point into it, and a method for each thing."""

    def __init__(self, text: str, types: Mapping[str, Type]) -> None:
        self.text = text
        self.tokens = list(self.scan())
        self.at = 0
        self.types: dict[str, Type] = {**types, **{str(t): t for t in _NAMED}}
        self.values: dict[str, Value] = {}
        self.file = ""

    def scan(self) -> Iterator[_Token]:
        at = 0
        while found := _TOKEN.match(self.text, at):
            kind = str(found.lastgroup)
            if kind != "skip":
                yield _Token(found[0] if kind == "mark" else kind, found[0], at)
            at = found.end()
        if at < len(self.text):
            token = _Token("", self.text[at], at)
            raise self.error(token, f"`{token.text}` has no meaning here", "remove it")
        yield _Token("end", "", at)

    def error(self, token: _Token, problem: str, advice: str) -> ModelError:
        start = self.text.rfind("\n", 0, token.start) + 1
        line = self.text[start:].partition("\n")[0]
        number, column = self.text.count("\n", 0, start) + 1, token.start - start
        end = column + max(1, len(token.text.strip()))
        excerpt = f"  {number} | {line}\n  {' ' * len(str(number))} | {' ' * column}"
        return ModelError(
            f"{problem}\n{excerpt}{'^' * (end - column)}",
            advice=advice,
            location=Location("<model>", number, column, number, end),
        )

    def unknown(self, token: _Token, what: str, known: Iterable[str], advice: str) -> ModelError:
        close = closest(token.text, known)
        hint = f"did you mean `{close}`? " if close else ""
        return self.error(token, f"`{token.text}` is not {what}", hint + advice)

    def peek(self, *kinds: str) -> bool:
        return self.tokens[self.at].kind in kinds

    def accept(self, kind: str) -> _Token | None:
        return self.expect(kind, "") if self.peek(kind) else None

    def expect(self, kind: str, advice: str) -> _Token:
        token = self.tokens[self.at]
        if token.kind != kind:
            found = _SHOWN.get(token.kind, f"`{token.text}`")
            wanted = _SHOWN.get(kind, f"`{kind}`" if len(kind) <= len("->") else f"a {kind}")
            raise self.error(token, f"{wanted} should stand here instead of {found}", advice)
        self.at += 1
        return token

    def separated(self, close: str, read: Callable[[], T]) -> tuple[T, ...]:
        found: list[T] = []
        while not self.accept(close):
            found.append(read())
            if not self.peek(close):
                self.expect(",", f"the list goes on with `,` or ends with `{close}`")
        return tuple(found)

    def skip_lines(self) -> None:
        while self.peek("\n"):
            self.at += 1

    def functions(self) -> Iterator[Func]:
        self.skip_lines()
        while not self.peek("end"):
            yield self.function()
            self.skip_lines()

    def function(self) -> Func:
        self.values.clear()
        form = 'a function begins like `kernel @"name" (%0 : i32) -> None {`'
        kind = self.expect("name", form).text
        self.expect("@", form)
        name = self.string(self.expect("string", form))
        params = self.params(form)
        self.expect("->", form)
        result = self.type()
        location = self.location(NOWHERE.file)
        self.file = location.file
        raw = self.raw() if self.peek("name") else None
        body = self.block()
        if not self.peek("end"):
            self.expect("\n", "nothing follows the closing brace of a function")
        return Func(name, params, result, body, kind, location, raw)

    def raw(self) -> Raw:
        word = self.expect("name", "")
        if word.text != "raw":
            advice = "a function goes on with `raw` or with its body in braces"
            raise self.error(word, f"`{word.text}` has no meaning here", advice)
        names, reads, writes = self.texts(), self.texts(), self.texts()
        bodies: list[RawBody] = []
        while self.peek("@"):
            token = self.tokens[self.at]
            match self.texts():
                case (language, text):
                    bodies.append(RawBody(language, text, self.location(self.file)))
                case found:
                    form = 'a body is `@("opencl", "return x;")`'
                    raise self.error(token, f"a body has two texts, not {len(found)}", form)
        return Raw(names, tuple(bodies), reads, writes)

    def texts(self) -> tuple[str, ...]:
        """A tuple of texts: `@("a", "b")`."""
        form = 'here stand names, like `@("a", "b")`'
        self.expect("@", form)
        self.expect("(", form)
        return self.separated(")", lambda: self.string(self.expect("string", form)))

    def block(self) -> Block:
        form = "a block stands in braces, each op on a line of its own"
        params = self.params(form) if self.peek("(") else ()
        self.expect("{", form)
        ops: list[Op] = []
        self.skip_lines()
        while not self.accept("}"):
            ops.append(self.op())
            if not self.peek("}"):
                self.expect("\n", "an op is its operands, then its attributes, then its blocks")
            self.skip_lines()
        return Block(tuple(ops), params)

    def op(self) -> Op:
        self.accept("!")
        self.accept("+")
        declared = self.declaration() if self.peek("value") else None
        if declared:
            self.expect("=", "a value is declared like `%2 : i32 = add %0 %1`")
        word = self.expect("name", "an op begins with its mnemonic; a block ends with `}`")
        if word.text not in OPS:
            raise self.unknown(word, "an op", OPS, f"the ops are {', '.join(OPS)}")
        kind = OPS[word.text]
        found: dict[str, list[Any]] = {"operand": [], "attribute": [], "block": []}
        while self.peek("value"):
            found["operand"].append(self.used())
        while self.accept("@"):
            found["attribute"].append(self.literal())
        location = self.location(self.file)
        while self.peek("(", "{"):
            found["block"].append(self.block())
        members = self.members(word, kind, found)
        result = self.define(*declared) if declared else None
        return kind(**members, result=result, location=location)

    def members(self, word: _Token, kind: type[Op], found: dict[str, list[Any]]) -> dict[str, Any]:
        """Hand out what was found to the fields of the op."""
        made: dict[str, Any] = {}
        for role, things in found.items():
            wanted = [(name, r) for name, r in roles(kind) if r.startswith(role)]
            many = any(r == "operands" for _, r in wanted)
            spare = len(things) - len(wanted) + many
            if spare < 0 or (spare > 0 and not many):
                raise self.error(word, *_wrong_count(word.text, role, wanted, len(things)))
            rest = iter(things)
            for name, r in wanted:
                made[name] = tuple(islice(rest, spare)) if r == "operands" else next(rest)
        for f in fields(kind):
            if f.name in made and not _suits(made[f.name], f.type):
                problem = f"`{f.name}` of `{word.text}` cannot be {made[f.name]!r}"
                raise self.error(word, problem, f"its type is {inspect.formatannotation(f.type)}")
            if f.name in made and cast("object", f.type) is HostCode:
                made[f.name] = HostCode(made[f.name], len(made.get("inputs", ())))
        return made

    def declaration(self) -> tuple[_Token, Type]:
        form = "a value is declared with its type, like `%2 : i32`"
        token = self.expect("value", form)
        self.expect(":", form)
        return token, self.type()

    def define(self, token: _Token, of: Type) -> Value:
        if token.text in self.values:
            advice = "each value is defined once; take a name that is not in use"
            raise self.error(token, f"`{token.text}` is defined twice", advice)
        name = token.text[1:]
        value = self.values[token.text] = Value(of, "" if name.isdecimal() else name)
        return value

    def used(self) -> Value:
        token = self.expect("value", "")
        if token.text not in self.values:
            advice = "values are parameters or results of ops further up"
            raise self.error(token, f"`{token.text}` is not defined", advice)
        return self.values[token.text]

    def params(self, form: str) -> tuple[Value, ...]:
        self.expect("(", form)
        return self.separated(")", lambda: self.define(*self.declaration()))

    def type(self) -> Type:
        token = self.expect("name", "a type is `i32`, `Var<f32>`, `f32[16, 16]`, or a buffer")
        found = self.generic(token) if self.accept("<") else self.types.get(token.text)
        if found is None:
            advice = "structs and buffers are looked up in the `types` given to parse"
            raise self.unknown(token, "a known type", self.types, advice)
        while self.accept("["):
            found = ArrayType(found, self.separated("]", self.dim))
        return found

    def generic(self, name: _Token) -> Type | None:
        inner = self.type()
        made: Type | None = None
        if name.text == "Var":
            made = VarType(inner)
        elif name.text == "Ref":
            made = RefType(inner, self.space() if self.accept(",") else "global")
        elif name.text == "Constant":
            made = in_constant(inner)
        elif name.text == "NDArray" and isinstance(inner, ScalarType):
            form = "an n-d array has a scalar and a rank, like `NDArray<f32, 2>`"
            self.expect(",", form)
            made = NDArrayType(inner, int(self.expect("number", form).text))
        self.expect(">", "the type is not closed")
        return made

    def space(self) -> Space:
        token = self.expect("name", "a reference has a memory space, like `Ref<i32[4], local>`")
        for space in SPACES:
            if space == token.text:
                return space
        raise self.unknown(token, "a memory space", SPACES, f"use one of {', '.join(SPACES)}")

    def dim(self) -> int | str:
        number = self.accept("number")
        form = "a dimension is a number or the name of a length"
        return int(number.text) if number else self.expect("name", form).text

    def location(self, file: str) -> Location:
        token = self.accept("loc")
        found = _LOCATION.match(token.text) if token else None
        if token is None or found is None:
            return NOWHERE
        line, column, end_line, end_column = map(int, found.groups()[1:])
        if found[1]:
            file = self.string(token._replace(text=found[1]))
        return Location(file, line, column, end_line, end_column)

    def literal(self) -> object:
        if token := self.accept("string"):
            return self.string(token)
        if token := self.accept("number"):
            return int(token.text) if token.text.lstrip("-").isdecimal() else float(token.text)
        if self.peek("name") and self.tokens[self.at].text in _WORDS:
            return _WORDS[self.expect("name", "").text]
        self.expect("(", 'an attribute is `@"text"`, `@1`, `@1.5`, `@True` or `@("a", "b")`')
        return self.separated(")", self.literal)

    def string(self, token: _Token) -> str:
        try:
            return json.loads(token.text)
        except json.JSONDecodeError as fault:
            advice = "text in quotes is written as in JSON"
            raise self.error(token, f"{token.text} cannot be read: {fault.msg}", advice) from None


def _wrong_count(
    mnemonic: str, role: str, wanted: Sequence[tuple[str, str]], found: int
) -> tuple[str, str]:
    names = ", ".join(f"{name}…" if r == "operands" else name for name, r in wanted)
    at_least = "at least " if names.count("…") else ""
    number = len(wanted) - (1 if at_least else 0)
    return (
        f"`{mnemonic}` takes {at_least}{number} {role}{'' if number == 1 else 's'}, not {found}",
        f"its {role}s are: {names}" if names else f"it has no {role}s",
    )


def _suits(value: Any, annotation: Any) -> bool:
    """True where a literal has the type that a field asks for."""
    inner = get_args(annotation)
    if isinstance(annotation, UnionType):
        return any(_suits(value, one) for one in inner)
    if get_origin(annotation) is tuple:
        parts = cast("tuple[Any, ...]", value)
        return isinstance(value, tuple) and all(_suits(part, inner[0]) for part in parts)
    return type(value) is (str if annotation is HostCode else annotation)
