"""From windows to faces: similar windows are one face, as OpenCV's `groupRectangles` has it."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

Box: TypeAlias = tuple[int, int, int, int]
"""Left, top, width and height."""


def boxes_of(rows: Iterable[Iterable[float]]) -> list[Box]:
    """Numbers from NumPy or OpenCV as plain ones, in an order of their own."""
    return sorted((int(x), int(y), int(width), int(height)) for x, y, width, height in rows)


def grouped(windows: Sequence[Box], neighbours: int) -> list[Box]:
    """The mean of each group of similar windows that has more than so many."""
    groups = _groups(windows)
    sizes = [len(group) for group in groups if len(group) > neighbours]
    means = [_mean(group) for group in groups if len(group) > neighbours]
    kept = [
        box
        for box, size in zip(means, sizes, strict=True)
        if not any(
            box is not other and (more > max(3, size) or size < 3) and _lies_in(box, other)
            for other, more in zip(means, sizes, strict=True)
        )
    ]
    return sorted(kept)


def _groups(windows: Sequence[Box]) -> list[list[Box]]:
    """Windows that are similar, or have a chain of similar ones between them."""
    groups: list[list[Box]] = []
    for window in windows:
        near = [group for group in groups if any(_similar(window, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([window, *(other for group in near for other in group)])
    return groups


def _similar(one: Box, other: Box) -> bool:
    (x, y, width, height), (u, v, wide, high) = one, other
    reach = 0.2 * (min(width, wide) + min(height, high)) * 0.5
    edges = x - u, y - v, x + width - u - wide, y + height - v - high
    return all(abs(edge) <= reach for edge in edges)


def _mean(group: Sequence[Box]) -> Box:
    totals = np.sum(np.array(group), axis=0).astype(np.float32)
    return boxes_of([np.rint(totals * (np.float32(1) / np.float32(len(group))))])[0]


def _lies_in(one: Box, other: Box) -> bool:
    (x, y, width, height), (u, v, wide, high) = one, other
    dx, dy = round(wide * 0.2), round(high * 0.2)
    from_left = u - dx <= x and x + width <= u + wide + dx
    return from_left and v - dy <= y and y + height <= v + high + dy
