"""What host code does with buffers: which it looks at, which it may change, what it gives.

Texts are run on what their names and operands may stand for. Code that is not known may read
and write what it is given, and keep it.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from trilby.analysis import known_calls
from trilby.analysis.alias import (
    NOTHING,
    NUMBER,
    BufferPart,
    HostHeap,
    Literally,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Seen,
    Thing,
    Things,
    either,
)
from trilby.analysis.host_code import (
    Bind,
    CallExpression,
    Capture,
    Comprehension,
    Conditional,
    Display,
    Hole,
    Item,
    Member,
    Name,
    Node,
    Number,
    OneOf,
    Operation,
    SliceIndex,
)
from trilby.analysis.host_touches import (
    HostTouch,
    computed,
    forget_items,
    is_length,
    is_number,
    item_at,
    loaded,
    part_below,
    written_by,
)
from trilby.analysis.value_sorts import Sorts
from trilby.data.dtypes import I64
from trilby.data.schema import INDEX
from trilby.dataclass import dataclass
from trilby.model.op import Op
from trilby.model.value import Value


@dataclass(slots=True)
class Reader:
    """Runs the text of one op.

    `names` are the variables by their names, `ever` what each may hold at any time (functions
    that are made see variables when they run).
    """

    op: Op
    things: Things
    memory: HostHeap
    names: Mapping[str, Value]
    sorts: Sorts
    operands: tuple[Seen, ...] = ()
    ever: Mapping[Value, Points] = field(default_factory=dict[Value, Points])
    many: bool = False
    touches: list[HostTouch] = field(default_factory=list[HostTouch])
    launches: bool = False
    """Whether the compute context is used: kernels may run."""
    leaves: bool = False
    """Whether it may leave the block it stands in."""
    unknown: bool = False
    """Whether code runs that is not known: it may touch what nobody gave it."""
    surely: bool = True
    _bound: dict[str, Seen] = field(default_factory=dict[str, Seen])
    _made: int = 0

    # ----------------------------------------------------------------------------- touching

    def look(self, *seen: Seen) -> Seen:
        """Read some values; what comes out is a number."""
        for one in seen:
            if self.is_data(one):
                self.touches.append(HostTouch(one, reads=True, writes=False, surely=self.surely))
        return NUMBER

    def is_data(self, seen: Seen) -> bool:
        """Whether this is a buffer, or used like one that it may be: `x.array`."""
        return self.things.are_buffers(seen.things) or seen.part is not None

    def hand(self, *seen: Seen) -> None:
        """Give something to code that is not known."""
        for one in seen:
            if self.things.are_buffers(one.things):
                self.touches.append(HostTouch(one, True, True, self.surely, handed=True))  # noqa: FBT003
                continue
            for thing in self.memory.reach(one.things):
                self.hand_inner(thing, listed=one.things)

    def hand_inner(self, thing: Thing, listed: Points) -> None:
        """What a container that is handed over has inside; found objects may be anything."""
        if thing in self.things.types:
            surely = all(holder.kind == "container" for holder in listed)
            seen = Seen(frozenset({thing}))
            self.touches.append(HostTouch(seen, surely, True, self.surely, handed=True))  # noqa: FBT003

    def change(self, seen: Seen) -> None:
        """Write to something."""
        known = frozenset(thing for thing in seen.things if thing in self.things.types)
        if known:
            written = replace(seen, things=known)
            surely = self.surely and known == seen.things
            self.touches.append(HostTouch(written, reads=False, writes=True, surely=surely))

    def found(self, what: str) -> Thing:
        """The object that comes out of this op's text at the next place."""
        self._made += 1
        return self.things.make((self.op, self._made), "found", what, many=self.many)

    # -------------------------------------------------------------------------- expressions

    def value(self, node: Node) -> Seen:
        """What an expression stands for; its accesses are noted."""
        match node:
            case Name():
                return self.named(node)
            case Hole(number):
                return self.operands[number]
            case Number(number):
                return Seen(number=number)
            case Item():
                return self.item(node)
            case Member():
                return self.member(self.value(node.owner), node.name)
            case CallExpression():
                return self.call(node)
            case _:
                return self.combined(node)

    def combined(self, node: Node) -> Seen:
        """What an expression that is made of others stands for."""
        match node:
            case Conditional():
                return self.chosen(node)
            case Operation():
                return self.operation(node)
            case Comprehension():
                return self.comprehension(node)
            case _:
                return self.gathered(node)

    def named(self, node: Name) -> Seen:
        """What a name holds; of one that is not local, some object."""
        if node.name in self._bound:
            return self._bound[node.name]
        if node.name not in self.names:
            thing = self.things.make(node.name, "found", node.name)
            return Seen(self.memory.inside.get(thing, NOTHING) | {thing})
        return loaded(self.memory, self.names[node.name])

    def chosen(self, node: Conditional) -> Seen:
        """Either of two, or the one that a known number chooses."""
        test = self.value(node.test)
        if test.number is not None:
            seen = self.value(node.then if test.number else node.otherwise)
        else:
            seen = either(self.perhaps(node.then), self.perhaps(node.otherwise))
        return replace(seen, part=None, where=self.text(node))

    def perhaps(self, node: Node) -> Seen:
        """What an expression stands for that may not be evaluated."""
        before, self.surely = self.surely, False
        seen = self.value(node)
        self.surely = before
        return seen

    def text(self, node: Node) -> Reference | None:
        """How an expression can be written once more, where evaluating it has no effects."""
        uses = node.names
        if uses is None or not self._bound.keys().isdisjoint(uses):
            return None
        if not self.sorts.may_repeat(node):
            return None
        match node:
            case Number(number):
                return Literally(number, I64)
            case Name(name) if name in self.names:
                return Reload(self.names[name])
            case _:
                return PlainExpression(
                    node.code, tuple(name for name in uses if name in self.names)
                )

    def item(self, node: Item) -> Seen:
        """What lies at a place of a list, a buffer or anything else."""
        owner = self.value(node.owner)
        indices = [self.value(index) for index in node.indices]
        if self.is_data(owner):
            return self.element(owner, node)
        number = indices[0].number if len(indices) == 1 else None
        content = item_at(self.things, self.memory, owner.things, number)
        return Seen(content | self.inner(owner.things, INDEX), where=self.text(node))

    def inner(self, owners: Points, step: str) -> Points:
        """The object that is found in another; of a container all that it holds is known."""
        contexts = frozenset(thing for thing in owners if thing.kind == "context")
        outer = [thing for thing in owners - contexts if thing.kind != "container"]
        if not outer:
            return contexts
        found = frozenset({self.found(f"{min(thing.name for thing in outer)}.{step}")})
        for thing in outer:
            self.memory.met[thing] = self.memory.met.get(thing, NOTHING) | found
        return contexts | found

    def element(self, owner: Seen, node: Item) -> Seen:
        """An element or a view of a buffer."""
        indices = tuple(map(self.text, filter(self.sorts.may_be_asked, node.indices)))
        known = tuple(index for index in indices if index is not None)
        part = (
            part_below(owner, (INDEX, known), self.things)
            if len(known) == len(node.indices)
            else None
        )
        if part and any(isinstance(index, SliceIndex) for index in node.indices):
            whole = all(isinstance(i, SliceIndex) and i.whole for i in node.indices)
            part = replace(part, is_view=True, whole=whole)
        seen = Seen(owner.things, is_part=True, part=part, where=owner.where)
        if part is None:
            return self.looked_at(seen)
        return seen if part.is_view else self.if_number(seen, part)

    def looked_at(self, seen: Seen) -> Seen:
        """Something in a view of which only the view is known: the view has to be there."""
        self.look(seen)
        return replace(seen, where=None)

    def if_number(self, seen: Seen, part: BufferPart) -> Seen:
        """A number is read at once; a struct, or a row, later."""
        types = (self.things.types[thing] for thing in self.things.buffers(seen.things))
        return self.look(seen) if all(is_number(type_, part) for type_ in types) else seen

    def member(self, owner: Seen, name: str) -> Seen:
        """An attribute."""
        known = self.things.buffers(owner.things)
        if known and (name in known_calls.METADATA or is_length(self.things, known, name)):
            return NUMBER
        part = part_below(replace(owner, things=known), (name, ()), self.things) if known else None
        if part is not None:
            seen = Seen(owner.things, is_part=True, part=part, where=owner.where)
            return self.if_number(seen, part)
        if known and known == owner.things:
            seen = Seen(owner.things, is_part=True, where=owner.where if owner.is_part else None)
            return self.looked_at(seen) if owner.is_part else seen
        inside = NOTHING.union(*(self.memory.inside.get(t, NOTHING) for t in owner.things))
        return Seen(inside | self.inner(owner.things, name))

    def operation(self, node: Operation) -> Seen:
        """A number of numbers; data is looked at; lists can be added."""
        parts = list(map(self.value, node.parts))
        numbers = [part.number for part in parts if part.number is not None]
        if node.sign in {"is", "is not"}:
            return NUMBER
        if len(numbers) == len(parts):
            return Seen(number=computed(node.sign, numbers))
        self.look(*parts)
        lists = [part.things for part in parts if not self.things.are_buffers(part.things)]
        inner = self.memory.reach(NOTHING.union(*lists)) if len(lists) == len(parts) else NOTHING
        return Seen(inner) if node.sign in {"+", "*"} else NUMBER

    def gathered(self, node: Node) -> Seen:
        """What holds others, or stands for one of them."""
        match node:
            case Display(items, ordered):
                return self.display([self.value(item) for item in items], ordered=ordered)
            case OneOf((first, *rest)):
                found = [self.value(first), *map(self.perhaps, rest)]
                inner = self.memory.reach(NOTHING.union(*(seen.things for seen in found)))
                is_part = any(seen.is_part for seen in found)
                return Seen(inner, is_part)
            case Capture(names):
                return self.display([self.at_any_time(name) for name in names], ordered=False)
            case Bind(target, value):
                return self.kept(target, self.value(value))
            case SliceIndex(parts):
                self.look(*map(self.value, parts))
                return NUMBER
            case _:
                return NUMBER

    def at_any_time(self, name: str) -> Seen:
        """All that a variable ever holds."""
        var = self.names.get(name)
        if var is None:
            return NUMBER
        return Seen(self.ever.get(var, NOTHING) | self.memory.held.get(var, NUMBER).things)

    def kept(self, name: str, seen: Seen) -> Seen:
        """A name that is set in the middle of expressions: it holds all that it ever did."""
        if name in self.names:
            self.memory.store(self.names[name], seen, surely=False)
        else:
            thing = self.things.make(name, "found", name)
            self.memory.put(frozenset({thing}), seen.things)
        return seen

    def display(self, items: list[Seen], *, ordered: bool) -> Seen:
        """A container; where each item of a list lies is known until the list changes."""
        self._made += 1
        thing = self.things.make((self.op, self._made), "container", "list", many=self.many)
        self.memory.inside[thing] = NOTHING.union(*(item.things for item in items))
        for number, item in enumerate(items if ordered and not self.many else ()):
            place = self.things.make((thing, number), "container", f"list[{number}]")
            self.memory.inside[place] = item.things
        return Seen(frozenset({thing}))

    def comprehension(self, node: Comprehension) -> Seen:
        """A list made in a loop."""
        before, self.surely = (dict(self._bound), self.surely), False
        for target, iterable in node.loops:
            self.bind_inner(target, self.elements(self.value(iterable)))
        self.look(*map(self.value, node.tests))
        made = self.display([self.value(part) for part in node.made], ordered=False)
        self._bound, self.surely = before
        return made

    def bind_inner(self, target: Node, seen: Seen) -> None:
        """Let a name of a comprehension stand for something."""
        match target:
            case Name(name):
                self._bound[name] = replace(seen, where=None)
            case Display(items) | OneOf(items):
                for item in items:
                    self.bind_inner(item, self.elements(seen))
            case _:
                return

    def elements(self, seen: Seen) -> Seen:
        """What comes out of iterating over something. Elements of an array are numbers, or rows."""
        if self.things.are_buffers(seen.things):
            self.look(seen)
            return Seen(seen.things, is_part=True)
        inside = NOTHING.union(*(self.memory.inside.get(t, NOTHING) for t in seen.things))
        return Seen(inside | self.inner(seen.things, INDEX))

    # -------------------------------------------------------------------------------- calls

    def call(self, node: CallExpression) -> Seen:
        """A call: of something well-known, or of code that may do anything with its arguments."""
        method, owner, name = "", NUMBER, ""
        match node.function:
            case Name(outer) if self.is_outer(outer):
                name = outer
            case Member(of, method):
                owner = self.value(of)
                name = of.name if isinstance(of, Name) and self.is_outer(of.name) else ""
            case _:
                owner = self.value(node.function)
        args = [self.value(arg) for arg in node.args]
        known = self.known_call(node, (name, method), owner, args)
        if known is not None:
            return known
        self.unknown = True
        self.hand(*(() if name and method else (owner,)), *args)
        given = self.memory.reach(NOTHING.union(owner.things, *(arg.things for arg in args)))
        self.launches |= any(thing.kind == "context" for thing in given)
        for arg in (owner, *args):
            self.memory.put(arg.things, given)
        forget_items(self.things, self.memory, given)
        found = self.found(f"{name or '…'}{'.' if method else ''}{method}()")
        return Seen((given if method else given - owner.things) | {found})

    def is_outer(self, name: str) -> bool:
        """Whether a name is none of the function's own."""
        return name not in self.names and name not in self._bound

    def known_call(
        self, node: CallExpression, called: tuple[str, str], owner: Seen, args: list[Seen]
    ) -> Seen | None:
        """The result of a call of something well-known, or None."""
        name, method = called
        is_buffer = self.is_data(owner)
        if method == "field" and all(thing.kind == "context" for thing in owner.things):
            return Seen(args[0].things, is_part=True)  # a place, of which nothing is read
        if is_buffer and method in known_calls.READING_METHODS:
            return self.look(owner, *args)
        if is_buffer and method == "fill":
            self.change(replace(owner, where=None))
            return NUMBER
        if method in known_calls.CONTAINER_METHODS and not is_buffer and not name:
            return self.passed_on(owner, args)
        if (name and method in known_calls.OURS) or (not method and name in known_calls.OURS):
            return self.display([], ordered=False)
        if not method and name in known_calls.NOTHING:
            return NUMBER
        written = written_by(node, name, method)
        return None if written is None else self.read(called, args, written)

    def read(self, called: tuple[str, str], args: list[Seen], written: frozenset[int]) -> Seen:
        """A call of something that only reads and writes; what it makes may hold what it got."""
        name, method = called
        self.look(*args)
        for number in written:
            self.change(replace(args[number], is_part=True, part=None, where=None))
        if written:
            return Seen(NOTHING.union(*(args[number].things for number in written)), is_part=True)
        if method in known_calls.MAKERS:
            return Seen(frozenset({self.found(f"{name}.{method}()")}))
        if name not in known_calls.PASSING or method:
            return NUMBER
        lists = [arg for arg in args if not self.things.are_buffers(arg.things)]
        return Seen(self.memory.reach(NOTHING.union(*(arg.things for arg in lists))))

    def passed_on(self, owner: Seen, args: list[Seen]) -> Seen:
        """A list takes a buffer, or gives one."""
        self.memory.put(owner.things, NOTHING.union(*(arg.things for arg in args)))
        forget_items(self.things, self.memory, owner.things)
        return Seen(self.memory.reach(owner.things))
