"""Running a translated kernel over a range, group after group, and explaining its errors.

Work items run one after the other, x fastest, so a kernel without races has one result.
Items that wait for each other take turns in `_run_in_step`.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import field
from itertools import product

from trilby.backend.group_size import rounded_up
from trilby.backend.interpreter.kernel_arguments import POISON
from trilby.backend.interpreter.numbers import TRAPS
from trilby.backend.interpreter.python_writer import known
from trilby.backend.interpreter.translate import KernelProgram, call_chain
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import (
    KernelArithmeticError,
    KernelDivergenceError,
    KernelNameError,
    TrilbyError,
)
from trilby.model.op import walk
from trilby.model.ops.core import Var, VarLoad


@dataclass(frozen=True, slots=True)
class WorkGroup:
    """What the work items of one group share; kernels read it through their context.

    `local_max_*` is the size that was asked for in every group, also in the last one of an
    axis, which has fewer items where the range is no multiple of it. So
    `group_x * local_max_x + local_x` is always `x`.
    """

    group_x: int
    group_y: int
    group_z: int
    max_x: int
    max_y: int
    max_z: int
    local_max_x: int
    local_max_y: int
    local_max_z: int
    group_max_x: int
    group_max_y: int
    group_max_z: int
    pass_id: int = 0
    _shared: dict[str, bytearray] = field(default_factory=dict[str, bytearray], repr=False)

    def shared(self, name: str, nbytes: int) -> bytearray:
        """The bytes of a local array: the first work item that asks makes them."""
        return self._shared.setdefault(name, bytearray([POISON]) * nbytes)


class WorkItem:
    """What the kernel context is at run time."""

    __slots__ = ("group", "local_x", "local_y", "local_z", "x", "y", "z")

    def __init__(self, group: WorkGroup, local_x: int, local_y: int, local_z: int) -> None:
        self.group = group
        self.local_x = local_x
        self.local_y = local_y
        self.local_z = local_z
        self.x = group.group_x * group.local_max_x + local_x
        self.y = group.group_y * group.local_max_y + local_y
        self.z = group.group_z * group.local_max_z + local_z

    def __str__(self) -> str:
        return f"({self.x}, {self.y}, {self.z})"


def execute(
    program: KernelProgram,
    size: NDRange,
    local: tuple[int, ...],
    arguments: Sequence[object],
    pass_id: int = 0,
) -> None:
    """Run every work item in groups of size `local`; the first that fails ends the launch."""
    run = program.run
    for group in groups(size, local, pass_id):
        if program.waits:
            _run_in_step(program, group, arguments)
            continue
        for item in work_items(group):
            try:
                run(item, *arguments)
            except TRAPS as error:
                raise explained(error, program, item) from None


def groups(size: NDRange, local: tuple[int, ...], pass_id: int = 0) -> Iterator[WorkGroup]:
    """The groups of a range, those along x first."""
    steps = NDRange(local).padded
    whole = NDRange(rounded_up(size, local)).padded
    nx, ny, nz = (n // step for n, step in zip(whole, steps, strict=True))
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                yield WorkGroup(x, y, z, *size.padded, *steps, nx, ny, nz, pass_id)


def work_items(group: WorkGroup) -> Iterator[WorkItem]:
    """The items of a group that lie within the range."""
    nx = min(group.local_max_x, group.max_x - group.group_x * group.local_max_x)
    ny = min(group.local_max_y, group.max_y - group.group_y * group.local_max_y)
    nz = min(group.local_max_z, group.max_z - group.group_z * group.local_max_z)
    for z, y, x in product(range(nz), range(ny), range(nx)):
        yield WorkItem(group, x, y, z)


def _run_in_step(program: KernelProgram, group: WorkGroup, arguments: Sequence[object]) -> None:
    """Run all items from barrier to barrier; they must all come to the same one."""
    items = list(work_items(group))
    runs: list[Generator[object]] = [program.run(item, *arguments) for item in items]
    while True:
        places: list[object] = []  # what each item yields at its barrier; None where it has ended
        for item, run in zip(items, runs, strict=True):
            try:
                places.append(next(run, None))
            except TRAPS as error:
                raise explained(error, program, item) from None
        if any(place != places[0] for place in places):
            raise _diverged(program, items, places)
        if places[0] is None:
            return


def _diverged(
    program: KernelProgram, items: list[WorkItem], places: list[object]
) -> KernelDivergenceError:
    """Two items of the group that came to different places."""
    other = next(n for n, place in enumerate(places) if place != places[0])
    waits = {n: known(program.barrier(places[n]).location) for n in (0, other) if places[n]}
    told = [
        f"work item {items[n]} {f'waits at {waits[n]}' if n in waits else 'has ended'}"
        for n in (0, other)
    ]
    return KernelDivergenceError(
        f"the work items of a group part at a barrier: {told[0]}, {told[1]}",
        advice="let all work items of a group reach the same barriers: move it out of the `if` or "
        "loop, and put no `return` before it",
        location=next(iter(waits.values())),
    )


def explained(error: Exception, program: KernelProgram, item: WorkItem) -> TrilbyError:
    """The error of a work item as the user should see it."""
    trail = program.trail(error.__traceback__)
    function, op = trail[-1].function, trail[-1].op
    if isinstance(error, TrilbyError):
        kind, problem, advice = type(error), error.problem, error.advice
    elif isinstance(error, ZeroDivisionError):
        kind, problem = KernelArithmeticError, "an integer is divided by zero"
        advice = "test the divisor before, or divide floats: `/` gives an infinity"
    elif isinstance(op, VarLoad):
        variables = (one for one in walk(function.body) if isinstance(one, Var))
        name = next(var.name for var in variables if var.result is op.var)
        kind, problem = KernelNameError, f"`{name}` is read before it is set"
        advice = "give it a value on every path that leads here"
    else:
        raise error
    return kind(
        f"{problem}, in work item {item}",
        advice=advice,
        location=known(op.location) if op else None,
        calls=call_chain(trail),
    )
