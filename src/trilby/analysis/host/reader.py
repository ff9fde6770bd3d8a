"""The abstract interpreter of host code: which buffers it touches, and what its names hold then.

The trees of host ops are run on what their names and operands may stand for. Code that is not known
may read and write what it is given, and keep it.
"""

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from trilby.analysis.alias import (
    ELSEWHERE,
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
from trilby.analysis.host import known_calls
from trilby.analysis.host.trees import (
    Comprehension,
    arguments,
    computed,
    expressions_in,
    indices_of,
    is_slice,
    is_unpacked,
    is_whole_slice,
    keywords,
    made_by,
    names_within,
    number_of,
    plain_names,
    sign_of,
    source_of,
    written_by,
    written_by_module,
)
from trilby.analysis.host.value_sorts import Sorts
from trilby.data.dtypes import I64
from trilby.data.schema import INDEX, BufferType
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand, named_by
from trilby.model.op import Op
from trilby.model.value import Value

_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)

WRITES = "writes to a buffer"
CHANGES = "may change an object from outside"
CALLS = "calls code that is not known"
SETS_OUTER = "sets a name of an outer scope"


@dataclass(frozen=True, slots=True)
class HostTouch:
    """An access of the host; `surely` where it happens whenever its op does.

    `handed` is true of what code that is not known is given: it counts as reading. Of
    `print(a.array[0])` it is `HostTouch(seen, reads=True, writes=False)`, where `seen` is the place
    `array[]` of `a`.
    """

    seen: Seen
    reads: bool
    writes: bool
    surely: bool = True
    handed: bool = False


@dataclass(slots=True)
class Effects:
    """The effects of an op: its accesses, whether it may launch kernels or leave its block.

    `note(a)` with a buffer `a` has one touch that reads and writes `a`, is `unknown`, and its
    `lasting` effect is "calls code that is not known".
    """

    touches: list[HostTouch] = field(default_factory=list[HostTouch])
    launches: bool = False
    """Whether the compute context is used: kernels may run."""
    leaves: bool = False
    """Whether it may leave the block it stands in."""
    unknown: bool = False
    """Whether code runs that is not known: it may touch what nobody gave it."""
    lasting: str = ""
    """What it does first that cannot be undone; empty for nothing."""


@dataclass(slots=True)
class Reader:
    """The abstract interpreter of the code of one op, whose effects it collects.

    `names` are the variables by their names, `ever` what each may hold at any time (functions
    that are made see variables when they run). After `c = a if n else b` the variable `c` stands
    for the things of `a` and of `b`; after `c.array[0] = 1` there is a touch that writes them.
    """

    op: Op
    things: Things
    memory: HostHeap
    names: Mapping[str, Value]
    sorts: Sorts
    operands: tuple[Seen, ...] = ()
    ever: Mapping[Value, Points] = field(default_factory=dict[Value, Points])
    many: bool = False
    effects: Effects = field(default_factory=Effects)
    renamed: frozenset[str] = frozenset()
    """Well-known names that stand for something else."""
    gives_buffer: bool = False
    """Whether the result of the op is known to be a buffer."""
    surely: bool = True
    _bound: dict[str, Seen] = field(default_factory=dict[str, Seen])
    _made: int = 0

    # ----------------------------------------------------------------------------- touching

    def touch(self, seen: Seen, *, reads: bool, writes: bool, handed: bool = False) -> None:
        """Note an access, which is sure where the code at hand surely runs."""
        self.effects.touches.append(HostTouch(seen, reads, writes, self.surely, handed))

    def look(self, *seen: Seen) -> Seen:
        """Read some values; what comes out is a number."""
        for one in seen:
            if self.is_data(one):
                self.touch(one, reads=True, writes=False)
        return NUMBER

    def tested(self, seen: Seen) -> Seen:
        """Ask whether something is true: of a buffer as a whole that is no data."""
        types = [self.things.types.get(thing) for thing in seen.things]
        if seen.is_part or not any(isinstance(type_, BufferType) for type_ in types):
            self.look(seen)
        return seen

    def is_data(self, seen: Seen) -> bool:
        """Whether this is a buffer, or used like one that it may be: `x.array`."""
        return self.things.are_buffers(seen.things) or seen.part is not None

    def hand(self, *seen: Seen) -> None:
        """Give something to code that is not known."""
        for one in seen:
            if self.things.are_buffers(one.things):
                self.touch(one, reads=True, writes=True, handed=True)
                continue
            # What a container has inside is surely given away; found objects may hold anything.
            listed = all(holder.kind == "container" for holder in one.things)
            for thing in self.things.buffers(self.memory.reach(one.things)):
                self.touch(Seen(frozenset({thing})), reads=listed, writes=True, handed=True)

    def change(self, seen: Seen) -> None:
        """Write to something."""
        known = self.things.buffers(seen.things)
        if known:
            written = replace(seen, things=known)
            surely = self.surely and known == seen.things
            touch = HostTouch(written, reads=False, writes=True, surely=surely)
            self.effects.touches.append(touch)

    def lasts(self, what: str) -> None:
        """Note something that cannot be undone."""
        self.effects.lasting = self.effects.lasting or what

    def found(self, what: str) -> Thing:
        """The object that comes out of this op's code at the next place."""
        self._made += 1
        return self.things.make((self.op, self._made), "found", what, many=self.many)

    # -------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> Seen:
        """What an expression stands for; its accesses are noted."""
        match node:
            case ast.Name(id=name):
                return self.named(name)
            case Operand(number):
                return self.operands[number]
            case ast.Constant():
                return Seen(number=number_of(node), fresh=True)
            case ast.Subscript():
                return self.item(node)
            case ast.Attribute(value=owner, attr=name):
                return self.member(self.value(owner), name)
            case ast.Call():
                return self.call(node)
            case ast.IfExp():
                return self.chosen(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case _:
                return self.gathered(node)

    def gathered(self, node: ast.expr) -> Seen:
        """What holds others, or stands for one of them."""
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                starred = any(isinstance(item, ast.Starred) for item in items)
                ordered = not isinstance(node, ast.Set) and not starred
                return self.display([self.entry(item) for item in items], ordered=ordered)
            case ast.Dict(keys=keys, values=values):
                pairs = list(zip(keys, values, strict=True))
                own = [self.value(one) for pair in pairs if pair[0] for one in pair if one]
                merged = [self.unpacked(value) for key, value in pairs if key is None]
                return self.display([*own, *merged], ordered=False)
            case ast.BoolOp() | ast.Starred() | ast.Await():
                return self.one_of(expressions_in(node))
            case ast.Lambda(body=body):
                return self.function(body)
            case ast.NamedExpr(target=target, value=value):
                return self.kept(target.id, self.value(value))
            case ast.Slice():
                return self.look(*map(self.value, expressions_in(node)))
            case _:
                return self.operation(node)

    def entry(self, item: ast.expr) -> Seen:
        """What a list has inside: of another one that is unpacked into it, the elements."""
        if isinstance(item, ast.Starred) and isinstance(item.ctx, ast.Load):
            return self.unpacked(item.value)
        return self.value(item)

    def unpacked(self, node: ast.expr) -> Seen:
        """The elements of a list that is unpacked into another."""
        owner = self.value(node)
        if self.is_data(owner):
            return self.looked_at(Seen(owner.things, is_part=True, where=owner.where))
        content = self.memory.item_at(self.things, owner.things, None)
        return Seen(content | self.inner(owner.things, INDEX))

    def one_of(self, nodes: list[ast.expr]) -> Seen:
        """`a or b`, `*items`, `await x`: the value is that of a part, or comes out of it."""
        first, *rest = nodes
        found = [self.value(first), *map(self.perhaps, rest)]
        for one in found[:-1]:
            self.tested(one)
        inner = self.memory.reach(NOTHING.union(*(seen.things for seen in found)))
        return Seen(inner, any(seen.is_part for seen in found))

    def named(self, name: str) -> Seen:
        """What a name holds; of one that is not local, some object."""
        if name in self._bound:
            return self._bound[name]
        if name not in self.names:
            thing = self.things.make(name, "found", name)
            return Seen(self.memory.inside.get(thing, NOTHING) | {thing})
        return self.memory.loaded(self.names[name])

    def chosen(self, node: ast.IfExp) -> Seen:
        """Either of two, or the one that a known number chooses."""
        test = self.tested(self.value(node.test))
        if test.number is not None:
            seen = self.value(node.body if test.number else node.orelse)
        else:
            seen = either(self.perhaps(node.body), self.perhaps(node.orelse))
        return replace(seen, part=None, where=self.text(node))

    def perhaps(self, node: ast.expr) -> Seen:
        """What an expression stands for that may not be evaluated."""
        before, self.surely = self.surely, False
        seen = self.value(node)
        self.surely = before
        return seen

    def text(self, node: ast.expr) -> Reference | None:
        """How an expression can be written once more, where evaluating it has no effects."""
        uses = plain_names(node)
        if uses is None or not self._bound.keys().isdisjoint(uses):
            return None
        if not self.sorts.may_repeat(node):
            return None
        number = number_of(node)
        if number is not None:
            return Literally(number, I64)
        if isinstance(node, ast.Name) and node.id in self.names:
            return Reload(self.names[node.id])
        return PlainExpression(source_of(node), tuple(name for name in uses if name in self.names))

    def item(self, node: ast.Subscript) -> Seen:
        """What lies at a place of a list, a buffer or anything else."""
        owner = self.value(node.value)
        indices = [self.value(index) for index in indices_of(node)]
        if self.is_data(owner):
            return self.element(owner, indices_of(node))
        number = indices[0].number if len(indices) == 1 else None
        content = self.memory.item_at(self.things, owner.things, number)
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

    def element(self, owner: Seen, nodes: list[ast.expr]) -> Seen:
        """An element or a view of a buffer."""
        indices = tuple(map(self.text, filter(self.sorts.may_be_asked, nodes)))
        known = tuple(index for index in indices if index is not None)
        part = self.things.part_below(owner, INDEX, known) if len(known) == len(nodes) else None
        if part and any(map(is_slice, nodes)):
            part = replace(part, is_view=True, whole=all(map(is_whole_slice, nodes)))
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
        known = self.things.buffers(seen.things)
        return self.look(seen) if self.things.is_number(known, part) else seen

    def member(self, owner: Seen, name: str) -> Seen:
        """An attribute."""
        if name == "accelerator" and is_context(owner):
            return owner
        known = self.things.buffers(owner.things)
        if known and (name in known_calls.METADATA or self.things.is_length(known, name)):
            return NUMBER
        part = self.things.part_below(replace(owner, things=known), name) if known else None
        if part is not None:
            seen = Seen(owner.things, is_part=True, part=part, where=owner.where)
            return self.if_number(seen, part)
        if known and known == owner.things:
            seen = Seen(owner.things, is_part=True, where=owner.where if owner.is_part else None)
            return self.looked_at(seen) if owner.is_part else seen
        inside = NOTHING.union(*(self.memory.inside.get(t, NOTHING) for t in owner.things))
        return Seen(inside | self.inner(owner.things, name))

    def operation(self, node: ast.expr) -> Seen:
        """Arithmetic, a comparison, a formatted string: data is read; lists can be added."""
        parts = list(map(self.value, expressions_in(node)))
        sign = sign_of(node)
        numbers = [part.number for part in parts if part.number is not None]
        if sign in {"is", "is not"}:
            return NUMBER
        if len(numbers) == len(parts):
            return Seen(number=computed(sign, numbers), fresh=True)
        self.look(*parts)
        lists = [part.things for part in parts if not self.things.are_buffers(part.things)]
        inner = self.memory.reach(NOTHING.union(*lists)) if len(lists) == len(parts) else NOTHING
        return Seen(inner, fresh=True) if sign in {"+", "*"} else NUMBER

    def function(self, body: ast.AST) -> Seen:
        """A function made on the spot: it sees what its variables ever hold, and not now."""
        variables = [self.names[name] for name in names_within(body) if name in self.names]
        ever = [self.ever.get(var, NOTHING) for var in variables]
        held = [self.memory.held.get(var, NUMBER).things for var in variables]
        return self.display([Seen(NOTHING.union(*ever, *held))], ordered=False)

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
        self.memory.fill(thing, NOTHING.union(*(item.things for item in items)))
        for number, item in enumerate(items if ordered and not self.many else ()):
            place = self.things.make((thing, number), "container", f"list[{number}]")
            self.memory.fill(place, item.things)
        return Seen(frozenset({thing}), fresh=True)

    def comprehension(self, node: Comprehension) -> Seen:
        """A list made in a loop."""
        before, self.surely = (dict(self._bound), self.surely), False
        for part in node.generators:
            self.bind_inner(part.target, self.elements(self.value(part.iter)))
        for part in node.generators:
            self.look(*map(self.value, part.ifs))
        made = self.display([self.value(part) for part in made_by(node)], ordered=False)
        self._bound, self.surely = before
        return made

    def bind_inner(self, target: ast.expr, seen: Seen) -> None:
        """Let a name of a comprehension stand for something."""
        match target:
            case ast.Name(id=name):
                self._bound[name] = replace(seen, where=None)
            case ast.Tuple() | ast.List() | ast.Starred():
                for item in expressions_in(target):
                    self.bind_inner(item, self.elements(seen))
            case _:
                return

    def elements(self, seen: Seen) -> Seen:
        """What comes out of iterating over something. Elements of an array are numbers, or rows."""
        if self.things.are_buffers(seen.things):
            self.look(seen)
            is_row = seen.part is None or not self.things.is_line(seen.things, seen.part)
            return Seen(seen.things, is_part=True) if is_row else NUMBER
        inside = NOTHING.union(*(self.memory.inside.get(t, NOTHING) for t in seen.things))
        pairs = self.things.buffers(seen.things)  # `enumerate(bufs)` has them inside of tuples
        return Seen(inside | pairs | self.inner(seen.things, INDEX))

    # -------------------------------------------------------------------------------- calls

    def call(self, node: ast.Call) -> Seen:
        """A call: of something well-known, or of code that may do anything with its arguments."""
        method, owner, name = "", NUMBER, ""
        match node.func:
            case ast.Name(id=outer) if self.is_outer(outer):
                name = outer
            case ast.Attribute(value=of, attr=method):
                owner = self.value(of)
                name = of.id if isinstance(of, ast.Name) and self.is_outer(of.id) else ""
            case _:
                owner = self.value(node.func)
        args = [self.value(arg) for arg in arguments(node)]
        self.keep_track(node, (name, method), owner)
        known = self.known_call(node, (name, method), owner, args)
        if known is not None:
            return known
        self.effects.unknown = True
        self.hand(*(() if name and method else (owner,)), *args)
        given = self.memory.reach(NOTHING.union(owner.things, *(arg.things for arg in args)))
        self.effects.launches |= any(thing.kind == "context" for thing in given)
        for arg in (owner, *args):
            self.memory.put(arg.things, given)
        self.memory.forget_items(self.things, given)
        if method in known_calls.FLUENT_METHODS and self.is_contexts(node, method, owner):
            return Seen(owner.things)
        found = self.found(f"{name or '…'}{'.' if method else ''}{method}()")
        return Seen((given if method else given - owner.things) | {found})

    def is_outer(self, name: str) -> bool:
        """Whether a name is none of the function's own, and means what it usually does."""
        is_own = name in self.names or name in self._bound
        return not is_own and name not in self.renamed

    def known_call(
        self, node: ast.Call, called: tuple[str, str], owner: Seen, args: list[Seen]
    ) -> Seen | None:
        """The result of a call of something well-known, or None."""
        name, method = called
        is_buffer = self.is_data(owner)
        if method == "field" and all(thing.kind == "context" for thing in owner.things):
            return Seen(args[0].things, is_part=True)  # a place, of which nothing is read
        if is_buffer and method in known_calls.READING_METHODS:
            self.look(owner, *args)
            return ELSEWHERE
        if is_buffer and method == "fill":
            self.change(replace(owner, where=None))
            return NUMBER
        if method in known_calls.CONTAINER_METHODS and not is_buffer and not name:
            passed = self.passed_on(owner, args)
            return owner if is_context(owner) else passed  # `cc.get(a)` gives `cc` back
        if name and (method or name) in known_calls.OURS:
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
        fresh = not method and name in known_calls.MAKING
        if name not in known_calls.PASSING or method:
            return NUMBER if fresh else ELSEWHERE
        lists = [arg for arg in args if not self.things.are_buffers(arg.things)]
        inner = self.memory.reach(NOTHING.union(*(arg.things for arg in lists)))
        return Seen(inner, fresh=fresh)

    def passed_on(self, owner: Seen, args: list[Seen]) -> Seen:
        """A list takes a buffer, or gives one."""
        self.memory.put(owner.things, NOTHING.union(*(arg.things for arg in args)))
        self.memory.forget_items(self.things, owner.things)
        return Seen(self.memory.reach(owner.things))

    # ------------------------------------------------------------------------- undoing calls

    def keep_track(self, node: ast.Call, called: tuple[str, str], owner: Seen) -> None:
        """Note a call that cannot be undone: of code that is not known, or one that writes."""
        name, method = called
        if self.is_harmless(node, called, owner) or self.is_contexts(node, method, owner):
            return
        written = written_by_module(node, name, method) if name and method else None
        if written is None or written:
            self.lasts(WRITES if written else CALLS)

    def is_harmless(self, node: ast.Call, called: tuple[str, str], owner: Seen) -> bool:
        """Whether a call surely leaves no trace."""
        name, method = called
        if not method:
            return (name in known_calls.HARMLESS and not _calls_back(name, node)) or _is_error(name)
        if name:
            is_ours = known_calls.MODULES.get(name) == "trilby"
            is_class = is_ours and method in known_calls.CLASSES
            is_maker = self.gives_buffer and method in known_calls.MAKERS
            return is_class or is_maker or method in known_calls.LOOKING_METHODS
        return (
            (owner.fresh and method in known_calls.CONTAINER_METHODS)
            or (self.is_data(owner) and method in known_calls.READING_METHODS)
            or method in known_calls.LOOKING_METHODS
        )

    def is_contexts(self, node: ast.Call, method: str, owner: Seen) -> bool:
        """Whether a call is one of the compute context: `cc.put(a)`, `cc.put(a).put(b)`."""
        # what is told of progress may do anything
        tells = method == "dispatch" and {"progress", ""}.intersection(keywords(node))
        is_ours = method in known_calls.CONTEXT_METHODS and not tells
        return is_ours and is_context(owner)

    # --------------------------------------------------------------------------- statements
    # What may run more than once, or never, adds to what names hold instead of replacing it.

    def run(self, statements: Iterable[ast.stmt]) -> None:
        """Run statements one after the other."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Run one statement."""
        match node:
            case ast.Assign(targets=targets, value=value):
                seen = self.value(value)
                for target in targets:
                    self.bind(target, seen, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value), value)
            case ast.AugAssign(target=target, value=value):
                self.bind(target, self.changed(self.value(target), self.value(value)))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if node.decorator_list or not isinstance(node, ast.FunctionDef):
                    self.lasts(CALLS)
                self.bind_name(node.name, self.function(node))
            case ast.Delete(targets=targets):
                self.delete(targets)
            case ast.Global() | ast.Nonlocal():
                self.lasts(SETS_OUTER)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                self.bind_elsewhere(*aliases)
            case ast.AnnAssign():
                return
            case ast.Assert(test=test, msg=message):
                self.tested(self.value(test))
                if message:
                    self.perhaps(message)
            case ast.Expr() | ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
                self.effects.leaves |= isinstance(node, _LEAVING)
                for value in expressions_in(node):
                    self.value(value)
            case _:
                self.within(node)

    def delete(self, targets: Iterable[ast.expr]) -> None:
        """`del x` takes the value of a variable away."""
        for target in targets:
            match target:
                case ast.Name(id=name):
                    if name in self.names:
                        self.memory.forget(self.names[name])
                case ast.Tuple(elts=items) | ast.List(elts=items):
                    self.delete(items)
                case ast.Subscript(value=owner) if self.value(owner).fresh:
                    pass
                case _:
                    self.lasts(CHANGES)

    def changed(self, old: Seen, operand: Seen) -> Seen:
        """`old += operand`: arrays are changed in place, lists take more in."""
        if not old.fresh:
            self.lasts(CHANGES)
        self.look(operand)
        if self.things.are_buffers(old.things):
            self.look(old)
            self.change(old)
            return old
        more = self.memory.reach(operand.things)
        self.memory.put(old.things, more)
        return Seen(old.things | more, fresh=old.fresh)

    def within(self, node: ast.AST) -> None:
        """Statements that run once, many times or never."""
        before, self.surely = self.surely, False
        if isinstance(node, ast.With | ast.AsyncWith | ast.AsyncFor):
            self.lasts(CALLS)
        self.heads(node)
        for _ in range(2):  # a loop may carry a buffer from its end to its begin
            self.bodies(node)
        self.surely = before

    def heads(self, node: ast.AST) -> None:
        """The expressions of `if`, `while`, `for`, `with`, `try`, `match`, and what they bind."""
        if isinstance(node, ast.For | ast.AsyncFor):
            self.bind(node.target, self.elements(self.value(node.iter)))
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.tested(self.value(child))
            elif isinstance(child, ast.withitem):
                found = self.elements(self.value(child.context_expr))
                if child.optional_vars:
                    self.bind(child.optional_vars, found)

    def bodies(self, node: ast.AST) -> None:
        """The statements inside of another, in the order of the source."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.excepthandler | ast.match_case):
                self.bind_elsewhere(*ast.walk(getattr(child, "pattern", ast.Pass())), child)
                self.within(child)

    def bind_elsewhere(self, *nodes: ast.AST) -> None:
        """Let the names that imports, `except` and patterns bind stand for anything."""
        for node in nodes:
            for name in named_by(node):
                self.bind_name(name, ELSEWHERE)

    def bind_name(self, name: str, seen: Seen) -> None:
        """Let a name stand for something."""
        if name in self.names:
            self.memory.store(self.names[name], seen, surely=self.surely)
        else:
            self.kept(name, seen)

    def bind(self, target: ast.expr, seen: Seen, source: ast.expr | None = None) -> None:
        """Let a target stand for something; a place in a buffer is written."""
        match target, source:
            case ast.Name(id=name), _:
                self.bind_name(name, seen)
            case (
                (ast.Tuple(elts=items) | ast.List(elts=items)),
                (ast.Tuple(elts=given) | ast.List(elts=given)),
            ) if len(items) == len(given):
                # evaluated already: what each opposite stands for is asked once more, unnoticed
                quiet = replace(self, effects=Effects())
                found = [quiet.entry(item) for item in given]
                for item, one in zip(items, found, strict=True):
                    self.bind(item, one)
            case ((ast.Tuple() | ast.List() | ast.Starred()), _):
                for item in expressions_in(target):
                    self.bind(item, self.elements(seen))
            case ast.Attribute(value=owner), _:
                self.lasts(CHANGES)
                self.store(self.value(owner), seen)
            case ast.Subscript(value=node), _:
                owner = self.value(node)
                if not owner.fresh:
                    self.lasts(CHANGES)
                self.look(*map(self.value, indices_of(target)))
                self.store(owner, seen)
            case _:
                return

    def store(self, owner: Seen, seen: Seen) -> None:
        """Put something in a place of a buffer, a list or another object."""
        if self.things.buffers(owner.things):
            self.change(replace(owner, is_part=True, part=None))
            surely = owner.things.isdisjoint(seen.things)  # to store what is there reads nothing
            replace(self, surely=self.surely and surely).look(seen)
        self.memory.put(owner.things, seen.things)
        self.memory.forget_items(self.things, owner.things)


def is_context(seen: Seen) -> bool:
    """Whether this surely is the compute context, or what belongs to it."""
    return bool(seen.things) and all(thing.kind == "context" for thing in seen.things)


def _calls_back(name: str, call: ast.Call) -> bool:
    """Whether a function of Python is given another one that it calls."""
    is_called_until = name == "iter" and len(call.args) + len(call.keywords) > 1
    return "key" in keywords(call) or is_unpacked(call) or is_called_until


def _is_error(name: str) -> bool:
    """Whether a name is that of an exception of Python's own."""
    found: object = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)
