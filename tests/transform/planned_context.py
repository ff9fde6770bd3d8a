"""Two memories that only a plan keeps in step: a context without any safety net.

Every byte of every buffer is known to be current on the host, on the device, or on both. A look
of the host at a stale byte inside a compute function, and a kernel that reads one, is an error.
What is left to the run time, and happens here too: a kernel gets what is missing of a buffer that
the device has written to in part, and after the function the caller gets what he looks at.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import trilby as tb
from trilby import Accelerator, Buffer, ComputeContext, NDArray
from trilby.analysis.footprint import LaunchNumbers
from trilby.codegen.python import compile_compute
from trilby.data.ndrange import as_range
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.data.touched import Touched
from trilby.data.window import Window, exact_index, window_of
from trilby.model.op import Func
from trilby.model.verify import verify
from trilby.reflect.functions import Compute, Kernel, is_compute
from trilby.reflect.host_functions import reflect_compute
from trilby.reflect.quote import quote
from trilby.runtime.binding import bind, positional, ranks_of
from trilby.runtime.compile import analyse_compute, analyse_kernel
from trilby.runtime.parts import Part, field_of
from trilby.transform.place_transfers import place_transfers

AnyBuffer = Buffer | NDArray[Any]


class StaleError(AssertionError):
    """Somebody uses content that is newer on the other side."""


@tb.compute
def launch(cc: ComputeContext, size: Any, kernel: Kernel[...], args: tuple[Any, ...]) -> None:
    cc.dispatch(size, kernel, *args)


@dataclass
class Copy:
    to: str
    segment: Segment
    ranges: Ranges
    placed: bool
    used: bool = False

    def use(self, by: str, segment: Segment, ranges: Ranges) -> None:
        """Note that a side looks at some bytes."""
        self.used |= self.to == by and self.segment is segment and self.ranges.meets(ranges)


@dataclass(eq=False)
class Twins:
    """A buffer and its copy on the device. Watches the buffer's segment."""

    owner: "PlannedAccelerator"
    segment: Segment
    device: AnyBuffer
    on_host: Ranges
    on_device: Ranges

    def before_read(self, ranges: Ranges) -> None:
        self.owner.look("host", self.segment, ranges)
        missing = ranges - self.on_host
        if not missing:
            return
        if self.owner.inside:
            raise StaleError(f"the host looks at {missing} of {self.segment.label}")
        self.fetch(ranges, placed=False)

    def before_write(self, ranges: Ranges) -> None:
        pass

    def after_write(self, ranges: Ranges) -> None:
        self.on_host |= ranges
        self.on_device -= ranges

    def stale(self, ranges: Ranges) -> Ranges:
        return ranges - self.on_host

    def after_failed_write(self, ranges: Ranges) -> None:
        self.after_write(ranges & self.on_host)

    @property
    def copies_nothing(self) -> bool:
        return False

    def released(self) -> None:
        pass

    def escaped(self) -> None:
        pass

    def fetch(self, ranges: Ranges, *, placed: bool) -> None:
        missing = (ranges & self.on_device) - self.on_host
        for start, stop in missing:
            self.segment.memory[start:stop] = self.device.segment.memory[start:stop]
        self.on_host |= missing
        self.owner.note("host", self.segment, missing, placed=placed)

    def send(self, ranges: Ranges, *, placed: bool) -> None:
        missing = (ranges & self.on_host) - self.on_device
        device = self.device.segment
        device.writing(missing)
        for start, stop in missing:
            device.memory[start:stop] = self.segment.memory[start:stop]
        device.written(missing)
        self.on_device |= missing
        self.owner.note("device", self.segment, missing, placed=placed)


@dataclass
class PlannedAccelerator:
    """Runs compute functions behind `place_transfers`, and writes down all copies."""

    kernels: Accelerator
    inside: int = 0
    copies: list[Copy] = field(default_factory=list[Copy])
    _twins: dict[Segment, Twins] = field(default_factory=dict[Segment, Twins])

    def compute(self, entry: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_compute(entry):
            quoted = quote(entry)
            entry, args, kwargs = quoted.target, quoted.args, quoted.kwargs
        context = PlannedContext(self, place_transfers(analyse_compute(entry).closure))
        with self.running():
            return context.run_compute(entry, args, kwargs)

    def array(self, values: object) -> NDArray[Any]:
        return NDArray(values)

    @contextmanager
    def running(self) -> Generator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def note(self, to: str, segment: Segment, ranges: Ranges, *, placed: bool) -> None:
        if ranges:
            self.copies.append(Copy(to, segment, ranges, placed))

    def look(self, side: str, segment: Segment, ranges: Ranges) -> None:
        for copy in self.copies:
            copy.use(side, segment, ranges)

    def in_vain(self) -> list[Copy]:
        """The copies of the plan whose bytes nobody looked at."""
        return [copy for copy in self.copies if copy.placed and not copy.used]

    def counts(self) -> tuple[int, int]:
        ups = sum(copy.to == "device" for copy in self.copies)
        return ups, len(self.copies) - ups

    def twins(self, buffer: AnyBuffer) -> Twins:
        segment = buffer.segment
        if segment not in self._twins:
            whole = Ranges.span(0, segment.nbytes)
            twins = Twins(self, segment, twin_of(buffer), whole, whole - segment.touched)
            self._twins[segment] = twins
            segment.watcher = twins
        return self._twins[segment]

    def known(self, segment: Segment) -> Twins | None:
        return self._twins.get(segment)


def twin_of(buffer: AnyBuffer) -> AnyBuffer:
    if isinstance(buffer, NDArray):
        return NDArray(buffer.segment.memory.view(buffer.dtype).reshape(buffer.shape) * 0)
    return type(buffer).create(**buffer.__lengths__)


def ranges_at(window: Window, key: Any) -> Ranges:
    place = exact_index(key)
    if place is None or len(place) < window.live.ndim:
        return window.part(key).ranges
    start = window.place_of(place)
    return Ranges.span(start, start + window.cell)


class PlannedContext:
    """What a compute function behind the plan is given."""

    def __init__(self, accelerator: PlannedAccelerator, functions: tuple[Func, ...]) -> None:
        self.accelerator = accelerator
        self._functions = {func.name: func for func in functions}
        self.passes_done = 0

    def run_compute(self, function: Compute[..., Any], args: Any, kwargs: Any) -> Any:
        reflected = reflect_compute(function)
        func = self._functions[reflected.func.name]
        verify(func)
        objects = {**reflected.kernels, **reflected.callees}
        run = compile_compute(func, function.function, objects, reflected.captured.class_name)
        return run(self, *args, **kwargs)

    def dispatch(self, size: Any, kernel: Kernel[...], *args: Any, **kwargs: Any) -> None:
        """Passes run one by one, none of them by its number; a flag is looked at after each."""
        self.passes_done, passes = 0, kwargs.pop("passes", 1)
        flag: Part | None = kwargs.pop("until", None)
        given = positional(kernel, args, kwargs)
        for _ in range(passes):
            self._launch(size, kernel, given)
            self.passes_done += 1
            if flag is not None and self._is_raised(flag):
                break

    def _is_raised(self, flag: Part) -> bool:
        twins = self.accelerator.known(flag.segment)
        assert twins is not None
        twins.fetch(flag.ranges, placed=False)
        return any(flag.segment.memory[start:stop].any() for start, stop in flag.ranges)

    def field(self, owner: object, key: object) -> object:
        return field_of(owner, key)

    def _launch(self, size: Any, kernel: Kernel[...], given: tuple[object, ...]) -> None:
        analysed = analyse_kernel(kernel, ranks_of(given))
        bound = bind(kernel, analysed.signature, given)
        numbers = LaunchNumbers(as_range(size).padded, None, bound.numbers)
        buffers = [cast("AnyBuffer", one) for one in given if isinstance(one, Buffer | NDArray)]
        found = [self.accelerator.twins(one) for one in buffers]
        touched = list(zip(found, analysed.footprint.at(numbers), strict=True))
        for twins, footprint in touched:
            self._before(kernel, twins, footprint)
        copies = {id(one): twins.device for one, twins in zip(buffers, found, strict=True)}
        with_copies = tuple(copies.get(id(one), one) for one in given)
        self.accelerator.kernels.compute(launch, size, kernel, with_copies)
        for twins, footprint in touched:
            segment = twins.device.segment
            segment.reading(Ranges.span(0, segment.nbytes))
            twins.on_device |= footprint.writes
            twins.on_host -= footprint.writes

    def _before(self, kernel: Kernel[...], twins: Twins, footprint: Touched) -> None:
        missing = footprint.reads - twins.on_device
        if missing and not twins.on_device - twins.on_host:
            raise StaleError(f"{kernel.name} reads {missing} of {twins.segment.label}")
        twins.send(missing | (footprint.writes - footprint.covers), placed=False)
        self.accelerator.look("device", twins.segment, footprint.needs)

    def to_device(self, buffer: object) -> None:
        if isinstance(buffer, Buffer | NDArray):
            twins = self.accelerator.twins(cast("AnyBuffer", buffer))
            twins.send(Ranges.span(0, twins.segment.nbytes), placed=True)

    def apart(self, buffer: AnyBuffer, *others: AnyBuffer) -> bool:
        return all(buffer.segment is not other.segment for other in others)

    def to_host(self, buffer: object, *index: Any) -> None:
        window = window_of(buffer)
        if window is not None:
            segment = window.segment
            ranges = ranges_at(window, index[0]) if index else window.ranges
        elif isinstance(buffer, Buffer):
            segment = buffer.segment
            ranges = Ranges.span(0, segment.nbytes)
            if index:
                slot = buffer.layout.slots[index[0]]
                ranges = Ranges.span(slot.offset, slot.offset + slot.size)
        else:
            return
        twins = self.accelerator.known(segment)
        if twins:
            twins.fetch(ranges, placed=True)
