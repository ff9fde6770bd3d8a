"""Footprints in words: `reads array[x - 1 … x + 1] where x < n`."""

from collections.abc import Iterator
from typing import TypeAlias, cast

from trilby.analysis.access import AccessMode
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Expr,
    KernelTouch,
    RangeLoop,
)
from trilby.data.dtypes import BOOL, Type
from trilby.data.schema import INDEX, BufferType, NDArrayType, index_count, path_steps, step_into
from trilby.model.value import Value

# ------------------------------------------------------------------------------------------ wording
# Expressions as a person would write them: sums with like terms put together.

Sum: TypeAlias = dict[tuple[str, ...], int]
"""Factors of products of names; `()` is the product of none, for the constant."""

MOST_TERMS = 12
DEEPEST_TEXT = 24
UNKNOWN = "?"


class Wording:
    """Writes the expressions of one kernel: `x + 1`, where `x` is a parameter, an id or a loop's.

    It adds up like terms: `x // w * w + x % w` is `x`.
    """

    def __init__(self, parameters: tuple[Value, ...]) -> None:
        self._names = [param.hint or f"p{n}" for n, param in enumerate(parameters)]
        self._sums: dict[tuple[int, bool], Sum] = {}

    def parameter(self, number: int) -> str:
        """The name of a parameter."""
        return self._names[number]

    # -- numbers

    def sum(self, expr: Expr) -> Sum:
        """A number as a sum of products.

        A remainder is a difference where that makes the sum shorter: `x // w * w + x % w` is `x`.
        """
        plain, split = self._sum(expr, splits=False), self._sum(expr, splits=True)
        return split if len(split) < len(plain) else plain

    def _sum(self, expr: Expr, *, splits: bool) -> Sum:
        key = (expr.number, splits)
        if key not in self._sums:
            too_deep = expr.depth > DEEPEST_TEXT
            found: Sum = {(UNKNOWN,): 1} if too_deep else self._made(expr, splits=splits)
            self._sums[key] = found
        return self._sums[key]

    def _made(self, expr: Expr, *, splits: bool) -> Sum:
        args = [self._sum(arg, splits=splits) for arg in expr.args if arg.type is not BOOL]
        match expr.op:
            case "constant":
                return {(): cast("int", expr.what)} if expr.what else {}
            case "cast":
                return args[0]
            case "add" | "sub":
                return _added(args[0], args[1], 1 if expr.op == "add" else -1)
            case "mul":
                return self._product(args[0], args[1])
            case "mod" if splits:
                quotient: Sum = {(_quotient(*(self.number(arg) for arg in expr.args)),): 1}
                return _added(args[0], self._product(args[1], quotient), -1)
            case "turn":
                return self._turn(cast("RangeLoop", expr.what))
            case _:
                return {(self._atom(expr),): 1}

    def _product(self, left: Sum, right: Sum) -> Sum:
        if len(left) * len(right) > MOST_TERMS:
            return {(f"({text_of(left)})", f"({text_of(right)})"): 1}
        found: Sum = {}
        for names, factor in left.items():
            for others, times in right.items():
                found = _added(found, {tuple(sorted((*names, *others))): factor * times}, 1)
        return found

    def _turn(self, loop: RangeLoop) -> Sum:
        """How many turns are behind, from the variable that counts them."""
        if self.sum(loop.step) == {(): 1}:
            return _added({(self.loop_name(loop),): 1}, self.sum(loop.start), -1)
        return {(f"turn of {self.loop_name(loop)}",): 1}

    def loop_name(self, loop: RangeLoop) -> str:
        """What a loop's variable is called."""
        return loop.name or f"i{loop.number}"

    def _atom(self, expr: Expr) -> str:
        if isinstance(expr.what, RangeLoop):
            name = self.loop_name(expr.what)
            return name if expr.op == "index" else f"turns of {name}"
        args = [self.number(arg) for arg in expr.args if arg.type is not BOOL]
        match expr.op:
            case "grid":
                return str(expr.what)
            case "group_start":
                return f"group_{expr.what} * local_max_{expr.what}"
            case "scalar":
                return self.parameter(cast("int", expr.what))
            case "length" | "extent":
                number, which = cast("tuple[int, object]", expr.what)
                name = self.parameter(number)
                return f"{name}.shape[{which}]" if expr.op == "extent" else f"{name}.{which}"
            case "select":
                return f"({args[0]} if {self.condition(expr.args[0])} else {args[1]})"
            case "floordiv":
                return _quotient(*args)
            case "mod":
                return f"({_grouped(args[0])} % {_grouped(args[1])})"
            case "min" | "max" | "abs":
                return f"{expr.op}({', '.join(args)})"
            case _:
                return UNKNOWN

    def number(self, expr: Expr) -> str:
        """A number."""
        return text_of(self.sum(expr))

    # -- conditions

    def condition(self, expr: Expr) -> str:
        """A truth value."""
        if expr.depth > DEEPEST_TEXT:
            return UNKNOWN
        if expr.op in _SIGNS:
            return _compared(self, expr, _SIGNS[expr.op])
        match expr.op:
            case "not" if expr.args[0].op in _OPPOSITES:
                return _compared(self, expr.args[0], _OPPOSITES[expr.args[0].op])
            case "not":
                return f"not ({self.condition(expr.args[0])})"
            case "and":
                return " and ".join(self.condition(arg) for arg in expr.args)
            case "or":
                return f"({' or '.join(self.condition(arg) for arg in expr.args)})"
            case _:
                return self.parameter(cast("int", expr.what)) if expr.op == "scalar" else UNKNOWN


_SIGNS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITES = {"lt": ">=", "le": ">", "eq": "!=", "ne": "=="}


def _compared(words: Wording, expr: Expr, sign: str) -> str:
    left, right = (words.number(arg) for arg in expr.args)
    if _varies(expr.args[1]) and not _varies(expr.args[0]):
        left, right, sign = right, left, _MIRRORED[sign]
    return f"{left} {sign} {right}"


def _varies(expr: Expr) -> bool:
    """Whether a number differs between work items or turns; what does is written first."""
    is_id = expr.op == "grid" and "max" not in str(expr.what)
    return is_id or isinstance(expr.what, RangeLoop) or any(_varies(arg) for arg in expr.args)


def _grouped(text: str) -> str:
    is_whole = " " not in text or _without_parens(text) != text
    return text if is_whole else f"({text})"


def _without_parens(text: str) -> str:
    """A text without the parentheses around all of it."""
    inner = text[1:-1]
    is_grouped = text.startswith("(") and text.endswith(")") and not set("()") & set(inner)
    return inner if is_grouped else text


def _quotient(left: str, right: str) -> str:
    return f"({_grouped(left)} // {_grouped(right)})"


def _added(left: Sum, right: Sum, sign: int) -> Sum:
    found = dict(left)
    for names, factor in right.items():
        found[names] = found.get(names, 0) + sign * factor
    return {names: factor for names, factor in found.items() if factor}


def text_of(terms: Sum) -> str:
    """`y * w + x - 1`."""
    text = ""
    for names, factor in sorted(terms.items(), key=lambda term: (-len(term[0]), term[0])):
        size = abs(factor)
        parts = [*([str(size)] if size != 1 or not names else []), *names]
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {' * '.join(parts)}" if text else ("-" * (factor < 0)) + " * ".join(parts)
    return _without_parens(text) if text else "0"


# ----------------------------------------------------------------------------------- footprint text


def footprint_text(
    kernel: str, parameters: tuple[Value, ...], touches: tuple[KernelTouch, ...]
) -> str:
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


def _lines(words: Wording, type_: Type, touches: list[KernelTouch]) -> Iterator[str]:
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


def _verbs(touch: KernelTouch) -> Iterator[str]:
    if AccessMode.READS in touch.does:
        yield "reads"
    if AccessMode.COVERS in touch.does and _is_sure(touch):
        yield "covers"
    elif AccessMode.WRITES in touch.does:
        yield "may write"


def _is_sure(touch: KernelTouch) -> bool:
    scope: ConditionScope | None = touch.scope
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


def _where(words: Wording, scope: ConditionScope) -> str:
    """The loops and the conditions of a scope, outermost first."""
    loops: list[str] = []
    guards: list[str] = []
    at: ConditionScope | None = scope
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
