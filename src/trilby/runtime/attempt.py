"""A run of a compute function that can start again elsewhere, and what hinders it from that."""

import builtins
import datetime as dt
import pathlib
import sys
import weakref
from abc import ABC, ABCMeta
from array import array
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import Enum, EnumType, Flag, IntEnum, IntFlag, ReprEnum, StrEnum
from fractions import Fraction
from traceback import walk_tb
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast
from uuid import UUID

import numpy as np

from trilby.analysis.host.known_calls import CLASSES, MODULES
from trilby.analysis.host.visible_effects import VisibleEffect, visible_effects
from trilby.backend.base import Ticket
from trilby.data.ranges import Ranges
from trilby.data.segment import Live, Segment, is_ndarray
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.options import Transfers
from trilby.reflect.functions import Compute, is_compute
from trilby.runtime.callers import Caller
from trilby.runtime.compile import ReadyCompute
from trilby.runtime.content import LOCK, wait_whatever
from trilby.runtime.context import run_compute
from trilby.runtime.launch_buffers import Use
from trilby.runtime.prepared_launch import LaunchRequest
from trilby.runtime.replicas import Reason, Replicas
from trilby.runtime.watch import Watch, wait_for, watched
from trilby.source import line_text

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator


# --------------------------------------------------------------------------------------------- undo
# What it takes to undo the kernels of a compute call, so that it can start again elsewhere.
#
# Before a kernel first uses a buffer, what only its device has comes home, since the device may
# be lost; before it writes, the bytes that it may write are kept. This costs copies: it is done
# only where there is another device to start again on.


@dataclass(frozen=True, slots=True)
class SavedBytes:
    """Bytes of a buffer as they were; `fresh` are zeros that nobody had written.

    Before a kernel increments the first of a thousand `i32`, `pieces` are those four bytes.
    Memory that somebody lent is kept alive, since he sees it. That of a buffer that is gone is
    nobody's.
    """

    watch: Watch
    segment: "weakref.ref[Segment]"
    lent: Live | None
    pieces: tuple[tuple[int, bytes], ...]
    fresh: Ranges

    @property
    def memory(self) -> Live | None:
        """The host's memory, as long as anybody can see it."""
        segment = self.segment()
        return self.lent if segment is None or segment.released else segment.memory

    def put_back(self, why: str) -> None:
        """Let the host have the bytes again, and nobody else."""
        memory, first = self.memory, self.watch.address
        if memory is None:
            return
        for start, old in self.pieces:
            memory[start - first : start - first + len(old)] = np.frombuffer(old, np.uint8)
        for start, stop in self.fresh:
            memory[start - first : stop - first] = 0
        kept = Ranges.of(*((start, start + len(old)) for start, old in self.pieces))
        content = self.watch.content
        content.touch(kept | self.fresh, None, why)
        content.fresh |= self.fresh


@dataclass(slots=True, eq=False)
class Undo:
    """How everything was before a compute call, as far as its kernels changed it.

    Where `double` was to write `b`, it has the old bytes of `b`, and nothing of `a`, which `double`
    only reads. `lost` is what failed where something that only the device had was to be brought
    home.
    """

    replicas: Replicas
    lost: DeviceError | None = None
    _kept: list[SavedBytes] = field(default_factory=list[SavedBytes])
    _written: Ranges = Ranges.EMPTY

    def before(self, work: LaunchRequest) -> None:
        """Keep what a launch will change, and bring home what it could take away."""
        try:
            with LOCK:
                uses = [(watched(use.segment), use) for use in work.uses]
                events = [e for one in uses for e in self._bring_home(*one, work.caller)]
            replicas = [one for watch, _ in uses for one in watch.content.replicas]
            wait_for(events, "the run may have to start again on another device", replicas)
        except DeviceError as error:
            self.lost = error
            raise
        with LOCK:
            self._drop_unseen()
            for watch, use in uses:
                self._keep(watch, use, everything=work.transfers is Transfers.ALWAYS)

    def _drop_unseen(self) -> None:
        self._kept = [kept for kept in self._kept if kept.memory is not None]

    def _bring_home(self, watch: Watch, use: Use, caller: Caller) -> list[Ticket]:
        content, whole = watch.content, watch.whole
        missing = whole - content.host - self._written
        if missing:
            reason = Reason("the run may have to start again on another device", caller)
            content.fetch(missing, reason)
        elif self._written.covers(use.touched.writes.shifted(watch.address)):
            return []  # nothing is copied
        return content.before_host_reads(whole)

    def _keep(self, watch: Watch, use: Use, *, everything: bool) -> None:
        data = Ranges.of(*((start, stop) for _, start, stop in use.fields))
        changing = data if everything else use.touched.writes
        changed = changing.shifted(watch.address) - self._written
        if not changed:
            return
        fresh = changed & watch.content.fresh
        segment, first = use.segment, watch.address
        memory = segment.memory
        pieces = tuple(
            (start, memory[start - first : stop - first].tobytes())
            for start, stop in changed - fresh
        )
        lent = memory if segment.borrowed else None
        self._kept.append(SavedBytes(watch, weakref.ref(segment), lent, pieces, fresh))
        self._written |= changed

    def restore(self, why: str) -> None:
        """Make everything as it was, on the host, and take the device's copies away."""
        with LOCK:  # no work may use the host's memory any more
            replicas = self.replicas.all
            tickets: list[Ticket] = []
            for one in replicas:
                tickets += [*one.under_way, *one.content.before_host_writes(one.whole)]
        wait_whatever(tickets)
        with LOCK:
            for replica in replicas:
                replica.content.overcome()
            for kept in reversed(self._kept):
                kept.put_back(why)
            for replica in self.replicas.all:
                if replica.content.only_at(replica):
                    continue
                self.replicas.drop(replica)


# -------------------------------------------------------------------------------------------- inert
# Objects that run no code of the user's when a program computes with them, or asks for a part.
#
# A compute function may run twice only if its operators, loops and attributes leave no trace.
# What they do hangs on the objects: numbers, buffers, lists and plain records of these do nothing
# else; an iterator moves on, and an object with operators or properties of its own may do
# anything.

MOST_OBJECTS = 100_000
"""So many are looked at; what has more inside may have anything."""

_IMMUTABLE: tuple[type, ...] = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), range, slice),
    *(dt.date, dt.time, dt.datetime, dt.timedelta, dt.timezone),
    *(pathlib.PurePosixPath, pathlib.PosixPath, pathlib.PureWindowsPath, pathlib.WindowsPath),
    *(Decimal, Fraction, UUID),
)
"""Classes whose objects never change, and whose operators only compute; no subclasses."""
_CALLED_ONLY = (FunctionType, BuiltinFunctionType, MethodType)
"""What does something only if it is called: a call is known, or it is not."""
_CONTAINERS = (list, tuple, set, frozenset, deque, dict, OrderedDict)
_BASES = (
    *(object, Generic, Protocol, ABC, SimpleNamespace, array, bytearray, memoryview),
    *(Enum, ReprEnum, IntEnum, StrEnum, Flag, IntFlag),
    *(type, ABCMeta, EnumType, ModuleType),
)
"""Other classes of Python's own whose objects do nothing by themselves."""
_OWNERS = frozenset({"numpy", "trilby"})

_HARMLESS = frozenset(
    {
        *("__init__", "__new__", "__post_init__", "__repr__", "__str__", "__del__"),
        *("__init_subclass__", "__class_getitem__", "__getstate__", "__setstate__"),
        *("__reduce__", "__reduce_ex__", "__getnewargs__", "__replace__", "__setattr__"),
        *("__delattr__", "__setitem__", "__delitem__", "__call__", "__enter__", "__exit__"),
    }
)
"""Special methods that nobody runs by an operator, or whose use counts as a change or a call."""


def active_object(roots: Iterable[object], names: Collection[str] = ()) -> object | None:
    """The first object in reach of some whose use may run code, or None; itself where too many.

    Of a module of the user's, what has one of some names is in reach.
    """
    rest = list(roots)
    seen: dict[int, object] = {}
    while rest:
        one = rest.pop()
        if type(one) in _IMMUTABLE or isinstance(one, _CALLED_ONLY) or id(one) in seen:
            continue
        seen[id(one)] = one  # kept, so that no other gets its identity
        if len(seen) > MOST_OBJECTS or _runs_code(one):
            return one
        if isinstance(one, ModuleType) and _is_users(one.__name__):
            rest += [vars(one)[name] for name in names if name in vars(one)]
        rest += [*_attributes(one), *_entries(one)]
    return None


def _is_users(module: str) -> bool:
    """Whether a module, by its name, is neither Python's nor of a package that is known."""
    package = module.partition(".")[0]
    return package not in sys.stdlib_module_names and package not in _OWNERS


def outer_values(function: FunctionType) -> dict[str, object]:
    """What a function finds by names that are not its own, and the compute functions that it calls.

    Names of attributes count as well, since byte code does not tell them apart.
    """
    found: dict[str, object] = {}
    for one in _reached(function):
        found |= dict(_found_by(one))
    return found


def used_names(function: FunctionType) -> frozenset[str]:
    """The names in a function and in the compute functions that it calls, also of attributes."""
    return frozenset(name for one in _reached(function) for name in _names(one.__code__))


def _reached(function: FunctionType) -> Iterator[FunctionType]:
    rest, seen = [function], set[FunctionType]()
    while rest:
        one = rest.pop()
        if one in seen:
            continue
        seen.add(one)
        yield one
        rest += [value.function for _, value in _found_by(one) if is_compute(value)]


def has_usual_meaning(name: str, value: object) -> bool:
    """Whether a name from outside stands for what it is taken for, if it is a well-known one."""
    if name in MODULES:
        return isinstance(value, ModuleType) and value.__name__ == MODULES[name]
    if hasattr(builtins, name):
        return value is getattr(builtins, name)
    return name not in CLASSES or getattr(value, "__module__", "").startswith("trilby.")


def _found_by(function: FunctionType) -> Iterator[tuple[str, object]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    scope = function.__globals__
    for name in _names(function.__code__):
        if name in scope:
            yield name, scope[name]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _runs_code(one: object) -> bool:
    """Whether using an object may run code of the user's, or change it.

    What is not known to be harmless may do that.
    """
    if is_ndarray(one) and one.dtype.hasobject:
        return True
    return any(not _is_harmless(base) for base in type(one).__mro__)


def _is_harmless(cls: type) -> bool:
    """Whether a class adds no operators, and no attributes that are computed, of the user's."""
    if _is_users(cls.__module__):
        return not any(_is_hook(name, member) for name, member in vars(cls).items())
    is_known = cls in (*_IMMUTABLE, *_CONTAINERS, *_BASES)
    return is_known or cls.__module__.partition(".")[0] in _OWNERS


def _is_hook(name: str, member: object) -> bool:
    """Whether a member of a class is an operator, or an attribute that is computed."""
    if isinstance(member, FunctionType):
        is_special = name.startswith("__") and name.endswith("__") and name not in _HARMLESS
        return is_special and member.__code__.co_filename != "<string>"  # that of a dataclass
    module = type(member).__module__
    if module.partition(".")[0] == "trilby":
        return False
    is_computed = hasattr(type(member), "__get__") and module != "builtins"
    return is_computed or isinstance(member, property)


def _entries(one: object) -> Collection[object]:
    if isinstance(one, dict):
        entries = cast("dict[object, object]", one)
        return [*dict[object, object].keys(entries), *dict[object, object].values(entries)]
    return cast("Collection[object]", one) if isinstance(one, _CONTAINERS) else ()


def _attributes(one: object) -> Iterator[object]:
    """What an object, its class, or a class itself has as attributes, if they are the user's."""
    owner = one if isinstance(one, type) else type(one)
    if isinstance(one, ModuleType):
        return
    if owner is not SimpleNamespace and not _is_users(owner.__module__):
        return
    if one is not owner:
        yield from getattr(one, "__dict__", {}).values()
    for base in owner.__mro__:
        members: dict[str, object] = dict(vars(base)) if _is_users(base.__module__) else {}
        for name, member in members.items():
            is_special = name.startswith("__") and name.endswith("__")
            if not (is_special or hasattr(type(member), "__get__")):
                yield member
        slots: str | Iterable[str] = vars(base).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if one is not owner and not name.startswith("__"):
                yield getattr(one, name, None)


# ------------------------------------------------------------------------------------------ attempt

_UNCHANGING = (int, float, complex, str, bytes, type(None))


@dataclass(slots=True, eq=False)
class Attempt:
    """One run of a compute function on one device, which may have to start again on another.

    `double_all(a, b)` on a GPU is one; where that fails, its `undo` gives `b` its old bytes, and
    another attempt runs on the CPU.
    """

    function: Compute[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    undo: Undo
    ready: ReadyCompute | None = None

    def run(self, accelerator: "Accelerator") -> Any:
        """Run it, and wait for all of it: a failure must come out while it can be undone."""
        residency = accelerator.residency
        accelerator.launches.forget()  # launches that are known keep nothing
        residency.before_launch = self.undo.before
        try:
            transfers = accelerator.transfers
            self.ready = accelerator.compiler.compute(self.function, transfers)
            result = run_compute(accelerator, self.ready, self.args, self.kwargs, transfers)
            residency.wait()
        finally:
            residency.before_launch = None
        return result

    def hindrance(self, error: DeviceError) -> str:
        """Why it cannot start again; empty where it can."""
        if self.undo.replicas.guards:
            return "inside of `accelerator.guard()` nothing may move"
        if self.undo.lost is not None:
            return "something that only the device had is lost with it"
        if self.ready is None:
            return ""
        outer = outer_values(self.function.function)
        active = self._active_object(outer)
        if active:
            return active
        effect = next(iter(self._effects(self.ready, error, outer)), None)
        if effect is None:
            return ""
        line = line_text(effect.location).strip()
        return f"{effect.location.short} {effect.what} (`{line}`), which cannot be undone"

    def _active_object(self, outer: Mapping[str, object]) -> str:
        """What the call is given, or finds, that is another one after a use; empty for nothing."""
        names = used_names(self.function.function)
        for verb, roots in (
            ("is given", (*self.args, *self.kwargs.values())),
            ("uses", outer.values()),
        ):
            found = active_object(roots, names)
            if isinstance(found, Iterator):
                return f"`{self.function.name}` {verb} an iterator, which may have moved on"
            if found is not None:
                kind = type(found).__name__
                return (
                    f"`{self.function.name}` {verb} an object of the class `{kind}`, whose "
                    "operators and attributes run code that is not known"
                )
        return ""

    def _effects(
        self, ready: ReadyCompute, error: DeviceError, outer: Mapping[str, object]
    ) -> Sequence[VisibleEffect]:
        graph = ready.context.graph
        names = [param.hint for param in graph.entry.params[1:]]
        given = {**dict(zip(names, self.args, strict=False)), **self.kwargs}
        fixed = [name for name, value in given.items() if isinstance(value, _UNCHANGING)]
        renamed = [name for name, value in outer.items() if not has_usual_meaning(name, value)]
        line = _line_in(error, ready.function.__code__)
        return visible_effects(graph, line, fixed, frozenset(renamed))


def _line_in(error: BaseException, code: CodeType) -> int | None:
    """The line that a function had come to when an error left it; None if it was not in it."""
    frames = walk_tb(error.__traceback__)
    return next((line for frame, line in frames if frame.f_code is code), None)
