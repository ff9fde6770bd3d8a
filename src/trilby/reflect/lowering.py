"""The state of one function on its way from AST to model.

The rules for statements and expressions stand in modules of their own and get this object
as their first argument; it knows variables, the current block, and how to raise an error
at a node.
"""

import ast
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias, TypeVar

from trilby.data.dtypes import F32, F64, ScalarType, Type, is_numpy_scalar, scalar_of
from trilby.data.schema import StructType
from trilby.dataclass import dataclass
from trilby.errors import FieldError, KernelNameError, KernelTypeError, TrilbyError
from trilby.model.build import Builder
from trilby.model.op import Op
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.memory import Load, Store
from trilby.model.value import Value, VarType, space_of
from trilby.reflect.capture import Captured
from trilby.reflect.functions import Helper
from trilby.reflect.operands import KnownObject, Literal, LocalPlace, Operand, PlaceOf
from trilby.source import Location

# ------------------------------------------------------------------------------------------- scopes
# Where the local variables of a function live, found before it is lowered.
#
# Python's locals belong to the whole function; a device's belong to a block. A variable is
# declared in the innermost block that holds every place where its name occurs.

BlockPath: TypeAlias = tuple[tuple[int, str], ...]
"""The way to a block from the function's body: statements (by line and column) and parts."""


def local_names(body: Sequence[ast.stmt]) -> tuple[dict[str, BlockPath], dict[str, int]]:
    """For each name the innermost block that holds all its occurrences, and its assignments."""
    homes: dict[str, BlockPath] = {}
    assignments: dict[str, int] = {}
    for node, path in _occurrences(body, ()):
        name = node.id
        homes[name] = _common(homes[name], path) if name in homes else path
        if not isinstance(node.ctx, ast.Load):
            assignments[name] = assignments.get(name, 0) + 1
    return homes, assignments


def inner_path(path: BlockPath, statement: ast.stmt, part: str) -> BlockPath:
    """The path of the block `part` (`body`, `orelse`) of a statement."""
    return (*path, (statement.lineno * 10_000 + statement.col_offset, part))


def _common(left: BlockPath, right: BlockPath) -> BlockPath:
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return left[:length]


def _occurrences(body: Sequence[ast.stmt], path: BlockPath) -> Iterator[tuple[ast.Name, BlockPath]]:
    for statement in body:
        for field_name, part in ast.iter_fields(statement):
            if field_name in {"body", "orelse"}:
                yield from _occurrences(part, inner_path(path, statement, field_name))
                continue
            # a loop's target belongs to its body: that is where it gets its value
            is_target = isinstance(statement, ast.For) and field_name == "target"
            where = inner_path(path, statement, "body") if is_target else path
            for root in part if isinstance(part, list) else [part]:  # pyright: ignore[reportUnknownVariableType] -- an AST field is a node or a list of nodes
                for node in ast.walk(root) if isinstance(root, ast.AST) else ():
                    if isinstance(node, ast.Name):
                        yield node, where


# ----------------------------------------------------------------------------------------- lowering

ErrorT = TypeVar("ErrorT", bound=TrilbyError)


Origin: TypeAlias = str | ast.AST
"""What a Python number came from: a variable, or the expression that made a float of it."""


@dataclass(slots=True)
class Level:
    """A block that is being built: where it is, and where its current statement began."""

    builder: Builder
    path: BlockPath
    statement_start: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable: its `var` op's result, its type, and where it is first set.

    `origins` is None unless it holds Python numbers only, whose type follows from their use.
    """

    var: Value
    type: Type
    location: Location
    origins: frozenset[Origin] | None = None


@dataclass(frozen=True, slots=True)
class Callee:
    """A helper that the function calls, with the ranks of its n-d array arguments."""

    helper: Helper[..., object]
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """The innermost loop: the flag that its `else` needs, and what is set at every `break`."""

    broke: Value | None
    breaks: frozenset[str] | None = None
    """None where no `break` was found yet."""


@dataclass(slots=True)
class Lowering:
    """Everything that is known while one function is lowered."""

    captured: Captured
    result_type: Type
    expression: Callable[["Lowering", ast.expr], Operand]
    symbol_of: Callable[[Callee], str]
    params: Mapping[str, Value]
    homes: Mapping[str, BlockPath]
    stored: frozenset[str]
    single: frozenset[str]
    is_kernel: bool
    guesses: dict[Origin, ScalarType]
    """Python numbers that are wider than their first value asked for, as earlier passes found."""
    typed: set[str]
    """Variables of Python numbers that also hold numbers with a type of their own."""
    target: str = ""
    levels: list[Level] = field(default_factory=list[Level])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    aliases: dict[str, Operand] = field(default_factory=dict[str, Operand])
    assigned: frozenset[str] | None = frozenset()
    weak: dict[Value, frozenset[Origin]] = field(default_factory=dict[Value, frozenset[Origin]])
    retyped: bool = False
    hardened: set[str] = field(default_factory=set[str])
    relied: set[Origin] = field(default_factory=set[Origin])
    loops: list[Loop] = field(default_factory=list[Loop])
    callees: dict[str, Callee] = field(default_factory=dict[str, Callee])
    constants: dict[str, object] = field(default_factory=dict[str, object])
    structs: dict[str, StructType] = field(default_factory=dict[str, StructType])

    # -- building ---------------------------------------------------------------------

    @property
    def builder(self) -> Builder:
        """The builder of the block that is being lowered."""
        return self.levels[-1].builder

    def value(
        self,
        kind: Callable[..., Op],
        *fields: object,
        type: Type,  # noqa: A002 -- the word that `Value` uses
        at: ast.AST,
        hint: str = "",
    ) -> Value:
        """Append an op with a result, located at a node."""
        return self.builder.value(kind, *fields, type=type, hint=hint, location=self.where(at))

    def run(self, kind: Callable[..., Op], *fields: object, at: ast.AST) -> None:
        """Append an op without a result, located at a node."""
        self.builder.run(kind, *fields, location=self.where(at))

    def lower(self, node: ast.expr) -> Operand:
        """Lower an expression."""
        return self.expression(self, node)

    @contextmanager
    def inside(self, level: Level) -> Generator[None]:
        """Emit into another block for a while."""
        self.levels.append(level)
        yield
        self.levels.pop()

    # -- errors -----------------------------------------------------------------------

    def where(self, node: ast.AST) -> Location:
        """The place of a node in the user's file."""
        return self.captured.location(node)

    def error(self, kind: type[ErrorT], node: ast.AST, problem: str, advice: str = "") -> ErrorT:
        """An error with the place of a node."""
        return kind(problem, advice=advice, location=self.where(node))

    def clash(self, node: ast.AST, problem: str, advice: str = "") -> KernelTypeError:
        """The error for types that do not fit."""
        return self.error(KernelTypeError, node, problem, advice)

    # -- places -----------------------------------------------------------------------

    def load(self, place: PlaceOf | LocalPlace, node: ast.AST) -> Value:
        """The number at a place."""
        if isinstance(place, LocalPlace):
            return self.read_variable(place.path, node)
        return self.value(Load, place.base, place.indices, place.path, type=place.type, at=node)

    def store(self, place: PlaceOf | LocalPlace, value: Value, node: ast.AST) -> None:
        """Write the number at a place."""
        if isinstance(place, LocalPlace):
            self.run(VarStore, self.variables[place.path].var, value, at=node)
        else:
            self.run(Store, place.base, place.indices, value, place.path, at=node)

    def check_writable(self, place: PlaceOf | LocalPlace, node: ast.AST) -> None:
        """Refuse to change constant memory, and what is fixed when a buffer is created."""
        if isinstance(place, LocalPlace):
            return
        if space_of(place.base.type) == "constant":
            raise self.error(
                FieldError,
                node,
                "this lies in constant memory, which kernels only read",
                "declare the parameter without `tb.Constant`, or write to another buffer",
            )
        if not place.writable:
            raise self.error(
                FieldError,
                node,
                f"`{place.path}` is a length, fixed when the buffer was created",
                "keep a count in a field of its own",
            )

    # -- names from outside -------------------------------------------------------------

    def known(self, name: str, thing: object, node: ast.AST) -> Operand:
        """What a Python object means in a kernel; numbers are constants, folded in."""
        self.constants[name] = thing
        if is_numpy_scalar(thing):
            type_ = scalar_of(thing.dtype)
            if type_ is None:
                raise self.clash(node, f"`{name}` is `{thing.dtype}`, which kernels do not have")
            return self.value(Constant, thing.item(), type=type_, at=node, hint=name)
        if isinstance(thing, bool | int | float):
            return Literal(thing)
        return KnownObject(thing)

    # -- variables --------------------------------------------------------------------

    def check_assigned(self, name: str, node: ast.AST) -> None:
        """Refuse a variable that is not set on every path to here."""
        if self.assigned is not None and name not in self.assigned:
            raise self.error(
                KernelNameError,
                node,
                f"`{name}` may be used before it is set",
                f"set `{name}` on every path that leads here, for example before the `if` or loop",
            )

    def read_variable(self, name: str, node: ast.AST) -> Value:
        """The content of a local variable, or of one leaf of it (`p.x`)."""
        self.check_assigned(name.partition(".")[0], node)
        variable = self.variables[name]
        loaded = self.value(VarLoad, variable.var, type=variable.type, at=node, hint=name)
        if variable.origins is not None:
            self.weak[loaded] = variable.origins
        return loaded

    def declare(
        self,
        name: str,
        type: Type,  # noqa: A002 -- the word that `Value` uses
        node: ast.AST,
        init: Value | None = None,
        origins: frozenset[Origin] | None = None,
    ) -> None:
        """Make a local variable in its home block, before the current statement there."""
        home = self.homes.get(name.partition(".")[0], self.levels[-1].path)
        # Innermost first: code that is never reached is built beside the block it stands in.
        level = next(level for level in reversed(self.levels) if level.path == home)
        var = Value(VarType(type), name)
        here = level is self.levels[-1] and init is not None
        op = Var((init,) if here and init else (), name, result=var, location=self.where(node))
        if here:
            level.builder.emit(op)
        else:
            level.builder.insert(level.statement_start, op)
            level.statement_start += 1
        self.variables[name] = Variable(var, type, self.where(node), origins)
        if init is not None and not here:
            self.run(VarStore, var, init, at=node)

    def mark_assigned(self, name: str) -> None:
        """Note that a variable is set from here on."""
        if self.assigned is not None:
            self.assigned |= {name}

    # -- Python numbers, whose type follows from their use ------------------------------

    @property
    def is_stale(self) -> bool:
        """True where a guess turned out wrong that something was decided by."""
        return self.retyped or not self.hardened.isdisjoint(self.relied)

    def widen(self, origin: Origin, to: ScalarType) -> None:
        """Ask for another pass in which this number has a wider type."""
        if self.guesses.get(origin) is not to:
            self.guesses[origin] = to
            self.retyped = True

    def harden(self, name: str) -> None:
        """Note that a variable holds more than Python numbers."""
        self.typed.add(name)
        self.hardened.add(name)

    def rely(self, *operands: object) -> None:
        """Note that something was decided by these being Python numbers."""
        for operand in operands:
            if isinstance(operand, Value):
                self.relied |= self.weak.get(operand, frozenset())

    def expose(self, value: Value, to: Type) -> None:
        """A Python float that is used as `f64` must not have been rounded to `f32` before."""
        if to is F64 and value.type is F32:
            for origin in self.weak.get(value, ()):
                variable = self.variables.get(origin) if isinstance(origin, str) else None
                if variable is None or variable.type is F32:
                    self.widen(origin, F64)
