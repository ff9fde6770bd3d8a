"""From the text of host ops to their trees: the one analysis that knows Python's syntax."""

import ast
from functools import lru_cache

from trilby.analysis.host_trees import (
    Assign,
    Bind,
    Call,
    Capture,
    Change,
    Choice,
    Comprehension,
    Define,
    Delete,
    Display,
    Evaluate,
    Hole,
    Inner,
    Item,
    Leave,
    Member,
    Name,
    Node,
    Number,
    OneOf,
    Operation,
    Span,
    Statement,
)
from trilby.model.holes import marked, operand_number


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
        case ast.Constant(value=value):
            return _constant(value)
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
            return _gathered(tree)


def _constant(value: object) -> Node:
    if value is ...:
        return Span((), whole=True, code="...")
    return Number(int(value)) if isinstance(value, int) else Node()


def _indices(index: ast.expr) -> tuple[Node, ...]:
    if isinstance(index, ast.Tuple):
        return tuple(map(_node, index.elts))
    return (_node(index),)


def _gathered(tree: ast.AST) -> Node:
    match tree:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            ordered = not any(isinstance(item, ast.Starred) for item in items)
            return Display(tuple(map(_node, items)), ordered)
        case ast.Set() | ast.Dict():
            return Display(_children(tree), ordered=False)
        case ast.Slice():
            whole = not _children(tree)
            return Span(_children(tree), whole, ":" if whole else ast.unparse(tree))
        case ast.BoolOp() | ast.Starred() | ast.Await():
            return OneOf(_children(tree))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(tree)
        case _:
            return _binding(tree)


def _binding(tree: ast.AST) -> Node:
    match tree:
        case ast.Lambda(body=body):
            return Capture(_all_names(body))
        case ast.NamedExpr(target=target, value=value):
            return Bind(target.id, _node(value))
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
    children = ast.iter_child_nodes(tree)
    return tuple(_node(child) for child in children if isinstance(child, ast.expr))


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


_IDLE = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _statement(tree: ast.stmt) -> Statement:
    match tree:
        case ast.Assign(targets=targets, value=value):
            return Assign(tuple(map(_node, targets)), _node(value))
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return Assign((_node(target),), _node(value))
        case ast.AugAssign(target=target, value=value):
            return Change(_node(target), _node(value))
        case ast.Expr() | ast.Assert():
            return Evaluate(_children(tree))
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            return Inner((), ((_node(target), _node(iterable)),), _statements([*body, *orelse]))
        case _:
            return _other_statement(tree)


def _other_statement(tree: ast.stmt) -> Statement:
    if isinstance(tree, _DEFINING):
        return Define(tree.name, _all_names(tree))
    if isinstance(tree, ast.Delete):
        return Delete(tuple(map(_node, tree.targets)))
    if isinstance(tree, _LEAVING):
        return Leave(_children(tree))
    return Statement() if isinstance(tree, _IDLE) else _inner(tree)


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
