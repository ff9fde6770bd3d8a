"""A launch that may be run again, as long as nothing about it has changed."""

from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from trilby.backend.base import Repeated
from trilby.dataclass import dataclass
from trilby.mending import mend
from trilby.options import Transfers
from trilby.reflect.functions import Kernel
from trilby.reflect.kernels import Reflected
from trilby.runtime.callers import Caller
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.content import CLOCK
from trilby.runtime.held import Held, versions_of
from trilby.runtime.order import Order
from trilby.runtime.origins import KernelWrite

if TYPE_CHECKING:
    import weakref

    from trilby.runtime.profiled_runs import ProfiledRuns


@dataclass(slots=True, eq=False)
class Known:
    """A launch that may be run again: what it was given, and where its numbers go.

    `held` are its buffers on the device, `versions` those of their content when all was in place.
    `changing` are the reflected functions with constants that may be other ones by now.
    `moment` is the last one at which `versions` were seen to be the same.
    `follower` is the launch that came after it the last time: loops repeat themselves.
    `repeated` is the moment of its last run that left all as the run before had, and `steady` that
    of the second of these: if the clock still shows it, every run of the loop does so.
    `profiled` are its runs for those who profile; `profiled_for` changes with these.
    """

    kernel: Kernel[...]
    size: object
    analysed: AnalysedKernel
    changing: tuple[Reflected, ...]
    transfers: Transfers
    writer: KernelWrite
    code: CodeType
    instruction: int
    count: int
    buffers: tuple[tuple[int, "weakref.ref[Any]"], ...]
    numbers: list[tuple[int, object]]
    slots: dict[int, int]
    unsure: bool
    held: tuple[Held, ...]
    versions: tuple[int, ...]
    order: Order
    launch: Repeated
    profiled: "ProfiledRuns | None" = None
    profiled_for: int = -1
    moment: int = -1
    repeated: int = -1
    steady: int = -1
    follower: "Known | None" = None

    def is_current(self) -> bool:
        """Whether the content of its buffers is where it was; then it is up to this moment."""
        for held, version in zip(self.held, self.versions, strict=True):
            if held.content.version != version:
                return False
        self.moment = CLOCK.now
        return True

    def note_current(self) -> None:
        """The content of its buffers is where it has to be."""
        self.versions = versions_of(self.held)
        self.moment = CLOCK.now

    @property
    def is_alive(self) -> bool:
        """Whether its buffers are still there."""
        return all(buffer() is not None for _, buffer in self.buffers)

    def is_steady(self) -> bool:
        """Whether it may be run again without a look at anything else."""
        if self.steady != CLOCK.now or self.launch.same is None:
            return False
        return all(reflected.is_current() for reflected in self.changing)

    def submit(self) -> None:
        """Give the device what is held back, this launch as the last."""
        try:
            self.launch.submit()
        except BaseException:
            mend(self.order.note_interrupt)
            raise

    def note_round(self) -> None:
        """Let the replicas know of a turn of the steady loop that ends with this launch."""
        one = self
        while True:
            one = cast("Known", one.follower)
            one.order.note_left()
            if one is self:
                return

    def come_from(self, caller: Caller) -> None:
        """It is dispatched from another line than the last time."""
        self.instruction = -1  # none, if Ctrl-C comes before the end of this
        self.writer = KernelWrite(self.writer.kernel, caller)
        self.launch.origin = self.writer
        if self.profiled is not None:
            self.profiled.come_from(self.launch, self.writer)
        self.code, self.instruction = caller.code, caller.instruction
