"""Python's order of evaluation, and how to cut an expression into values without changing it.

An expression that holds something the model understands (a buffer access, a launch) becomes
text with holes. What Python evaluates before a hole must either be a value of its own, too,
or be something that may as well be evaluated later: a constant, a local name.
"""

import ast
import builtins
from collections.abc import Callable, Iterator

from trilby.dataclass import dataclass
from trilby.reflect.capture import MISSING
from trilby.reflect.host_types import Typing, literal

_RUNS_CODE = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression that is always evaluated, in its turn.

    A part that is not `liftable` has an effect of its own where it stands, besides its value:
    `*items` iterates, a field of an f-string formats.
    """

    node: ast.expr
    liftable: bool = True


def parts(node: ast.expr) -> list[Part]:
    """The parts of an expression that are surely evaluated, in order.

    What comes later, perhaps, or never (the right side of `and`, a lambda's body, a
    comprehension) is not among them.
    """
    match node:
        case ast.Call():
            return _call_parts(node)
        case ast.Dict(keys=keys, values=values):
            return _dict_parts(keys, values)
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [part for item in items for part in _item_parts(item)]
        case ast.Subscript(value=value, slice=index):
            return [Part(value), *_item_parts(index)]
        case ast.JoinedStr(values=fields):
            return [Part(f, not isinstance(f, ast.FormattedValue)) for f in fields]
        case ast.FormattedValue(value=value, format_spec=spec):
            return [Part(value), *([Part(spec, liftable=False)] if spec else [])]
        case _:
            return [Part(child) for child in _operands(node)]


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right, *_]):
            yield from (left, right)
        case ast.UnaryOp(operand=inner) | ast.BoolOp(values=[inner, *_]) | ast.IfExp(test=inner):
            yield inner
        case ast.Attribute(value=inner) | ast.Starred(value=inner):
            yield inner
        case ast.Slice(lower=lower, upper=upper, step=step):
            yield from (bound for bound in (lower, upper, step) if bound)
        case _:
            return


def _call_parts(node: ast.Call) -> list[Part]:
    arguments = [part for argument in node.args for part in _item_parts(argument)]
    keywords = [Part(keyword.value, keyword.arg is not None) for keyword in node.keywords]
    return [Part(node.func), *arguments, *keywords]


def _dict_parts(keys: list[ast.expr | None], values: list[ast.expr]) -> list[Part]:
    found: list[Part] = []
    for key, value in zip(keys, values, strict=True):
        found += [Part(key), Part(value)] if key else [Part(value, liftable=False)]
    return found


def _item_parts(item: ast.expr) -> list[Part]:
    """A slice is no value by itself: its bounds are."""
    match item:
        case ast.Slice():
            return parts(item)
        case ast.Tuple(elts=items) if any(isinstance(i, ast.Slice) for i in items):
            return [part for inner in items for part in _item_parts(inner)]
        case ast.Starred():
            return [Part(item, liftable=False)]
        case _:
            return [Part(item)]


@dataclass(frozen=True, slots=True)
class Order:
    """Cuts expressions, given what the model understands."""

    typing: Typing
    is_modelled: Callable[[ast.expr], bool]

    def holes(self, node: ast.expr) -> list[ast.expr]:
        """The subtrees that become values before the rest of the expression, in order.

        Nothing where the expression has nothing for the model, or cannot be cut.
        """
        return [node] if self.is_modelled(node) else self.within(node)

    def within(self, node: ast.expr) -> list[ast.expr]:
        """The holes of an expression that is not to become a value itself."""
        found = parts(node)
        while found:
            last = found.pop().node
            inner = self.holes(last)
            if inner:
                lifted = self._lifted(found, runs_code=_runs_code(last))
                return [] if lifted is None else [*lifted, *inner]
        return []

    def _lifted(self, before: list[Part], *, runs_code: bool) -> list[ast.expr] | None:
        """Of the parts before the last hole, those that cannot wait; None if that is impossible."""
        found: list[ast.expr] = []
        for part in reversed(before):
            if self._may_wait(part.node, runs_code=runs_code):
                continue
            if not part.liftable:
                return None
            found.append(part.node)
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


def _runs_code(node: ast.expr) -> bool:
    return any(isinstance(part, _RUNS_CODE) for part in ast.walk(node))
