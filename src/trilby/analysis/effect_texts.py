"""What the text of a host op may do for good, beyond the names of its function."""

import builtins
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import cast

from trilby.analysis import known_calls
from trilby.analysis.host_touches import is_unpacked, written_by_module
from trilby.analysis.host_trees import (
    Assign,
    Call,
    Change,
    Comprehension,
    Define,
    Delete,
    Display,
    Hole,
    Item,
    Member,
    Name,
    Node,
    OneOf,
    Statement,
)
from trilby.dataclass import dataclass

WRITES = "writes to a buffer"
CHANGES = "may change an object from outside"
CALLS = "calls code that is not known"
SETS_OUTER = "sets a name of an outer scope"

HARMLESS = known_calls.NOTHING | known_calls.READING - {"print", "next", "map", "filter"}
"""Functions that leave no trace and call nothing that they are given."""

OURS = frozenset(
    {"NDRange", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}
)
"""Classes of this package that host code calls by their names."""

THIS_PACKAGE = frozenset({"tb", "trilby"})

CONTEXT_METHODS = frozenset({"put", "get", "field", "explicit", "dispatch", "array"})
"""Methods of the compute context, and of its accelerator, whose effects the run time knows."""

LOOKING_METHODS = frozenset({"items", "keys", "values"})


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of one op.

    `own` are the variables whose objects were made in the function, `local` all of its
    variables, `context` is the name of the compute context. `operands` are the texts of
    operands, where they have one; `data` says of each whether it is a buffer or a view.
    `gives_buffer` is true where the result is a buffer.
    """

    own: frozenset[str]
    local: frozenset[str]
    context: str
    operands: tuple[Node, ...]
    data: tuple[bool, ...]
    gives_buffer: bool

    # --------------------------------------------------------------------------- statements

    def run(self, statements: Iterable[Statement]) -> str:
        """What statements may do for good; empty for nothing."""
        return _first(self._statement(statement) for statement in statements)

    def _statement(self, statement: Statement) -> str:
        match statement:
            case Define():
                return ""
            case Assign(targets, value):
                return _first(map(self._target, targets)) or self.effect(value)
            case Change(target, value):
                is_own = isinstance(target, Name) and target.name in self.own
                return ("" if is_own else CHANGES) or self.effect(value)
            case Delete(targets):
                return _first(map(self._target, targets))
            case _:
                return _first(map(self._part, _parts(statement)))

    def _part(self, part: Node | Statement) -> str:
        return self._statement(part) if isinstance(part, Statement) else self.effect(part)

    def _target(self, target: Node) -> str:
        """A name is bound anew; a place in an object has to be in one that was made here."""
        match target:
            case Name():
                return ""
            case Display(items) | OneOf(items):
                return _first(map(self._target, items))
            case Item(Name(name), indices) if name in self.own:
                return _first(map(self.effect, indices))
            case _:
                return CHANGES

    # -------------------------------------------------------------------------- expressions

    def effect(self, node: Node) -> str:
        """What an expression may do for good; empty for nothing."""
        if isinstance(node, Comprehension):
            return self._without(_names(target for target, _ in node.loops)).inside(node)
        if isinstance(node, Call) and not self._is_harmless(node):
            written = self._written(node)
            return CALLS if written is None else WRITES if written else self.inside(node)
        return self.inside(node)

    def _written(self, call: Call) -> frozenset[int] | None:
        """The arguments that a function of a well-known module writes; None for any other."""
        match self._text_of(call.function):
            case Member(Name(name), method) if name not in self.local:
                return written_by_module(call, name, method)
            case _:
                return None

    def inside(self, node: Node) -> str:
        """The same of the parts of an expression."""
        return _first(map(self._part, _parts(node)))

    def _without(self, hidden: frozenset[str]) -> "Texts":
        """Inside of a comprehension some names stand for something else."""
        return replace(self, own=self.own - hidden, local=self.local | hidden)

    def _text_of(self, node: Node) -> Node:
        """A tree, or that of the operand that it stands for."""
        return self.operands[node.number] if isinstance(node, Hole) else node

    def _is_harmless(self, call: Call) -> bool:
        return (
            self.is_known(call, HARMLESS | OURS)
            or self.makes_buffer(call)
            or self.is_contexts(call)
            or self._is_method(call)
        )

    def is_known(self, call: Call, names: frozenset[str]) -> bool:
        """A call of a function by a well-known name, or of an exception of Python's own."""
        match self._text_of(call.function):
            case Name(name) if name not in self.local:
                return (name in names and not _calls_back(name, call)) or _is_exception(name)
            case _:
                return False

    def makes_buffer(self, call: Call) -> bool:
        """`S32Array.create(…)`, known to give a buffer."""
        match self._text_of(call.function):
            case Member(Name(name), maker) if name not in self.local:
                return self.gives_buffer and maker in known_calls.MAKERS
            case _:
                return False

    def is_contexts(self, node: Node) -> bool:
        """A chain of calls that begins with the compute context: `cc.put(a).put(b)`."""
        match node:
            case Call(function, _, keywords):
                method = self._text_of(function)
            case _:
                return False
        if not isinstance(method, Member) or method.name not in CONTEXT_METHODS:
            return False
        if method.name == "dispatch" and {"progress", ""}.intersection(keywords):
            return False  # what is told of progress may do anything
        return self._is_context(method.owner) or self.is_contexts(method.owner)

    def _is_context(self, node: Node) -> bool:
        match self._text_of(node):
            case Name(name):
                return name == self.context
            case Member(owner, "accelerator"):
                return self._is_context(owner)
            case _:
                return False

    def _is_method(self, call: Call) -> bool:
        match self._text_of(call.function):
            case Member(Name(name), method) if name in THIS_PACKAGE and name not in self.local:
                return method in OURS
            case Member(Name(name), method) if name in self.own:
                return method in known_calls.CONTAINER_METHODS
            case Member(Hole(number), method) if self.data[number]:
                return method in known_calls.READING_METHODS
            case Member(_, method):
                return method in LOOKING_METHODS
            case _:
                return False


def _calls_back(name: str, call: Call) -> bool:
    """Whether a function of Python is given another one that it calls."""
    return "key" in call.keywords or is_unpacked(call) or (name == "iter" and len(call.args) > 1)


def _first(effects: Iterable[str]) -> str:
    return next(filter(None, effects), "")


def _parts(tree: Node | Statement) -> list[Node | Statement]:
    """The trees within a tree, in order."""
    found: list[Node | Statement] = []
    for field in fields(tree):
        _collect(getattr(tree, field.name), found)
    return found


def _collect(thing: object, found: list[Node | Statement]) -> None:
    if isinstance(thing, Node | Statement):
        found.append(thing)
    elif isinstance(thing, tuple):
        for one in cast("tuple[object, ...]", thing):
            _collect(one, found)


def _names(targets: Iterable[Node]) -> frozenset[str]:
    found: set[str] = set()
    for target in targets:
        if isinstance(target, Name):
            found.add(target.name)
        elif isinstance(target, Display | OneOf):
            found |= _names(part for part in _parts(target) if isinstance(part, Node))
    return frozenset(found)


def _is_exception(name: str) -> bool:
    found: object = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)
