"""What many passes of a kernel touch, taken together, one after the other.

What a pass reads that an earlier one has surely written needs nothing from before. But a run may
be stopped after any of its passes: what a pass may have written must be whole then, so what it
may have left as it was is needed even where a later pass surely writes it.
"""

from collections.abc import Iterable
from dataclasses import replace

from trilby.analysis.footprint import KernelFootprint, LaunchNumbers
from trilby.analysis.measuring.pass_kinds import PassKinds
from trilby.data.ranges import Ranges
from trilby.data.touched import Touched
from trilby.locks import computed_once

FEW_PASSES = 8
"""So many passes are looked at one by one, whatever they do with their numbers."""

Footprints = tuple[Touched, ...]


class PassFootprints:
    """The footprints of a launch with many passes; each kind of pass is worked out once.

    For 100 passes that flip the buffers `a` and `b`, `over(range(100))` says that all of both is
    written, and computes two passes for that.
    """

    def __init__(self, kernel: KernelFootprint, launch: LaunchNumbers, passes: int) -> None:
        self._kernel = kernel
        self._launch = launch
        self._passes = passes
        self._known: dict[int | range, Footprints] = {}
        self._composed: dict[tuple[int | range, ...], Footprints] = {}

    @property
    def differ(self) -> bool:
        """Whether one pass may touch other bytes than another."""
        return self._kernel.looks_at_passes

    @computed_once
    def _kinds(self) -> PassKinds | None:
        return self._kernel.pass_kinds(self._launch, max(self._passes - 1, 0))

    @property
    def all(self) -> Footprints:
        """What all passes touch, or would, if there were one."""
        return self.over(range(max(self._passes, 1)))

    def over(self, passes: range) -> Footprints:
        """What some passes touch: an entry for each buffer parameter, in order."""
        met = tuple(self._met(passes))
        found = self._composed.get(met)
        if found is None:
            if len(self._composed) >= _MOST_KEPT:
                self._composed.clear()
            found = self._composed[met] = composed(map(self._at, met))
        return found

    def _met(self, passes: range) -> Iterable[int | range]:
        """Passes that stand for others, in their order; the last may be any of several."""
        if not self.differ:
            return (0,)
        if self._kinds is not None:
            return self._kinds.met(passes)
        if len(passes) <= FEW_PASSES:
            return passes
        return passes[0], passes[1:]

    def _at(self, number: int | range) -> Footprints:
        found = self._known.get(number)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            found = self._kernel.at(replace(self._launch, pass_id=number))
            self._known[number] = found
        return found


_MOST_KEPT = 256


def composed(passes: Iterable[Footprints]) -> Footprints:
    """The footprint of passes that follow each other."""
    by_parameter = zip(*passes, strict=True)
    return tuple(map(_composed, by_parameter))


def _composed(passes: tuple[Touched, ...]) -> Touched:
    reads = writes = covers = kept = Ranges.EMPTY
    for one in passes:
        reads |= one.reads - covers
        writes |= one.writes
        covers |= one.covers
        kept |= one.writes - covers
    return Touched(reads | (kept & covers), writes, covers)
