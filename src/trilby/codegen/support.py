"""Small functions that generated C needs where C itself means something else than Python.

Each is made for one type, on demand. Division by zero gives 0 for integers, as in NumPy, and
never traps; `INT_MIN // -1` wraps. Integer functions choose instead of branching: compilers
that run many work items in one vector like that better.

The templates are C. `<t>` is the type, `<u>` the unsigned type of its width, `<stored>` the type
of its bits in memory; `<float>`, `<double>` and `<uint>` are those types. `<bits>` and `<as_float>`
name the functions between a float and its bits, `<0.5>` is a float literal.

No local variable has its address taken, although languages convert halves at an address: PoCL
takes what is read back from there for the same number in all work items of a group.
"""

import math
import re

from trilby.codegen.dialect import Dialect
from trilby.data.dtypes import BF16, F32, F64, SCALARS, U32, ScalarType

_INTEGERS = {
    "floordiv": """\
<t> floordiv(<t> a, <t> b) {
    <t> d = b == 0 || b == -1 ? 1 : b;
    <t> q = a / d - (a % d != 0 && (a ^ d) < 0);
    return b == 0 ? 0 : b == -1 ? (<t>)(0 - (<u>)a) : q;
}""",
    "mod": """\
<t> mod(<t> a, <t> b) {
    <t> d = b == 0 || b == -1 ? 1 : b;
    <t> m = a % d;
    return m != 0 && (m ^ d) < 0 ? m + d : m;
}""",
    # A signed number divided by one that is not negative: fewer tests.
    "floordiv_size": """\
<t> floordiv_size(<t> a, <t> b) {
    <t> d = b == 0 ? 1 : b;
    <t> q = a / d - (a % d < 0);
    return b == 0 ? 0 : q;
}""",
    "mod_size": """\
<t> mod_size(<t> a, <t> b) {
    <t> d = b == 0 ? 1 : b;
    <t> m = a % d;
    return m < 0 ? m + d : m;
}""",
    # By squaring; a negative exponent gives 0, or ±1 for a base of ±1.
    "pow": """\
<t> pow(<t> a, <t> b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;
    <u> power = 1, base = (<u>)a;
    for (<u> n = (<u>)b; n != 0; n >>= 1) {
        if (n & 1) power = (<u>)(power * base);
        base = (<u>)(base * base);
    }
    return (<t>)power;
}""",
    # How many turns `range(start, stop, step)` has; a step of 0 has none.
    "trips": """\
<u> trips(<t> start, <t> stop, <t> step) {
    if (step < 0 && start > stop)
        return (<u>)((<u>)start - (<u>)stop - 1) / (<u>)(0 - (<u>)step) + 1;
    if (step > 0 && start < stop)
        return (<u>)((<u>)stop - (<u>)start - 1) / (<u>)step + 1;
    return 0;
}""",
    "abs": "<t> abs(<t> a) {\n    return a < 0 ? (<t>)(0 - (<u>)a) : a;\n}",
}
_UNSIGNED = {
    "floordiv": "<t> floordiv(<t> a, <t> b) {\n    return b == 0 ? 0 : a / b;\n}",
    "mod": "<t> mod(<t> a, <t> b) {\n    return b == 0 ? 0 : a % b;\n}",
    "pow": re.sub(r"    if \(b < 0\).*\n", "", _INTEGERS["pow"]),
    "trips": re.sub(r"    if \(step < 0.*\n.*\n", "", _INTEGERS["trips"]),
    "sign": "<t> sign(<t> x) {\n    return x > 0 ? 1 : x;\n}",
}
_FLOATS = {
    "floordiv": """\
<t> floordiv(<t> a, <t> b) {
    if (b == 0) return a / b;
    <t> m = fmod(a, b);
    <t> q = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0)) q -= <1.0>;
    if (q == 0) return copysign((<t>)0, a / b);
    <t> f = floor(q);
    return q - f > <0.5> ? f + <1.0> : f;
}""",
    "mod": """\
<t> mod(<t> a, <t> b) {
    <t> m = fmod(a, b);
    if (m == 0) return copysign(m, b);
    return (b < 0) != (m < 0) ? m + b : m;
}""",
}
_ANY = {
    # Python's `min` and `max`: the first unless the second is truly beyond it.
    "min": "<t> min(<t> a, <t> b) {\n    return b < a ? b : a;\n}",
    "max": "<t> max(<t> a, <t> b) {\n    return b > a ? b : a;\n}",
    "clamp": """\
<t> clamp(<t> x, <t> low, <t> high) {
    <t> y = low > x ? low : x;
    return high < y ? high : y;
}""",
    "sign": "<t> sign(<t> x) {\n    return x > 0 ? 1 : x < 0 ? -1 : x;\n}",
    "degrees": "<t> degrees(<t> x) {\n    return x * (<t>)<180/pi>;\n}",
    "radians": "<t> radians(<t> x) {\n    return x * (<t>)<pi/180>;\n}",
    # The nearest half, ties to even. A small number is rounded by a sum in whose range floats are
    # as far apart as halves are; from 65520 on, the nearest half is an infinity.
    "round": """\
<float> round(<float> x) {
    <uint> bits = <bits>(x) & 0x7fffffffu;
    <float> size = <as_float>(bits);
    bits = (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;
    <float> near = size < <2**-14> ? (size + <0.5>) - <0.5>
        : size < <65520.0> ? <as_float>(bits)
        : <inf>;
    return x == x ? copysign(near, x) : x;
}""",
    # In one step: by way of a float, it would be rounded twice. A float that is not exact gets an
    # odd last bit, so that the next rounding is the only one.
    "f16_from": """\
<float> f16_from(<t> x) {
    <float> near = (<float>)x;
    <uint> bits = <bits>(near);
    if (fabs((<double>)near) > fabs(x)) bits -= 1u;
    if ((<double>)near != x) bits |= 1u;
    return round_f16(<as_float>(bits));
}""",
    "pack": """\
<stored> pack(<t> x) {
    <uint> sign = (<bits>(x) >> 16) & 0x8000u;
    <uint> bits = <bits>(x) & 0x7fffffffu;
    if (bits > 0x7f800000u) return 0x7e00u;
    if (bits == 0x7f800000u) return sign | 0x7c00u;
    if (bits >= 0x38800000u) return sign | ((bits - 0x38000000u) >> 13);
    return sign | (<uint>)(fabs(x) * <2**24>);
}""",
    "unpack": """\
<t> unpack(<stored> bits) {
    <uint> size = bits & 0x7fffu;
    <uint> wide = (size << 13) + (size < 0x7c00u ? 0x38000000u : 0x70000000u);
    <t> x = size < 0x400u ? size * <2**-24> : <as_float>(wide);
    return (bits & 0x8000u) != 0 ? -x : x;
}""",
    # Truncated, saturated, NaN as 0.
    **{
        f"{target}_from": f"<{target}> {target}_from(<t> x) {{\n"
        f"    return x == x ? <saturated {target}> : 0;\n}}"
        for target in SCALARS.values()
        if target.is_integer
    },
}
_BF16 = {
    "round": """\
<float> round(<float> x) {
    <uint> bits = <bits>(x);
    <uint> nearest = bits + 0x7fffu + ((bits >> 16) & 1u);
    bits = x == x ? nearest : bits | 0x400000u;
    return <as_float>(bits & 0xffff0000u);
}""",
    "pack": "<stored> pack(<t> x) {\n    return <bits>(x) >> 16;\n}",
    "unpack": "<t> unpack(<stored> bits) {\n    return <as_float>((<uint>)bits << 16);\n}",
}
_NUMBERS = {
    "180/pi": 180 / math.pi,
    "pi/180": math.pi / 180,
    "inf": math.inf,
    **{f"2**{power}": 2.0**power for power in (-24, -14, 24)},
}

_WORD = re.compile(r"<([^<>=; ]+|saturated \w+)>")

SUPPORT_NAMES = frozenset(f"{name}_{type_}" for name in _INTEGERS | _ANY for type_ in SCALARS)
"""Every name that a support function can have."""


def support_text(name: str, type_: ScalarType, dialect: Dialect) -> str:
    """The text of the function `name` for a type: `support_text("floordiv", I32, …)`."""
    special = {"float": _FLOATS, "uint": _UNSIGNED}.get(type_.kind, {})
    template = (_ANY | _INTEGERS | special | (_BF16 if type_ is BF16 else {}))[name]
    words = {
        "t": dialect.scalars[type_],
        "u": dialect.unsigned.get(type_, ""),
        "stored": dialect.stored.get(type_, ""),
        "float": dialect.scalars[F32],
        "double": dialect.scalars[F64],
        "uint": dialect.scalars[U32],
        "bits": dialect.bits_of_float,
        "as_float": dialect.float_of_bits,
    }
    for target, spelling in dialect.scalars.items():
        words[target.name] = spelling
        words[f"saturated {target}"] = dialect.saturating(spelling, "x")

    def word(found: "re.Match[str]") -> str:
        text = found[1]
        if text in words:
            return words[text]
        in_double = type_ is F64 or "pi" in text
        return dialect.float_literal(_NUMBERS.get(text) or float(text), F64 if in_double else F32)

    own = template.replace(f" {name}(", f" {name}_{type_}(", 1)
    return f"{dialect.helper} {_WORD.sub(word, own)}"
