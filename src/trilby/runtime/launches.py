"""The driver of a dispatch: find or prepare its launch, bring what is missing, submit, note.

In a hot loop nothing about a launch changes but, perhaps, some numbers. So prepared launches are
kept, and an equal dispatch submits the one that is there. As long as its buffers, its range and its
constants are the same ones, and no content has changed, that is all there is to do.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trilby.analysis.access import AccessMode, AccessTable
from trilby.analysis.pass_footprints import PassFootprints
from trilby.backend.base import DeviceInfo, Ticket
from trilby.backend.failures import check_buffer
from trilby.backend.say import say_all
from trilby.data.ndrange import NDRange, as_range, dividing, spelled
from trilby.data.schema import in_global, spoken
from trilby.data.segment import ACCESSES, Segment
from trilby.errors import ArgumentValueError, RangeError, TrilbyError
from trilby.messages import is_told
from trilby.model.value import space_of
from trilby.options import Transfers
from trilby.reflect.functions import Kernel
from trilby.runtime.binding import bind, ranks_of, uses
from trilby.runtime.callers import Caller
from trilby.runtime.content import JOURNAL, LOCK, check_launch, is_locked_here
from trilby.runtime.explicit import block_of
from trilby.runtime.launch_buffers import Use
from trilby.runtime.pass_options import PassOptions
from trilby.runtime.prepared_launch import (
    LASTING,
    LaunchRequest,
    PreparedLaunch,
    dispatch_arguments,
    is_plain,
    numbers_key,
    numbers_of,
)
from trilby.runtime.profiles import RECORDINGS
from trilby.runtime.watch import is_gone, watched

if TYPE_CHECKING:
    from trilby.data.touched import Touched
    from trilby.runtime.accelerator import Accelerator
    from trilby.runtime.context import ComputeContext


# ---------------------------------------------------------------------------------- constant memory
# What a launch must keep to where buffers lie in constant memory: their size, and who writes.


def check_constant_memory(
    buffers: Iterable[Segment], table: AccessTable, device: DeviceInfo
) -> None:
    """Refuse a buffer that is too large for constant memory, or written by the same launch."""
    launched = list(zip(buffers, table.parameters, strict=True))
    for segment, parameter in launched:
        if space_of(parameter.type) != "constant":
            continue
        if 0 < device.constant_bytes < segment.nbytes:
            plain = spoken(in_global(parameter.type))
            raise ArgumentValueError(
                f"`{parameter.name}` has {segment.nbytes:,} bytes, and a buffer in the constant "
                f"memory of {device.name} has at most {device.constant_bytes:,}",
                advice=f"declare it `{parameter.name}: {plain}`: it then lies in global memory",
            )
        for other, writer in launched:
            if other is segment and AccessMode.WRITES in writer.whole:
                raise ArgumentValueError(
                    f"`{parameter.name}` and `{writer.name}` are one buffer, and the kernel writes "
                    "to it while it lies in constant memory",
                    advice=f"pass a copy for `{parameter.name}`, or declare it without "
                    "`tb.Constant`",
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

T = TypeVar("T")

_MOST_KEPT = 256

_frame = sys._getframe  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- see `Caller`


Dispatch: TypeAlias = tuple[
    int | tuple[int, ...] | NDRange,
    Kernel[...],
    Sequence[Any],
    Caller,
    "ComputeContext",
    PassOptions | None,
]
"""What a dispatch is given: range, kernel, arguments, the line it stands at, context, options."""

Done: TypeAlias = tuple[PreparedLaunch, list[Ticket]]
"""A launch that was submitted, and what has to be waited for."""


class Launches:
    """The launch cache of one accelerator, by kernel, range and identity of the buffers.

    After `cc.dispatch(1024, double, a, b)` it has one entry, which the same dispatch submits again.
    """

    def __init__(self, accelerator: "Accelerator") -> None:
        self._accelerator = accelerator
        self._kept: dict[tuple[object, ...], PreparedLaunch] = {}
        self._keys: dict[object, tuple[tuple[int, ...], bool]] = {}
        """Of each kernel, the positions of its buffers, and whether passes touch other bytes."""
        self._footprints: dict[tuple[object, ...], tuple[Touched, ...]] = {}
        self._passes: dict[tuple[object, ...], PassFootprints] = {}

    def again(
        self, size: object, kernel: object, args: Sequence[Any], transfers: Transfers
    ) -> bool:
        """Submit a launch that is kept, if its data is in place; false where it is not.

        A hot loop spends its time here: every line is seen in it.
        """
        if ACCESSES.now or is_locked_here():
            check_launch()
        with LOCK:  # an interrupt between `acquire` and `try` would leave it locked for ever
            try:
                positions, _ = self._keys[kernel]
                launch = self._kept[kernel, size, 0, *[id(args[place]) for place in positions]]
            except (KeyError, IndexError, TypeError):  # a range may have no hash
                return False
            if launch.transfers is not transfers or RECORDINGS:
                return False
            given = launch.arguments
            if given is None or given.count != len(args):
                return False
            for position, buffer in given.buffers:
                if buffer() is args[position]:
                    continue  # said: Python 3.13 forgets the lock where a loop goes on unsaid
                return False
            if type(size) is not int and not is_plain(size):
                return False
            if not launch.is_current or not (launch.is_plain or self._fits(launch, args)):
                return False
            frame, caller = _frame(2), launch.origin.caller
            if frame.f_lasti != caller.instruction or frame.f_code is not caller.code:
                launch.come_from(Caller.now())
            try:
                JOURNAL.commit(launch.prepared.submit, launch.note_latest)
            except TrilbyError as error:
                launch.tell_refused(error)
                raise
        return True

    def launch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Kernel[...],
        args: Sequence[Any],
        caller: Caller,
        context: "ComputeContext",
        options: PassOptions | None = None,
    ) -> None:
        """Run a dispatch: find or prepare its launch, bring, submit, note, give back."""
        check_launch()
        dispatch = size, kernel, args, caller, context, options
        try:
            if options is not None:
                self._run_passes(*dispatch)
                return
            done = self._run_kept(*dispatch) or self._run_new(*dispatch)
            if done is not None:
                self._accelerator.residency.finish(*done)
        finally:
            say_all()

    def _run_kept(self, *dispatch: *Dispatch) -> Done | None:
        """Run the launch of an equal dispatch, if there is one."""
        with LOCK:
            launch = self.find(*dispatch)
            return None if launch is None else self._run(launch)

    def _run_new(self, *dispatch: *Dispatch) -> Done | None:
        """Check a dispatch, prepare its launch, and run it; nothing where its range is empty."""
        residency = self._accelerator.residency
        request = self._request(*dispatch)
        if request is None:
            return None
        if residency.before_launch is not None:
            residency.before_launch(request)
        with LOCK:
            launch = self.prepare(request)
            done = self._run(launch)
            self.keep(launch)
        return done

    def _run(self, launch: PreparedLaunch) -> Done:
        """Run a launch once; gives it, with what has to be waited for. The lock is held."""
        residency = self._accelerator.residency
        ticket = residency.launch(launch)
        waiting = residency.give_back(launch, launch.transfers)
        return launch, [*waiting, ticket] if launch.executable.prints else waiting

    def _run_passes(self, *dispatch: *Dispatch) -> None:
        """Run a launch that was found, or is prepared on the way, for many passes."""
        from trilby.runtime.passes import PassesRun  # noqa: PLC0415 -- few programs have any

        _, kernel, _, _, context, options = dispatch
        launch = self.find(*dispatch)
        ask = partial(self._request, *dispatch)
        if options is not None and (launch is not None or ask() is not None):
            residency = self._accelerator.residency
            PassesRun(kernel.name, self, residency, launch, ask, options).run(context)

    # ------------------------------------------------------------------------- the cache

    def find(self, *dispatch: *Dispatch) -> PreparedLaunch | None:
        """A launch of an equal dispatch, ready to be run from this line; None where there is none.

        One with passes is taken out of the cache until it was run: it runs without the lock.
        """
        size, kernel, args, caller, context, options = dispatch
        residency = self._accelerator.residency
        if residency.before_launch is not None or not is_plain(size):
            return None
        with LOCK:
            key = self._key(size, kernel, args, options)
            launch = self._kept.get(key)
            given = None if launch is None else launch.arguments
            if launch is None or given is None or context.transfers not in LASTING:
                return None
            if not (launch.is_there and given.matches(args)):
                return None
            if options is not None and not options.passes:
                return None
            if not given.replace_numbers(args, launch.prepared):
                return None
            if options is not None:
                buffers = [args[position].segment for position, _ in given.buffers]
                options.check_flag(given.analysed.kernel, buffers)
                del self._kept[key]
            explicit = block_of(residency.replicas) is not None
            launch.come_from(caller)
            launch.transfers = Transfers.AUTO if explicit else context.transfers
            launch.varies, launch.explicit = context.varies_at(caller), explicit
            return launch

    def prepare(self, request: LaunchRequest | None) -> PreparedLaunch:
        """Prepare a launch that was not found. The lock is held."""
        if request is None:
            raise AssertionError("a launch is neither kept nor asked for")
        residency = self._accelerator.residency
        launch = residency.prepare(request)
        if launch.arguments is not None:
            tight = residency.replicas.room.is_tight
            launch.is_plain = launch.arguments.are_buffers_alone and not (tight or is_told("debug"))
        return launch

    def keep(self, launch: PreparedLaunch, passes: int | None = None) -> None:
        """Let equal dispatches find a launch, if they may submit it. The lock is held."""
        given = launch.arguments
        if given is None or not launch.lasts or not given.is_alive:
            return
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        kernel, differs = given.analysed.kernel, launch.passes is not None
        self._keys[kernel] = tuple(position for position, _ in given.buffers), differs
        buffers = [id(buffer()) for _, buffer in given.buffers]
        self._kept[kernel, given.size, (passes or 0) if differs else 0, *buffers] = launch

    def forget(self) -> None:
        """Prepare every launch once more."""
        with LOCK:
            self._kept.clear()

    def _lost(self, _: object) -> None:
        """A buffer was collected: launches on it keep memory for nothing."""
        is_gone(self._forget_lost)

    def _forget_lost(self) -> None:
        with LOCK:
            self._drop_lost()

    def _drop_lost(self) -> None:
        for key, launch in list(self._kept.items()):
            if not launch.is_alive:
                del self._kept[key]

    def _key(
        self, size: object, kernel: object, args: Sequence[object], options: PassOptions | None
    ) -> tuple[object, ...]:
        """What a dispatch is kept under; nothing where it cannot have been kept."""
        try:
            positions, differs = self._keys[kernel]
            buffers = [id(args[position]) for position in positions]
        except (KeyError, IndexError, TypeError):
            return ()
        return (kernel, size, options.passes if options and differs else 0, *buffers)

    def _fits(self, launch: PreparedLaunch, args: Sequence[Any]) -> bool:
        """The rarer checks of a launch that is kept: constants, numbers, who was used when."""
        given = launch.arguments
        if given is None or not all(reflected.is_current() for reflected in given.constants):
            return False
        if not given.replace_numbers(args, launch.prepared) or is_told("debug"):
            return False
        room = self._accelerator.residency.replicas.room
        if room.is_tight:
            room.used_by_launch(one.replica for one in launch.buffers)
        return True

    # ----------------------------------------------------------------------- the requests

    def _request(self, *dispatch: *Dispatch) -> LaunchRequest | None:
        """Check a dispatch; None where there is nothing to run."""
        size, kernel, args, caller, context, options = dispatch
        accelerator = self._accelerator
        launch_range = as_range(size)
        ready = accelerator.compiler.kernel(kernel, ranks_of(args))
        analysed = ready.analysed
        bound = bind(kernel, analysed.signature, args)
        numbers = numbers_of(launch_range, bound)
        key, passes = numbers_key(analysed, numbers), None
        if options:
            make = partial(PassFootprints, analysed.footprint, numbers, options.passes)
            passes = _remembered(self._passes, (options.passes, *key), make)
            touched = passes.all
        else:
            touched = _remembered(self._footprints, key, partial(analysed.footprint.at, numbers))
        used = uses(bound, analysed.access, touched)
        for use in used:
            check_buffer(accelerator.device, use.label, use.segment.nbytes)
        check_constant_memory(bound.buffers, analysed.access, accelerator.device)
        if options:
            options.check_flag(kernel, bound.buffers)
            context.passes_done = 0 if launch_range.items else options.passes
        if not launch_range.items or (options and not options.passes):
            return None
        if analysed.works_in_groups:
            launch_range = in_whole_groups(launch_range, accelerator.device.max_group_items)
        explicit = block_of(accelerator.residency.replicas) is not None
        if context.transfers is Transfers.TRACKED and not explicit:
            _remember_written(used, context)
        return LaunchRequest(
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
            passes if passes is not None and passes.differ else None,
            dispatch_arguments(analysed, size, args, bound, self._lost) if is_plain(size) else None,
        )


def _remembered(
    known: dict[tuple[object, ...], T], key: tuple[object, ...], make: Callable[[], T]
) -> T:
    """What was made for the same numbers before, or is made now."""
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_KEPT:
            known.clear()
        found = known[key] = make()
    return found


def _remember_written(used: Sequence[Use], context: "ComputeContext") -> None:
    with LOCK:
        for use in used:
            if not use.touched.writes:
                continue
            watch = watched(use.segment)
            context.written[id(watch)] = watch
