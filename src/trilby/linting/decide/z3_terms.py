"""Terms as z3 knows them: the numbers of a launch once, those of each work item for itself.

z3 is loaded when it is asked for. Each question has a context of its own, because the answer to a
hard question depends on what the context has seen before.
"""

import importlib
import operator
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import combinations, product
from typing import Any

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import BOOL, ScalarType
from trilby.linting.decide.question import Item, ItemPart
from trilby.linting.dispatches import LaunchFacts
from trilby.linting.terms import Level, LoopMark, Terms, leaves_of, level_of, wraps


@cache
def z3_module() -> Any:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module("z3")
    except ImportError:
        return None


SECONDS = 20


class Session:
    """The functions of z3 that make things in a context of its own, and by attribute all others."""

    def __init__(self) -> None:
        self._z3 = z3_module()
        self._context = self._z3.Context()
        for name in ("Int", "Bool", "IntVal", "BoolVal", "IntSort"):
            setattr(self, name, partial(getattr(self._z3, name), ctx=self._context))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._z3, name)

    def And(self, *parts: Any) -> Any:  # noqa: N802 -- z3's spelling
        """All hold; true where there are none."""
        return self._z3.And(*parts, self.BoolVal(val=True))

    def Or(self, *parts: Any) -> Any:  # noqa: N802 -- z3's spelling
        """One holds; false where there are none."""
        return self._z3.Or(*parts, self.BoolVal(val=False))

    def solver(self, effort: int) -> Any:
        """A solver that gives up after so many steps, or at last after so many seconds."""
        solver = self._z3.Solver(ctx=self._context)
        solver.set("rlimit", effort)
        solver.set("timeout", SECONDS * 1000)
        return solver


# ----------------------------------------------------------------------------------------- products
# Products of two unknown numbers, which z3 is slow at, and what helps it.
#
# As an abstraction a product is a function of its factors of which only some laws are known: what
# is proved of that holds of products. That is quick, and enough for pitches and group sizes. An
# example has to hold of real products.


class Products:
    """The products that were met, and the laws that tie them together."""

    def __init__(self, z3: Session, *, abstract: bool) -> None:
        self._z3 = z3
        self._function = None
        if abstract:
            integer = z3.IntSort()
            self._function = z3.Function("times", integer, integer, integer)
        self._made: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
        self._divided = 0
        self._xors: list[tuple[Any, Any, Any]] = []

    def times(self, left: Any, right: Any) -> Any:
        """A product; plain where one factor is a number."""
        z3 = self._z3
        if any(isinstance(one, int) or z3.is_int_value(one) for one in (left, right)):
            return left * right
        left, right = z3.simplify(left), z3.simplify(right)
        if z3.is_int_value(left) or z3.is_int_value(right):
            return left * right
        if left.get_id() > right.get_id():
            left, right = right, left
        key = (left.get_id(), right.get_id())
        if key not in self._made:
            made = left * right if self._function is None else self._function(left, right)
            self._made[key] = (left, right, made)
        return self._made[key][2]

    def xor(self, left: Any, right: Any) -> Any:
        """The exclusive or of bits, of which some laws are known."""
        integer = self._z3.IntSort()
        found = self._z3.Function("xor", integer, integer, integer)(left, right)
        self._xors.append((left, right, found))
        return found

    def _xor_laws(self) -> list[Any]:
        z3 = self._z3
        found: list[Any] = []
        for a, b, bits in self._xors:
            found += [
                z3.Implies(z3.And(a >= 0, b >= 0), z3.And(bits >= 0, bits <= a + b)),
                (bits == a) == (b == 0),
                (bits == b) == (a == 0),
            ]
        for (a, b, bits), (c, d, others) in product(self._xors, repeat=2):
            found.append(z3.Implies(z3.And(c == bits, d == b), others == a))
            found.append(z3.Implies(z3.And(d == bits, c == a), others == b))
            found.append(z3.Implies(z3.And(b == d, bits == others), a == c))
        return found

    def divided(self, left: Any, right: Any) -> tuple[Any, Any, list[Any]]:
        """Quotient and remainder, rounded towards minus infinity, and what defines them."""
        z3 = self._z3
        self._divided += 1
        quotient = z3.Int(f"quotient{self._divided}")
        rest = z3.Int(f"rest{self._divided}")
        rises = z3.And(right > 0, rest >= 0, rest < right)
        falls = z3.And(right < 0, rest <= 0, rest > right)
        return (
            quotient,
            rest,
            [
                left == self.times(quotient, right) + rest,
                z3.Or(rises, falls),
            ],
        )

    def laws(self) -> list[Any]:
        """What holds of the products that were met."""
        z3, found = self._z3, self._xor_laws()
        for a, b, result in self._made.values():
            found += [
                z3.Implies(z3.Or(a == 0, b == 0), result == 0),
                z3.Implies(a == 1, result == b),
                z3.Implies(b == 1, result == a),
                z3.Implies(z3.And(a >= 1, b >= 1), z3.And(result >= a, result >= b)),
                z3.Implies(z3.And(a <= -1, b >= 1), z3.And(result <= a, result <= -b)),
                z3.Implies(z3.And(b <= -1, a >= 1), z3.And(result <= b, result <= -a)),
            ]
        for one, other in combinations(self._made.values(), 2):
            found += self._of_two(one, other)
        return found

    def _of_two(self, one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> list[Any]:
        """Two multiples of one number are equal, or at least that number apart."""
        z3 = self._z3
        found: list[Any] = []
        for a, factor in ((one[0], one[1]), (one[1], one[0])):
            for b, same in ((other[0], other[1]), (other[1], other[0])):
                if not factor.eq(same):
                    continue
                more = z3.And(a > b, one[2] >= other[2] + factor)
                less = z3.And(a < b, one[2] + factor <= other[2])
                equal = z3.And(a == b, one[2] == other[2])
                found.append(z3.Implies(factor >= 1, z3.Or(more, less, equal)))
        return found


# -------------------------------------------------------------------------------------------- terms

LARGEST = 2**31 - 1


class Encoding:
    """The numbers that all work items of a launch share, and what holds of them."""

    def __init__(self, z3: Session, terms: Terms, launch: LaunchFacts, *, abstract: bool) -> None:
        self.z3 = z3
        self.products = Products(z3, abstract=abstract)
        self.terms = terms
        self.launch = launch
        self.facts: list[Any] = []
        self.lengths: dict[tuple[int, object], Any] = {}
        self.scalars: dict[object, Any] = {}
        self.integer_scalars: list[Any] = []
        self._sizes: dict[str, Any] = {}
        self._functions: dict[object, Any] = {}
        for axis in launch.axes:
            self._axis(axis)

    def _axis(self, axis: str) -> None:
        launch, z3 = self.launch, self.z3
        size = launch.size.get(axis)
        if size is None:
            size = self._sizes[f"max_{axis}"] = z3.Int(f"max_{axis}")
            self.facts += [size >= 1, size <= LARGEST]
        self._sizes[f"max_{axis}"] = size
        if not launch.has_groups:
            return
        local = launch.local.get(axis)
        if local is None:
            local = z3.Int(f"local_max_{axis}")
            self.facts += [local >= 1, local <= 1024]
        groups = z3.Int(f"group_max_{axis}")
        self._sizes |= {f"local_max_{axis}": local, f"group_max_{axis}": groups}
        self.facts.append(groups >= 1)
        if launch.whole_groups:
            self.facts.append(size == self.products.times(groups, local))
        else:
            whole = self.products.times(groups, local)
            self.facts += [size <= whole, size > whole - local]

    def grid(self, name: str) -> Any:
        """A field of the kernel context that is the same for all, such as `max_x`."""
        if name not in self._sizes:
            found = self._sizes[name] = self.z3.Int(name)
            self.facts.append(found >= 0)
        return self._sizes[name]

    def scalar(self, leaf: Expr) -> Any:
        """The number of a parameter; one of a float is a name for it."""
        if leaf.what not in self.scalars:
            found = self.scalars[leaf.what] = self.z3.Int(f"s{leaf.what}")
            self.facts += _within(found, leaf.type)
            if leaf.type.is_integer:
                self.integer_scalars.append(found)
        return self.scalars[leaf.what]

    def length(self, leaf: Expr) -> Any:
        """The length or extent of a buffer."""
        key: Any = leaf.what
        if key not in self.lengths:
            found = self.lengths[key] = self.z3.Int(f"n{key}")
            self.facts += [found >= 1, found <= LARGEST]
        return self.lengths[key]

    def function(self, key: object, arity: int) -> Any:
        """A function that is the same for all work items."""
        if (key, arity) not in self._functions:
            sorts = [self.z3.IntSort()] * (arity + 1)
            name = f"f{len(self._functions)}"
            made = self.z3.Function(name, *sorts) if arity else self.z3.Int(name)
            self._functions[key, arity] = made
        return self._functions[key, arity]

    def wishes(self) -> list[Any]:
        """What makes an example nicer: short groups, small numbers, buffers with some room."""
        found: list[Any] = []
        for name, size in self._sizes.items():
            if name.startswith("local_max") and not isinstance(size, int):
                found.append(size <= 2)
        for scalar in self.scalars.values():
            found += [scalar >= 1, scalar <= 8]
        for length in self.lengths.values():
            found += [length <= 4096, length >= 64]
        return found

    def read(self, model: Any, term: Any) -> int:
        """The number of a term in a model."""
        if isinstance(term, int):
            return term
        return int(model.eval(term, model_completion=True).as_long())


def _within(term: Any, type_: ScalarType) -> list[Any]:
    if type_.is_float or type_ is BOOL:
        return [term >= 0, term <= 1] if type_ is BOOL else []
    if type_.kind == "uint":
        return [term >= 0, term < 2 ** min(type_.bits, 32)]
    half = 2 ** min(type_.bits - 1, 31)
    return [term >= -half, term < half]


_PLAIN: Mapping[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
}


class ItemTerms:
    """The terms of one work item."""

    def __init__(
        self, encoding: Encoding, number: int, place: Mapping[str, Any] | None = None
    ) -> None:
        self.encoding = encoding
        self.variables: list[Any] = []
        """The unknown numbers of this item that z3 chooses."""
        self._fixed = place or {}
        self.z3 = encoding.z3
        self.number_ = number
        self._known: dict[int, Any] = {}
        self._ids: dict[str, Any] = {}
        self._facts: list[Any] = []
        self.leaves: dict[int, Expr] = {}
        """The unknown numbers that were met."""
        self._divisions: dict[tuple[int, int], tuple[Any, ...]] = {}
        for axis in encoding.launch.axes:
            self._axis(axis)

    def _axis(self, axis: str) -> None:
        encoding = self.encoding
        size = encoding.grid(f"max_{axis}")
        if not encoding.launch.has_groups:
            place = self._ids[axis] = self._variable(axis)
            self._facts += [place >= 0, place < size]
            return
        local, group = self._variable(f"local_{axis}"), self._variable(f"group_{axis}")
        width, groups = encoding.grid(f"local_max_{axis}"), encoding.grid(f"group_max_{axis}")
        self._facts += [local >= 0, local < width, group >= 0, group < groups]
        start = encoding.products.times(group, width)
        place = start + local
        self._facts.append(place < size)
        self._ids |= {axis: place, f"local_{axis}": local, f"group_{axis}": group}
        self._ids[f"start_{axis}"] = start

    def _variable(self, name: str) -> Any:
        if name in self._fixed:
            fixed = self._fixed[name]
            return self.z3.IntVal(fixed) if isinstance(fixed, int) else fixed
        made = self.z3.Int(f"{name}_{self.number_}")
        self.variables.append(made)
        return made

    def fix(self, leaf: Expr, number: Any) -> None:
        """Give an unknown number its value."""
        self._known[leaf.number] = self.z3.IntVal(number) if isinstance(number, int) else number

    def place(self) -> list[Any]:
        """What tells the item from others."""
        in_groups = self.encoding.launch.has_groups
        return self.ids("local_") + self.ids("group_") if in_groups else self.ids()

    def ids(self, kind: str = "") -> list[Any]:
        """Its ids along each axis: the global ones, `local_` or `group_`."""
        return [self._ids[f"{kind}{axis}"] for axis in self.encoding.launch.axes]

    def id_in(self, model: Any) -> Item:
        """Its global ids in an example."""
        ids = [self.encoding.read(model, place) for place in self.ids()]
        x, y, z = (*ids, 0, 0)[:3]
        return x, y, z

    # -- terms

    def truth(self, term: Expr) -> Any:
        """A condition as z3 knows it."""
        found = self.value(term)
        is_number = self.z3.is_expr(found) and not self.z3.is_bool(found)
        return found != 0 if is_number else found

    def does(self, part: ItemPart) -> list[Any]:
        """What holds where the item does what is asked of it."""
        found = [self.truth(condition) for condition in part.conditions]
        return found if part.fails is None else [*found, self.z3.Not(self.truth(part.fails))]

    def number(self, term: Expr) -> Any:
        """A number as z3 knows it."""
        found = self.value(term)
        is_truth = self.z3.is_expr(found) and self.z3.is_bool(found)
        return self.z3.If(found, 1, 0) if is_truth else found

    def value(self, term: Expr) -> Any:
        """A term as z3 knows it."""
        found = self._known.get(term.number)
        if found is None:
            made = self._made(term)
            found = self.z3.IntVal(made) if isinstance(made, int) else made
            self._known[term.number] = found
            if term.op in {"opaque", "turns", "turn", "data", "fn"}:
                self.leaves[term.number] = term
        return found

    def _made(self, term: Expr) -> Any:
        encoding, what = self.encoding, term.what
        match term.op:
            case "constant":
                return self.z3.BoolVal(bool(what)) if term.type is BOOL else self.z3.IntVal(what)
            case "grid" | "group_start":
                name = f"start_{what}" if term.op == "group_start" else str(what)
                return self._ids[name] if name in self._ids else encoding.grid(name)
            case "scalar":
                found = encoding.scalar(term)
            case "length" | "extent":
                found = encoding.length(term)
            case "literal":
                found = encoding.function(("literal", what), 0)
            case "data":
                found = self._function(term)
            case "fn" if what == "xor" and term.type.is_integer:
                found = encoding.products.xor(*[self.number(arg) for arg in term.args])
            case "opaque" | "turn" | "turns" | "fn":
                found = self._unknown(term)
            case "and":
                found = self.z3.And(*[self.truth(arg) for arg in term.args])
            case "or":
                found = self.z3.Or(*[self.truth(arg) for arg in term.args])
            case "not":
                found = self.z3.Not(self.truth(term.args[0]))
            case "select":
                condition, then, otherwise = term.args
                found = self.z3.If(self.truth(condition), self.number(then), self.number(otherwise))
            case _:
                found = self._arithmetic(term, [self.number(arg) for arg in term.args])
        return found

    def _function(self, term: Expr) -> Any:
        function = self.encoding.function((term.op, term.what, term.type), len(term.args))
        found = function(*[self.number(arg) for arg in term.args]) if term.args else function
        self._facts += _within(found, term.type)
        return found != 0 if term.type is BOOL else found

    def _unknown(self, term: Expr) -> Any:
        name = f"{term.op}{term.number}_{self.number_}"
        made = self.z3.Bool(name) if term.type is BOOL else self.z3.Int(name)
        self.variables.append(made)
        if term.op in {"turn", "turns"}:
            self._facts += [made >= 0, made <= LARGEST]
        elif term.type is not BOOL:
            self._facts += _within(made, term.type)
        return made

    def _arithmetic(self, term: Expr, args: list[Any]) -> Any:
        match term.op:
            case "add":
                found = self._wrapped(args[0] + args[1], term.type, twice=True)
            case "sub":
                found = self._wrapped(args[0] - args[1], term.type, twice=True)
            case "mul":
                product = self.encoding.products.times(args[0], args[1])
                found = self._wrapped(product, term.type, twice=False)
            case "floordiv" | "mod":
                return self._divided(term, *args)
            case "cast":
                return self._cast(term, args[0])
            case "min":
                found = self.z3.If(args[0] <= args[1], *args)
            case "max":
                found = self.z3.If(args[0] >= args[1], *args)
            case "abs":
                found = self.z3.If(args[0] < 0, -args[0], args[0])
            case _:
                found = _PLAIN[term.op](args[0], args[1])
        return found

    def _wrapped(self, term: Any, type_: ScalarType, *, twice: bool) -> Any:
        """What leaves an unsigned or narrow type comes in at its other end.

        `twice` where it is out by no more than the numbers of the type.
        """
        if not wraps(type_):
            return term
        count = 2**type_.bits
        low = 0 if type_.kind == "uint" else -(count // 2)
        if not twice:
            return (term - low) % count + low if low else term % count
        below, above = term < low, term >= low + count
        return self.z3.If(below, term + count, self.z3.If(above, term - count, term))

    def _cast(self, term: Expr, arg: Any) -> Any:
        source, target = term.args[0].type, term.type
        if target.kind == "uint":
            fits = source.kind == "uint" and source.bits <= target.bits
            if fits:
                return arg
            wide = target.bits >= source.bits
            return self._wrapped(arg, target, twice=wide)
        if target.bits >= min(source.bits, 32):
            return arg
        half = 2 ** (target.bits - 1)
        return (arg + half) % (2 * half) - half

    def _divided(self, term: Expr, left: Any, right: Any) -> Any:
        """Rounded towards minus infinity; z3 does so for divisors above zero."""
        if self.z3.is_int_value(right) and right.as_long() > 0:
            return left / right if term.op == "floordiv" else left % right
        key = (left.get_id(), right.get_id())
        if key not in self._divisions:
            quotient, rest, laws = self.encoding.products.divided(left, right)
            self._facts += laws
            self._divisions[key] = (quotient, rest, left, right)
        return self._divisions[key][0 if term.op == "floordiv" else 1]

    # -- what holds

    def facts(self) -> list[Any]:
        """What holds of this item and of every unknown number in its terms."""
        done: set[int] = set()
        while True:
            waiting = [n for n in self.leaves if n not in done]
            if not waiting:
                return self._facts
            for number in waiting:
                done.add(number)
                for fact in self.encoding.terms.facts.get(number, []):
                    self._facts.append(self.truth(fact))

    def sharing(self, leaf: Expr) -> tuple[Level, tuple[LoopMark, ...]]:
        """How far an unknown number is the same, and in which loops."""
        terms = self.encoding.terms
        if leaf.op == "turns":
            mark = leaf.what
            loops = mark.outer if isinstance(mark, LoopMark) else ()
            return terms.levels.get(leaf.number, "item"), loops
        if leaf.op == "fn":
            marks = sorted(self._marks(leaf), key=lambda mark: mark.number)
            return level_of(terms, leaf), tuple(marks)
        why = terms.unknowns.get(leaf.number)
        return (why.level, why.loops) if why else ("item", ())

    def _marks(self, term: Expr) -> set[LoopMark]:
        """The loops on whose turns a term depends."""
        found: set[LoopMark] = set()
        for part in leaves_of((term,)):
            if isinstance(part.what, LoopMark):
                found.update({part.what} if part.op == "turn" else part.what.outer)
            elif part.op == "opaque" and part.number in self.encoding.terms.unknowns:
                found.update(self.encoding.terms.unknowns[part.number].loops)
        return found

    def tickets(self, counters: frozenset[object]) -> list[tuple[Expr, object]]:
        """The numbers that were drawn from some counters."""
        found = [
            (leaf, self.encoding.terms.unknowns.get(leaf.number)) for leaf in self.leaves.values()
        ]
        return [(leaf, why.ticket) for leaf, why in found if why and why.ticket in counters]
