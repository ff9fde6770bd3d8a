"""From a dispatch to a launch, and a short way for the same dispatch again.

In a hot loop nothing about a launch changes but, perhaps, some numbers. What was checked and
decided for the first is then kept, and the next costs little more than giving the command
to the device: as long as its buffers, its range and its constants are the same ones, and
nothing that would make data move has happened.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

from trilby.analysis.access import AccessMode, AccessTable, ParameterAccess
from trilby.analysis.footprint import LaunchNumbers
from trilby.backend.base import DeviceInfo
from trilby.backend.failures import check_buffer
from trilby.data.ndrange import NDRange, as_range, dividing, spelled
from trilby.data.schema import in_global, spoken
from trilby.data.segment import ACCESSES, Segment
from trilby.data.touched import Touched
from trilby.errors import ArgumentValueError, RangeError
from trilby.messages import is_told
from trilby.model.value import space_of
from trilby.options import Transfers
from trilby.reflect.functions import Kernel
from trilby.runtime.binding import Bound, bind, ranks_of, uses
from trilby.runtime.callers import Caller
from trilby.runtime.compile import AnalysedKernel, ReadyKernel
from trilby.runtime.content import CLOCK, LOCK, check_launch, is_locked_here
from trilby.runtime.explicit import block_of
from trilby.runtime.held import KernelWrite, Use
from trilby.runtime.known import (
    CachedLaunch,
    Given,
    LaunchOrder,
    given_by,
    is_plain,
    numbers_key,
    numbers_of,
    replaceable,
)
from trilby.runtime.pass_options import PassOptions
from trilby.runtime.profiles import PROFILES, RECORDINGS, keep_runs
from trilby.runtime.residency import Standing, Work
from trilby.runtime.watch import is_gone, watched

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator
    from trilby.runtime.context import ComputeContext
    from trilby.runtime.pass_launches import PassLaunches


# ---------------------------------------------------------------------------------- constant memory
# What a launch must keep to where buffers lie in constant memory: their size, and who writes.


def check_constant_memory(
    buffers: Iterable[Segment], table: AccessTable, device: DeviceInfo
) -> None:
    """Refuse a buffer that is too large for constant memory, or written by the same launch."""
    launched = list(zip(buffers, table.parameters, strict=True))
    for segment, parameter in launched:
        if space_of(parameter.type) == "constant":
            _check_size(segment, parameter, device)
            writers = (
                p for other, p in launched if other is segment and AccessMode.WRITES in p.whole
            )
            for writer in writers:
                raise _written(parameter, writer)


def _check_size(segment: Segment, parameter: ParameterAccess, device: DeviceInfo) -> None:
    if not device.constant_bytes or segment.nbytes <= device.constant_bytes:
        return
    plain = spoken(in_global(parameter.type))
    raise ArgumentValueError(
        f"`{parameter.name}` has {segment.nbytes:,} bytes, and a buffer in the constant memory of "
        f"{device.name} has at most {device.constant_bytes:,}",
        advice=f"declare it `{parameter.name}: {plain}`: it then lies in global memory",
    )


def _written(constant: ParameterAccess, writer: ParameterAccess) -> ArgumentValueError:
    return ArgumentValueError(
        f"`{constant.name}` and `{writer.name}` are one buffer, and the kernel writes to it while "
        "it lies in constant memory",
        advice=f"pass a copy for `{constant.name}`, or declare it without `tb.Constant`",
    )


# ------------------------------------------------------------------------------------------- ranges
# The range of a launch, for kernels whose work items wait for each other.

LARGEST = ((256,), (16, 16), (16, 4, 4))
"""The largest group that is chosen for such a kernel, by the number of dimensions."""


def in_whole_groups(size: NDRange, items: int) -> NDRange:
    """A range that groups fill exactly: barriers need all items of a group.

    A local size that was asked for must divide the range. Where none was, the largest that
    divides it is taken, up to a usual size, and up to the `items` that the device takes.
    """
    if size.local is None:
        return NDRange(size.size, dividing(size.size, LARGEST[len(size.size) - 1], items))
    if any(n % local for n, local in zip(size.size, size.local, strict=True)):
        raise _not_whole(size.size, size.local, items)
    return size


def _not_whole(size: tuple[int, ...], local: tuple[int, ...], items: int) -> RangeError:
    whole = tuple(math.ceil(n / group) * group for n, group in zip(size, local, strict=True))
    fitting = dividing(size, local, items)
    return RangeError(
        f"the range {size} is not a multiple of the local size {local}, and the "
        "kernel has barriers or local memory, which need whole groups",
        advice=f"the next smaller size that fits is `{spelled(fitting)}`. Or launch {whole} work "
        "items and leave out the surplus in the kernel: pass the true size and test "
        "`if kc.x < n` around reads and writes, not around barriers",
    )


# ----------------------------------------------------------------------------------------- launches

_MOST_KEPT = 256

_UNKNOWN = object()
"""A number that is none of those that are given."""

_frame = sys._getframe  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- see `Caller`


class Launches:
    """The launches of one accelerator."""

    def __init__(self, accelerator: "Accelerator") -> None:
        self._accelerator = accelerator
        self._runner = object()
        self._profiled_for = 0
        self._last: CachedLaunch | None = None
        self._known: dict[tuple[object, ...], CachedLaunch] = {}
        self._buffers: dict[object, tuple[int, ...]] = {}
        self._footprints: dict[tuple[object, ...], tuple[Touched, ...]] = {}
        self._passes: PassLaunches | None = None

    def again(
        self, size: object, kernel: object, args: Sequence[Any], transfers: Transfers
    ) -> CachedLaunch | None:
        """Launch what was launched before, if nothing stands against it; None where it does.

        A hot loop spends its time here: every line is seen in it.
        """
        if ACCESSES.now or is_locked_here():
            check_launch()
        with LOCK:  # an interrupt between `acquire` and `try` would leave it locked for ever
            last = self._last
            known = None if last is None else last.follower
            if (
                known is None
                or known.kernel is not kernel
                or known.size is not size
                or known.count != len(args)
            ):
                known = self._find(size, kernel, args)
            else:
                for position, buffer in known.buffers:
                    if buffer() is args[position]:
                        continue
                    known = self._find(size, kernel, args)
                    break
            if known is None or known.transfers is not transfers:
                return None
            current = known.moment == CLOCK.now or known.is_current()
            if not current and not self._is_in_place(known, args):
                return None
            if (known.unsure or RECORDINGS) and not self._fits(known, args):
                return None
            frame = _frame(2)
            if frame.f_lasti != known.instruction or frame.f_code is not known.code:
                known.come_from(Caller.now())
            launch = known.launch
            if not current:
                run = partial(self._run, known, last)
                self._accelerator.residency.run_in_place(known.held, known.writer, launch, run)
                known.note_current()
            elif known.steady != CLOCK.now or launch.same is None:
                self._run(known, last)
            else:
                self._last = CLOCK.ahead = known
                launch.held.append(launch.same)
                if len(launch.held) >= launch.most:
                    known.submit()
            return known

    def _run(self, known: CachedLaunch, last: CachedLaunch | None) -> None:
        """Run a launch, and see whether it belongs to a loop that repeats itself."""
        CLOCK.settle()
        runner = (self._runner, get_ident())
        if CLOCK.runner != runner:
            CLOCK.runner = runner
            CLOCK.now += 1
        if known.profiled_for != self._profiled_for:
            self._profile(known)
        before = None if last is None else last.order
        if not known.order.run_again(before):
            known.order.run_anew(before)
        elif known.repeated == CLOCK.now:
            known.steady = CLOCK.now
        else:
            known.repeated = CLOCK.now
        if last is not None:
            last.follower = known
        self._last = known

    def replay(self, last: CachedLaunch, dispatches: int, launches: int, rounds: int) -> int:
        """Run again what a loop did in so many launches, which ended with this one.

        So many rounds of it, or fewer: the result says how many. A turn of the loop has some
        `dispatches`. None is run unless the loop is known to be steady.
        """
        done = 0
        while done < rounds:
            with LOCK:
                turn = self._steady_turn(last)
                times, rest = divmod(launches, len(turn) or launches + 1)
                if rest or (times > 1 and dispatches > 1):  # one launch from several lines
                    break
                count = min(max(last.launch.most // launches, 1), rounds - done)
                self._last = CLOCK.ahead = last
                last.launch.held.extend(turn * (times * count))
                done += count
                last.submit()
        return done

    def _steady_turn(self, last: CachedLaunch) -> list[object]:
        """What is given to the device in a turn of a steady loop; empty where it is not steady."""
        room = self._accelerator.residency.replicas.room
        if self._last is not last or RECORDINGS or room.is_tight or is_told("debug"):
            return []
        turn: list[object] = []
        one: CachedLaunch | None = last
        while turn == [] or one is not last:
            one = one.follower
            if one is None or not one.is_steady() or one.launch.held is not last.launch.held:
                return []
            turn.append(one.launch.same)
        return turn

    def forget(self) -> None:
        """Go the long way with every launch once more; many passes are told of in any case."""
        with LOCK:
            CLOCK.settle()
            self._last = None
            self._known.clear()

    def _lost(self, _: object) -> None:
        """A buffer was collected: what is known of launches on it keeps memory for nothing."""
        is_gone(self._forget_lost)

    def _forget_lost(self) -> None:
        with LOCK:
            CLOCK.settle()
            self._drop_lost()
            if self._passes is not None:
                self._passes.forget_lost()

    def _drop_lost(self) -> None:
        lost = [key for key, known in self._known.items() if not known.is_alive]
        forgotten = [self._known.pop(key) for key in lost]
        for known in (*forgotten, *self._known.values()):
            follower = known.follower
            if follower is not None and not (known.is_alive and follower.is_alive):
                known.follower = None
        if self._last is not None and not self._last.is_alive:
            self._last = None

    def profile_anew(self) -> None:
        """Others profile from now on, or nobody. The lock is held, and nothing is held back.

        The next run of every launch goes through `_run`, and is told there. What follows what is
        not forgotten, but for launches that are not among these any more.
        """
        self._profiled_for += 1
        CLOCK.now += 1  # nothing is steady: also if Ctrl-C comes before all of them were told
        CLOCK.settle()
        all_known = set(self._known.values())
        for known in all_known:
            known.profiled = None
            known.launch.keep_no_more()
            if known.follower not in all_known:
                known.follower = None
        if self._last not in all_known:
            self._last = None

    def _is_in_place(self, known: CachedLaunch, args: Sequence[Any]) -> bool:
        """Whether a launch would need nothing, though its buffers are not as they were."""
        if any(args[position].segment.released for position, _ in known.buffers):
            return False
        return all(one.is_in_place for one in known.held)

    def _profile(self, known: CachedLaunch) -> None:
        """Let those who profile now, and nobody else, know of the runs of a launch."""
        known.launch.keep_no_more()
        backend = self._accelerator.residency.backend
        known.profiled = keep_runs(backend, known.launch, known.writer) if PROFILES else None
        known.profiled_for = self._profiled_for  # not before: after Ctrl-C the next run does it

    def _fits(self, known: CachedLaunch, args: Sequence[Any]) -> bool:
        """The rarer checks: numbers, constants, and whether somebody wants to know of it."""
        for reflected in known.changing:
            if not reflected.is_current():
                return False
        for entry, (position, number) in enumerate(known.numbers):
            given = args[position]
            if given is not number and not self._replaced(known, entry, position, given):
                return False
        if RECORDINGS or is_told("debug"):
            return False
        room = self._accelerator.residency.replicas.room
        if room.is_tight:
            room.used_by_launch(known.order.replicas)
        return True

    def _find(self, size: object, kernel: object, args: Sequence[Any]) -> CachedLaunch | None:
        """A launch over the same range of the same kernel with the same buffers."""
        try:
            buffers = [id(args[position]) for position in self._buffers[kernel]]
            known = self._known[kernel, size, *buffers]
        except (KeyError, IndexError, TypeError):
            return None
        for position, buffer in known.buffers:
            if buffer() is not args[position]:
                return None
        if self._last is None or known is not self._last.follower:
            CLOCK.now += 1  # it follows another launch than the last time
        plain = type(size) is int or is_plain(size)
        return known if plain and known.count == len(args) else None

    def _replaced(self, known: CachedLaunch, entry: int, position: int, given: object) -> bool:
        """Put another number into a launch; false where what it touches depends on that."""
        scalar = replaceable(known.analysed, position, given)
        if scalar is None:
            return False
        known.numbers[entry] = position, _UNKNOWN  # if Ctrl-C comes before the end of this
        known.launch.replace(known.slots[position], scalar)
        known.numbers[entry] = position, given
        known.steady = known.repeated = -1
        return True

    @property
    def passes(self) -> "PassLaunches":
        """The dispatches with many passes."""
        if self._passes is None:
            from trilby.runtime.pass_launches import PassLaunches  # noqa: PLC0415 -- few need it

            self._passes = PassLaunches(self._accelerator, self._lost)
        return self._passes

    def passes_again(
        self,
        size: object,
        kernel: object,
        args: Sequence[Any],
        caller: Caller,
        context: "ComputeContext",
        options: PassOptions,
    ) -> bool:
        """Run many passes that were run before, if nothing stands against it."""
        check_launch()
        self._last = None
        return self.passes.again(size, kernel, args, caller, context, options)

    def launch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Kernel[...],
        args: Sequence[Any],
        caller: Caller,
        context: "ComputeContext",
        options: PassOptions | None = None,
    ) -> None:
        """Check a dispatch, and launch it, once or for many passes."""
        check_launch()
        self._last = None
        accelerator = self._accelerator
        launch_range = as_range(size)
        ready = accelerator.compiler.kernel(kernel, ranks_of(args))
        analysed = ready.analysed
        bound = bind(kernel, analysed.signature, args)
        numbers = numbers_of(launch_range, bound)
        passes = self.passes.known_at(analysed, numbers, options.passes) if options else None
        touched = passes.footprints.all if passes else self._footprints_at(analysed, numbers)
        used = uses(bound, analysed.access, touched)
        for use in used:
            check_buffer(accelerator.device, use.label, use.segment.nbytes)
        check_constant_memory(bound.buffers, analysed.access, accelerator.device)
        if options:
            options.check_flag(kernel, bound.buffers)
            context.passes_done = 0 if launch_range.items else options.passes
        if not launch_range.items or (options and not options.passes):
            return
        if analysed.works_in_groups:
            launch_range = in_whole_groups(launch_range, accelerator.device.max_group_items)
        explicit = block_of(accelerator.residency.replicas) is not None
        if context.transfers is Transfers.TRACKED and not explicit:
            _remember_written(used, context)
        work = Work(
            kernel.name,
            ready.executable,
            launch_range,
            bound.arguments,
            bound.buffers,
            used,
            caller,
            Transfers.AUTO if explicit else context.transfers,
            context.varies_at(caller),
            explicit,
        )
        if options and passes:
            self.passes.run(
                self.passes.asked(work, analysed, bound, passes), options, size, args, context
            )
            return
        standing = accelerator.residency.launch(work)
        if standing is not None:
            with LOCK:
                self._keep(standing, ready, size, args, bound, work)

    def _footprints_at(
        self, analysed: AnalysedKernel, launch: LaunchNumbers
    ) -> tuple[Touched, ...]:
        """What a launch touches, worked out once for the same numbers."""
        key = numbers_key(analysed, launch)
        found = self._footprints.get(key)
        if found is None:
            if len(self._footprints) >= _MOST_KEPT:
                self._footprints.clear()
            found = self._footprints[key] = analysed.footprint.at(launch)
        return found

    def _keep(
        self,
        standing: Standing,
        ready: ReadyKernel,
        size: object,
        args: Sequence[Any],
        bound: Bound,
        work: Work,
    ) -> None:
        analysed = ready.analysed
        given = given_by(analysed, args, bound, self._lost)
        if given is None:
            return
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._buffers[analysed.kernel] = given.positions
        key = (analysed.kernel, size, *given.identities(args))
        writer = standing.launch.origin = KernelWrite(work.kernel, work.caller)
        self._last = self._known[key] = CachedLaunch(
            analysed.kernel,
            size,
            analysed,
            given.changing,
            work.transfers,
            writer,
            work.caller.code,
            work.caller.instruction,
            len(args),
            given.buffers,
            given.numbers,
            given.slots,
            self._is_unsure(given),
            standing.held,
            standing.versions,
            LaunchOrder(standing.launch, standing.read, standing.written),
            standing.launch,
        )

    def _is_unsure(self, given: Given) -> bool:
        """Whether there is more to do about a launch than to look at its buffers."""
        tight = self._accelerator.residency.replicas.room.is_tight
        return bool(given.numbers or given.changing) or tight or is_told("debug")


def _remember_written(used: Sequence[Use], context: "ComputeContext") -> None:
    with LOCK:
        for use in used:
            if not use.touched.writes:
                continue
            watch = watched(use.segment)
            context.written[id(watch)] = watch
