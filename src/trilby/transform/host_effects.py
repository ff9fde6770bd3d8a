"""What the text of a host op may do with buffers: read them, write them, pass them on.

A text is run on sets of buffers instead of values. A name, an operand or a part of one stands
for itself; what is made of it stands for the same as long as it may still lead to its data:
`a.array`, `[a, b]`, `a if flag else b`. A look at data is a read. Code that is not known may
do anything to what it is given. Bodies of functions are not looked at: they run later.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import IntEnum
from typing import TypeAlias

from trilby.analysis import known_calls
from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import ArrayType, BufferType, step_into
from trilby.dataclass import dataclass
from trilby.model.holes import in_place_sign, marked, operand_number
from trilby.model.ops.host import HostRun, HostValue
from trilby.model.value import RefType
from trilby.syntax import parsed, parsed_expression

# --------------------------------------------------------------------------------------------- held
# What a name, an operand or a value of a compute function may stand for.

Root: TypeAlias = str | int
"""What a text is given: a local name, or the number of an operand."""


class ObjectKind(IntEnum):
    """What is known of an object; of two, the greater says more."""

    NOTHING = 0
    """No buffer, nor does it lead to one."""
    CONTAINER = 1
    """Is none, and holds some: a list, a tuple."""
    OBJECT = 2
    """May be a buffer, or anything else that holds some."""
    VIEW = 3
    """A part of a buffer."""
    DATA = 4
    """A buffer, an n-d array, or a struct in one."""


@dataclass(frozen=True, slots=True)
class HeldObject:
    """What a name or a value may stand for: its kind, its type if that is known, its roots."""

    kind: ObjectKind = ObjectKind.NOTHING
    type: Type | None = None
    roots: tuple[Root, ...] = ()

    def joined(self, other: "HeldObject") -> "HeldObject":
        """Either of the two."""
        if not self.kind or not other.kind:
            return self if self.kind else other
        roots = tuple(dict.fromkeys((*self.roots, *other.roots)))
        kind = self.kind if self.kind == other.kind else ObjectKind.OBJECT
        return HeldObject(kind, self.type if self.type == other.type else None, roots)

    @property
    def is_data(self) -> bool:
        """Surely a buffer or a part of one."""
        return self.kind > ObjectKind.OBJECT


NOTHING = HeldObject()


@dataclass(slots=True)
class TextEffects:
    """What a text does: `writes` are what it may write, `reads` what it only reads.

    `gives` is what its value may stand for, `sets` what names may that stood for less before:
    those that it assigns to, and lists that it puts something in.
    """

    reads: dict[Root, None] = field(default_factory=dict[Root, None])
    writes: dict[Root, None] = field(default_factory=dict[Root, None])
    gives: HeldObject = NOTHING
    sets: dict[str, HeldObject] = field(default_factory=dict[str, HeldObject])


def element_of(held: HeldObject) -> HeldObject:
    """What a container or an array gives when it is indexed or walked through."""
    match held.type:
        case ArrayType(element=ScalarType(), rank=1):
            return NOTHING
        case _:
            return HeldObject(ObjectKind.OBJECT, None, held.roots) if held.kind else NOTHING


# ------------------------------------------------------------------------------------- host effects

_IDENTITY = (ast.Is, ast.IsNot)

Tree: TypeAlias = ast.expr | tuple[ast.stmt, ...] | None
"""A text as Python reads it; None for a change in place, `{0} += {1}`."""


def tree_of(op: HostValue | HostRun) -> Tree:
    """The text of an op, with names for its operands."""
    text = marked(op.code, len(op.inputs))
    if isinstance(op, HostRun):
        return tuple(parsed(text).body)
    if in_place_sign(op.code):
        return None
    try:
        return parsed_expression(f"({text}\n)")
    except SyntaxError:  # `1:n` is Python only inside of brackets
        return parsed_expression(f"_[{text}\n]")


def text_effects(tree: Tree, known: Mapping[Root, HeldObject]) -> TextEffects:
    """What a text does with what is `known`; all else holds no buffers."""
    effects = TextEffects()
    seen = {root: replace(held, roots=(root,)) for root, held in known.items() if held.kind}
    names = {root: held for root, held in seen.items() if isinstance(root, str)}
    run = _Run(effects, dict(names), seen)
    if tree is None:
        effects.gives = run.changed(seen.get(0, NOTHING), seen.get(1, NOTHING))
    elif isinstance(tree, ast.expr):
        effects.gives = run.value(tree)
    else:
        for _ in range(2):  # a loop may carry a buffer from its end to its begin
            run.statements(tree)
    effects.sets = {name: held for name, held in run.names.items() if held != names.get(name)}
    effects.reads = {root: None for root in effects.reads if root not in effects.writes}
    return effects


@dataclass(slots=True)
class _Run:
    effects: TextEffects
    names: dict[str, HeldObject]
    given: Mapping[Root, HeldObject]

    # ---------------------------------------------------------------------------- effects

    def reads(self, *things: HeldObject) -> HeldObject:
        for thing in things:
            self.effects.reads |= dict.fromkeys(thing.roots)
        return NOTHING

    def writes(self, *things: HeldObject) -> None:
        for thing in things:
            self.effects.writes |= dict.fromkeys(thing.roots)

    def tested(self, thing: HeldObject) -> None:
        """The truth of a buffer is no data, that of an array is."""
        if thing.is_data and not isinstance(thing.type, BufferType):
            self.reads(thing)

    def changed(self, old: HeldObject, operand: HeldObject) -> HeldObject:
        """`old += operand`; the elements of a list are passed on."""
        if old.kind >= ObjectKind.OBJECT:
            self.writes(old)
        if old.is_data or operand.is_data:
            self.reads(operand)
            return old
        return old.joined(operand)

    # ------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> HeldObject:
        """What an expression may stand for, with its effects."""
        match node:
            case ast.Name(id=name):
                number = operand_number(name)
                found = self.names.get(name) if number is None else self.given.get(number)
                return found or NOTHING
            case ast.Attribute(value=owner, attr=name):
                return self.attribute(self.value(owner), name)
            case ast.Subscript(value=owner, slice=index):
                return self.element(self.value(owner), index)
            case ast.Call():
                return self.call(node)
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Starred():
                return self.container(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case _:
                return self.choice(node)

    def choice(self, node: ast.expr) -> HeldObject:
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.tested(self.value(test))
                return self.value(body).joined(self.value(orelse))
            case ast.BoolOp(values=values):
                return self.short_circuit(values)
            case ast.NamedExpr(target=target, value=value):
                return self.bind(target, self.value(value))
            case ast.Lambda():
                return NOTHING
            case _:
                return self.operation(node)

    def attribute(self, owner: HeldObject, name: str) -> HeldObject:
        if not owner.kind or name in known_calls.METADATA:
            return NOTHING
        if owner.type is None:
            return owner
        if isinstance(owner.type, BufferType) and name in owner.type.length_names:
            return NOTHING
        return self.below(owner, step_into(_content(owner.type), name))

    def element(self, owner: HeldObject, index: ast.expr) -> HeldObject:
        self.reads(self.value(index))
        if not owner.is_data:
            return element_of(owner)
        if any(isinstance(part, ast.Slice) for part in ast.walk(index)):
            return HeldObject(ObjectKind.VIEW, None, owner.roots)
        held = _content(owner.type) if owner.type else None
        if isinstance(held, ArrayType):
            count = len(index.elts) if isinstance(index, ast.Tuple) else 1
            if count == held.rank:
                return self.below(owner, held.element)
        self.reads(owner)  # a row, or a number
        return HeldObject(ObjectKind.VIEW, None, owner.roots)

    def below(self, owner: HeldObject, found: Type | None) -> HeldObject:
        """A place inside of a buffer: numbers are read at once."""
        if isinstance(found, ScalarType):
            return self.reads(owner)
        return HeldObject(ObjectKind.VIEW, found, owner.roots)

    def short_circuit(self, values: list[ast.expr]) -> HeldObject:
        total = NOTHING
        for number, value in enumerate(values, 1):
            found = self.value(value)
            if number < len(values):
                self.tested(found)
            total = total.joined(found)
        return total

    def container(self, node: ast.expr) -> HeldObject:
        total = NOTHING
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                total = total.joined(replace(self.value(child), type=None))
        return replace(total, kind=ObjectKind.CONTAINER) if total.kind else NOTHING

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> HeldObject:
        outer = dict(self.names)
        for part in node.generators:
            self.loop(part.target, part.iter)
            for test in part.ifs:
                self.tested(self.value(test))
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        total = self.container(ast.Tuple([one for one in made if one], ast.Load()))
        self.names = outer
        return total

    def operation(self, node: ast.expr) -> HeldObject:
        """Arithmetic, comparisons, texts: they read. Lists can be added and repeated."""
        children = ast.iter_child_nodes(node)
        parts = [self.value(child) for child in children if isinstance(child, ast.expr)]
        if isinstance(node, ast.Compare) and all(isinstance(o, _IDENTITY) for o in node.ops):
            return NOTHING
        if all(part.kind <= ObjectKind.CONTAINER for part in parts):
            return self.all_of(parts)
        return self.reads(*parts)

    def call(self, node: ast.Call) -> HeldObject:
        args = [self.value(arg) for arg in (*node.args, *(k.value for k in node.keywords))]
        owner, name, method = self.called(node.func)
        if owner.kind and method in known_calls.READING_METHODS:
            self.reads(owner, *args)
            return self.all_of([owner]) if method == "copy" and not owner.is_data else NOTHING
        is_module = name in known_calls.READING_MODULES | known_calls.NUMPY
        if method in known_calls.CONTAINER_METHODS and not owner.is_data and not is_module:
            return self.passed_on(owner, node.func, args)
        if not method and name in known_calls.NOTHING:
            return NOTHING
        written = _written_by(node, name, method)
        if written is not None:
            self.reads(*(arg for arg in args if arg.kind > ObjectKind.CONTAINER))
            self.writes(*(args[number] for number in written))
            passed = args if name in known_calls.PASSING and not method else ()
            return self.all_of([*passed, *(args[number] for number in written)])
        self.writes(owner, *args)
        return self.all_of([owner, *args])

    def called(self, function: ast.expr) -> tuple[HeldObject, str, str]:
        """The object that is called or whose method is, an outer name, the method's name."""
        match function:
            case ast.Name(id=name):
                found = self.value(function)
                return found, "" if found.kind else name, ""
            case ast.Attribute(value=of, attr=method):
                owner = self.value(of)
                is_outer = isinstance(of, ast.Name) and not owner.kind
                return owner, of.id if is_outer and isinstance(of, ast.Name) else "", method
            case _:
                return self.value(function), "", ""

    def passed_on(
        self, owner: HeldObject, function: ast.expr, args: list[HeldObject]
    ) -> HeldObject:
        """A list takes a buffer, or gives one."""
        if isinstance(function, ast.Attribute):
            self.put_in(function.value, owner, args)
        return self.all_of([owner, *args])

    def put_in(self, container: ast.expr, owner: HeldObject, things: Iterable[HeldObject]) -> None:
        """A list that has a name holds more from now on."""
        roots = self.all_of([owner, *things]).roots
        if isinstance(container, ast.Name) and roots:
            self.bind(container, HeldObject(owner.kind or ObjectKind.CONTAINER, None, roots))

    def all_of(self, things: Iterable[HeldObject]) -> HeldObject:
        total = NOTHING
        for thing in things:
            total = total.joined(thing)
        return HeldObject(min(total.kind, ObjectKind.OBJECT), None, total.roots)

    # -------------------------------------------------------------------------- statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                for target in targets:
                    self.bind(target, found)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value))
            case ast.AugAssign(target=target, value=value):
                old = self.place(target)
                self.changed(old, self.value(value))
            case ast.For(target=target, iter=iterable):
                self.loop(target, iterable)
                self.inner(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Delete():
                return
            case _:
                self.inner(node)

    def inner(self, node: ast.AST) -> None:
        """The expressions and statements inside of a statement, in order."""
        is_loop = isinstance(node, ast.For)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr) and not is_loop:
                found = self.value(child)
                if isinstance(node, ast.If | ast.While | ast.Assert):
                    self.tested(found)
            elif isinstance(child, ast.withitem):
                found = self.value(child.context_expr)
                if child.optional_vars:
                    self.bind(child.optional_vars, found)
            elif isinstance(child, ast.excepthandler | ast.match_case):
                self.inner(child)

    def loop(self, target: ast.expr, iterable: ast.expr) -> None:
        found = self.value(iterable)
        if found.is_data:
            self.reads(found)
        self.bind(target, element_of(found))

    def place(self, target: ast.expr) -> HeldObject:
        """What holds the place that is assigned to."""
        match target:
            case ast.Attribute(value=owner):
                return self.value(owner)
            case ast.Subscript(value=owner, slice=index):
                self.reads(self.value(index))
                return self.value(owner)
            case _:
                return self.value(target)

    def bind(self, target: ast.expr, found: HeldObject) -> HeldObject:
        """Let a target stand for something; elements of buffers are written."""
        match target:
            case ast.Name(id=name):
                before = self.names.get(name, NOTHING)
                if found.kind or before.kind:
                    self.names[name] = before.joined(found) if before.kind else found
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self.bind(part, element_of(found))
            case ast.Starred(value=inner):
                self.bind(inner, found)
            case _:
                self.store(target, found)
        return found

    def store(self, target: ast.expr, found: HeldObject) -> None:
        owner = self.place(target)
        if owner.kind >= ObjectKind.OBJECT:
            self.writes(owner)
        if owner.is_data:
            self.reads(found)
        elif isinstance(target, ast.Subscript):
            self.put_in(target.value, owner, [found])


def _content(type_: Type) -> Type:
    return type_.to if isinstance(type_, RefType) else type_


def _written_by(node: ast.Call, name: str, method: str) -> frozenset[int] | None:
    """The numbers of the arguments that a well-known function writes; None for any other."""
    if not method:
        return frozenset() if name in known_calls.READING else None
    if name and method in known_calls.MAKERS:
        return frozenset()
    keywords = tuple(keyword.arg or "" for keyword in node.keywords)
    unpacked = "" in keywords or any(isinstance(arg, ast.Starred) for arg in node.args)
    return known_calls.written_arguments(name, method, len(node.args), keywords, unpacked=unpacked)
