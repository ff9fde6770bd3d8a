"""Dataclasses of our own behave as the standard library's do: each case is made with both."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, asdict, astuple, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar, cast

import pytest

from trilby import dataclass as ours

T = TypeVar("T")
Decorator = Callable[..., Any]


def frozen_slots(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        tags: tuple[str, ...] = field(default=("a",), repr=False)
        kind: ClassVar[str] = "point"

    return Point


def by_keyword(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, slots=True, eq=False, kw_only=True)
    class Base:
        result: int | None = None
        location: str = field(default="nowhere", repr=False)

    @dataclass(frozen=True, slots=True, eq=False)
    class Derived(Base):
        left: int
        right: int = 3

    return Derived


def changeable(dataclass: Decorator) -> Any:
    @dataclass(slots=True)
    class Book:
        title: str
        pages: list[int] = field(default_factory=list[int])
        total: int = field(init=False)
        unseen: "int" = field(default=1, compare=False)

        def __post_init__(self) -> None:
            self.total = sum(self.pages)

    return Book


def plain(dataclass: Decorator) -> Any:
    @dataclass
    class Plain(Generic[T]):
        value: T
        more: dict[str, int] = field(default_factory=dict[str, int], kw_only=True)

        def __repr__(self) -> str:
            return f"<{self.value}>"

    return Plain


def with_equality(dataclass: Decorator) -> Any:
    @dataclass(frozen=True)
    class Loose:  # noqa: PLW1641 -- the decorator gives it one
        name: str
        weight: float = 0.5

        def __eq__(self, other: object) -> bool:
            return getattr(other, "name", None) == self.name

    return Loose


def with_hash(dataclass: Decorator) -> Any:
    @dataclass(slots=True)
    class Hashed:
        name: str

        def __hash__(self) -> int:
            return 7

    return Hashed


CASES: dict[
    str, tuple[Callable[[Decorator], Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]
] = {
    "frozen_slots": (
        frozen_slots,
        [((1,), {}), ((1, 5), {}), ((), {"x": 3, "tags": ()}), ((), {})],
    ),
    "by_keyword": (by_keyword, [((1,), {}), ((1, 2), {"result": 4}), ((1, 2, 3), {})]),
    "changeable": (changeable, [(("t",), {}), (("t", [1, 2]), {}), (("t",), {"total": 4})]),
    "plain": (plain, [((1,), {}), ((1,), {"more": {"a": 2}}), ((1, {}), {})]),
    "with_equality": (with_equality, [(("a",), {}), (("a", 2.0), {}), (("b",), {})]),
    "with_hash": (with_hash, [(("a",), {}), (("b",), {})]),
}

each_case = pytest.mark.parametrize("name", CASES)


def answer(ask: Callable[[], Any]) -> Any:
    """What it gives, or the kind of error."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 -- whatever it is, it has to be the same
        return type(error)


def about(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Everything that can be told about a class and one object of it."""
    one, other = (answer(lambda: cls(*args, **kwargs)) for _ in range(2))
    if isinstance(one, type):
        return [one]
    first = fields(cls)[0].name
    return [
        repr(one),
        one == other,
        one == 3,
        answer(lambda: hash(one) == hash(other)),
        answer(lambda: (asdict(one), astuple(one))),
        answer(lambda: repr(replace(one, **{first: 9}))),
        answer(lambda: setattr(one, first, 8)),
        isinstance(answer(lambda: setattr(one, "unheard_of", 8)), type),
        answer(lambda: delattr(one, first)),
        repr(copy.copy(other)),
        repr(copy.deepcopy(other)),
        hasattr(one, "__dict__"),
    ]


@each_case
def test_objects_are_the_same(name: str) -> None:
    make, calls = CASES[name]
    for args, kwargs in calls:
        expected = about(make(dataclasses.dataclass), args, kwargs)
        assert about(make(ours.dataclass), args, kwargs) == expected


@each_case
def test_classes_are_the_same(name: str) -> None:
    make, _ = CASES[name]
    found, expected = make(ours.dataclass), make(dataclasses.dataclass)
    assert is_dataclass(found) is True
    assert inspect.signature(found) == inspect.signature(expected)
    assert [(f.name, f.type, f.kw_only) for f in fields(found)] == [
        (f.name, f.type, f.kw_only) for f in fields(expected)
    ]
    for about_it in ("__match_args__", "__qualname__", "__module__", "__doc__"):
        if about_it != "__doc__" or name == "frozen_slots":  # the other writes missing ones
            assert getattr(found, about_it) == getattr(expected, about_it)
    assert (found.__hash__ is None) == (expected.__hash__ is None)


def test_either_may_be_the_base_of_the_other() -> None:
    for base, derived in (
        (ours.dataclass, dataclasses.dataclass),
        (dataclasses.dataclass, ours.dataclass),
    ):
        first: Any = base(frozen=True, slots=True)(
            type("First", (), {"__annotations__": {"a": int}})
        )
        second: Any = derived(frozen=True, slots=True)(
            type("Second", (first,), {"__annotations__": {"b": int}, "b": 2})
        )
        assert repr(second(1)) == "Second(a=1, b=2)"
        assert second(1) == second(1, 2) != first(1)


@ours.dataclass(frozen=True, slots=True)
class Kept:
    a: int
    b: str = "b"


def test_objects_travel() -> None:
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1, "b")  # noqa: S301 -- our own


def test_what_cannot_be_changed_says_so() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        setattr(Kept(1), "a", 2)  # noqa: B010 -- a checker would not let it through
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        delattr(Kept(1), "a")


def test_a_method_is_written_once_and_when_it_is_needed() -> None:
    cls: Any = frozen_slots(ours.dataclass)
    content = cast("Mapping[str, object]", cls.__dict__)
    assert not inspect.isfunction(content["__init__"])
    cls(1)
    written = content["__init__"]
    assert inspect.isfunction(written)
    cls(2)
    assert content["__init__"] is written
    assert not inspect.isfunction(content["__eq__"])


def made_by(dataclass: Decorator, content: dict[str, Any], **settings: bool) -> Any:
    return dataclass(**settings)(type("A", (), content))


def test_a_field_without_a_value_is_no_attribute() -> None:
    for dataclass in (dataclasses.dataclass, ours.dataclass):
        late = {"__annotations__": {"a": int, "b": list}, "a": field(init=False)}
        cls = made_by(dataclass, {**late, "b": field(default_factory=list)})
        assert not hasattr(cls(), "a")
        assert not hasattr(cls, "b")


def test_a_class_without_slots_can_call_its_base() -> None:
    class Base:
        def name(self) -> str:
            return "base"

    @ours.dataclass
    class Derived(Base):
        value: int = field(default=1)

        def name(self) -> str:
            return f"{super().name()} {self.value}"

    assert Derived().name() == "base 1"


def test_a_way_to_travel_of_its_own_is_kept() -> None:
    def mine(_self: object) -> list[str]:
        return ["mine"]

    for dataclass in (dataclasses.dataclass, ours.dataclass):
        content = {"__annotations__": {"a": int}, "__getstate__": mine}
        cls = made_by(dataclass, content, frozen=True, slots=True)
        assert cls(1).__getstate__() == ["mine"]


def test_all_of_trilby_uses_it() -> None:
    """One class that is made the other way costs as much as ten of these."""
    code = """
import dataclasses, sys
made = []
process = dataclasses._process_class
def counting(cls, *args):
    made.append(cls.__module__)
    return process(cls, *args)
dataclasses._process_class = counting
import trilby.runtime.accelerator, trilby.backend.native
print([name for name in made if name.startswith("trilby")])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
