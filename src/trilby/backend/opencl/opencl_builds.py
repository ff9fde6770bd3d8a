"""Builds of OpenCL programs that take long, hang, or come out of a damaged cache of the driver.

Drivers compile inside of a call in which Ctrl-C is not heard, and some put a part of the work off
to the first launch.

A known fault of PoCL 3.0: where its library is for AVX-512, and its LLVM believes that the CPU has
none, a kernel that calls it with a vector of 64 bytes (`vload16` of floats) is compiled for ever at
the first launch. Later processes find no kernel in its entry of PoCL's cache. Generated code has no
vectors of more than 32 bytes; code of users (`@tb.raw`) may have.
"""

import ctypes
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import cast

import pyopencl as cl
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage]

from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.messages import tell

SLOW_SECONDS = 5.0
"""After so long a user is told what the driver is doing. It is the time of this process on the
processor, since drivers compile there: a busy machine is no reason to warn of a driver."""

SLOW_SHARE = 12
"""So many times as long may pass by the clock."""

REBUILDS = 3
"""How often a program without its kernel is built again, each time as another program."""

_LOOK_SECONDS = 0.1

_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
_RUNNING = cast("int", cl.command_execution_status.RUNNING)
_COMPLETE = cast("int", cl.command_execution_status.COMPLETE)
_NO_SUCH_KERNEL = cast("int", cl.status_code.INVALID_KERNEL_NAME)

_status = cast("Callable[[cl.Event, cl.event_info], int]", cl.Event.get_info)


class Patience:
    """Whether somebody who waits for a driver has done so for long."""

    __slots__ = ("_clock", "_processor")

    def __init__(self) -> None:
        self._clock = time.perf_counter()
        self._processor = time.process_time()

    @property
    def is_over(self) -> bool:
        """True if the driver has computed for long, or has not returned for much longer."""
        return (
            time.process_time() - self._processor > SLOW_SECONDS
            or time.perf_counter() - self._clock > SLOW_SHARE * SLOW_SECONDS
        )


def build_where_ctrl_c_is_heard(build: Callable[[], object], entry: str, device: str) -> None:
    """Let the driver build in a thread of its own, and wait for that.

    A build that Ctrl-C came before goes on, and nobody hears of its result.
    """
    over, failures = Event(), list[Exception]()

    def work() -> None:
        try:
            build()
        except Exception as error:  # noqa: BLE001 -- it is raised where the result is waited for
            failures.append(error)
        finally:
            over.set()

    try:
        Thread(target=work, name="trilby-driver-build", daemon=True).start()
    except RuntimeError:  # the system gives no thread
        work()
    patience = Patience()
    while not (over.wait(_LOOK_SECONDS) or patience.is_over):
        pass
    if not over.is_set():
        _tell_slow(entry, device)
        over.wait()
    if failures:
        raise failures[0]


def _tell_slow(entry: str, device: str) -> None:
    tell(
        "warning",
        "the driver of %s has been compiling `%s` for at least %g seconds; Ctrl-C stops waiting",
        device,
        entry,
        SLOW_SECONDS,
    )


def kernel_of(
    build: Callable[[str], _Program], text: str, entry: str
) -> tuple[_Program, cl.Kernel]:
    """Build a program and take its kernel; build past entries of the driver's cache without it.

    Raises the error of OpenCL if there never is such a kernel.
    """
    for number in range(REBUILDS + 1):
        program = build(text + _difference(number))
        try:
            return program, cl.Kernel(program, entry)
        except cl.Error as error:
            if error.code != _NO_SUCH_KERNEL or number == REBUILDS:
                raise
            tell("info", "the driver's cache of `%s` is damaged: it is built again", entry)
            _keep_for_ever(program)
    raise AssertionError


def _difference(number: int) -> str:
    """What makes another program of the same code: drivers leave comments out of account."""
    return f"\ntypedef int trilby_built_again_{number};\n" if number else ""


def _keep_for_ever(program: _Program) -> None:
    """Never give a program back to the driver: PoCL ends the process over one that is damaged."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(program))


@dataclass(frozen=True, slots=True, eq=False)
class FirstLaunch:
    """A kernel that was launched with groups of a new size, for which the driver may compile."""

    event: cl.Event
    after: Sequence[cl.Event]
    entry: str

    @property
    def may_compile(self) -> bool:
        """Whether it has not begun, although nothing that it waits for is left."""
        return _status(self.event, _STATUS) > _RUNNING and all(
            _status(event, _STATUS) <= _COMPLETE for event in self.after
        )


class FirstLaunches:
    """The first launches of kernels that are not over yet.

    Where Ctrl-C comes while the driver compiles for one, and a user was told so, the device is
    given up: nobody waits for that driver again, which may never return.
    """

    __slots__ = ("_device", "_launches", "_told", "given_up")

    def __init__(self, device: str) -> None:
        self._device = device
        self._launches: deque[FirstLaunch] = deque()
        self._told: deque[FirstLaunch] = deque()
        self.given_up = ""
        """The kernel that the driver was compiling then."""

    def add(self, event: cl.Event, after: Sequence[cl.Event] | None, entry: str) -> None:
        """Note a launch, and forget those that are over."""
        while self._launches and _status(self._launches[0].event, _STATUS) <= _COMPLETE:
            self._launches.popleft()
        self._launches.append(FirstLaunch(event, tuple(after or ()), entry))

    def tell_slow(self) -> None:
        """Say which kernel the driver seems to be compiling, once, for who has waited long."""
        for launch in tuple(self._launches):
            if launch.may_compile:
                _tell_slow(launch.entry, self._device)
                self._told.append(launch)
                self._launches.remove(launch)
                return

    def note_interrupt(self) -> None:
        """Somebody does not want to wait any more."""
        for launch in tuple(self._told):
            if launch.may_compile:
                self.given_up = launch.entry

    def check(self) -> None:
        """Raise where the device was given up."""
        if self.given_up:
            raise DeviceError(
                f"the driver of {self._device} was compiling `{self.given_up}` when Ctrl-C came, "
                "and nobody waits for it any more",
                advice="what only this device had is lost; start again with another device, or "
                "with a kernel that its driver compiles sooner",
            )
