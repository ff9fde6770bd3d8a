"""Cross sections (XSBench, HeCBench): random look-ups in six tables that never change."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, floats, seeded

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    F32Array,
    F32Array2D,
    KernelContext,
    S32Array,
    S32Array2D,
    f32,
    i32,
    u32,
)

LOOKUPS = 48
MATERIALS, MOST_NUCLIDES = 4, 3
NUCLIDES, GRID_POINTS = 5, 6
CHANNELS = 5
REPEATS = 3


class Nuclides(tb.Buffer):
    """For each nuclide and each of its energies the cross sections of all channels."""

    class Point(tb.Struct):
        energy: f32
        sections: tb.Array[f32] = tb.array(CHANNELS)

    points: i32
    nuclides: i32
    grid: tb.Array[Point] = tb.array("nuclides", "points")


class Tables(NamedTuple):
    nuclide_counts: S32Array
    concentrations: F32Array2D
    materials: S32Array2D
    energies: F32Array
    places: S32Array2D
    nuclides: Nuclides


@tb.func
def scattered(seed: u32) -> u32:
    seed = (seed ^ (seed >> 15)) * 0x2C1B3C6D
    return seed ^ (seed >> 13)


@tb.func
def last_below(energies: F32Array, energy: f32) -> i32:
    """Binary search for the interval of the common grid."""
    low, high = 0, energies.length - 1
    while high - low > 1:
        middle = low + (high - low) // 2
        if energies.array[middle] > energy:
            high = middle
        else:
            low = middle
    return low


@tb.kernel
def look_up(
    kc: KernelContext,
    nuclide_counts: S32Array,
    concentrations: F32Array2D,
    materials: S32Array2D,
    energies: F32Array,
    places: S32Array2D,
    nuclides: Nuclides,
    verification: S32Array,
) -> None:
    """Add up what the nuclides of a random material do at a random energy; note the strongest."""
    random = scattered(u32(kc.x) + 1)
    energy = f32(i32(random & 0xFFFF)) / 65536.0
    material = i32(random >> 16) % nuclide_counts.length
    macroscopic = tb.private(f32, CHANNELS)
    for channel in range(CHANNELS):
        macroscopic[channel] = 0.0
    interval = last_below(energies, energy)
    for n in range(nuclide_counts.array[material]):
        nuclide = materials.array[material, n]
        at = places.array[interval, nuclide]
        low, high = nuclides.grid[nuclide, at], nuclides.grid[nuclide, at + 1]
        part = (energy - low.energy) / (high.energy - low.energy)
        for channel in range(CHANNELS):
            here = low.sections[channel] + part * (high.sections[channel] - low.sections[channel])
            macroscopic[channel] += here * concentrations.array[material, n]
    strongest = 0
    for channel in range(1, CHANNELS):
        if macroscopic[channel] > macroscopic[strongest]:
            strongest = channel
    verification.array[kc.x] = strongest + 1


@tb.compute
def simulate(cc: ComputeContext, tables: Tables, verification: S32Array, repeats: int) -> None:
    for _ in range(repeats):
        cc.dispatch(verification.length, look_up, *tables, verification)


class Inputs(NamedTuple):
    counts: Numbers
    concentrations: Numbers
    materials: Numbers
    energies: Numbers
    places: Numbers
    nuclide_energies: Numbers
    sections: Numbers


def inputs() -> Inputs:
    random = seeded(15)
    own = np.sort(floats(16, NUCLIDES, GRID_POINTS), axis=1)
    own[:, 0], own[:, -1] = 0, 1
    common = np.unique(own)
    places = [np.searchsorted(energies, common, side="right") - 1 for energies in own]
    return Inputs(
        random.integers(1, MOST_NUCLIDES + 1, MATERIALS, np.int32),
        floats(17, MATERIALS, MOST_NUCLIDES),
        random.integers(0, NUCLIDES, (MATERIALS, MOST_NUCLIDES), np.int32),
        common,
        np.minimum(np.stack(places, axis=1), GRID_POINTS - 2).astype(np.int32),
        own,
        floats(18, NUCLIDES, GRID_POINTS, CHANNELS),
    )


def make(accelerator: Accelerator) -> tuple[Tables, S32Array]:
    given = inputs()
    nuclides = Nuclides.create(accelerator, nuclides=NUCLIDES, points=GRID_POINTS)
    nuclides.grid.energy[:] = given.nuclide_energies
    nuclides.grid.sections[:] = given.sections
    tables = Tables(
        S32Array.of(given.counts),
        F32Array2D.of(given.concentrations),
        S32Array2D.of(given.materials),
        F32Array.of(given.energies),
        S32Array2D.of(given.places),
        nuclides,
    )
    return tables, S32Array.of(np.full(LOOKUPS, -1, np.int32))


def run(accelerator: Accelerator, buffers: tuple[Tables, S32Array]) -> Outcome:
    tables, verification = buffers
    accelerator.compute(simulate, tables, verification, REPEATS)
    return [np.asarray(verification)]


def linear(x: float, xs: Numbers, ys: Numbers) -> float:
    last = int(np.searchsorted(xs, x, side="right")) - 1
    return ys[last] + (x - xs[last]) / (xs[last + 1] - xs[last]) * (ys[last + 1] - ys[last])


def reference() -> Outcome:
    given = inputs()
    seeds = np.arange(1, LOOKUPS + 1, dtype=np.uint32)
    seeds = (seeds ^ (seeds >> 15)) * np.uint32(0x2C1B3C6D)
    seeds ^= seeds >> 13
    found: list[int] = []
    for energy, material in zip((seeds & 0xFFFF) / 65536, (seeds >> 16) % MATERIALS, strict=True):
        total = np.zeros(CHANNELS)
        for n in range(given.counts[material]):
            nuclide = given.materials[material, n]
            own = given.nuclide_energies[nuclide]
            for channel, sections in enumerate(given.sections[nuclide].T):
                weight = given.concentrations[material, n]
                total[channel] += weight * linear(energy, own, sections)
        found.append(int(total.argmax()) + 1)
    return [np.array(found)]


XSBENCH = Program(
    "xsbench",
    "rep×{k R 6 tables W ver}; H R ver",
    make,
    run,
    reference,
    minimal=Copies(6, 1),
    naive=Copies(7 * REPEATS, 7 * REPEATS),
)
