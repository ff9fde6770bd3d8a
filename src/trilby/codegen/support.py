"""Small functions that generated C needs where C itself means something else than Python.

Each is made for one type, on demand. Division by zero gives 0 for integers, as in NumPy, and
never traps; `INT_MIN // -1` wraps.
"""

from collections.abc import Callable

from trilby.codegen.dialect import Dialect
from trilby.data.dtypes import F16, F32, SCALARS, ScalarType


def support_text(name: str, type_: ScalarType, dialect: Dialect) -> str:
    """The text of the function `name` for a type: `support_text("floordiv", I32, …)`."""
    return _MAKERS[name](dialect, type_)


def _head(dialect: Dialect, result: str, name: str, type_: ScalarType, params: str) -> str:
    return f"{dialect.helper} {result} {name}_{type_}({params}) {{"


def _floordiv(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    if type_.is_float:
        return _float_floordiv(dialect, type_, t)
    head = _head(dialect, t, "floordiv", type_, f"{t} a, {t} b")
    if type_.kind == "uint":
        return f"{head}\n    return b == 0 ? 0 : a / b;\n}}"
    u = dialect.unsigned[type_]
    return (
        f"{head}\n"
        f"    {t} d = (b == 0 || b == -1) ? 1 : b;\n"
        f"    {t} q = a / d - ((a % d != 0) & ((a < 0) != (d < 0)));\n"
        f"    return b == 0 ? 0 : b == -1 ? ({t})(0 - ({u})a) : q;\n"
        "}"
    )


def _mod(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    head = _head(dialect, t, "mod", type_, f"{t} a, {t} b")
    if type_.is_float:
        return (
            f"{head}\n"
            f"    {t} m = fmod(a, b);\n"
            "    if (m == 0) return copysign(m, b);\n"
            f"    return ((b < 0) != (m < 0)) ? {_rounded('m + b', type_)} : m;\n"
            "}"
        )
    if type_.kind == "uint":
        return f"{head}\n    return b == 0 ? 0 : a % b;\n}}"
    return (
        f"{head}\n"
        f"    {t} d = (b == 0 || b == -1) ? 1 : b;\n"
        f"    {t} m = a % d;\n"
        f"    return m + (((m != 0) & ((m < 0) != (d < 0))) ? d : 0);\n"
        "}"
    )


def _rounded(text: str, type_: ScalarType) -> str:
    return f"round_f16({text})" if type_ is F16 else text


def _float_floordiv(dialect: Dialect, type_: ScalarType, t: str) -> str:
    head = _head(dialect, t, "floordiv", type_, f"{t} a, {t} b")
    one, half = ("1.0f", "0.5f") if t == "float" else ("1.0", "0.5")
    quotient = _rounded(f"{_rounded('a - m', type_)} / b", type_)
    return (
        f"{head}\n"
        f"    {t} m = fmod(a, b);\n"
        f"    if (b == 0) return {_rounded('a / b', type_)};\n"
        f"    {t} q = {quotient};\n"
        f"    if (m != 0 && ((b < 0) != (m < 0))) q = {_rounded(f'q - {one}', type_)};\n"
        f"    if (q == 0) return copysign(({t})0, a / b);\n"
        f"    {t} f = floor(q);\n"
        f"    return q - f > {half} ? f + {one} : f;\n"
        "}"
    )


def _pow(dialect: Dialect, type_: ScalarType) -> str:
    """Whole powers by squaring; a negative exponent gives 0, or ±1 for a base of ±1."""
    t = dialect.scalars[type_]
    u = dialect.unsigned[type_]
    head = _head(dialect, t, "pow", type_, f"{t} a, {t} b")
    negative = (
        "    if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;\n"
        if type_.kind == "int"
        else ""
    )
    return (
        f"{head}\n{negative}"
        f"    {u} power = 1, base = ({u})a;\n"
        f"    for ({u} n = ({u})b; n != 0; n >>= 1) {{\n"
        f"        if (n & 1) power = ({u})(power * base);\n"
        f"        base = ({u})(base * base);\n"
        "    }\n"
        f"    return ({t})power;\n"
        "}"
    )


def _trips(dialect: Dialect, type_: ScalarType) -> str:
    """How many turns `range(start, stop, step)` has; a step of 0 has none."""
    t = dialect.scalars[type_]
    u = dialect.unsigned[type_]
    head = _head(dialect, u, "trips", type_, f"{t} start, {t} stop, {t} step")
    downwards = (
        f"    if (step < 0) return start > stop ? ({u})((({u})start - ({u})stop - 1) / "
        f"({u})(0 - ({u})step) + 1) : 0;\n"
        if type_.kind == "int"
        else ""
    )
    return (
        f"{head}\n"
        "    if (step == 0) return 0;\n"
        f"{downwards}"
        f"    return start < stop ? ({u})((({u})stop - ({u})start - 1) / ({u})step + 1) : 0;\n"
        "}"
    )


def _round(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[F32]
    return f"{dialect.helper} {t} round_{type_}({t} x) {{\n    {dialect.half_round}\n}}"


def _chosen(word: str, symbol: str) -> Callable[[Dialect, ScalarType], str]:
    """Python's `min` and `max`: the first unless the second is truly beyond it."""

    def make(dialect: Dialect, type_: ScalarType) -> str:
        t = dialect.scalars[type_]
        head = _head(dialect, t, word, type_, f"{t} a, {t} b")
        return f"{head}\n    return b {symbol} a ? b : a;\n}}"

    return make


def _abs(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    u = dialect.unsigned[type_]
    head = _head(dialect, t, "abs", type_, f"{t} a")
    return f"{head}\n    return a < 0 ? ({t})(0 - ({u})a) : a;\n}}"


_MAKERS: dict[str, Callable[[Dialect, ScalarType], str]] = {
    "floordiv": _floordiv,
    "mod": _mod,
    "pow": _pow,
    "trips": _trips,
    "min": _chosen("min", "<"),
    "max": _chosen("max", ">"),
    "abs": _abs,
    "round": _round,
}

SUPPORT_NAMES = frozenset(f"{name}_{type_}" for name in _MAKERS for type_ in SCALARS)
"""Every name that a support function can have."""
