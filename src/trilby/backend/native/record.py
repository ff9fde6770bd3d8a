"""Records: what the queue of the native device runs, as words of 8 bytes.

The layout is that of `%Record` in `queue.ll`. A record must neither move nor end while the queue
has it.
"""

from array import array
from collections.abc import Sequence
from typing import TypeAlias

Record: TypeAlias = "array[int]"

COST, SEQUENCE, TALLY, VARIES, LAUNCH, PASS, REPORT, ARGUMENTS = 3, 4, 5, 6, 7, 16, 17, 19
"""Where things stand: what a run takes, the number of the last run, where runs are counted, …

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
    return array("Q", (queue, entry, units, nanoseconds, 0, 0, 0, *launch, *arguments))


def copied(record: Record) -> Record:
    """The same, as another record."""
    return array("Q", record)


def address_of_record(record: Record) -> int:
    """What is submitted."""
    return record.buffer_info()[0]
