"""The functions of `queue.ll`: compiled for this processor, and as Python calls them."""

import ctypes
import os
import re
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from trilby.backend.native.cache import Cache
from trilby.backend.native.toolchain import Code, Processor, begin_code

_PAUSES = {
    "x86_64": (
        "declare void @llvm.x86.sse2.pause()",
        "call void @llvm.x86.sse2.pause()",
    ),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
_OTHER_PAUSE = ("declare i32 @sched_yield()", "%ignored = call i32 @sched_yield()")

_Nothing = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_Submits = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_SubmitsMany = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
_SubmitsPasses = ctypes.PYFUNCTYPE(
    ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64
)
_Waits = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)


class QueueFunctions:
    """What a queue can do.

    `copy`, `copy_rows` and `fill` are the addresses of kernels, `print` is that of a function that
    kernels call.

    But for `wait`, all return in less time than other threads of Python would take to get their
    turn meanwhile: they keep it.
    """

    def __init__(self, code: Code) -> None:
        self._code = code  # it goes with this
        self.open = _Nothing(code["trilby_open_queue"])
        self.start = _SubmitsMany(code["trilby_start_workers"])
        self.stop = _Nothing(code["trilby_stop_workers"])
        self.submit = _Submits(code["trilby_submit"])
        self.submit_passes = _SubmitsPasses(code["trilby_submit_passes"])
        self.wait = _Waits(code["trilby_wait"])
        self.copy = code["trilby_copy"]
        self.copy_rows = code["trilby_copy_rows"]
        self.fill = code["trilby_fill"]
        self.print = code["trilby_print"]
        self.take_printed = _Submits(code["trilby_take_printed"])
        self.free = _Nothing(code["trilby_free"])


@cache
def begin_functions(processor: Processor, kept: Cache | None) -> Callable[[], QueueFunctions]:
    """Begin to make the functions, which takes longer than what Python does until they are needed.

    Threads that leave are in them to the last: they stay loaded.
    """
    text = queue_text(processor.triple)
    symbols = re.findall(r"^define \w+ @(trilby_\w+)", text, re.MULTILINE)
    code = begin_code(text, processor, symbols, kept, as_written=True)
    return cache(lambda: QueueFunctions(code()))


def queue_text(triple: str) -> str:
    """The LLVM IR of the queue for a kind of processor."""
    declared, called = _PAUSES.get(triple.partition("-")[0], _OTHER_PAUSE)
    with open(os.path.join(os.path.dirname(__file__), "queue.ll"), encoding="utf-8") as file:
        body = file.read()
    return (
        f'target triple = "{triple}"\n{body}\n{declared}\n'
        f"define internal void @pause() alwaysinline {{\n  {called}\n  ret void\n}}\n"
    )


# ------------------------------------------------------------------------------------------- record
# Records: what the queue of the native device runs, as words of 8 bytes.
#
# The layout is that of `%Record` in `queue.ll`. A record must neither move nor end while the
# queue has it.

Record: TypeAlias = "array[int]"

COST, SEQUENCE, VARIES, LAUNCH, PASS, REPORT, ARGUMENTS = 3, 4, 5, 6, 15, 16, 18
"""Where things stand: what a run takes, the number of the last run, …

Where a run may take far longer than those before (`VARIES`), no thread of Python runs it.
"""

WORD = 8

NO_LAUNCH = (0,) * (ARGUMENTS - LAUNCH)
"""For entries that do not look at it."""


def make_record(
    queue: int,
    entry: int,
    units: int,
    arguments: Sequence[int],
    *,
    launch: Sequence[int] = NO_LAUNCH,
    nanoseconds: int = 0,
) -> Record:
    """A record for the queue at that address; `nanoseconds` is what it takes, if that is known."""
    return array("Q", (queue, entry, units, nanoseconds, 0, 0, *launch, *arguments))


def address_of_record(record: Record) -> int:
    """What is submitted."""
    return record.buffer_info()[0]
