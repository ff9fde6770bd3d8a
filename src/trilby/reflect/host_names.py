"""Which local names a piece of a compute function reads, sets and lets others set.

Python's scoping rules on syntax trees, and nothing else. What is read may be a few names too
many (a name that an inner function shadows), never one too few.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field

from trilby.dataclass import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

FRAME_READERS = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"}
)
"""Calls of these see the local variables of the function that makes them."""


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The names of a piece of source, each kind in the order of appearance."""

    touched: tuple[str, ...]
    """What is read or set."""
    reads: tuple[str, ...]
    sets: tuple[str, ...]
    declared: frozenset[str]
    """Under `global` or `nonlocal`: not the function's own."""
    wild: frozenset[str]
    """Set in the middle of an expression or by an inner function: no statement shows when."""


def names_in(*nodes: ast.AST, without: Collection[ast.AST] = ()) -> SourceNames:
    """The names in some trees, leaving out the subtrees `without`."""
    finder = _Finder(frozenset(map(id, without)))
    for node in nodes:
        finder.visit(node)
    touched = finder.touched
    return SourceNames(
        tuple(touched),
        tuple(name for name in touched if name in finder.reads),
        tuple(name for name in touched if name in finder.sets),
        frozenset(finder.declared),
        frozenset(finder.wild),
    )


@dataclass(frozen=True, slots=True)
class Locals:
    """The local names of a compute function.

    `plain` ones change only where a statement of the function says so, and are variables of
    the model; `wild` ones stay in the text.
    """

    params: tuple[str, ...]
    plain: frozenset[str]
    wild: frozenset[str]
    bound_anywhere: frozenset[str]
    """Also the names that inner functions and comprehensions bind for themselves."""

    @property
    def all(self) -> frozenset[str]:
        """Every local name."""
        return self.plain | self.wild

    def own(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names` that are local."""
        return tuple(name for name in names if name in self.plain or name in self.wild)


def locals_of(node: ast.FunctionDef) -> Locals:
    """The local names of a function."""
    params = tuple(argument.arg for argument in parameters(node.args))
    found = names_in(*node.body)
    own = {*params, *found.sets, *_annotated(node)} - found.declared
    return Locals(
        params,
        frozenset(own - found.wild),
        frozenset(own & found.wild),
        frozenset(own | set(_bound_anywhere(node))),
    )


def parameters(args: ast.arguments) -> list[ast.arg]:
    """All parameters in the order in which Python numbers its local variables."""
    stars = (star for star in (args.vararg, args.kwarg) if star)
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *stars]


def reads_its_frame(node: ast.FunctionDef) -> bool:
    """Whether a function may look at its own variables by other means than their names."""
    return any(
        (isinstance(part, ast.Name) and part.id in FRAME_READERS)
        or (isinstance(part, ast.Attribute) and part.attr in FRAME_READERS)
        for part in ast.walk(node)
    )


def _annotated(node: ast.FunctionDef) -> Iterator[str]:
    """`x: int` alone makes a name local, too."""
    for part in ast.walk(node):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


def _bound_anywhere(node: ast.FunctionDef) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names):
                yield from names
            case _:
                yield from _named_by(part)


def _named_by(node: ast.AST) -> Iterator[str]:
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


@dataclass(slots=True)
class _Finder:
    """Walks a tree; `inner` counts the scopes between here and the function."""

    without: frozenset[int]
    touched: dict[str, None] = field(default_factory=dict[str, None])
    reads: set[str] = field(default_factory=set[str])
    sets: set[str] = field(default_factory=set[str])
    declared: set[str] = field(default_factory=set[str])
    wild: set[str] = field(default_factory=set[str])
    inner: int = 0

    def visit(self, node: ast.AST) -> None:
        if id(node) in self.without:
            return
        if not self.inner:
            self.note_set(*_named_by(node))
        match node:
            case ast.Name():
                self.name(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.note_read(name)
                self.children(node)
            case ast.NamedExpr(target=target):
                self.walrus(target.id)
                self.visit(node.value)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.declare(node, names)
            case _:
                self.scopes(node)

    def note_read(self, name: str) -> None:
        self.touched[name] = None
        self.reads.add(name)

    def note_set(self, *names: str) -> None:
        self.touched.update(dict.fromkeys(names))
        self.sets.update(names)

    def scopes(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self.function(node)
            case ast.ClassDef():
                self.around_class(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self.nested([node], walrus_leaves=True)
            case _:
                self.children(node)

    def children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.note_read(node.id)
        elif not self.inner:
            self.note_set(node.id)

    def walrus(self, name: str) -> None:
        if not self.inner:
            self.note_set(name)
            self.wild.add(name)

    def declare(self, node: ast.Global | ast.Nonlocal, names: Iterable[str]) -> None:
        if not self.inner:
            self.declared.update(names)
        elif isinstance(node, ast.Nonlocal):
            # an inner function that sets a name of ours can do so at any later time
            self.note_set(*names)
            self.wild.update(names)

    def function(self, node: _Function | ast.Lambda) -> None:
        outside = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        if not isinstance(node, ast.Lambda):
            annotations = [*(a.annotation for a in parameters(node.args)), node.returns]
            outside += [*node.decorator_list, *(a for a in annotations if a)]
        for part in outside:
            self.visit(part)
        self.nested([node.body] if isinstance(node, ast.Lambda) else node.body)

    def around_class(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        self.nested(node.body)

    def nested(self, nodes: Iterable[ast.AST], *, walrus_leaves: bool = False) -> None:
        self.inner += 1
        for node in nodes:
            self.children(node) if walrus_leaves else self.visit(node)
        self.inner -= 1
        if walrus_leaves and not self.inner:
            for part in (part for node in nodes for part in ast.walk(node)):
                if isinstance(part, ast.NamedExpr):
                    self.walrus(part.target.id)
