"""Kernels and compute functions for the lints that are not about races, bounds and barriers."""

import trilby as tb
from trilby import (
    ComputeContext,
    F32Array,
    F32Array2D,
    KernelContext,
    NDRange,
    S32Array,
    f32,
    i32,
)


@tb.kernel
def has_too_many(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    a.array[kc.x] = 1


@tb.func
def looks_away(a: S32Array, n: i32) -> i32:
    return n


@tb.kernel
def hands_on_for_nothing(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    a.array[kc.x] = looks_away(b, kc.x)


@tb.kernel
def writes_for_nobody(kc: KernelContext, a: S32Array) -> None:
    kept = tb.private(i32, 4)
    kept[kc.x % 4] = 1
    a.array[kc.x] = 2


@tb.kernel
def takes_no_turns(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1 if kc.pass_id % 2 == 0 else a.array[kc.x] - 1


@tb.kernel
def takes_turns(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.pass_id % 2 == 0:
        b.array[kc.x] = a.array[kc.x]
    else:
        a.array[kc.x] = b.array[kc.x]


@tb.kernel
def counts(kc: KernelContext, a: S32Array) -> None:
    a.array[0] += 1


@tb.kernel
def slips_into_double(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = f32(a.array[kc.x] * kc.local_x)


@tb.kernel
def runs_down_columns(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    b.array[kc.x, kc.y] = a.array[kc.x, kc.y] * 2.0


@tb.kernel
def runs_along_rows(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    b.array[kc.y, kc.x] = a.array[kc.y, kc.x] * 2.0


# -- silenced


@tb.kernel
def silent_line(kc: KernelContext, a: S32Array) -> None:
    a.array[0] = kc.x  # trilby: ignore[race-write-write]


@tb.kernel  # trilby: ignore[race-write-write, shared-counter]
def silent_function(kc: KernelContext, a: S32Array) -> None:
    a.array[0] = kc.x


@tb.kernel
def silent_for_another(kc: KernelContext, a: S32Array) -> None:
    a.array[0] = kc.x  # trilby: ignore[out-of-bounds]


@tb.kernel
def writes_twice(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    a.array[kc.x] = 1
    b.array[kc.x] = 2
    if kc.x > 3:
        b.array[kc.x] = 3
    a.array[kc.x] = b.array[kc.x]


@tb.kernel
def writes_and_corrects(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 1
    if kc.x > 3:
        a.array[kc.x] = 2
    for i in range(3):
        a.array[kc.x] = a.array[kc.x] + i


@tb.kernel
def has_far_too_many(kc: KernelContext, a: S32Array, b: S32Array, n: i32) -> None:
    a.array[kc.x] = 1


# -- compute functions


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] += 1


@tb.kernel
def shift(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.x + 1 < a.length:
        b.array[kc.x] = a.array[kc.x + 1]


@tb.kernel
def difference(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x + 1] - a.array[kc.x]


@tb.compute
def adds(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)


@tb.compute
def rounds_up(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(NDRange((a.length + 31) // 32 * 32, local=32), add_one, a)


@tb.compute
def differs_within(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length - 1, difference, a, b)


@tb.compute
def differs_beyond(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, difference, a, b)


@tb.compute
def onto_itself(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, shift, a, a)


@tb.compute
def looks_every_time(cc: ComputeContext, a: S32Array, turns: int) -> int:
    total = 0
    for _ in range(turns):
        cc.dispatch(a.length, add_one, a)
        total += int(sum(a.array[:]))
    return total


@tb.compute
def looks_at_one_every_time(cc: ComputeContext, a: S32Array, turns: int) -> int:
    total = 0
    for _ in range(turns):
        cc.dispatch(a.length, add_one, a)
        total += a.array[0]
    return total


@tb.compute
def writes_every_time(cc: ComputeContext, a: S32Array, turns: int) -> None:
    for turn in range(turns):
        a.array[0] = turn
        cc.dispatch(a.length, add_one, a)


@tb.compute
def looks_at_last(cc: ComputeContext, a: S32Array, turns: int) -> int:
    for _ in range(turns):
        cc.dispatch(a.length, add_one, a)
    return int(sum(a.array[:]))


@tb.compute
def forgets_the_result(cc: ComputeContext, a: S32Array) -> None:
    b = S32Array.create(length=a.length)
    cc.dispatch(a.length, shift, a, b)


@tb.compute
def gives_the_result(cc: ComputeContext, a: S32Array) -> S32Array:
    b = S32Array.create(length=a.length)
    cc.dispatch(a.length, shift, a, b)
    return b


@tb.compute
def keeps_a_raw_view(cc: ComputeContext, a: S32Array) -> None:
    view = a.array.raw()
    view[0] = 1
    cc.dispatch(a.length, add_one, a)


@tb.compute
def lets_go_of_a_raw_view(cc: ComputeContext, a: S32Array) -> None:
    view = a.array.raw()
    view[0] = 1
    del view
    cc.dispatch(a.length, add_one, a)


# -- explicit mode


@tb.compute(explicit=True)
def puts_twice(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.put(a).put(b)
    cc.put(a)
    cc.dispatch(a.length, shift, a, b)
    cc.get(b)


@tb.compute
def gets_and_puts_back(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    with cc.explicit():
        cc.put(a, b).dispatch(a.length, shift, a, b).get(b).put(b)


@tb.compute(explicit=True)
def puts_what_is_there(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    for _ in range(3):
        cc.put(a, b).dispatch(a.length, shift, a, b)
    cc.get(b)


@tb.compute(explicit=True)
def puts_what_has_changed(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.put(a, b)
    for n in range(3):
        a.array[n] = 7
        cc.put(a).dispatch(a.length, shift, a, b)
        cc.get(b)


# -- one buffer under two names


@tb.kernel
def shift_guarded(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.x + 1 < a.length and kc.x < b.length:
        b.array[kc.x] = a.array[kc.x + 1]


@tb.kernel
def fill_rows(kc: KernelContext, a: S32Array, width: i32) -> None:
    a.array[kc.y * width + kc.x] = kc.x


@tb.compute
def under_another_name(cc: ComputeContext, a: S32Array) -> None:
    b = a
    cc.dispatch(a.length, shift_guarded, a, b)


@tb.compute
def twice_from_a_list(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    buffers = [a, b]
    cc.dispatch(a.length, shift_guarded, buffers[0], buffers[0])


@tb.compute
def shifts_between(cc: ComputeContext, source: S32Array, target: S32Array) -> None:
    cc.dispatch(source.length, shift_guarded, source, target)


@tb.compute
def hands_on_twice(cc: ComputeContext, a: S32Array) -> None:
    shifts_between(cc, a, a)


@tb.compute
def hands_on_two(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    shifts_between(cc, a, b)


@tb.compute
def perhaps_the_same(cc: ComputeContext, a: S32Array, b: S32Array, flag: int) -> None:
    target = a if flag else b
    cc.dispatch(a.length, shift_guarded, a, target)


@tb.compute
def never_the_same(cc: ComputeContext, a: S32Array, b: S32Array, turns: int) -> None:
    for turn in range(turns):
        source = a if turn % 2 == 0 else b
        target = b if turn % 2 == 0 else a
        cc.dispatch(a.length, shift_guarded, source, target)


@tb.compute
def takes_turns_by_names(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    for _ in range(10):
        cc.dispatch(a.length, shift_guarded, a, b)
        a, b = b, a


@tb.compute
def rows_too_short(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch((16, 4), fill_rows, a, 8)


@tb.compute
def rows_long_enough(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch((16, 4), fill_rows, a, 16)


@tb.compute
def as_long_as_another(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(b.length, add_one, a)


# -- numbers and tests of the host that are not the same


@tb.kernel
def wraps(kc: KernelContext, a: S32Array, n: i32) -> None:
    if kc.x < a.length:
        a.array[kc.x % n] = kc.x


def thirds(n: int) -> int:
    return n % 3


@tb.compute
def wraps_at_its_range(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(b.length, wraps, a, b.length)


@tb.compute
def wraps_at_another_length(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(b.length, wraps, a, c.length)


@tb.compute
def wraps_at_another_call(cc: ComputeContext, a: S32Array, n: int) -> None:
    cc.dispatch(a.length + thirds(n), wraps, a, a.length + thirds(n - 1))


@tb.compute
def wraps_at_a_later_number(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    size = b.length + n
    n = 0
    cc.dispatch(size, wraps, a, b.length + n)


@tb.compute
def wraps_at_a_later_length(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    size = NDRange(b.length)
    b = c
    cc.dispatch(size, wraps, a, b.length)


@tb.compute
def perhaps_the_same_by_calls(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    source = a if thirds(n) else b
    target = b if thirds(n + 1) else a
    cc.dispatch(a.length, shift_guarded, source, target)


@tb.compute
def perhaps_the_same_later(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    source = a if n else b
    n = n - 1
    target = b if n else a
    cc.dispatch(a.length, shift_guarded, source, target)
