"""Host code: a piece of a compute function that the IR keeps as Python.

This is the one module of `model/` that knows Python's syntax trees: the ops of compute functions
carry such trees, and everybody who asks what host code does looks at the same one.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, TypeAlias, TypeVar, cast

from trilby.syntax import parsed, parsed_expression

_HOLES = re.compile(r"\{\{|\}\}|\{(\d+)\}")
_MARK = "_trilby_operand_{}_"
_MARKS = re.compile(_MARK.format(r"(\d+)"))
_IN_PLACE = re.compile(r"\{0\} (\*\*|//|<<|>>|[-+*@/%&|^])= \{1\}")

Position: TypeAlias = tuple[int, int]
"""A line, counted from 1, and a column in bytes, as in `ast`."""

NodeT = TypeVar("NodeT", bound=ast.AST)

OPERATORS: Mapping[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "@": ast.MatMult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
    "<<": ast.LShift,
    ">>": ast.RShift,
    "&": ast.BitAnd,
    "|": ast.BitOr,
    "^": ast.BitXor,
}
"""The operators of augmented assignments by their signs."""

SIGNS: Mapping[type[ast.operator], str] = {kind: sign for sign, kind in OPERATORS.items()}


class Operand(ast.expr):
    """A node of the tree of a `HostCode` that stands for the operand of that number."""

    _fields = ("number",)
    __match_args__ = ("number",)
    number: int


class HostCode:
    """A syntax tree with operands, its text, and the names in it. It is parsed at most once.

    In the text `{0}` stands for an operand, and in the tree an `Operand`. Where there are no
    operands the text is plain Python; otherwise braces of Python itself are doubled. `{0} += {1}`
    is the value that an augmented assignment makes.

    >>> code = HostCode("{0} + f(n)", 1)
    >>> ast.unparse(filled(code.expression, [ast.Name("a", ast.Load())]))
    'a + f(n)'
    >>> code.names.reads
    ('f', 'n')
    """

    __slots__ = ("_names", "_tree", "operands", "sign", "start", "text")

    def __init__(
        self,
        text: str,
        operands: int = 0,
        tree: ast.expr | Sequence[ast.stmt] | None = None,
    ) -> None:
        self.text = text
        self.operands = operands
        found = _IN_PLACE.fullmatch(text) if operands == 2 else None
        self.sign = found[1] if found else ""
        """The sign of a change in place: `+` for `{0} += {1}`; empty for any other code."""
        self.start: Position | None = None
        """Where the text begins in the tree's own positions; None where these are the file's."""
        self._tree: ast.expr | tuple[ast.stmt, ...] | None = (
            tree if tree is None or isinstance(tree, ast.expr) else tuple(tree)
        )
        self._names: SourceNames | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostCode) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"HostCode({self.text!r}, {self.operands})"

    @property
    def _key(self) -> tuple[str, int]:
        return self.text, self.operands

    @property
    def expression(self) -> ast.expr:
        """The tree of an expression, or of a slice: `1:n`."""
        if self._tree is None:
            text = self._marked
            try:
                self._tree = self._from_text(parsed_expression(f"({text}\n)"), 1)
            except SyntaxError:  # `1:n` is Python only inside of brackets
                indexed = cast("ast.Subscript", parsed_expression(f"_[{text}\n]"))
                self._tree = self._from_text(indexed.slice, 2)
        return cast("ast.expr", self._tree)

    @property
    def statements(self) -> tuple[ast.stmt, ...]:
        """The trees of statements."""
        if self._tree is None or isinstance(self._tree, ast.expr):
            body = parsed(self._marked).body
            self._tree = tuple(self._from_text(statement, 0) for statement in body)
        return self._tree

    @property
    def target(self) -> ast.expr:
        """The tree of what a loop or a `with` binds."""
        if self._tree is None:
            assigned = cast("ast.Assign", parsed(f"({self.text}\n) = 0").body[0])
            self._tree = self._from_text(assigned.targets[0], 1)
        return cast("ast.expr", self._tree)

    @property
    def names(self) -> "SourceNames":
        """The names that it reads and sets."""
        if self._names is None:
            self._names = names_in(*self._roots())
        return self._names

    def calls(self) -> Iterator[ast.Call]:
        """Every call in it."""
        parts = (part for root in self._roots() for part in ast.walk(root))
        return (part for part in parts if isinstance(part, ast.Call))

    def called(self) -> Iterator[str]:
        """The names of the functions and methods that it calls."""
        for call in self.calls():
            if isinstance(call.func, ast.Name | ast.Attribute):
                yield call.func.id if isinstance(call.func, ast.Name) else call.func.attr

    def defines(self) -> bool:
        """Whether a function is made on the spot, which may run later."""
        parts = (part for root in self._roots() for part in ast.walk(root))
        return any(isinstance(part, ast.Lambda) for part in parts)

    def _roots(self) -> Sequence[ast.AST]:
        """The trees, whichever they are; none of what is not Python."""
        if self._tree is None and not self.sign:
            with suppress(SyntaxError):
                return (self.expression,)
            with suppress(SyntaxError):
                return self.statements
        return (self._tree,) if isinstance(self._tree, ast.expr) else self._tree or ()

    @property
    def _marked(self) -> str:
        """Plain Python, with a name for each operand."""
        if not self.operands:
            return self.text
        return _HOLES.sub(
            lambda hole: f"({_MARK.format(hole[1])})" if hole[1] else hole[0][0], self.text
        )

    def _from_text(self, tree: NodeT, lead: int) -> NodeT:
        """A tree that was parsed behind some characters that are not in the text."""
        self.start = (1, lead)
        return substituted(tree, _operand) if self.operands else tree


def start_of(node: ast.expr | ast.stmt | ast.keyword) -> Position:
    """Where a node begins."""
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt | ast.keyword) -> Position:
    """Where a node ends."""
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def in_place(sign: str) -> HostCode:
    """`{0} += {1}`: the value that an augmented assignment makes."""
    return HostCode(f"{{0}} {sign}= {{1}}", 2)


def _operand(node: ast.AST) -> ast.AST | None:
    found = _MARKS.fullmatch(node.id) if isinstance(node, ast.Name) else None
    return ast.copy_location(new_operand(int(found[1])), node) if found else None


def new_operand(number: int) -> Operand:
    """A node for an operand."""
    made = Operand()
    made.number = number
    return made


def filled(tree: NodeT, operands: Sequence[ast.expr]) -> NodeT:
    """A tree with expressions in the place of its operands."""

    def find(node: ast.AST) -> ast.AST | None:
        return operands[node.number] if isinstance(node, Operand) else None

    return substituted(tree, find) if operands else tree


def substituted(tree: NodeT, find: Callable[[ast.AST], ast.AST | None]) -> NodeT:
    """A tree with other nodes in the place of some. What does not change is shared."""
    found = find(tree)
    if found is not None:
        return cast("NodeT", found)
    changed: dict[str, Any] = {}
    for name in tree._fields:
        old: Any = getattr(tree, name, None)
        if isinstance(old, ast.AST):
            new: Any = substituted(old, find)
            if new is not old:
                changed[name] = new
        elif isinstance(old, list):
            items = cast("list[Any]", old)
            new = [substituted(i, find) if isinstance(i, ast.AST) else i for i in items]
            if any(one is not other for one, other in zip(new, items, strict=True)):
                changed[name] = new
    if not changed:
        return tree
    made = copy(tree)
    vars(made).update(changed)
    return made


# ---------------------------------------------------------------------------------- names
# Python's scoping rules on syntax trees. What is read may be a few names too many (a name that an
# inner function shadows), never one too few.


def names_in(*nodes: ast.AST) -> "SourceNames":
    """The names in some trees."""
    found = SourceNames()
    for node in nodes:
        found.visit(node)
    return found


def parameters(args: ast.arguments) -> list[ast.arg]:
    """All parameters in the order in which Python numbers its local variables."""
    stars = (star for star in (args.vararg, args.kwarg) if star)
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *stars]


def named_by(node: ast.AST) -> Iterator[str]:
    """The names that a node binds by text instead of by a `Name` node."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=dotted, asname=alias):
            yield alias or dotted.partition(".")[0]
        case ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _:
            return


_NAMING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.ExceptHandler),
    *(ast.MatchAs, ast.MatchStar, ast.MatchMapping),
)


class SourceNames(ast.NodeVisitor):
    """The names of a piece of source, in the order of appearance.

    Of `x = (y := a)` they are: `touched` is x, y, a; `sets` is x, y; `reads` is a; `wild` is y.
    """

    def __init__(self) -> None:
        self.touched: dict[str, None] = {}
        """What is read or set."""
        self.declared: set[str] = set()
        """Under `global` or `nonlocal`: not the function's own."""
        self.nonlocals: set[str] = set()
        """Under `nonlocal` anywhere: inner functions may set them whenever they run."""
        self.wild: set[str] = set()
        """Set in the middle of an expression or by an inner function: no statement shows when."""
        self.deleted: set[str] = set()
        """What `del` takes the value of, or the end of an `except`."""
        self.words: set[str] = set()
        """Every name, also those of inner functions: none may be taken for something else."""
        self._reads: set[str] = set()
        self._sets: set[str] = set()
        self._scopes = 0
        """How many scopes are between here and the function."""

    @property
    def reads(self) -> tuple[str, ...]:
        """What is read."""
        return tuple(name for name in self.touched if name in self._reads)

    @property
    def sets(self) -> tuple[str, ...]:
        """What is set."""
        return tuple(name for name in self.touched if name in self._sets)

    def _note_read(self, name: str) -> None:
        self.touched[name] = None
        self._reads.add(name)

    def _note_set(self, *names: str) -> None:
        self.touched.update(dict.fromkeys(names))
        self._sets.update(names)

    def visit(self, node: ast.AST) -> None:
        """Note the names in a tree."""
        if isinstance(node, _NAMING):
            bound = tuple(named_by(node))
            self.words.update(bound)
            if not self._scopes:
                self._note_set(*bound)
        match node:
            case ast.Name():
                self._visit_name(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                self._note_read(name)
                self.generic_visit(node)
            case ast.ExceptHandler(name=str(name)):
                self.deleted.add(name)
                self.generic_visit(node)
            case ast.NamedExpr(target=target):
                self._visit_walrus(target.id)
                self.visit(node.value)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self._declare(names, is_nonlocal=isinstance(node, ast.Nonlocal))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._visit_function(node)
            case ast.ClassDef():
                outside = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
                self._visit_scope(outside, node.body)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._scopes += 1
                self.generic_visit(node)
                self._scopes -= 1
                for part in ast.walk(node) if not self._scopes else ():
                    if isinstance(part, ast.NamedExpr):
                        self._visit_walrus(part.target.id)
            case _:
                self.generic_visit(node)

    def _visit_name(self, node: ast.Name) -> None:
        self.words.add(node.id)
        if isinstance(node.ctx, ast.Del):
            self.deleted.add(node.id)
        if isinstance(node.ctx, ast.Load):
            self._note_read(node.id)
        elif not self._scopes:
            self._note_set(node.id)

    def _visit_walrus(self, name: str) -> None:
        self.words.add(name)
        if not self._scopes:
            self._note_set(name)
            self.wild.add(name)

    def _declare(self, names: Sequence[str], *, is_nonlocal: bool) -> None:
        self.words.update(names)
        if is_nonlocal:
            self.nonlocals.update(names)
        if not self._scopes:
            self.declared.update(names)
        elif is_nonlocal:
            # an inner function that sets a name of ours can do so at any later time
            self._note_set(*names)
            self.wild.update(names)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        outside = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        given = parameters(node.args)
        self.words.update(one.arg for one in given)
        if isinstance(node, ast.Lambda):
            self._visit_scope(outside, [node.body])
            return
        annotations = [*(one.annotation for one in given), node.returns]
        outside += [*node.decorator_list, *(a for a in annotations if a)]
        self._visit_scope(outside, node.body)

    def _visit_scope(self, outside: Sequence[ast.AST], inside: Sequence[ast.AST]) -> None:
        """A function or a class: what is evaluated where it stands, and its body."""
        for part in outside:
            self.visit(part)
        self._scopes += 1
        for part in inside:
            self.visit(part)
        self._scopes -= 1
