"""Powers of integers and of floats."""

from trilby.codegen.llvm.lane_values import Lanes
from trilby.codegen.llvm.mathematics import computed
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType


def float_power(writer: KernelWriter, base: Lanes, exponent: Lanes) -> Lanes:
    """`base ** exponent` of floats."""
    return computed(writer, "pow", [base, exponent])


def whole_power(writer: KernelWriter, type_: ScalarType, base: Lanes, exponent: Lanes) -> Lanes:
    """`base ** exponent` of integers, by squaring, modulo the width.

    A negative exponent gives 0, or ±1 for a base of ±1.
    """
    pair = [base, exponent]
    stride = 0 if all(number.is_uniform for number in pair) else None
    vector = writer.type_of(stride, base.kind)
    name = f"@power.{'s' if type_.kind == 'int' else 'u'}.{writer.suffix(base.kind, stride)}"
    if name not in writer.definitions:
        lanes = 0 if stride == 0 else writer.lanes
        writer.definitions[name] = _definition(name, vector, base.kind, lanes, type_)
    return writer.apply(f"call {{t}} {name}({{t}} {{0}}, {{t}} {{1}})", pair)


def _definition(name: str, vector: str, kind: str, lanes: int, type_: ScalarType) -> str:
    bits = f"<{lanes} x i1>" if lanes else "i1"

    def splat(number: int) -> str:
        return f"splat ({kind} {number})" if lanes else str(number)

    go_on = "%go_on = icmp ne i1 %on, false"
    if lanes:
        go_on = f"%packed = bitcast {bits} %on to i{lanes}\n  %go_on = icmp ne i{lanes} %packed, 0"
    start, finish = f"{vector} %exponent", f"  ret {vector} %power"
    first = ""
    if type_.kind == "int":
        first = f"""\
  %is_negative = icmp slt {vector} %exponent, {splat(0)}
  %whole = select {bits} %is_negative, {vector} {splat(0)}, {vector} %exponent
"""
        start = f"{vector} %whole"
        finish = f"""\
  %is_one = icmp eq {vector} %base, {splat(1)}
  %is_minus_one = icmp eq {vector} %base, {splat(-1)}
  %last = and {vector} %exponent, {splat(1)}
  %is_odd = icmp ne {vector} %last, {splat(0)}
  %sign = select {bits} %is_odd, {vector} {splat(-1)}, {vector} {splat(1)}
  %other = select {bits} %is_minus_one, {vector} %sign, {vector} {splat(0)}
  %below = select {bits} %is_one, {vector} {splat(1)}, {vector} %other
  %found = select {bits} %is_negative, {vector} %below, {vector} %power
  ret {vector} %found"""
    return f"""\
define internal {vector} {name}({vector} %base, {vector} %exponent) {{
begin:
{first}  br label %turn
turn:
  %power = phi {vector} [ {splat(1)}, %begin ], [ %next, %body ]
  %square = phi {vector} [ %base, %begin ], [ %squared, %body ]
  %left = phi {vector} [ {start.split()[-1]}, %begin ], [ %halved, %body ]
  %on = icmp ne {vector} %left, {splat(0)}
  {go_on}
  br i1 %go_on, label %body, label %end
body:
  %bit = and {vector} %left, {splat(1)}
  %is_set = icmp ne {vector} %bit, {splat(0)}
  %product = mul {vector} %power, %square
  %next = select {bits} %is_set, {vector} %product, {vector} %power
  %squared = mul {vector} %square, %square
  %halved = lshr {vector} %left, {splat(1)}
  br label %turn
end:
{finish}
}}"""
