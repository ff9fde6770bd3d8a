"""From the text of host ops to their trees: the one analysis that knows Python's syntax."""

import ast
from dataclasses import field, replace
from functools import lru_cache

from trilby.dataclass import dataclass
from trilby.model.holes import marked, operand_number
from trilby.syntax import parsed, parsed_expression

# --------------------------------------------------------------------------------------- host trees
# The text of host ops as small trees of what may concern buffers.
#
# A tree says which names and operands meet where: what is called, chosen, put in a list, looked
# up, changed. How numbers are made of numbers matters as far as it decides between buffers
# (`bufs[g % 2]`).


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of which nothing is to be known.

    `names` are those in an expression of nothing but names, numbers, choices and items; they are
    None for any other. `code` is the text of such an expression. Whether it may be evaluated
    once more hangs on what its names are: `value_sorts.py`.
    """

    names: tuple[str, ...] | None = field(default=None, kw_only=True, compare=False)
    code: str = field(default="", kw_only=True, compare=False)


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
class Conditional(Node):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Item(Node):
    """`owner[indices]`."""

    owner: Node
    indices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`owner.name`."""

    owner: Node
    name: str


@dataclass(frozen=True, slots=True)
class CallExpression(Node):
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
class SliceIndex(Node):
    """A slice or `...`; `whole` where it leaves nothing out."""

    parts: tuple[Node, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """Arithmetic, a comparison, a formatted text: it looks at its parts. `sign` is Python's."""

    sign: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """`a or b`, `*items`, `await x`: the value is that of a part, or comes out of it."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Capture(Node):
    """A function made on the spot: it sees some names whenever it runs, and not now."""

    captured: tuple[str, ...]


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
    """A statement that does nothing to buffers: `import`, `global`."""


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
class Delete(Statement):
    """`del`."""

    targets: tuple[Node, ...]


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


def plain_names(node: Node) -> tuple[str, ...] | None:
    """The names in a plain expression; None for one that is not plain."""
    match node:
        case Name(name):
            return (name,)
        case Number():
            return ()
        case Conditional(test, then, otherwise):
            parts = (test, then, otherwise)
        case Item(owner, indices):
            parts = (owner, *indices)
        case Operation(sign, inner) if sign:
            parts = inner
        case SliceIndex(inner):
            parts = inner
        case _:
            return None
    found: dict[str, None] = {}
    for part in parts:
        if part.names is None:
            return None
        found.update(dict.fromkeys(part.names))
    return tuple(found)


# ---------------------------------------------------------------------------------------- host code


@lru_cache(maxsize=4096)
def expression_tree(code: str, operands: int) -> Node:
    """The tree of a `host.value`."""
    text = marked(code, operands)
    try:
        return _Trees(text, 1).node(parsed_expression(f"({text}\n)"))
    except SyntaxError:  # `1:n` is Python only inside of brackets
        found = parsed_expression(f"_[{text}\n]")
        return _Trees(text, 2).node(found.slice) if isinstance(found, ast.Subscript) else Node()


@lru_cache(maxsize=4096)
def statement_trees(code: str, operands: int) -> tuple[Statement, ...]:
    """The trees of a `host.run`."""
    text = marked(code, operands)
    return _Trees(text, 0).statements(parsed(text).body)


@lru_cache(maxsize=4096)
def target_tree(code: str) -> Node:
    """The tree of what a loop or a `with` binds."""
    return _Trees(code, 1).node(parsed_expression(f"({code}\n)"))


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

_IDLE = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class _Trees:
    """Makes the trees of one text; `lead` characters stood before it when it was parsed."""

    text: str
    lead: int

    def node(self, tree: ast.AST) -> Node:
        """The tree of an expression."""
        node = self._built(tree)
        names = plain_names(node)
        return node if names is None else replace(node, names=names, code=self._code(tree))

    def statements(self, body: list[ast.stmt]) -> tuple[Statement, ...]:
        """The trees of statements."""
        return tuple(map(self._statement, body))

    def _code(self, tree: ast.AST) -> str:
        """The text of an expression: cut out where that is easy, else written anew."""
        if isinstance(tree, ast.expr | ast.Slice) and tree.end_lineno == 1 and self.text.isascii():
            return self.text[tree.col_offset - self.lead : (tree.end_col_offset or 0) - self.lead]
        return ast.unparse(tree)

    def _built(self, tree: ast.AST) -> Node:
        match tree:
            case ast.Name(id=name):
                number = operand_number(name)
                return Name(name) if number is None else Hole(number)
            case ast.Constant(value=value):
                return _constant(value)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return Conditional(self.node(test), self.node(body), self.node(orelse))
            case ast.Subscript(value=owner, slice=index):
                return Item(self.node(owner), self._indices(index))
            case ast.Attribute(value=owner, attr=name):
                return Member(self.node(owner), name)
            case ast.Call(func=function, args=args, keywords=keywords):
                given = (*args, *(keyword.value for keyword in keywords))
                named = tuple(keyword.arg or "" for keyword in keywords)
                return CallExpression(self.node(function), tuple(map(self.node, given)), named)
            case _:
                return self._gathered(tree)

    def _indices(self, index: ast.expr) -> tuple[Node, ...]:
        if isinstance(index, ast.Tuple):
            return tuple(map(self.node, index.elts))
        return (self.node(index),)

    def _gathered(self, tree: ast.AST) -> Node:
        match tree:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                ordered = not any(isinstance(item, ast.Starred) for item in items)
                return Display(tuple(map(self._entry, items)), ordered)
            case ast.Set(elts=items):
                return Display(tuple(map(self._entry, items)), ordered=False)
            case ast.Dict(keys=keys, values=values):
                merged = {id(v) for k, v in zip(keys, values, strict=True) if k is None}
                own = (*filter(None, keys), *(v for v in values if id(v) not in merged))
                others = (self._element(v) for v in values if id(v) in merged)
                return Display((*map(self.node, own), *others), ordered=False)
            case ast.Slice():
                whole = not self._children(tree)
                return SliceIndex(self._children(tree), whole)
            case ast.BoolOp() | ast.Starred() | ast.Await():
                return OneOf(self._children(tree))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(tree)
            case _:
                return self._binding(tree)

    def _entry(self, item: ast.expr) -> Node:
        """What a list has inside: of another one that is unpacked into it, the elements."""
        if isinstance(item, ast.Starred) and isinstance(item.ctx, ast.Load):
            return self._element(item.value)
        return self.node(item)

    def _element(self, of: ast.expr) -> Node:
        return Item(self.node(of), (Node(),))

    def _binding(self, tree: ast.AST) -> Node:
        match tree:
            case ast.Lambda(body=body):
                return Capture(_all_names(body))
            case ast.NamedExpr(target=target, value=value):
                return Bind(target.id, self.node(value))
            case _:
                return Operation(_sign(tree), self._children(tree))

    def _children(self, tree: ast.AST) -> tuple[Node, ...]:
        children = ast.iter_child_nodes(tree)
        return tuple(self.node(child) for child in children if isinstance(child, ast.expr))

    def _comprehension(
        self,
        tree: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    ) -> Comprehension:
        loops = tuple((self.node(part.target), self.node(part.iter)) for part in tree.generators)
        tests = tuple(self.node(test) for part in tree.generators for test in part.ifs)
        made = [tree.key, tree.value] if isinstance(tree, ast.DictComp) else [tree.elt]
        return Comprehension(loops, tests, tuple(self.node(part) for part in made if part))

    def _statement(self, tree: ast.stmt) -> Statement:
        match tree:
            case ast.Assign(targets=targets, value=value):
                return Assign(tuple(map(self.node, targets)), self.node(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return Assign((self.node(target),), self.node(value))
            case ast.AugAssign(target=target, value=value):
                return Change(self.node(target), self.node(value))
            case ast.Expr() | ast.Assert():
                return Evaluate(self._children(tree))
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                return Inner(
                    (),
                    ((self.node(target), self.node(iterable)),),
                    self.statements([*body, *orelse]),
                )
            case _:
                return self._other_statement(tree)

    def _other_statement(self, tree: ast.stmt) -> Statement:
        if isinstance(tree, _DEFINING):
            return Define(tree.name, _all_names(tree))
        if isinstance(tree, ast.Delete):
            return Delete(tuple(map(self.node, tree.targets)))
        if isinstance(tree, _LEAVING):
            return Leave(self._children(tree))
        return Statement() if isinstance(tree, _IDLE) else self._inner(tree)

    def _inner(self, tree: ast.AST) -> Inner:
        """`if`, `while`, `with`, `try`, `match`: whatever is inside, in the order of the text."""
        values: list[Node] = []
        bindings: list[tuple[Node, Node]] = []
        body: list[Statement] = []
        for child in ast.iter_child_nodes(tree):
            if isinstance(child, ast.stmt):
                body.append(self._statement(child))
            elif isinstance(child, ast.expr):
                values.append(self.node(child))
            elif isinstance(child, ast.withitem):
                value = self.node(child.context_expr)
                target = child.optional_vars
                bindings.append((self.node(target) if target else Node(), value))
            elif isinstance(child, ast.excepthandler | ast.match_case):
                body.append(self._inner(child))
        return Inner(tuple(values), tuple(bindings), tuple(body))


def _constant(value: object) -> Node:
    if value is ...:
        return SliceIndex((), whole=True)
    return Number(int(value)) if isinstance(value, int) else Node()


def _sign(tree: ast.AST) -> str:
    match tree:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.Compare(ops=[op]):
            return _SIGNS.get(type(op), "")
        case _:
            return ""


def _all_names(*trees: ast.AST) -> tuple[str, ...]:
    parts = (part for tree in trees for part in ast.walk(tree))
    return tuple(dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name)))
