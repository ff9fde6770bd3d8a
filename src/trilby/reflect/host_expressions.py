"""Expressions of compute functions as ops: what the IR understands, the rest as host code."""

import ast
import builtins
import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from trilby.data.dtypes import I32, Number, ScalarType, Type
from trilby.dataclass import dataclass
from trilby.model.build import Builder
from trilby.model.host_code import HostCode, Position, end_of, new_operand, start_of, substituted
from trilby.model.op import Op
from trilby.model.ops.core import Constant, VarLoad
from trilby.model.ops.host import Dispatch, DispatchPasses, HostCall, HostValue, HostView
from trilby.model.ops.memory import Extent, Load
from trilby.model.ops.memory import Place as PlaceOp
from trilby.model.value import COMPUTE_CONTEXT, OBJECT, RefType, Value
from trilby.reflect.capture import MISSING, Captured
from trilby.reflect.functions import Compute, Kernel
from trilby.reflect.host_launch import HostLaunch, Symbols, launch_of, move_of, root
from trilby.reflect.host_scope import HostPlace, Typing, literal, number_type
from trilby.source import Location

# ----------------------------------------------------------------------------- source of host code

Numbers: TypeAlias = Mapping[ast.AST, int]
"""The numbers of holes."""

_HOLE_NAME = "_trilby_hole_{}_"
_HOLE_NAMES = re.compile(_HOLE_NAME.format(r"(\d+)"))


@dataclass(frozen=True, slots=True)
class Pages:
    """The lines of a file, of which host code is cut out."""

    lines: Sequence[str]
    changed: frozenset[ast.AST]
    """Calls that are not what the file says: launches without their lambdas."""

    def slice(self, start: Position, end: Position) -> str:
        """The text between two positions, whose columns `ast` counts in bytes."""
        rows = [line.encode() for line in self.lines[start[0] - 1 : end[0]]]
        rows[-1] = rows[-1][: end[1]]
        rows[0] = rows[0][start[1] :]
        return b"\n".join(rows).decode()

    def code(self, node: ast.expr, holes: Sequence[ast.expr] = ()) -> HostCode:
        """An expression in which some subtrees are operands."""
        if not holes:
            return HostCode(self._text(start_of(node), [node], {}), 0, node)
        return HostCode(self.template(node, holes), len(holes), punched(node, holes))

    def template(self, node: ast.expr, holes: Sequence[ast.expr], first: int = 0) -> str:
        """The text of an expression in which the subtrees `holes` are `{0}`, `{1}` …

        The numbers begin with `first`; braces of the text itself are doubled.
        """
        numbers: dict[ast.AST, int] = {hole: n for n, hole in enumerate(holes, first)}
        return self._text(start_of(node), [node], numbers, escaped)

    def statements(self, nodes: Sequence[ast.stmt]) -> HostCode:
        """Statements that follow each other; their text is moved to the left margin."""
        start = self.start(nodes[0])
        rows = self._text(start, nodes, {}).split("\n")
        fixed = {line - start[0] for node in nodes for line in _lines_inside_strings(node)}
        margin = start[1]
        text = "\n".join(
            row if number == 0 or number in fixed else _moved(row, margin)
            for number, row in enumerate(rows)
        )
        return HostCode(text, 0, nodes)

    def start(self, node: ast.stmt) -> Position:
        """Where a statement begins, its decorators included."""
        decorated = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if not decorated or not node.decorator_list:
            return start_of(node)
        line = node.decorator_list[0].lineno
        while not self.lines[line - 1].lstrip().startswith("@"):
            line -= 1
        return line, node.col_offset

    def _text(
        self,
        start: Position,
        nodes: Sequence[ast.expr] | Sequence[ast.stmt],
        holes: Numbers,
        quoted: Callable[[str], str] = str,
    ) -> str:
        """The text of nodes that follow each other; it is `quoted` but for the holes."""
        pieces: list[str] = []
        at = start
        found = [part for node in nodes for part in self._written_anew(node, holes)]
        for part in sorted(found, key=start_of):
            is_hole = part in holes
            text = f"{{{holes[part]}}}" if is_hole else _unparsed(part, holes, quoted)
            pieces += (quoted(self.slice(at, start_of(part))), _padded(part, text))
            at = end_of(part)
        return "".join((*pieces, quoted(self.slice(at, end_of(nodes[-1])))))

    def _written_anew(self, node: ast.AST, holes: Numbers) -> Iterator[ast.expr]:
        """The outermost parts whose text is not that of the file: holes and what has changed.

        An f-string with such a part is written anew as a whole, because before Python 3.12
        positions inside of them are wrong.
        """
        if not holes and not self.changed:
            return
        is_string = isinstance(node, ast.JoinedStr)
        parts = ast.walk(node) if is_string else (node,)
        if isinstance(node, ast.expr) and any(p in holes or p in self.changed for p in parts):
            yield node
        elif not is_string:
            for child in ast.iter_child_nodes(node):
                yield from self._written_anew(child, holes)


def punched(node: ast.expr, holes: Sequence[ast.expr], first: int = 0) -> ast.expr:
    """An expression with operands in the place of some subtrees."""
    numbers = {hole: number for number, hole in enumerate(holes, first)}

    def find(part: ast.AST) -> ast.AST | None:
        if isinstance(part, ast.expr) and part in numbers:
            return ast.copy_location(new_operand(numbers[part]), part)
        return None

    return substituted(node, find)


def escaped(text: str) -> str:
    """Text whose braces do not stand for operands."""
    return text.replace("{", "{{").replace("}", "}}")


def _padded(node: ast.expr, text: str) -> str:
    """The text that stands for a node, with as many line breaks as the node had.

    A generator's parentheses may be those of the call around it.
    """
    breaks = (node.end_lineno or node.lineno) - node.lineno - text.count("\n")
    if isinstance(node, ast.Call) and text.endswith(")"):
        return text[:-1] + "\n" * breaks + ")"
    padded = text + "\n" * breaks
    return f"({padded})" if isinstance(node, ast.GeneratorExp) else padded


def _unparsed(node: ast.expr, holes: Numbers, quoted: Callable[[str], str]) -> str:
    names = {id(hole): ast.Name(_HOLE_NAME.format(n), ast.Load()) for hole, n in holes.items()}
    # `deepcopy` puts in the place of an object what its memo holds for it
    written = ast.unparse(copy.deepcopy(node, names))
    return _HOLE_NAMES.sub(r"{\1}", quoted(written))


def _lines_inside_strings(node: ast.AST) -> Iterator[int]:
    """Lines that begin within a string, whose indentation is part of it."""
    match node:
        case ast.JoinedStr() | ast.Constant(value=str() | bytes()):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _lines_inside_strings(child)


def _moved(row: str, margin: int) -> str:
    indent = len(row) - len(row.lstrip())
    return row[min(margin, indent) :]


# --------------------------------------------------------------------------------------- host order
# Python's order of evaluation, and how to cut an expression into values without changing it.
#
# An expression that holds something the model understands (a buffer access, a launch) becomes
# text with holes. What Python evaluates before a hole must either be a value of its own, too, or
# be something that may as well be evaluated later: a constant, a local name.

_RUNS_CODE = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


EvaluatedPart: TypeAlias = tuple[ast.expr, bool]
"""A part of an expression that is always evaluated, in its turn, and whether it can be lifted.

One that cannot has an effect of its own where it stands, besides its value: `*items` iterates, a
field of an f-string formats.
"""


def evaluated_parts(node: ast.expr) -> list[EvaluatedPart]:
    """The parts of an expression that are surely evaluated, in order.

    What comes later, perhaps, or never (the right side of `and`, a lambda's body, a
    comprehension) is not among them.
    """
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            named = [(keyword.value, keyword.arg is not None) for keyword in keywords]
            return [(function, True), *_item_parts(args), *named]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return [
                part
                for key, value in pairs
                for part in ([(key, True), (value, True)] if key else [(value, False)])
            ]
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return _item_parts(items)
        case ast.Subscript(value=value, slice=index):
            return [(value, True), *_item_parts([index])]
        case ast.JoinedStr(values=fields):
            return [(field, not isinstance(field, ast.FormattedValue)) for field in fields]
        case ast.FormattedValue(value=value, format_spec=spec):
            return [(value, True), *([(spec, False)] if spec else [])]
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right, *_]):
            return [(left, True), (right, True)]
        case ast.UnaryOp(operand=inner) | ast.BoolOp(values=[inner, *_]) | ast.IfExp(test=inner):
            return [(inner, True)]
        case ast.Attribute(value=inner) | ast.Starred(value=inner):
            return [(inner, True)]
        case ast.Slice(lower=lower, upper=upper, step=step):
            return [(bound, True) for bound in (lower, upper, step) if bound]
        case _:
            return []


def _item_parts(items: Sequence[ast.expr]) -> list[EvaluatedPart]:
    """A slice is no value by itself: its bounds are."""
    found: list[EvaluatedPart] = []
    for item in items:
        match item:
            case ast.Slice():
                found += evaluated_parts(item)
            case ast.Tuple(elts=inner) if any(isinstance(i, ast.Slice) for i in inner):
                found += _item_parts(inner)
            case _:
                found.append((item, not isinstance(item, ast.Starred)))
    return found


def _runs_code(node: ast.expr) -> bool:
    return any(isinstance(part, _RUNS_CODE) for part in ast.walk(node))


# --------------------------------------------------------------------------------- host expressions

_READING = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue)
"""What only reads its operands, and keeps none of them."""


@dataclass(frozen=True, slots=True)
class HostExpressions:
    """A function that is reflected, and one block of it, which gets the ops of its expressions."""

    captured: Captured
    pages: Pages
    typing: Typing
    symbol_of: Symbols
    out: Builder
    variables: dict[str, Value] = field(default_factory=dict[str, Value])
    """The variables that are declared so far."""
    launches: dict[int, HostLaunch | None] = field(default_factory=dict[int, HostLaunch | None])

    def is_modelled(self, node: ast.expr) -> bool:
        """Whether an expression as a whole is an op that the model understands."""
        if isinstance(node, ast.Call):
            return self.launch(node) is not None or move_of(self.typing, node) is not None
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return False
        if self.typing.extent(node) or self.typing.metadata(node):
            return True
        return self.typing.place(node) is not None

    def launch(self, node: ast.Call) -> HostLaunch | None:
        """The launch that a call is, if it is one."""
        if id(node) not in self.launches:
            self.launches[id(node)] = launch_of(self.typing, node)
        return self.launches[id(node)]

    def location(self, node: ast.AST) -> Location:
        """The place of a node."""
        return self.captured.location(node)

    # ------------------------------------------------------------ the order of evaluation

    def holes(self, node: ast.expr) -> list[ast.expr]:
        """The subtrees that become values before the rest of the expression, in order.

        Nothing where the expression has nothing for the model, or cannot be cut.
        """
        return [node] if self.is_modelled(node) else self.within(node)

    def within(self, node: ast.expr) -> list[ast.expr]:
        """The holes of an expression that is not to become a value itself."""
        found = evaluated_parts(node)
        while found:
            last, _ = found.pop()
            inner = self.holes(last)
            if inner:
                lifted = self._lifted(found, runs_code=_runs_code(last))
                return [] if lifted is None else [*lifted, *inner]
        return []

    def _lifted(self, before: list[EvaluatedPart], *, runs_code: bool) -> list[ast.expr] | None:
        """Of the parts before the last hole, those that cannot wait; None if that is impossible."""
        found: list[ast.expr] = []
        for node, is_liftable in reversed(before):
            if self._may_wait(node, runs_code=runs_code):
                continue
            if not is_liftable:
                return None
            found.append(node)
            runs_code = True
        return found[::-1]

    def _may_wait(self, node: ast.expr, *, runs_code: bool) -> bool:
        """Whether evaluating an expression a little later gives the same.

        If code runs in between, it can change the names of other scopes, and it is not to run
        at all where a variable has no value.
        """
        match node:
            case ast.Name(id=name):
                return not runs_code or name in self.typing.locals.params or self._is_builtin(node)
            case ast.Attribute():
                return not runs_code and self.typing.resolve(node) is not MISSING
            case ast.Constant():
                return True
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return all(self._may_wait(item, runs_code=runs_code) for item in items)
            case ast.FormattedValue(value=value, format_spec=spec):
                return spec is None and not runs_code and self._may_wait(value, runs_code=False)
            case _:
                return literal(node) is not None

    def _is_builtin(self, node: ast.Name) -> bool:
        """Whether a name is Python's own, and nobody's variable."""
        found = self.typing.resolve(node)
        return found is not MISSING and found is getattr(builtins, node.id, MISSING)

    # ------------------------------------------------------------------------------- values

    def value(self, node: ast.expr, *, only_read: bool = False) -> Value:
        """The value of an expression; `only_read` says that nothing else is done with it."""
        number = literal(node)
        if number is not None:
            return self.constant(number, node)
        match node:
            case ast.Name(id=name) if name in self.variables:
                held = self.typing.variables[name] or OBJECT
                return self._made(VarLoad, self.variables[name], type=held, node=node, hint=name)
            case ast.Call() if launch := self.launch(node):
                # a dispatch gives its context back
                result = Value(COMPUTE_CONTEXT if isinstance(launch.target, Kernel) else OBJECT)
                self._launch(launch, node, result)
                return result
            case ast.Call(func=ast.Attribute() as method) if context := move_of(self.typing, node):
                return self._move(node, method, context)
            case ast.Attribute() | ast.Subscript() if self.is_modelled(node):
                return self._access(node, only_read=only_read)
            case _:
                inputs, code, uses = self.cut(node)
                known = self.typing.of(node) or OBJECT
                return self._made(HostValue, inputs, code, uses, type=known, node=node)

    def effect(self, node: ast.expr) -> None:
        """An expression whose value nobody uses."""
        if isinstance(node, ast.Call) and (launch := self.launch(node)):
            self._launch(launch, node, None)
        elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or self.is_modelled(node):
            self.value(node)
        else:
            inputs, code, uses = self.cut(node)
            self.out.run(HostValue, inputs, code, uses, location=self.location(node))

    def cut(self, node: ast.expr) -> tuple[tuple[Value, ...], HostCode, tuple[str, ...]]:
        """The operands, the code and the names of an expression that is not modelled itself."""
        holes = self.holes(node)
        inputs = tuple(self.value(hole, only_read=_is_read(node, hole)) for hole in holes)
        code = self.pages.code(node, holes)
        return inputs, code, self.typing.locals.own(code.names.touched)

    def constant(self, number: Number, node: ast.expr) -> Value:
        """A number."""
        return self._made(Constant, number, type=number_type(number), node=node)

    def parts(self, place: HostPlace) -> tuple[Value, tuple[Value, ...]]:
        """The base and the indices of a place, evaluated in Python's order."""
        base = self.value(place.root)
        return base, tuple(self.value(index, only_read=True) for index in place.indices)

    def _access(self, node: ast.expr, *, only_read: bool) -> Value:
        extent, metadata = self.typing.extent(node), self.typing.metadata(node)
        if extent:
            return self._made(Extent, self.value(extent[0]), extent[1], type=I32, node=node)
        if metadata:
            code = self.pages.code(node, [metadata])
            inputs = (self.value(metadata),)
            return self._made(HostValue, inputs, code, (), type=OBJECT, node=node)
        place = self.typing.place(node)
        if place is None:
            raise TypeError(node)
        base, indices = self.parts(place)
        result = self.typing.read_type(place, only_read=only_read)
        kind = Load if isinstance(result, ScalarType) else HostView
        if isinstance(result, RefType):
            kind = PlaceOp
        return self._made(kind, base, indices, place.path, type=result, node=node)

    def _launch(self, launch: HostLaunch, node: ast.Call, result: Value | None) -> None:
        flag, context = launch.options.get("until"), root(self.typing, launch.given[0])
        values = {
            expression: self._place(expression, context)
            if expression is flag and context
            else self.value(expression)
            for expression in launch.given
        }
        args = tuple(
            values[given] if isinstance(given, ast.expr) else self.constant(given, node)
            for given in launch.arranged
        )
        first = values[launch.given[0]]
        symbol = self.symbol_of(launch.target)
        where = self._place_of(node)
        if isinstance(launch.target, Compute):
            op = HostCall((first, *args), symbol, result=result, location=where)
        elif launch.options:
            args = (*args, *(values[option] for option in launch.options.values()))
            fields = (first, values[launch.given[1]], args, symbol, tuple(launch.options))
            op = DispatchPasses(*fields, result=result, location=where)
        else:
            size = values[launch.given[1]]
            op = Dispatch(first, size, args, symbol, result=result, location=where)
        self.out.emit(op)

    # -------------------------------------------------------------------------- put and get

    def _move(self, node: ast.Call, method: ast.Attribute, context: ast.Name) -> Value:
        """`cc.put(…)` or `cc.get(…)`, with places in the stead of numbers."""
        inputs = [self.value(method.value), *(self._place(given, context) for given in node.args)]
        holes = ", ".join(f"{{{number}}}" for number in range(1, len(inputs)))
        code = HostCode(f"{{0}}.{method.attr}({holes})", len(inputs))
        fields = (tuple(inputs), code, ())
        return self.out.value(
            HostValue, *fields, type=COMPUTE_CONTEXT, location=self._place_of(node)
        )

    def _place(self, node: ast.expr, context: ast.Name) -> Value:
        """What a move is given: `cc.field(table, "count")` for `table.count`."""
        if self.typing.resolve(node) is not MISSING:
            return self.value(node)
        match node:
            case ast.Attribute(value=owner, attr=name):
                inputs = (self.value(context), self.value(owner))
                code = HostCode(f"{{0}}.field({{1}}, {self.captured.mangled(name)!r})", 2)
            case ast.Subscript(value=owner, slice=index) if not _selects_many(index):
                first = (self.value(context), self.value(owner))
                inputs = (*first, self.value(index, only_read=True))
                code = HostCode("{0}.field({1}, {2})", 3)
            case _:
                return self.value(node)
        return self._made(HostValue, inputs, code, (), type=OBJECT, node=node)

    def _place_of(self, node: ast.Call) -> Location:
        """The place of a call; of a call in a chain, from the name of its method on."""
        whole, function = self.location(node), node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
            method = self.location(function)
            column = max(0, method.end_column - len(function.attr))
            return replace(whole, line=method.end_line, column=column)
        return whole

    def _made(
        self,
        kind: Callable[..., Op],
        *fields: object,
        type: Type,  # noqa: A002 -- the word that `Value` uses
        node: ast.expr,
        hint: str = "",
    ) -> Value:
        where = self.location(node)
        return self.out.value(kind, *fields, type=type, hint=hint, location=where)


def _selects_many(index: ast.expr) -> bool:
    """Whether an index, or one of several, is a slice."""
    given = index.elts if isinstance(index, ast.Tuple) else (index,)
    return any(isinstance(one, ast.Slice | ast.Starred) for one in given)


def _is_read(node: ast.expr, hole: ast.expr) -> bool:
    """Whether a subtree is an operand of something that only reads it."""
    around = (part for part in ast.walk(node) if hole in ast.iter_child_nodes(part))
    parent = next(around, None)
    return isinstance(parent, _READING) or (isinstance(parent, ast.IfExp) and parent.test is hole)
