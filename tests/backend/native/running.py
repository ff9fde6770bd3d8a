"""Hand-written kernels in LLVM IR, and a gate that holds work back until the test lets it go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilby.backend.base import Argument, Memory, Scalar, Ticket
from trilby.backend.native import NativeBackend
from trilby.backend.native.arena import NativeMemory
from trilby.backend.native.native_kernels import NativeKernel, NativePrepared
from trilby.codegen.llvm.target import LlvmModule
from trilby.data.dtypes import I32, ScalarType
from trilby.data.ndrange import NDRange
from trilby.source import Location

# Every kernel in one dimension: `%x` of the entry's groups, one after the other.
_ROW = """
define void @{name}(ptr %args, ptr %launch, i64 %first, i64 %count) {{
entry:
  %size = load i64, ptr %launch
  %local_at = getelementptr i64, ptr %launch, i64 3
  %local = load i64, ptr %local_at
  %start = mul i64 %first, %local
  %groups = mul i64 %count, %local
  %wanted = add i64 %start, %groups
  %stop = call i64 @llvm.umin.i64(i64 %wanted, i64 %size)
  {before}
  br label %item
item:
  %x = phi i64 [ %start, %entry ], [ %next, %done ]
  {body}
  br label %done
done:
  %next = add i64 %x, 1
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %item, label %out
out:
  ret void
}}
declare i64 @llvm.umin.i64(i64, i64)
"""


def row_kernel(name: str, before: str, body: str, declared: str = "") -> LlvmModule:
    """A kernel over a row of work items; `body` may end in a block of its own."""
    return LlvmModule(_ROW.format(name=name, before=before, body=body) + declared, name, 1)


SCALE = row_kernel(
    "scale",
    """
  %a = load ptr, ptr %args
  %factor_at = getelementptr i64, ptr %args, i64 1
  %factor = load i32, ptr %factor_at""",
    """
  %place = getelementptr i32, ptr %a, i64 %x
  %old = load i32, ptr %place
  %new = mul i32 %old, %factor
  store i32 %new, ptr %place""",
)

GATE = row_kernel(
    "gate",
    "%flag = load ptr, ptr %args",
    """
  br label %look
look:
  %now = load atomic i32, ptr %flag acquire, align 4
  %closed = icmp eq i32 %now, 0
  %ignored = call i32 @sched_yield()
  br i1 %closed, label %look, label %open
open:
""",
    "declare i32 @sched_yield()",
)

SPEND = row_kernel(
    "spend",
    """
  %turns = load ptr, ptr %args
  %sums_at = getelementptr i64, ptr %args, i64 1
  %sums = load ptr, ptr %sums_at""",
    """
  %turns_at = getelementptr i32, ptr %turns, i64 %x
  %wanted_turns = load i32, ptr %turns_at
  br label %turn
turn:
  %t = phi i32 [ 0, %item ], [ %t_next, %turn ]
  %sum = phi i32 [ 0, %item ], [ %sum_next, %turn ]
  %odd = mul i32 %sum, 1103515245
  %sum_next = add i32 %odd, 12345
  %t_next = add i32 %t, 1
  %again = icmp ult i32 %t_next, %wanted_turns
  br i1 %again, label %turn, label %spent
spent:
  %sum_at = getelementptr i32, ptr %sums, i64 %x
  store i32 %sum_next, ptr %sum_at""",
)
"""Work item x takes as many turns as it is told to, and leaves a number that depends on them."""

LINGER = row_kernel(
    "linger",
    """
  %told = load ptr, ptr %args
  %pass_at = getelementptr i64, ptr %launch, i64 9
  %pass = load i64, ptr %pass_at
  %looks_at = getelementptr i32, ptr %told, i64 %pass
  %looks = load i32, ptr %looks_at
  %open_at = getelementptr i32, ptr %told, i64 8
  %done_at = getelementptr i32, ptr %told, i64 9""",
    """
  br label %look
look:
  %l = phi i32 [ 0, %item ], [ %l_next, %look ]
  %is_open = load atomic i32, ptr %open_at acquire, align 4
  %ignored = call i32 @sched_yield()
  %l_next = add i32 %l, 1
  %closed = icmp eq i32 %is_open, 0
  %early = icmp ult i32 %l_next, %looks
  %again = and i1 %closed, %early
  br i1 %again, label %look, label %passed
passed:
  %before = load i32, ptr %done_at
  %behind = add i32 %before, 1
  store i32 %behind, ptr %done_at""",
    "declare i32 @sched_yield()",
)
"""Looks whether entry 8 is set, in pass p as often as entry p says, and counts up entry 9."""

REFUSE = LlvmModule(
    row_kernel(
        "refuse",
        """
  %a = load ptr, ptr %args
  %report_at = getelementptr i64, ptr %launch, i64 10
  %report = load ptr, ptr %report_at""",
        """
  %place = getelementptr i32, ptr %a, i64 %x
  %value = load i32, ptr %place
  %negative = icmp slt i32 %value, 0
  br i1 %negative, label %fails, label %holds
fails:
  %tried = cmpxchg ptr %report, i32 0, i32 1 seq_cst seq_cst
  %first_one = extractvalue { i32, i1 } %tried, 1
  br i1 %first_one, label %report_it, label %holds
report_it:
  %x_at = getelementptr i32, ptr %report, i64 1
  %x32 = trunc i64 %x to i32
  store i32 %x32, ptr %x_at
  br label %holds
holds:
""",
    ).text,
    "refuse",
    1,
    asserts=(("`assert v >= 0` does not hold", Location("app.py", 7)),),
)


def talk(kind: ScalarType) -> LlvmModule:
    """Prints its one number."""
    text = row_kernel(
        "talk",
        """
  %print_at = getelementptr i64, ptr %launch, i64 11
  %printed = load ptr, ptr %print_at
  %print = load ptr, ptr %printed""",
        "call void %print(ptr %printed, i64 0, i64 1, ptr %args)",
    ).text
    return LlvmModule(text, "talk", 1, prints=(("says {}", (kind,)),))


@dataclass(frozen=True, slots=True)
class Gate:
    """A launch that is done when the test says so; all that is begun later waits for it."""

    flag: NDArray[Any]
    ticket: Ticket

    @classmethod
    def on(cls, backend: NativeBackend) -> "Gate":
        flag = np.zeros(2, np.int32)
        kernel = backend.begin_build(GATE, 1)()
        return cls(flag, backend.prepare(kernel, NDRange(1), [shared(backend, flag)]).submit())

    def open(self) -> None:
        self.flag[0] = 1


def shared(backend: NativeBackend, values: NDArray[Any]) -> NativeMemory:
    """The numbers themselves, for kernels."""
    memory = backend.share(values.data)
    assert memory is not None
    return memory


def upload(backend: NativeBackend, values: NDArray[Any]) -> NativeMemory:
    memory = backend.allocate(values.nbytes)
    backend.upload(memory, 0, values.data.cast("B")).wait()
    return memory


def download(backend: NativeBackend, memory: Memory, like: NDArray[Any]) -> NDArray[Any]:
    result = np.zeros_like(like)
    backend.download(memory, 0, result.data.cast("B")).wait()
    return result


def scaling(
    backend: NativeBackend, memory: Memory, factor: int, kernel: NativeKernel | None = None
) -> NativePrepared:
    """Multiplies every i32 of a memory."""
    arguments: list[Argument] = [memory, Scalar(I32, factor)]
    built = kernel or backend.begin_build(SCALE, 2)()
    return backend.prepare(built, NDRange(memory.nbytes // 4), arguments)


def scale(
    backend: NativeBackend, memory: Memory, factor: int, after: Sequence[Ticket] = ()
) -> Ticket:
    return scaling(backend, memory, factor).submit(after=after)
