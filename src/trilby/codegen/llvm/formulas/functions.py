"""Which functions there are formulas for, and their texts."""

from collections.abc import Callable, Mapping

from trilby.codegen.llvm.formulas import circular, exponentials, logarithms, powers
from trilby.codegen.llvm.formulas.formula import KINDS, Formula
from trilby.codegen.llvm.lanes import BIT, Lanes, of_kind
from trilby.dataclass import dataclass

_OF_ALL: Mapping[str, Callable[..., Lanes]] = {
    "exp": exponentials.exp,
    "exp2": exponentials.exp2,
    "expm1": exponentials.expm1,
    "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "tanh": exponentials.tanh,
    "log": logarithms.log,
    "log2": logarithms.log2,
    "log10": logarithms.log10,
    "sin": circular.sin,
    "cos": circular.cos,
    "tan": circular.tan,
    "asin": circular.asin,
    "acos": circular.acos,
    "atan": circular.atan,
    "atan2": circular.atan2,
    "erf": powers.erf,
}
_OF_FLOATS: Mapping[str, Callable[..., Lanes]] = {
    "log1p": logarithms.log1p,
    "asinh": logarithms.asinh,
    "acosh": logarithms.acosh,
    "atanh": logarithms.atanh,
    "hypot": powers.hypot,
    "cbrt": powers.cbrt,
    "pow": powers.power,
}
"""Those that are computed in doubles."""

_OF_ANGLES = frozenset({"sin", "cos", "tan"})


@dataclass(frozen=True, slots=True)
class Function:
    """A function of vectors: its type, its lines, and what they call."""

    vector: str
    arity: int
    lines: tuple[str, ...]
    declarations: tuple[str, ...]

    def text(self, symbol: str) -> str:
        """Its definition under a name."""
        params = ", ".join(f"{self.vector} %a{n}" for n in range(self.arity))
        head = f"define internal {self.vector} {symbol}({params}) #3 {{"
        return "\n".join([head, "begin:", *self.lines, "}"])


def has_formula(name: str, kind: str) -> bool:
    """Whether there is a formula for a function of numbers of a type."""
    return name in _OF_ALL or (name in _OF_FLOATS and kind == "float")


def function_of(name: str, arity: int, kind: str, lanes: int, one_by_one: str) -> Function:
    """The text of a function; `one_by_one` is the symbol of the C library's, lane by lane.

    Arguments are frozen: lanes that do not run may hold anything, and huge angles are a branch.
    """
    formula = Formula(lanes, KINDS[kind])
    ir = formula.ir
    vector = ir.vector(kind)
    args = [Lanes(kind, ir.let(f"freeze {vector} %a{n}"), None) for n in range(arity)]
    rule = _OF_ALL.get(name) or _OF_FLOATS[name]
    found = ir.varying(rule(formula, *args))
    if name in _OF_ANGLES:
        found = _with_huge(formula, args[0], found, one_by_one)
    ir.line(f"ret {vector} {found.text}")
    return Function(vector, arity, (*ir.head, *ir.lines), tuple(ir.declarations))


def _with_huge(f: Formula, x: Lanes, found: Lanes, one_by_one: str) -> Lanes:
    """What was found, but for huge angles, which the C library knows."""
    ir, vector = f.ir, f.ir.vector(f.kind.name)
    result = ir.alloca(vector)
    ir.store(vector, found.text, result)
    limit = of_kind(circular.HUGE[f.kind.name], f.kind.name)
    is_huge = ir.spread(f.less(limit, f.magnitude(x)))
    ir.branch(ir.any(is_huge), "huge", "usual")
    ir.label("huge")
    exactly = ir.let(f"call {vector} {one_by_one}({vector} {x.text})")
    chosen = f"select {ir.vector(BIT)} {is_huge}, {vector} {exactly}, {vector} {found.text}"
    ir.store(vector, ir.let(chosen), result)
    ir.label("usual")
    return Lanes(f.kind.name, ir.load(vector, result), None)
