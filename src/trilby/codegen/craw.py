"""Functions whose body the user wrote in the device's language: head, text, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from textwrap import dedent

from trilby.analysis.reach import short_name
from trilby.codegen.cfunction import FunctionWriter
from trilby.codegen.csignature import head
from trilby.codegen.names import Names
from trilby.codegen.text import Line
from trilby.errors import BuildError
from trilby.model.op import Raw, RawBody
from trilby.source import NOWHERE


def write_raw(writer: FunctionWriter, raw: Raw) -> list[Line]:
    """The function with the text of its language, which sees the names of the parameters."""
    dialect = writer.module.dialect
    body = raw.body(dialect.name)
    if body is None:
        raise _refusal(
            writer,
            f"`{short_name(writer.function.name)}` is raw device code, and has none for "
            f"{dialect.name}",
            f'add `{dialect.name}="…"` to its @tb.raw',
        )
    writer.names = Names(dialect.is_keyword)
    for name in raw.names:
        if Names(dialect.is_keyword).fresh(name) != name:
            raise _refusal(
                writer,
                f"the raw device code of `{short_name(writer.function.name)}` cannot have a "
                f"parameter `{name}`: that is no name in {dialect.name}",
                "give it another name",
            )
    start = [Line(text, writer.function.location) for text in head(writer)]
    return [*start, *_lines(body), Line("}")]


def _refusal(writer: FunctionWriter, problem: str, advice: str) -> BuildError:
    where = writer.function.location
    return BuildError(problem, advice=advice, location=None if where == NOWHERE else where)


def _lines(body: RawBody) -> Iterator[Line]:
    """The text, indented; each line leads to its own in the Python file where it has one."""
    place = body.location
    written = dedent(body.text).rstrip().split("\n")
    is_spread = place.end_line - place.line == body.text.count("\n")
    for number, text in enumerate(written):
        if text or any(written[:number]):
            line = place.line + number if is_spread else place.line
            yield Line(f"    {text}".rstrip(), replace(place, line=line))
