"""Running a random program on the backends, and comparing what they leave in memory."""

import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import attrgetter
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from tests.property.kernel_meaning import run_with_numpy
from tests.property.kernel_programs import INPUTS, PLACES, Program
from tests.property.kernel_types import DTYPES, FLOATS, LANES, NAMES, VECTORS, Array, numbers
from tests.property.numpy_kernel_scalars import plain
from tests.property.numpy_kernel_values import Memory, Record, Rows, vector_type

import trilby as tb
from trilby import Accelerator, NDRange, S64Array

_NUMBERS = count()

OF_ITEMS = ("mem", "alt", "grid", "exact", "near", "around")
"""How the names of arrays begin in which each item has an element."""


@dataclass(frozen=True)
class Inputs:
    """What a program is given.

    Arrays and numbers by name, the columns of its table (`m1_f32x2.x` is one), the numbers
    of the struct that it gets as a value, and the array of the buffer `shelf`.
    """

    arrays: dict[str, Array]
    scalars: dict[str, Any]
    rows: dict[str, Array]
    whole: dict[str, Any]
    shelf: Array


def inputs_of(program: Program) -> Inputs:
    """The same numbers for each run of a program."""
    rng = np.random.default_rng(program.seed)
    arrays: dict[str, Array] = {}
    scalars: dict[str, Any] = {}
    for name, annotation in program.params:
        if annotation.startswith("NDArray"):
            values = numbers(annotation[8:-1], _length(program, name), rng)
            arrays[name] = values.reshape(program.size[::-1]) if "grid" in name else values
        elif annotation in DTYPES:
            scalars[name] = numbers(annotation, 1, rng)[0].item()
    leaves = dict(_leaves(program))
    rows = {name: numbers(type_, program.items, rng) for name, type_ in leaves.items()}
    whole = {name: numbers(type_, 1, rng)[0].item() for name, type_ in leaves.items()}
    return Inputs(arrays, scalars, rows, whole, numbers("i64", program.items, rng))


def _leaves(program: Program) -> Iterator[tuple[str, str]]:
    """The numbers of the struct, lanes of vectors one by one."""
    for name, type_ in program.members:
        if type_ not in VECTORS:
            yield name, type_
            continue
        element, lanes = VECTORS[type_]
        yield from ((f"{name}.{lane}", element) for lane in LANES[:lanes])


def _nested(
    program: Program, flat: dict[str, Any], vector: Callable[[str], Callable[..., Any]]
) -> dict[str, Any]:
    """Numbers by leaf as numbers and vectors by member; `vector(name)(…)` makes those."""
    return {
        name: vector(type_)(*(n for leaf, n in flat.items() if leaf.startswith(f"{name}.")))
        if type_ in VECTORS
        else flat[name]
        for name, type_ in program.members
    }


def _length(program: Program, name: str) -> int:
    if name.startswith("in_"):
        return INPUTS
    return program.items if name.startswith(OF_ITEMS) else PLACES


def load(text: str) -> ModuleType:
    """The text as a module whose source can be found."""
    file = f"<random program {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType("random_program")
    module.__file__ = file
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 -- our own text
    return module


def forget(module: ModuleType) -> None:
    """Drop the text of a module that nobody will ask for again."""
    linecache.cache.pop(str(module.__file__), None)


def outcome(program: Program, accelerator: Accelerator, module: ModuleType) -> dict[str, Array]:
    """What a device leaves in every array that it may write."""
    given = inputs_of(program)
    arrays = {name: accelerator.array(numbers.copy()) for name, numbers in given.arrays.items()}
    table, shelf = module.Table.create(n=program.items), S64Array.of(given.shelf)
    for name, column in given.rows.items():
        attrgetter(name)(table.row)[:] = column
    whole = _nested(program, given.whole, partial(getattr, tb))
    known: dict[str, Any] = {**arrays, **given.scalars, "table": table, "shelf": shelf}
    known["whole"] = module.Pair(**whole)
    args = [known[name] for name, _ in program.params]
    accelerator.compute(module.run, NDRange(program.size, program.local), *args)
    columns = {f"table.{name}": np.asarray(attrgetter(name)(table.row)) for name in given.rows}
    found = {name: np.asarray(array) for name, array in arrays.items()}
    return found | columns | {"shelf": np.asarray(shelf.array)}


def meaning(program: Program) -> dict[str, Array]:
    """The same by NumPy."""
    given = inputs_of(program)
    rows = [
        _record(program, {name: column[number] for name, column in given.rows.items()})
        for number in range(program.items)
    ]
    known: dict[str, Any] = {name: Memory(array) for name, array in given.arrays.items()}
    known |= {**given.scalars, "whole": _record(program, given.whole)}
    known["table"] = SimpleNamespace(row=Rows(rows))
    known["shelf"] = SimpleNamespace(array=Memory(given.shelf), length=np.int32(program.items))
    run_with_numpy(program, {name: known[name] for name, _ in program.params})
    columns = {
        f"table.{name}": np.array([plain(attrgetter(name)(row)) for row in rows], column.dtype)
        for name, column in given.rows.items()
    }
    return given.arrays | columns | {"shelf": given.shelf}


def _record(program: Program, flat: dict[str, Any]) -> Record:
    return Record(**_nested(program, flat, vector_type))


def differences(
    expected: dict[str, Array], found: dict[str, Array], *, skip_near: bool = False
) -> list[str]:
    """Every array in which two outcomes differ by more than they may."""
    told: list[str] = []
    for name, right in expected.items():
        near = re.match(r"(near|around)(\d+)_", name)
        if near and skip_near:
            continue
        differs = _differs(right, found[name])
        if near:
            differs &= ~_is_near(right, found[name], int(near[2]), near[1])
        if differs.any():
            at = int(np.flatnonzero(differs)[0])
            pair = (right.flat[at], found[name].flat[at])
            told.append(f"{name}[{at}]: {pair[0]!r} became {pair[1]!r}")
    return told


def _differs(expected: Array, found: Array) -> Array:
    if NAMES[expected.dtype] not in FLOATS:
        return expected != found
    same = (expected == found) & (np.signbit(expected) == np.signbit(found))
    same |= np.isnan(expected) & np.isnan(found)
    return ~same


def _is_near(expected: Array, found: Array, ulps: int, word: str) -> Array:
    """Within some ulps; those of 1 at least where numbers lie `around` a zero."""
    with np.errstate(all="ignore"):
        size = np.abs(expected)
        if word == "around":
            size = np.maximum(size, np.ones_like(size))
        step = np.spacing(size).astype(np.float64)
        gap = np.abs(expected.astype(np.float64) - found.astype(np.float64))
        return np.isfinite(expected) & np.isfinite(found) & (gap <= ulps * step)
