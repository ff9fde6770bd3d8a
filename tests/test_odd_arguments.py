"""Odd arguments for every entry point: taken as they are meant, or rejected with a clear error.

A clear error is one of ours, derives from the builtin that fits, names the user's file, says
what to do, and leaves everything as it was. A `Place` names the odd values that it takes;
everything else has to be rejected.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    TrilbyError,
    f32,
    i32,
)

UNTYPED = cast("Any", tb)
"""The package as a program without a type checker sees it."""


class Stranger:
    """An object of a class that Trilby does not know, whose repr fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


ODD: dict[str, Any] = {
    "None": None,
    "True": True,
    "minus one": -1,
    "zero": 0,
    "fraction": 1.5,
    "nan": math.nan,
    "infinity": math.inf,
    "2**31": 2**31,
    "2**63": 2**63,
    "2**64": 2**64,
    "5,000 digits": 10**5000,
    "complex": 1j,
    "empty text": "",
    "text": "rubbish",
    "text with NUL": "a\0b",
    "half a character": "\udcff",
    "bytes": b"x",
    "empty list": [],
    "list": [1, 2],
    "ragged list": [[1, 2], [3]],
    "empty tuple": (),
    "four ones": (1, 1, 1, 1),
    "mixed tuple": (1, "x"),
    "dict": {},
    "int": int,
    "class": Stranger,
    "function": lambda: 1,
    "object": Stranger(),
    "numpy integer": np.int64(4),
    "numpy float": np.float32(4),
    "numpy bool": np.True_,
    "0-d array": np.array(4),
    "0-d bool array": np.array([True])[0:1].reshape(()),
    "array of one": np.array([4]),
    "array of two": np.array([2, 2]),
}

FOUR = frozenset({"numpy integer", "0-d array"})
"""The odd values that are the number four."""

SIGNED = FOUR | {"minus one", "zero"}
NUMBERS = SIGNED | {"True", "numpy bool", "0-d bool array"}
REALS = NUMBERS | {"fraction", "nan", "infinity", "2**31", "2**63", "2**64", "numpy float"}
FLAGS = frozenset({"True", "numpy bool"})
LISTS = frozenset({"empty list", "list", "empty tuple", "four ones", "array of one"}) | {
    "array of two"
}


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    if kc.x < a.length:
        a.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def add_to(kc: KernelContext, a: NDArray[f32], n: i32) -> None:
    if kc.x < a.shape[0]:
        a[kc.x] = a[kc.x] + n


@tb.compute
def run(cc: ComputeContext, a: S32Array, n: i32) -> None:
    cc.dispatch(n, add_one, a)


@tb.compute
def dispatch(cc: ComputeContext, size: Any, kernel: Any, args: Any, options: Any) -> None:
    cc.dispatch(size, kernel, *args, **options)


@dataclass
class World:
    """What the calls work on."""

    accelerator: Accelerator
    a: S32Array
    nd: NDArray[f32]

    def dispatch(self, size: Any, kernel: Any, *args: Any, **options: Any) -> None:
        self.accelerator.compute(dispatch, size, kernel, args, options)

    @property
    def state(self) -> tuple[object, ...]:
        accelerator = self.accelerator
        return accelerator.transfers, self.a.array.tolist(), self.nd.tolist()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with Accelerator("interpreter") as accelerator:
        nd = accelerator.array(np.zeros(4, np.float32))
        yield World(accelerator, S32Array.of([1, 2, 3, 4]), nd)


@dataclass(frozen=True)
class Place:
    """An argument of a public call: how to give it, and which of the odd values it takes."""

    give: Callable[[World, Any], object]
    taken: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    """The odd values that are the user's own code, which raises what it raises."""


def opened(name: str) -> Callable[[World, Any], object]:
    return lambda _, value: cast("Any", Accelerator)("interpreter", **{name: value}).close()


def passes(name: str) -> Callable[[World, Any], object]:
    return lambda w, value: w.dispatch(4, add_one, w.a, **{"passes": 2, name: value})


def declared(**markers: Callable[[Any], Any]) -> Callable[[World, Any], object]:
    """Declare a buffer class whose array has a marker made of the value."""
    (make,) = markers.values()

    def give(_: World, value: Any) -> object:
        marker = make(value)

        class Declared(tb.Buffer):
            n: i32
            a: tb.Array[i32] = marker

        return Declared

    return give


def padded(_: World, value: Any) -> object:
    class Padded(tb.Buffer):
        n: i32
        _: Any = tb.pad(value)

    return Padded


def aligned(_: World, value: Any) -> object:
    class Aligned(tb.Struct, align=value):
        n: i32

    return Aligned


def entered(block: Any) -> None:
    with block:
        pass


PLACES = {
    # ------------------------------------------------------------------------- accelerators
    "Accelerator(·)": Place(lambda _, v: UNTYPED.Accelerator(v).close(), frozenset({"None"})),
    "prefer": Place(
        lambda _, v: UNTYPED.Accelerator(prefer=v).close(), frozenset({"empty list", "empty tuple"})
    ),
    "fallback": Place(
        opened("fallback"),
        # words that no device has now may fit one later: nothing has to fall back yet
        frozenset({"empty list", "empty tuple", "text", "text with NUL", "half a character"}),
    ),
    "transfers": Place(opened("transfers"), frozenset({"None"})),
    "memory": Place(opened("memory"), frozenset({"None"})),
    "memory_limit": Place(
        opened("memory_limit"), FOUR | {"None", "2**31", "2**63", "2**64", "5,000 digits"}
    ),
    "poison": Place(opened("poison"), FLAGS),
    "lint=": Place(opened("lint"), FLAGS | {"None"}),
    "fast_math": Place(opened("fast_math"), FLAGS),
    "accelerator.transfers": Place(lambda w, v: setattr(w.accelerator, "transfers", v)),
    "strategy": Place(lambda w, v: entered(w.accelerator.strategy(v))),
    "explicit": Place(lambda w, v: entered(w.accelerator.explicit(stale=v))),
    "put": Place(lambda w, v: w.accelerator.put(v)),
    "put of a field": Place(lambda w, v: w.accelerator.put(w.a, v)),
    "get": Place(lambda w, v: w.accelerator.get(v)),
    "get of a field": Place(lambda w, v: w.accelerator.get(w.a, v)),
    "context_of": Place(lambda w, v: w.accelerator.context_of(v)),
    "source_of": Place(lambda w, v: w.accelerator.source_of(v)),
    "ranks of source_of": Place(lambda w, v: w.accelerator.source_of(add_to, v)),
    "tb.lint": Place(lambda _, v: UNTYPED.lint(v)),
    "range of tb.lint": Place(lambda _, v: UNTYPED.lint(add_one, range=v), FOUR | {"None", "zero"}),
    # --------------------------------------------------------------------- compute functions
    "compute": Place(lambda w, v: w.accelerator.compute(v)),
    "argument of compute": Place(lambda w, v: w.accelerator.compute(run, v, 4)),
    "argument by name": Place(lambda w, v: w.accelerator.compute(run, a=v, n=4)),
    "one argument too many": Place(lambda w, v: cast("Any", w.accelerator.compute)(run, w.a, 4, v)),
    "unknown argument": Place(lambda w, v: cast("Any", w.accelerator.compute)(run, w.a, 4, z=v)),
    "missing argument": Place(lambda w, v: cast("Any", w.accelerator.compute)(run, n=v)),
    # ------------------------------------------------------------------------------ dispatch
    "size": Place(lambda w, v: w.dispatch(v, add_one, w.a), FOUR | {"zero"}),
    "local size": Place(lambda w, v: w.dispatch(NDRange(4, v), add_one, w.a), FOUR | {"None"}),
    "kernel": Place(lambda w, v: w.dispatch(4, v, w.a)),
    "buffer": Place(lambda w, v: w.dispatch(4, add_one, v)),
    "n-d array": Place(lambda w, v: w.dispatch(4, add_to, v, 1)),
    "number": Place(
        lambda w, v: w.dispatch(4, add_to, w.nd, v), NUMBERS - {"0-d array", "0-d bool array"}
    ),
    "passes": Place(passes("passes"), FOUR | {"zero"}),
    "until": Place(passes("until"), frozenset({"None"})),
    "check_every": Place(passes("check_every"), FOUR),
    "progress": Place(
        passes("progress"), frozenset({"None", "True"}), frozenset({"int", "class", "function"})
    ),
    "cancel": Place(passes("cancel"), frozenset({"None"})),
    "timeout": Place(
        passes("timeout"),
        frozenset({"None", "fraction", "infinity", "2**31", "2**63", "2**64", "5,000 digits"})
        | {"numpy integer", "numpy float"},
    ),
    "unknown option": Place(passes("passse")),
    # ------------------------------------------------------------------------------- ranges
    "NDRange": Place(lambda _, v: UNTYPED.NDRange(v), FOUR | {"zero"}),
    "NDRange of two": Place(lambda _, v: UNTYPED.NDRange((4, v)), FOUR | {"zero"}),
    "local": Place(lambda _, v: UNTYPED.NDRange(8, v), FOUR | {"None"}),
    "local of two": Place(lambda _, v: UNTYPED.NDRange((8, 8), v), frozenset({"None"})),
    # ------------------------------------------------------------------------------ buffers
    "create": Place(lambda _, v: UNTYPED.S32Array.create(v)),
    "create, unnamed": Place(lambda w, v: UNTYPED.S32Array.create(w.accelerator, v)),
    "length": Place(lambda _, v: UNTYPED.S32Array.create(length=v), FOUR | {"zero"}),
    "height": Place(lambda _, v: UNTYPED.F32Array2D.create(width=2, height=v), FOUR | {"zero"}),
    "lenght": Place(lambda _, v: UNTYPED.S32Array.create(lenght=v)),
    "accelerator of create": Place(
        lambda _, v: UNTYPED.S32Array.create(v, length=4), frozenset({"None", "object"})
    ),
    "bind": Place(lambda _, v: UNTYPED.S32Array.bind(v), frozenset({"array of two"})),
    "bound length": Place(
        lambda _, v: UNTYPED.S32Array.bind(bytearray(64), length=v), FOUR | {"zero"}
    ),
    "of": Place(lambda _, v: UNTYPED.S32Array.of(v), LISTS),
    "of, 2-d": Place(lambda _, v: UNTYPED.F32Array2D.of(v)),
    "array": Place(lambda w, v: w.accelerator.array(v), REALS - {"2**64"} | LISTS),
    "element": Place(lambda w, v: w.a.array.__setitem__(0, v), NUMBERS),
    "elements": Place(
        lambda w, v: w.a.array.__setitem__(slice(None), v),
        NUMBERS | {"four ones", "array of one"},
    ),
    "float element": Place(lambda w, v: w.nd.__setitem__(0, v), REALS),
    "length of a buffer": Place(lambda w, v: setattr(w.a, "length", v)),
    "array of a buffer": Place(lambda w, v: setattr(w.a, "array", v)),
    "unknown field": Place(lambda w, v: setattr(w.a, "lenght", v)),
    # ------------------------------------------------------------------------- declarations
    "tb.array": Place(declared(dim=tb.array), FOUR),
    "stride": Place(declared(stride=lambda v: tb.array(4, stride=v)), FOUR | {"None"}),
    "align": Place(declared(align=lambda v: tb.array(4, align=v)), FOUR | {"None"}),
    "tb.pad": Place(padded, FOUR),
    "align of a class": Place(aligned, FOUR | {"None"}),
    "tb.kernel": Place(lambda _, v: UNTYPED.kernel(v), frozenset({"function"})),
    "tb.func": Place(lambda _, v: UNTYPED.func(v), frozenset({"function"})),
    "tb.compute": Place(lambda _, v: UNTYPED.compute(v), frozenset({"function"})),
    "tb.raw": Place(lambda _, v: UNTYPED.raw(opencl=v), frozenset({"empty text", "text"})),
    "reads": Place(
        lambda _, v: UNTYPED.raw(opencl="x", reads=v),
        frozenset({"empty list", "empty tuple", "text"})
        | {"empty text", "text with NUL", "half a character"},
    ),
    # ------------------------------------------------------- what kernels have, on the host
    "local memory": Place(lambda _, v: UNTYPED.local(tb.f32, v)),
    "private memory": Place(lambda _, v: UNTYPED.private(tb.f32, v)),
    "atomic": Place(lambda _, v: UNTYPED.atomic_add(v, 1)),
    "vector": Place(lambda _, v: UNTYPED.f32x2(v, 1.0), REALS),
    "too short a vector": Place(lambda _, v: UNTYPED.f32x4(v)),
    "matrix": Place(lambda _, v: UNTYPED.f32x2x2(v, 1.0, 1.0, 1.0), REALS),
    "dot": Place(lambda _, v: UNTYPED.dot(v, v)),
    "dot of a vector": Place(lambda _, v: UNTYPED.dot(tb.f32x2(1.0, 2.0), v)),
    "cross": Place(lambda _, v: UNTYPED.cross(v, tb.f32x3(1.0, 2.0, 3.0))),
    "tb.length": Place(lambda _, v: UNTYPED.length(v)),
    "normalize": Place(lambda _, v: UNTYPED.normalize(v)),
    "transpose": Place(lambda _, v: UNTYPED.transpose(v)),
    "popcount": Place(
        lambda _, v: UNTYPED.popcount(v),
        FOUR | {"True", "minus one", "zero", "2**31", "2**63", "2**64", "5,000 digits"},
    ),
}

BUILTINS = (TypeError, ValueError, OverflowError, AttributeError, RuntimeError, SyntaxError)
"""What a program catches that was written without knowing Trilby."""

TAKEN = [(place, odd) for place in PLACES for odd in ODD if odd in PLACES[place].taken]
REJECTED = [
    (place, odd)
    for place in PLACES
    for odd in ODD
    if odd not in PLACES[place].taken | PLACES[place].foreign
]


@pytest.mark.parametrize(("place", "odd"), TAKEN)
def test_an_odd_argument_that_is_taken(place: str, odd: str, world: World) -> None:
    PLACES[place].give(world, ODD[odd])


@pytest.mark.parametrize(("place", "odd"), REJECTED)
def test_an_odd_argument_that_is_rejected(place: str, odd: str, world: World) -> None:
    before = world.state
    with pytest.raises(TrilbyError) as caught:
        PLACES[place].give(world, ODD[odd])
    assert isinstance(caught.value, BUILTINS)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    assert caught.value.advice
    assert world.state == before
