"""Dispatches with many passes, and a short way for the same dispatch again.

What was checked, decided and prepared for the first is kept, as it is for a launch without
passes. An equal dispatch then brings what its buffers lack, and runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trilby.analysis.footprint import LaunchNumbers
from trilby.analysis.pass_footprints import PassFootprints
from trilby.dataclass import dataclass
from trilby.messages import is_told
from trilby.options import Transfers
from trilby.runtime.binding import Bound, bind
from trilby.runtime.callers import Caller
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.content import LOCK
from trilby.runtime.explicit import block_of
from trilby.runtime.known import Given, given_by, is_plain, numbers_key, replaceable
from trilby.runtime.pass_options import PassOptions
from trilby.runtime.passes import KnownPasses, PassesRun, PassWork, PreparedPasses
from trilby.runtime.profiles import RECORDINGS
from trilby.runtime.residency import Work

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator
    from trilby.runtime.context import ComputeContext

_MOST_KEPT = 256


@dataclass(slots=True, eq=False)
class _KeptPasses:
    """Passes that may be run again: what they were given, and what was made of it."""

    given: Given
    transfers: Transfers
    passes: int
    asked: PassWork
    prepared: PreparedPasses


class PassLaunches:
    """The dispatches with many passes of one accelerator; `lost` hears of buffers that are gone."""

    def __init__(self, accelerator: "Accelerator", lost: Callable[[object], None]) -> None:
        self._accelerator = accelerator
        self._lost = lost
        self._kept: dict[tuple[object, ...], _KeptPasses] = {}
        self._buffers: dict[object, tuple[int, ...]] = {}
        self._known: dict[tuple[object, ...], KnownPasses] = {}

    def again(
        self,
        size: object,
        kernel: object,
        args: Sequence[Any],
        caller: Caller,
        context: "ComputeContext",
        options: PassOptions,
    ) -> bool:
        """Run what was run before, if nothing stands against it; false where something does.

        From here on nobody else finds them, who would go the long way, until they were run well.
        """
        with LOCK:
            key = self._key(size, kernel, args)
            kept = self._kept.pop(key, None)
            if kept is None or not self._fits(kept, args, context, options):
                return False
            _come_from(kept, caller, context)
        options.check_flag(kept.asked.analysed.kernel, kept.asked.work.buffers)
        run = PassesRun(self._accelerator.residency, kept.asked, options, kept.prepared)
        run.run(context)
        prepared = run.prepared
        if prepared is not None:
            with LOCK:
                kept.prepared = prepared
                self._kept[key] = kept
        return True

    def run(
        self,
        asked: PassWork,
        options: PassOptions,
        size: object,
        args: Sequence[Any],
        context: "ComputeContext",
    ) -> None:
        """Run what is not known yet, and keep it."""
        run = PassesRun(self._accelerator.residency, asked, options)
        run.run(context)
        prepared = run.prepared
        if prepared is None:
            return
        with LOCK:
            analysed = asked.analysed
            given = given_by(analysed, args, asked.bound, self._lost)
            if given is None:
                return
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._buffers[analysed.kernel] = given.positions
            self._kept[analysed.kernel, size, *given.identities(args)] = _KeptPasses(
                given,
                context.transfers,
                options.passes,
                asked,
                prepared,
            )

    def known_at(self, analysed: AnalysedKernel, launch: LaunchNumbers, passes: int) -> KnownPasses:
        """What is known of many passes of a launch, from the last time they were run."""
        key = (passes, *numbers_key(analysed, launch))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            footprints = PassFootprints(analysed.footprint, launch, passes)
            found = self._known[key] = KnownPasses(footprints)
        return found

    def asked(
        self, work: Work, analysed: AnalysedKernel, bound: Bound, known: KnownPasses
    ) -> PassWork:
        """Many passes of a launch that is asked for."""
        return PassWork(work, analysed, bound, known)

    def forget_lost(self) -> None:
        """Let go of what was kept for buffers that are gone. The lock is held."""
        for key, kept in list(self._kept.items()):
            if not kept.given.is_alive:
                del self._kept[key]

    def _key(self, size: object, kernel: object, args: Sequence[object]) -> tuple[object, ...]:
        """What a dispatch is kept under; nothing where it cannot have been kept."""
        if not is_plain(size):
            return ()
        try:
            places = self._buffers[kernel]
            return (kernel, size, *[id(args[position]) for position in places])
        except (KeyError, IndexError, TypeError):
            return ()

    def _fits(
        self,
        kept: _KeptPasses,
        args: Sequence[Any],
        context: "ComputeContext",
        options: PassOptions,
    ) -> bool:
        """Whether a dispatch is the same, but perhaps for numbers, which are replaced."""
        same_passes = options.passes == kept.passes or not kept.asked.known.footprints.differ
        if not (options.passes and same_passes and kept.transfers is context.transfers):
            return False
        if RECORDINGS or is_told("debug") or block_of(self._accelerator.residency.replicas):
            return False
        return kept.given.is_same(args) and _replaced(kept, args)


def _replaced(kept: _KeptPasses, args: Sequence[Any]) -> bool:
    """Put other numbers into passes; false where what these touch depends on them."""
    changed = kept.given.changed(args)
    if not changed:
        return True
    scalars = [
        replaceable(kept.asked.analysed, position, args[position]) for _, position in changed
    ]
    for scalar in scalars:
        if scalar is None:
            return False
    for (entry, position), scalar in zip(changed, scalars, strict=True):
        if scalar is not None:
            kept.prepared.launch.replace(kept.given.slots[position], scalar)
            kept.given.numbers[entry] = position, args[position]
    asked = kept.asked
    asked.bound = bind(asked.analysed.kernel, asked.analysed.signature, args)
    asked.work = replace(asked.work, arguments=asked.bound.arguments)
    return True


def _come_from(kept: _KeptPasses, caller: Caller, context: "ComputeContext") -> None:
    """See whether they are dispatched from another line than the last time."""
    asked, before = kept.asked, kept.asked.work.caller
    if caller.instruction != before.instruction or caller.code is not before.code:
        varies = context.varies_at(caller)
        asked.work = replace(asked.work, caller=caller, varies=varies)
