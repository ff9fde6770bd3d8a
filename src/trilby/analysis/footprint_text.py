"""Footprints in words: `reads array[x - 1 … x + 1] where x < n`."""

from collections.abc import Iterator

from trilby.analysis.touching.expressions import Expr
from trilby.analysis.touching.touches import Does, Scope, Touch
from trilby.analysis.touching.wording import Sum, Wording, text_of
from trilby.data.dtypes import Type
from trilby.data.schema import INDEX, BufferType, NDArrayType, index_count, path_steps, step_into
from trilby.model.value import Value


def footprint_text(kernel: str, parameters: tuple[Value, ...], touches: tuple[Touch, ...]) -> str:
    """A table: what is read, may be written and is surely written, for each buffer and field.

    What is known of no index is written `?`. Conditions that depend on data are left out:
    then only `may write` is said, and never `covers`.
    """
    words = Wording(parameters)
    lines = [f'footprint @"{kernel}"']
    for number, param in enumerate(parameters):
        if isinstance(param.type, BufferType | NDArrayType):
            lines.append(f"  {param.hint} : {param.type}")
            own = [touch for touch in touches if touch.parameter == number]
            lines.extend(f"    {line}" for line in _lines(words, param.type, own))
    return "\n".join(lines)


def _lines(words: Wording, type_: Type, touches: list[Touch]) -> Iterator[str]:
    """Touches that differ only by constants share a line."""
    found: dict[tuple[object, ...], list[list[int]]] = {}
    heads: dict[tuple[object, ...], tuple[str, str, list[Sum], str]] = {}
    for touch in touches:
        sums = [words.sum(index) for index in touch.indices]
        where = _where(words, touch.scope)
        for verb in _verbs(touch):
            rest = [{names: f for names, f in one.items() if names} for one in sums]
            key = (verb, touch.path, where, *(tuple(sorted(one.items())) for one in rest))
            heads.setdefault(key, (verb, touch.path, rest, where))
            found.setdefault(key, []).append([one.get((), 0) for one in sums])
    for key, (verb, path, rest, where) in heads.items():
        consts = zip(*found[key], strict=True)
        indices = [
            _between(one, min(some), max(some)) for one, some in zip(rest, consts, strict=True)
        ]
        yield f"{verb} {_place(type_, path, indices)}{where}"


def _verbs(touch: Touch) -> Iterator[str]:
    if Does.READS in touch.does:
        yield "reads"
    if Does.COVERS in touch.does and _is_sure(touch):
        yield "covers"
    elif Does.WRITES in touch.does:
        yield "may write"


def _is_sure(touch: Touch) -> bool:
    scope: Scope | None = touch.scope
    while scope is not None:
        if scope.guard is not None and _is_open(scope.guard):
            return False
        scope = scope.parent
    return not any(_is_open(index) for index in touch.indices)


def _is_open(expr: Expr) -> bool:
    """Whether something that nobody knows is in an expression."""
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        if one.op == "opaque":
            return True
        if one.number not in seen:
            seen.add(one.number)
            waiting += one.args
    return False


def _between(rest: Sum, low: int, high: int) -> str:
    first, last = (text_of({**rest, (): const} if const else rest) for const in (low, high))
    return first if low == high else f"{first} … {last}"


def _place(type_: Type, path: str, indices: list[str]) -> str:
    """A path with its indices put in: `cell[x].pos[1]`."""
    text = ""
    here: Type | None = type_
    left = iter(indices)
    for step in path_steps(path):
        if step == INDEX and here is not None:
            text += f"[{', '.join(next(left) for _ in range(index_count(here, INDEX)))}]"
        else:
            text += f".{step}" if text else step
        here = step_into(here, step) if here is not None else None
    return text


def _where(words: Wording, scope: Scope) -> str:
    """The loops and the conditions of a scope, outermost first."""
    loops: list[str] = []
    guards: list[str] = []
    at: Scope | None = scope
    while at is not None:
        if at.loop is not None:
            start, stop, step = (
                words.number(e) for e in (at.loop.start, at.loop.stop, at.loop.step)
            )
            bounds = [start, stop, step] if step != "1" else [start, stop]
            shown = ", ".join(bounds[1:] if bounds[0] == "0" and step == "1" else bounds)
            loops.append(f"for {words.loop_name(at.loop)} in range({shown})")
        elif at.guard is not None and not _is_open(at.guard):
            guards.append(words.condition(at.guard))
        at = at.parent
    text = "".join(f" {loop}" for loop in reversed(loops))
    condition = " and ".join(dict.fromkeys(reversed(guards)))
    return f"{text} where {condition}" if condition else text
