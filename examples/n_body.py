"""Two clusters of stars that meet: every star attracts every other, and energy is kept.

The positions come back once for each frame of the animation, and nothing ever goes up again. How
far the energy drifts, in double precision, says how good the simulation is; NumPy repeats its
first steps.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image
from terminal.bars import watched

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, f32, i32

Doubles: TypeAlias = npt.NDArray[np.float64]

SOFTENING = 0.05
"""Keeps the pull finite where two stars come close."""


class Stars(tb.Buffer):
    """Positions with the mass as the fourth number, and velocities."""

    length: i32
    place: tb.Array[tb.f32x4] = tb.array("length")
    velocity: tb.Array[tb.f32x4] = tb.array("length")


@tb.kernel
def kick(kc: KernelContext, stars: Stars, dt: f32) -> None:
    """Change a star's velocity by the pull of all others."""
    here = stars.place[kc.x].xyz
    pull = tb.f32x3(0.0, 0.0, 0.0)
    for other in range(stars.length):
        star = stars.place[other]
        way = star.xyz - here
        nearness = tb.rsqrt(tb.dot(way, way) + SOFTENING * SOFTENING)
        pull += way * (star.w * nearness * nearness * nearness)
    stars.velocity[kc.x].xyz += pull * dt


@tb.kernel
def drift(kc: KernelContext, stars: Stars, dt: f32) -> None:
    """Move a star."""
    stars.place[kc.x].xyz += stars.velocity[kc.x].xyz * dt


@tb.compute
def advance(cc: ComputeContext, stars: Stars, dt: f32, steps: int) -> None:
    """Leapfrog, which keeps the energy for long: half a kick, drifts and kicks, half a kick."""
    cc.dispatch(stars.length, kick, stars, dt / 2)
    for step in range(steps):
        cc.dispatch(stars.length, drift, stars, dt)
        cc.dispatch(stars.length, kick, stars, dt if step < steps - 1 else dt / 2)


def clusters(count: int, seed: int = 1) -> tuple[Doubles, Doubles]:
    """Places with masses, and velocities: two balls of stars that fly past each other."""
    random = np.random.default_rng(seed)
    direction = random.standard_normal((2, count, 3))
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    inside = random.random((count, 1)) * 0.9 + 0.05
    radius = 0.3 / np.sqrt(inside ** (-2 / 3) - 1)  # as Plummer found star clusters to be
    speed = 0.35 * np.sqrt(0.5) / (0.3**2 + radius**2) ** 0.25
    places = np.concatenate([direction[0] * radius, np.full((count, 1), 1 / count)], axis=1)
    velocities = np.concatenate([direction[1] * speed, np.zeros((count, 1))], axis=1)
    side = np.where(np.arange(count) % 2, 1.0, -1.0)
    places[:, 0] += side
    places[:, 1] += side * 0.3
    velocities[:, 0] -= side * 0.3
    return places.astype(np.float32).astype(float), velocities.astype(np.float32).astype(float)


def stars_of(places: Doubles, velocities: Doubles) -> Stars:
    """The same as a buffer."""
    stars = Stars.create(length=len(places))
    for column, lane in enumerate("xyzw"):
        getattr(stars.place, lane)[:] = places[:, column]
        getattr(stars.velocity, lane)[:] = velocities[:, column]
    return stars


def numbers_of(stars: Stars) -> tuple[Doubles, Doubles]:
    """Places and velocities from the buffer."""
    place, velocity = np.asarray(stars.place), np.asarray(stars.velocity)
    return (
        np.stack([place[lane] for lane in "xyzw"], axis=1).astype(float),
        np.stack([velocity[lane] for lane in "xyzw"], axis=1).astype(float),
    )


def energy(places: Doubles, velocities: Doubles) -> float:
    """Of motion and of attraction."""
    masses = places[:, 3]
    motion = 0.5 * (masses * (velocities[:, :3] ** 2).sum(axis=1)).sum()
    attraction = 0.0
    for i in range(1, len(places)):
        ways = places[:i, :3] - places[i, :3]
        distances = np.sqrt((ways**2).sum(axis=1) + SOFTENING**2)
        attraction -= masses[i] * (masses[:i] / distances).sum()
    return float(motion + attraction)


def reference(
    places: Doubles, velocities: Doubles, dt: float, steps: int
) -> tuple[Doubles, Doubles]:
    """The same steps by NumPy in double precision."""
    places, velocities = places.copy(), velocities.copy()
    for _ in range(steps):
        velocities[:, :3] += pulls(places) * dt / 2
        places[:, :3] += velocities[:, :3] * dt
        velocities[:, :3] += pulls(places) * dt / 2
    return places, velocities


def pulls(places: Doubles) -> Doubles:
    """What attracts each star."""
    found = np.empty((len(places), 3))
    for i, place in enumerate(places):
        ways = places[:, :3] - place[:3]
        cubes = ((ways**2).sum(axis=1) + SOFTENING**2) ** 1.5
        found[i] = (ways * (places[:, 3] / cubes)[:, None]).sum(axis=0)
    return found


def run(
    accelerator: Accelerator, stars: Stars, dt: float, frames: int, steps: int
) -> list[npt.NDArray[np.float32]]:
    """The places of the stars in each frame; between two frames are so many steps."""
    shown: list[npt.NDArray[np.float32]] = []
    for _ in watched(range(frames), "frames"):
        accelerator.compute(advance, stars, dt, steps)
        places = np.asarray(stars.place)
        shown.append(np.stack([places["x"], places["y"]], axis=1))
    return shown


def save(frames: Sequence[npt.NDArray[np.float32]], path: Path, side: int = 360) -> None:
    """Write the stars as an animation; the two clusters have their colours."""
    pictures: list[Image.Image] = []
    for places in frames:
        spots = ((places / 4 + 0.5) * side).astype(int)
        seen = ((spots >= 0) & (spots < side)).all(axis=1)
        light = np.zeros((side, side, 3))
        for cluster, colour in enumerate(([255, 170, 60], [70, 150, 255])):
            mine = seen & (np.arange(len(spots)) % 2 == cluster)
            np.add.at(light, (spots[mine, 1], spots[mine, 0]), colour)
        for axis in (0, 1):  # a star shines on the pixels around it
            light += 0.35 * (np.roll(light, 1, axis) + np.roll(light, -1, axis))
        pictures.append(Image.fromarray(np.minimum(light, 255).astype(np.uint8)))
    path.parent.mkdir(parents=True, exist_ok=True)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=50, loop=0)


def check_first_steps(accelerator: Accelerator, stars: int, dt: float) -> None:
    """Compare three steps of so many stars with NumPy's."""
    begin = clusters(stars)
    some = stars_of(*begin)
    accelerator.compute(advance, some, dt, 3)
    for computed, expected in zip(numbers_of(some), reference(*begin, dt, 3), strict=True):
        np.testing.assert_allclose(computed, expected, rtol=1e-3, atol=1e-5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stars", type=int, default=1024)
    parser.add_argument("--frames", type=int, default=80)
    parser.add_argument("--steps", type=int, default=4, help="between two frames")
    parser.add_argument("--dt", type=float, default=0.01, help="the time of a step")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the animation")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{options.stars} stars on {accelerator.device.name}")
    check_first_steps(accelerator, min(options.stars, 256), options.dt)
    begin = clusters(options.stars)
    stars = stars_of(*begin)
    started = time.perf_counter()
    with accelerator.record() as ledger:
        frames = run(accelerator, stars, options.dt, options.frames, options.steps)
    print(f"{time.perf_counter() - started:.2f} s; every transfer and its reason:\n")
    print(ledger)
    before, after = energy(*begin), energy(*numbers_of(stars))
    drifted = abs((after - before) / before)
    print(f"\nthe energy was {before:.6f} and is {after:.6f}: it drifted by {drifted:.1e}")
    if not drifted < 1e-3:
        raise SystemExit("that is more than leapfrog with this step should lose")
    place = options.out / "n_body.gif"
    save(frames, place)
    print(f"the first steps agree with NumPy's; the animation is {place}")


if __name__ == "__main__":
    main()
