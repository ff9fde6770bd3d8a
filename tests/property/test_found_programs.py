"""What random programs have found: each mistake in moving data, made as small as it gets."""

from collections.abc import Iterator

import pytest
from tests.property.program_running import Way, loaded, open_benches, ways
from tests.property.program_texts import CALLBACKS

FOUND = {
    "a buffer that ends with its compute function": """
@tb.compute
def part(cc):
    line = S32Array.of([3] * N)
    cc.dispatch(N, last_half, line, 52)

def drive(accelerator, other):
    accelerator.compute(part)
    return []
""",
    "an array of the compute function's own, under the name of a parameter": """
@tb.compute
def part(cc, grid):
    grid = cc.accelerator.array(zeros(H, W))
    cc.dispatch(H, lambda kc: grid_column(kc, grid, 1, 5))

def drive(accelerator, other):
    grid = accelerator.array(zeros(H, W))
    accelerator.compute(part, grid)
    return [grid]
""",
    "an element that is read, and then all of it": """
@tb.compute
def part(cc, line):
    cc.dispatch(N, set_and_add, line, 49)
    if line.array[3] % 2 == 0:
        return line.array.tolist()

def drive(accelerator, other):
    line = S32Array.create(length=N)
    look(accelerator.compute(part, line))
    return [line]
""",
    "an attribute that a kernel overwrites": """
@tb.compute
def part(cc, world):
    cc.dispatch(world.spare.length, lambda kc: set_and_add(kc, world.spare, 30))

def drive(accelerator, other):
    line = S32Array.of([2] * N)
    accelerator.compute(part, SimpleNamespace(spare=line))
    return [line]
""",
    "an element that was read before, and then all of it": """
@tb.compute
def part(cc, real, line):
    np.asarray(real)
    cc.dispatch(real.length, lambda kc: real_from_line(kc, real, line))

def drive(accelerator, other):
    real = F32Array.create(length=N)
    line = S32Array.create(length=N)
    accelerator.compute(part, real, line)
    look(real.array[6])
    accelerator.compute(part, real, line)
    return [real, line]
""",
    "an argument that the kernel reads only if a number says so": """
@tb.compute
def part(cc, line, to):
    cc.dispatch(to.length, clear_or_copy, to, line, True)

def drive(accelerator, other):
    line = S32Array.of(range(17, 17 + N))
    to = S32Array.create(length=N)
    accelerator.compute(part, line, to)
    return [line, to]
""",
    "a raw view that is alive while a kernel reads": """
@tb.compute
def part(cc, flag, line):
    cc.dispatch(N, note_above, flag, line, 0)

def drive(accelerator, other):
    flag = S32Array.create(length=1)
    line = S32Array.of(range(9, 9 + N))
    raw = line.array.raw()
    accelerator.compute(part, flag, line)
    return [flag, line]
""",
    "a raw view that is written between launches": """
@tb.compute
def part(cc, to, line):
    cc.dispatch(N, copy, to, line)

def drive(accelerator, other):
    line, to = S32Array.of(range(N)), S32Array.create(length=N)
    raw = line.array.raw()
    for g in range(3):
        accelerator.compute(part, to, line)
        raw[2] = 50 + g
        look(to)
    return [line, to]
""",
    "an attribute that is set to a buffer, which reads nothing": """
@tb.compute
def part(cc, to, line, world):
    cc.dispatch(N, where_odd, to, line)
    world.main = to

@tb.compute
def whole(cc, line):
    part(cc, S32Array.create(length=N), line, SimpleNamespace())

def drive(accelerator, other):
    line = S32Array.create(length=N)
    accelerator.compute(whole, line)
    return [line]
""",
    "a buffer of an object that got another one, and a parameter that is the same": """
@tb.compute
def part(cc: ComputeContext, line: S32Array, other: S32Array, world):
    world.main, other = other, world.main
    for g in range(4):
        cc.dispatch(N, set_and_add, world.spare, g)
    return line.array.tolist()

@tb.compute
def launch(cc: ComputeContext, line: S32Array):
    cc.dispatch(N, set_and_add, line, 7)

def drive(accelerator, other):
    one, two, three = (S32Array.of(range(N)) for _ in range(3))
    world = SimpleNamespace(main=one, spare=two)
    accelerator.compute(launch, two)
    look(accelerator.compute(part, two, three, world))
    return [one, two, three]
""",
    "a parameter that gets another buffer at the end of a try": """
@tb.compute
def part(cc, one, other):
    try:
        cc.dispatch(other.length, number, other, 52)
    except KeyError:
        pass
    finally:
        one = pick(one, other, True)
    cc.dispatch(one.length, increase, one, 1)
    return one

def drive(accelerator, other):
    lines = [S32Array.of(range(N)), S32Array.of(range(N))]
    look(accelerator.compute(part, *lines))
    return lines
""",
    "a callback in a loop that overwrites what the kernel behind it reads": """
@tb.compute
def part(cc, line, to, tick):
    for g in range(3):
        tick()
        cc.dispatch(N, copy, to, line)

def drive(accelerator, other):
    line, to = S32Array.of(range(N)), S32Array.create(length=N)
    accelerator.compute(part, line, to, lambda: wipe(line.array))
    return [line, to]
""",
    "a callee in a loop, with a callback that overwrites what the kernel behind it reads": """
@tb.compute
def inner(cc, tick):
    tick()

@tb.compute
def part(cc, line, to, tick):
    for g in range(3):
        inner(cc, tick)
        cc.dispatch(N, copy, to, line)

def drive(accelerator, other):
    line, to = S32Array.of(range(N)), S32Array.create(length=N)
    accelerator.compute(part, line, to, lambda: wipe(line.array))
    return [line, to]
""",
    "two names of one buffer in a loop, by one of which a kernel overwrites it": """
@tb.compute
def part(cc, one, other, to):
    for g in range(2):
        cc.dispatch(N, number, one, g)
        cc.dispatch(N, copy, to, other)

def drive(accelerator, other):
    line, to = S32Array.of(range(N)), S32Array.create(length=N)
    accelerator.compute(part, line, line, to)
    return [line, to]
""",
    "two names of one buffer, by one of which a kernel overwrites it": """
@tb.compute
def part(cc, one, other, to):
    cc.dispatch(N, number, one, 3)
    cc.dispatch(N, copy, to, other)
    cc.dispatch(N, number, one, 4)
    look(other)

def drive(accelerator, other):
    line, to = S32Array.of(range(N)), S32Array.create(length=N)
    accelerator.compute(part, line, line, to)
    return [line, to]
""",
    "a look that is not taken": """
@tb.compute
def part(cc, line, yes):
    cc.dispatch(N, increase, line, 3)
    s1 = int(line.array[2]) if yes else 0
    s2 = yes and int(line.array[2])
    look(s1 + s2)

def drive(accelerator, other):
    line = S32Array.of(range(N))
    accelerator.compute(part, line, False)
    line.array[:] = 3
    return [line]
""",
    "an array that gets what it has": """
@tb.compute
def part(cc, line):
    for g in range(3):
        cc.dispatch(N, first_half, line, 14)
        line.array[...] = line.array[0:8]

def drive(accelerator, other):
    line = S32Array.create(length=N)
    accelerator.compute(part, line)
    return [line]
""",
    "a name that is set where it is looked at": """
@tb.compute
def part(cc, line, to):
    cc.dispatch(N, last_half, line, 32)
    try:
        one, s = line, 6
        look(np.sum(one))
        look(to.array[s])
    except KeyError:
        pass
    one, s = to, 1
    cc.dispatch(N, increase, line, 4)
    try:
        one, s = line, 7
        look(np.sum(one))
        look(line.array[s])
    except KeyError:
        pass

def drive(accelerator, other):
    line, to = S32Array.create(length=N), S32Array.of(range(N))
    accelerator.compute(part, line, to)
    return [line, to]
""",
    "an attribute that may be a parameter, or anything": """
@tb.compute
def part(cc, line: S32Array, to: S32Array, world):
    world.main = world.main
    for g in range(4):
        cc.dispatch(N, set_and_add, world.spare, g)
        cc.dispatch(N, copy, to, line)
    return line.array.tolist()

def drive(accelerator, other):
    lines = [S32Array.of(range(k, k + N)) for k in (3, 15, 20)]
    world = SimpleNamespace(main=lines[0], spare=lines[1])
    accelerator.compute(part, lines[0], lines[2], world)
    look(accelerator.compute(part, lines[1], lines[2], world))
    return lines
""",
    "an element of a parameter without a type": """
@tb.compute
def part(cc, line, to, n):
    seen = 0
    for g in range(5):
        cc.dispatch(N, copy, line, to)
        for _ in range(3):
            seen += line.array[n % N]
        line, to = to, line
    return seen

def drive(accelerator, other):
    lines = [S32Array.of(range(k, k + N)) for k in (3, 15)]
    look(accelerator.compute(part, lines[0], lines[1], 19))
    return lines
""",
    "a range without work items": """
@tb.compute
def part(cc, line, to, size):
    cc.dispatch(size, copy, to, line)
    cc.dispatch((line.length - 8) * 2, copy, to, line)
    cc.dispatch(21 % 3, copy, to, line)
    for g in range(3):
        cc.dispatch(size, copy, to, line)

def drive(accelerator, other):
    line, to = S32Array.of(range(N)), S32Array.create(length=N)
    accelerator.compute(part, line, to, 0)
    line.array[:] = 3
    accelerator.compute(part, line, to, 2)
    return [line, to]
""",
}
"""Programs by what is special about them."""


@pytest.fixture(scope="module")
def all_ways() -> Iterator[list[Way]]:
    benches = open_benches()
    yield ways(benches)
    for bench in benches:
        bench.close()


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_right(all_ways: list[Way], name: str) -> None:
    with loaded(f"N, H, W = 8, 3, 4\n{CALLBACKS}{FOUND[name]}") as program:
        problems = {way.name: way.problem(program) for way in all_ways}
    assert {name: problem.told for name, problem in problems.items() if problem} == {}
