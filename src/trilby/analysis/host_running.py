"""Statements that are kept as text: what they do with buffers, and what their names hold after."""

from collections.abc import Iterable
from dataclasses import replace

from trilby.analysis.alias import Seen
from trilby.analysis.host_reading import Reader
from trilby.analysis.host_touches import forget_items
from trilby.analysis.host_trees import (
    Assign,
    Change,
    Define,
    Delete,
    Display,
    Evaluate,
    Inner,
    Item,
    Leave,
    Member,
    Name,
    Node,
    OneOf,
    Statement,
)
from trilby.dataclass import dataclass


@dataclass(slots=True)
class Runner(Reader):
    """Runs the statements of one op.

    What may run more than once, or never, adds to what names hold instead of replacing it.
    """

    def run(self, statements: Iterable[Statement]) -> None:
        """Run statements one after the other."""
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        """Run one statement."""
        match statement:
            case Assign(targets, value):
                seen = self.value(value)
                for target in targets:
                    self.bind(target, seen, value)
            case Change(target, value):
                self.changed(target, self.value(target), self.value(value))
            case Define(name, captured):
                made = self.display([self.at_any_time(one) for one in captured], ordered=False)
                self.bind(Name(name), made)
            case Evaluate(values) | Leave(values):
                self.leaves |= isinstance(statement, Leave)
                for value in values:
                    self.value(value)
            case Inner():
                self.within(statement)
            case _:
                self.delete(statement)

    def delete(self, statement: Statement) -> None:
        """`del x` takes the value of a variable away."""
        for target in statement.targets if isinstance(statement, Delete) else ():
            if isinstance(target, Name) and target.name in self.names:
                self.memory.forget(self.names[target.name])

    def changed(self, target: Node, old: Seen, new: Seen) -> None:
        """`target += value`: an array changes in place, a list takes more in."""
        self.look(new)
        if self.things.are_buffers(old.things):
            self.look(old)
            self.change(old)
        self.bind(target, Seen(old.things | self.memory.reach(new.things), old.is_part))

    def within(self, statement: Inner) -> None:
        """Statements that run once, many times or never."""
        before, self.surely = self.surely, False
        for value in statement.values:
            self.value(value)
        for target, value in statement.bindings:
            self.bind(target, self.elements(self.value(value)))
        for _ in range(2):  # a loop may carry a buffer from its end to its begin
            self.run(statement.body)
        self.surely = before

    def bind(self, target: Node, seen: Seen, source: Node | None = None) -> None:
        """Let a target stand for something; a place in a buffer is written."""
        match target:
            case Name(name) if name in self.names:
                self.memory.store(self.names[name], seen, surely=self.surely)
            case Name(name):
                self.kept(name, seen)
            case Display(items) if isinstance(source, Display) and len(items) == len(source.items):
                # evaluated already: what each opposite stands for is asked once more, unnoticed
                quiet = replace(self, touches=[])
                found = [quiet.value(item) for item in source.items]
                for item, one in zip(items, found, strict=True):
                    self.bind(item, one)
            case Display(items) | OneOf(items):
                for item in items:
                    self.bind(item, self.elements(seen))
            case Member(owner) | Item(owner):
                self.store(self.value(owner), seen)
            case _:
                return

    def store(self, owner: Seen, seen: Seen) -> None:
        """Put something in a place of a buffer, a list or another object."""
        if any(thing in self.things.types for thing in owner.things):
            self.change(replace(owner, is_part=True, part=None))
            surely = owner.things.isdisjoint(seen.things)  # to store what is there reads nothing
            replace(self, surely=self.surely and surely).look(seen)
        self.memory.put(owner.things, seen.things)
        forget_items(self.things, self.memory, owner.things)
