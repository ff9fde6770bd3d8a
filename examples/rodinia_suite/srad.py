"""Removing speckles from a picture (Rodinia, srad_v2): the host looks at a region in each step."""

from typing import NamedTuple, TypeAlias

import numpy as np
from rodinia_suite.workload import Outcome, Workload, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array2D, KernelContext, NDArray, f32

Region: TypeAlias = tuple[slice, slice]

RATE = 0.5


class Speckled(NamedTuple):
    image: F32Array2D
    coefficient: NDArray[f32]
    north: NDArray[f32]
    south: NDArray[f32]
    west: NDArray[f32]
    east: NDArray[f32]


@tb.kernel
def differences(
    kc: KernelContext,
    image: F32Array2D,
    coefficient: NDArray[f32],
    north: NDArray[f32],
    south: NDArray[f32],
    west: NDArray[f32],
    east: NDArray[f32],
    q0: f32,
) -> None:
    y, x = kc.y, kc.x
    here = image.array[y, x]
    to_north = image.array[max(y - 1, 0), x] - here
    to_south = image.array[min(y + 1, image.height - 1), x] - here
    to_west = image.array[y, max(x - 1, 0)] - here
    to_east = image.array[y, min(x + 1, image.width - 1)] - here
    squares = to_north * to_north + to_south * to_south + to_west * to_west + to_east * to_east
    gradient = squares / (here * here)
    laplace = (to_north + to_south + to_west + to_east) / here
    shrink = 1.0 + 0.25 * laplace
    q = (0.5 * gradient - laplace * laplace / 16.0) / (shrink * shrink)
    north[y, x] = to_north
    south[y, x] = to_south
    west[y, x] = to_west
    east[y, x] = to_east
    coefficient[y, x] = tb.clamp(1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0))), 0.0, 1.0)


@tb.kernel
def diffuse(
    kc: KernelContext,
    image: F32Array2D,
    coefficient: NDArray[f32],
    north: NDArray[f32],
    south: NDArray[f32],
    west: NDArray[f32],
    east: NDArray[f32],
) -> None:
    y, x = kc.y, kc.x
    here = coefficient[y, x]
    below = coefficient[min(y + 1, image.height - 1), x]
    right = coefficient[y, min(x + 1, image.width - 1)]
    divergence = here * (north[y, x] + west[y, x]) + below * south[y, x] + right * east[y, x]
    image.array[y, x] += 0.25 * RATE * divergence


@tb.compute
def remove_speckles(cc: ComputeContext, speckled: Speckled, at: Region, steps: int) -> None:
    image, coefficient, *towards = speckled
    size = image.width, image.height
    for _ in range(steps):
        region = np.asarray(image.array[at])
        q0 = float(region.var() / region.mean() ** 2)
        cc.dispatch(size, differences, image, coefficient, *towards, q0=q0)
        cc.dispatch(size, diffuse, image, coefficient, *towards)


def srad(
    rows: int = 1024,
    columns: int = 1024,
    steps: int = 10,
    region: Region = (slice(0, 128), slice(0, 128)),
) -> Workload[Speckled]:
    """A picture without its speckles, whose statistics come from a region of it."""
    picture = np.exp(floats(9, rows, columns))

    def make(accelerator: Accelerator) -> Speckled:
        scratch = [accelerator.array(junk(rows, columns)) for _ in range(5)]
        return Speckled(F32Array2D.of(picture), *scratch)

    def run(accelerator: Accelerator, speckled: Speckled) -> Outcome:
        accelerator.compute(lambda cc: remove_speckles(cc, speckled, region, steps))
        return [np.asarray(speckled.image)]

    def reference() -> Outcome:
        image = picture.astype(np.float64)
        for _ in range(steps):
            q0 = image[region].var() / image[region].mean() ** 2
            wide = np.pad(image, 1, mode="edge")
            north, south = wide[:-2, 1:-1] - image, wide[2:, 1:-1] - image
            west, east = wide[1:-1, :-2] - image, wide[1:-1, 2:] - image
            laplace = (north + south + west + east) / image
            gradient = (north**2 + south**2 + west**2 + east**2) / image**2
            q = (gradient / 2 - laplace**2 / 16) / (1 + laplace / 4) ** 2
            here = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
            around = np.pad(here, 1, mode="edge")
            below, right = around[2:, 1:-1], around[1:-1, 2:]
            image = image + RATE / 4 * (here * (north + west) + below * south + right * east)
        return [image]

    size = f"{columns} × {rows}, {steps} steps"
    return Workload("srad_v2", size, make, run, reference, tolerance=1e-4)
