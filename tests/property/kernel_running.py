"""Running a random program on the backends, and comparing what they leave in memory."""

import linecache
import re
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np
from tests.property.kernel_meaning import Record, Rows, run_with_numpy
from tests.property.kernel_programs import INPUTS, PLACES, Program
from tests.property.kernel_types import DTYPES, Array, numbers

from trilby import Accelerator, NDRange

_NUMBERS = count()


@dataclass(frozen=True)
class Inputs:
    """What a program is given: arrays and numbers by name, and the columns of its structs."""

    arrays: dict[str, Array]
    scalars: dict[str, Any]
    rows: dict[str, Array]
    whole: dict[str, Any]


def inputs_of(program: Program) -> Inputs:
    """The same numbers for each run of a program."""
    rng = np.random.default_rng(program.seed)
    arrays: dict[str, Array] = {}
    scalars: dict[str, Any] = {}
    for name, annotation in program.params:
        if annotation.startswith("NDArray"):
            arrays[name] = numbers(annotation[8:-1], _length(program, name), rng)
        elif annotation in DTYPES:
            scalars[name] = numbers(annotation, 1, rng)[0].item()
    rows = {name: numbers(type_, program.items, rng) for name, type_ in program.members}
    whole = {name: numbers(type_, 1, rng)[0].item() for name, type_ in program.members}
    return Inputs(arrays, scalars, rows, whole)


def _length(program: Program, name: str) -> int:
    if name.startswith("in_"):
        return INPUTS
    return program.items if name.startswith(("mem_", "exact_", "near")) else PLACES


def load(text: str) -> ModuleType:
    """The text as a module whose source can be found."""
    file = f"<random program {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType("random_program")
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 -- our own text
    return module


def outcome(program: Program, accelerator: Accelerator, module: ModuleType) -> dict[str, Array]:
    """What a device leaves in every array that it may write."""
    given = inputs_of(program)
    arrays = {name: accelerator.array(numbers.copy()) for name, numbers in given.arrays.items()}
    table = module.Table.create(n=program.items)
    for name, column in given.rows.items():
        getattr(table.row, name)[:] = column
    known = {**arrays, **given.scalars, "table": table, "whole": module.Pair(**given.whole)}
    args = [known[name] for name, _ in program.params]
    accelerator.compute(module.run, NDRange(program.size, program.local), *args)
    columns = {f"table.{name}": np.asarray(getattr(table.row, name)) for name in given.rows}
    return {name: np.asarray(array) for name, array in arrays.items()} | columns


def meaning(program: Program) -> dict[str, Array]:
    """The same by NumPy."""
    given = inputs_of(program)
    rows = [
        Record(**{name: column[number] for name, column in given.rows.items()})
        for number in range(program.items)
    ]
    names = {name for name, _ in program.params}
    table = type("Table", (), {"row": Rows(rows)})()
    known = {**given.arrays, **given.scalars, "table": table, "whole": Record(**given.whole)}
    run_with_numpy(program, {name: value for name, value in known.items() if name in names})
    columns = {
        f"table.{name}": np.array([getattr(row, name) for row in rows], column.dtype)
        for name, column in given.rows.items()
    }
    return given.arrays | columns


def differences(
    expected: dict[str, Array], found: dict[str, Array], *, skip_near: bool = False
) -> list[str]:
    """Every array in which two outcomes differ by more than they may."""
    told: list[str] = []
    for name, numbers in expected.items():
        near = re.match(r"near(\d+)_", name)
        if near and skip_near:
            continue
        differs = _differs(numbers, found[name], int(near[1]) if near else 0)
        if differs.any():
            at = int(np.flatnonzero(differs)[0])
            told.append(f"{name}[{at}]: {numbers[at]!r} became {found[name][at]!r}")
    return told


def _differs(expected: Array, found: Array, ulps: int) -> Array:
    if expected.dtype.kind != "f":
        return expected != found
    same = (expected == found) & (np.signbit(expected) == np.signbit(found))
    same |= np.isnan(expected) & np.isnan(found)
    if ulps:
        same |= _is_near(expected, found, ulps)
    return ~same


def _is_near(expected: Array, found: Array, ulps: int) -> Array:
    with np.errstate(all="ignore"):
        step = np.spacing(np.abs(expected)).astype(np.float64)
        gap = np.abs(expected.astype(np.float64) - found.astype(np.float64))
        return np.isfinite(expected) & np.isfinite(found) & (gap <= ulps * step)
