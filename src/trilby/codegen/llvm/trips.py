"""How many turns `range(start, stop, step)` has, for any step; a step of 0 has none.

Turns are counted, so that no bound can be jumped over by wrapping round.
"""

from trilby.codegen.llvm.arithmetic import compared
from trilby.codegen.llvm.lane_values import BIT, Lanes, of_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType


def trips(writer: KernelWriter, type_: ScalarType, start: Lanes, stop: Lanes, step: Lanes) -> Lanes:
    """The number of turns, an unsigned number."""
    up = _upwards(writer, type_, start, stop, step)
    if type_.kind != "int" or (step.literal is not None and step.literal > 0):
        return up
    zero = of_kind(0, start.kind)
    back = writer.apply("sub {t} {1}, {0}", [step, zero])
    down = _upwards(writer, type_, stop, start, back)
    falls = compared(writer, "lt", type_, [step, zero])
    return writer.select(falls, down, up)


def _upwards(
    writer: KernelWriter, type_: ScalarType, low: Lanes, high: Lanes, step: Lanes
) -> Lanes:
    """The turns from `low` up to `high` by a step that is taken as positive."""
    zero, one = of_kind(0, low.kind), of_kind(1, low.kind)
    is_zero = writer.apply("icmp eq {t} {0}, {1}", [step, zero], BIT)
    divisor = step if step.literal else writer.select(is_zero, one, step)
    distance = writer.apply("sub {t} {0}, {1}", [high, low])
    last = writer.apply("sub {t} {0}, {1}", [distance, one])
    whole = writer.apply("udiv {t} {0}, {1}", [last, divisor])
    count = writer.apply("add {t} {0}, {1}", [whole, one])
    rises = compared(writer, "lt", type_, [low, high])
    runs = rises if step.literal else writer.select(is_zero, of_kind(0, BIT), rises)
    return writer.select(runs, count, zero)
