"""The text of host ops as small trees of what may concern buffers.

The one module of the analyses that knows Python's syntax. A tree says which names and operands
meet where: what is called, chosen, put in a list, looked up, changed. How numbers are made
of numbers matters as far as it decides between buffers (`bufs[g % 2]`).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from trilby.model.holes import marked, operand_number


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of which nothing is to be known."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name, local or not."""

    name: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An integer or a truth value."""

    number: int


@dataclass(frozen=True, slots=True)
class Hole(Node):
    """An operand of the op."""

    number: int


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node
    code: str


@dataclass(frozen=True, slots=True)
class Item(Node):
    """`owner[indices]`."""

    owner: Node
    indices: tuple[Node, ...]
    code: str


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`owner.name`."""

    owner: Node
    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call; keywords and starred arguments count as arguments."""

    function: Node
    args: tuple[Node, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Display(Node):
    """A list, tuple, set or dictionary; `ordered` where items can be found by their number."""

    items: tuple[Node, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Span(Node):
    """A slice or `...`; `whole` where it leaves nothing out."""

    parts: tuple[Node, ...]
    whole: bool
    code: str


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """Arithmetic, a comparison, a formatted text: it looks at its parts. `sign` is Python's."""

    sign: str
    parts: tuple[Node, ...]
    code: str


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """`a or b`, `*items`, `await x`: the value is that of a part, or comes out of it."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Capture(Node):
    """A function made on the spot: it sees some names whenever it runs, and not now."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """`(target := value)`."""

    target: str
    value: Node


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """Loops with their targets, conditions, and what is made."""

    loops: tuple[tuple[Node, Node], ...]
    tests: tuple[Node, ...]
    made: tuple[Node, ...]


# ------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that does nothing to buffers: `import`, `del`, `global`."""


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """One value for one or more targets."""

    targets: tuple[Node, ...]
    value: Node


@dataclass(frozen=True, slots=True)
class Change(Statement):
    """`target += value` and its kin."""

    target: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Evaluate(Statement):
    """Expressions whose values go nowhere."""

    values: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Define(Statement):
    """`def` or `class`."""

    name: str
    captured: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inner(Statement):
    """Statements that run once, many times or never, after some values and bindings."""

    values: tuple[Node, ...]
    bindings: tuple[tuple[Node, Node], ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Leave(Statement):
    """`return`, `break`, `continue` or `raise`, with its values."""

    values: tuple[Node, ...]


@lru_cache(maxsize=4096)
def expression_tree(code: str, operands: int) -> Node:
    """The tree of a `host.value`."""
    text = marked(code, operands)
    try:
        return _node(ast.parse(f"({text}\n)", mode="eval").body)
    except SyntaxError:  # `1:n` is Python only inside of brackets
        found = ast.parse(f"_[{text}\n]", mode="eval").body
        return _node(found.slice) if isinstance(found, ast.Subscript) else Node()


@lru_cache(maxsize=4096)
def statement_trees(code: str, operands: int) -> tuple[Statement, ...]:
    """The trees of a `host.run`."""
    return _statements(ast.parse(marked(code, operands)).body)


@lru_cache(maxsize=4096)
def target_tree(code: str) -> Node:
    """The tree of what a loop or a `with` binds."""
    return _node(ast.parse(f"({code}\n)", mode="eval").body)


def names_of(node: Node) -> Iterator[str]:
    """The names of a tree of names, numbers and their combinations, from left to right."""
    match node:
        case Name(name):
            yield name
        case Choice(test, then, otherwise):
            for part in (test, then, otherwise):
                yield from names_of(part)
        case Item(owner, indices):
            yield from names_of(owner)
            for index in indices:
                yield from names_of(index)
        case Operation(parts=parts) | Span(parts=parts):
            for part in parts:
                yield from names_of(part)
        case _:
            return


def is_plain(node: Node) -> bool:
    """Whether evaluating a tree once more changes nothing: names, numbers, choices, items."""
    match node:
        case Name() | Number():
            return True
        case Choice(test, then, otherwise):
            return all(map(is_plain, (test, then, otherwise)))
        case Item(owner, indices):
            return is_plain(owner) and all(map(is_plain, indices))
        case Operation(sign, parts):
            return bool(sign) and all(map(is_plain, parts))
        case Span(parts):
            return all(map(is_plain, parts))
        case _:
            return False


def code_of(node: Node) -> str:
    """The text of a plain tree."""
    match node:
        case Name(name):
            return name
        case Number(number):
            return str(number)
        case Choice(code=code) | Item(code=code) | Operation(code=code) | Span(code=code):
            return code
        case _:
            return ""


# ------------------------------------------------------------------------- from Python trees

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Not: "not",
    ast.USub: "neg",
}


def _node(tree: ast.AST) -> Node:
    match tree:
        case ast.Name(id=name):
            number = operand_number(name)
            return Name(name) if number is None else Hole(number)
        case ast.Constant(value=int(number)):
            return Number(int(number))
        case ast.Constant(value=value) if value is ...:
            return Span((), whole=True, code="...")
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Choice(_node(test), _node(body), _node(orelse), ast.unparse(tree))
        case ast.Subscript(value=owner, slice=index):
            return Item(_node(owner), _indices(index), ast.unparse(tree))
        case ast.Attribute(value=owner, attr=name):
            return Member(_node(owner), name)
        case ast.Call(func=function, args=args, keywords=keywords):
            given = (*args, *(keyword.value for keyword in keywords))
            named = tuple(keyword.arg or "" for keyword in keywords)
            return Call(_node(function), tuple(map(_node, given)), named)
        case _:
            return _combined(tree)


def _indices(index: ast.expr) -> tuple[Node, ...]:
    if isinstance(index, ast.Tuple):
        return tuple(map(_node, index.elts))
    return (_node(index),)


def _combined(tree: ast.AST) -> Node:
    match tree:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            ordered = not any(isinstance(item, ast.Starred) for item in items)
            return Display(tuple(map(_node, items)), ordered)
        case ast.Set() | ast.Dict():
            return Display(_children(tree), ordered=False)
        case ast.Slice(lower=None, upper=None, step=None):
            return Span((), whole=True, code=":")
        case ast.Slice():
            return Span(_children(tree), whole=False, code=ast.unparse(tree))
        case ast.BoolOp() | ast.Starred() | ast.Await():
            return OneOf(_children(tree))
        case ast.Lambda(body=body):
            return Capture(_all_names(body))
        case ast.NamedExpr(target=target, value=value):
            return Bind(target.id, _node(value))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(tree)
        case _:
            return Operation(_sign(tree), _children(tree), _code(tree))


def _sign(tree: ast.AST) -> str:
    match tree:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.Compare(ops=[op]):
            return _SIGNS.get(type(op), "")
        case _:
            return ""


def _code(tree: ast.AST) -> str:
    return ast.unparse(tree) if isinstance(tree, ast.BinOp | ast.UnaryOp | ast.Compare) else ""


def _children(tree: ast.AST) -> tuple[Node, ...]:
    return tuple(
        _node(child) for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr)
    )


def _comprehension(
    tree: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Comprehension:
    loops = tuple((_node(part.target), _node(part.iter)) for part in tree.generators)
    tests = tuple(_node(test) for part in tree.generators for test in part.ifs)
    made = [tree.key, tree.value] if isinstance(tree, ast.DictComp) else [tree.elt]
    return Comprehension(loops, tests, tuple(_node(part) for part in made if part))


def _all_names(*trees: ast.AST) -> tuple[str, ...]:
    parts = (part for tree in trees for part in ast.walk(tree))
    return tuple(dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name)))


def _statements(body: list[ast.stmt]) -> tuple[Statement, ...]:
    return tuple(map(_statement, body))


def _statement(tree: ast.stmt) -> Statement:
    match tree:
        case ast.Assign(targets=targets, value=value):
            return Assign(tuple(map(_node, targets)), _node(value))
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return Assign((_node(target),), _node(value))
        case ast.AugAssign(target=target, value=value):
            return Change(_node(target), _node(value))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return Define(name, _all_names(tree))
        case ast.Expr() | ast.Assert():
            return Evaluate(_children(tree))
        case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
            return Leave(_children(tree))
        case ast.Delete() | ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            return Statement()
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            return Inner((), ((_node(target), _node(iterable)),), _statements([*body, *orelse]))
        case _:
            return _inner(tree)


def _inner(tree: ast.AST) -> Inner:
    """`if`, `while`, `with`, `try`, `match`: whatever is inside, in the order of the text."""
    values: list[Node] = []
    bindings: list[tuple[Node, Node]] = []
    body: list[Statement] = []
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            body.append(_statement(child))
        elif isinstance(child, ast.expr):
            values.append(_node(child))
        elif isinstance(child, ast.withitem):
            value = _node(child.context_expr)
            target = child.optional_vars
            bindings.append((_node(target) if target else Node(), value))
        elif isinstance(child, ast.excepthandler | ast.match_case):
            body.append(_inner(child))
    return Inner(tuple(values), tuple(bindings), tuple(body))
