"""What a random kernel means, told by NumPy: the third judge beside two backends.

The text of the program runs as plain Python on NumPy scalars, which wrap and promote as the
kernel language says. A few things are rewritten before, because Python does not know them: a
name or member that carries a type in its name converts what it gets, parameters and results
are converted to what they are declared as, and a barrier hands over to the next work item.
"""

import ast
import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from tests.property.kernel_programs import Program
from tests.property.kernel_types import (
    DTYPES,
    FLOATS,
    LANES,
    NAMES,
    SCALARS,
    VECTORS,
    Array,
    float_of,
)
from tests.property.kernel_writer import RECORD

# -- values -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scalar:
    """A scalar type: calling it converts."""

    name: str

    def __call__(self, value: Any) -> Any:
        dtype = DTYPES[self.name]
        if self.name == "bool":
            return np.bool_(bool(value))
        if self.name in FLOATS:
            is_whole = isinstance(value, int | np.integer)
            return dtype.type(value if is_whole and self.name != "f16" else float(value))
        if isinstance(value, float | np.floating):
            value = self._cut(float(value))
        return np.array(int(value) & ((1 << 64) - 1), np.uint64).astype(dtype)[()]

    def _cut(self, value: float) -> int:
        """Towards zero, within the ends; NaN is 0."""
        info = np.iinfo(DTYPES[self.name])
        if math.isnan(value):
            return 0
        return int(min(max(value, float(info.min)), float(info.max))) if math.isinf(
            value
        ) else min(max(int(value), int(info.min)), int(info.max))


TYPES = {name: Scalar(name) for name in SCALARS}


class Vector:
    """Some lanes of one type; swizzles read and write."""

    _lanes: list[Any]
    _element: str

    def __init__(self, element: str, lanes: Iterable[Any]) -> None:
        self.__dict__["_element"] = element
        self.__dict__["_lanes"] = [TYPES[element](lane) for lane in lanes]

    def __getattr__(self, name: str) -> Any:
        if not name or set(name) - set(LANES):
            raise AttributeError(name)
        picked = [self._lanes[LANES.index(lane)] for lane in name]
        return picked[0] if len(picked) == 1 else Vector(self._element, picked)

    def __setattr__(self, name: str, value: Any) -> None:
        given = value.lanes() if isinstance(value, Vector) else [value]
        for lane, number in zip(name, given, strict=True):
            self._lanes[LANES.index(lane)] = TYPES[self._element](number)

    def lanes(self) -> list[Any]:
        """The numbers."""
        return list(self._lanes)

    def each(self, function: Callable[..., Any], *others: Any) -> "Vector":
        """A function of each lane; a single number stands beside all of them."""
        columns = [
            other.lanes()
            if isinstance(other, Vector)
            else [TYPES[self._element](other)] * len(self._lanes)
            for other in others
        ]
        return Vector(self._element, [function(*row) for row in zip(self._lanes, *columns, strict=True)])


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Vector, *others: Any) -> Any:
        return self.each(lambda lane, *rest: getattr(lane, name)(*rest), *others)

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor"):
    setattr(Vector, f"__{_name}__", _operator(f"__{_name}__"))
setattr(Vector, "__neg__", _operator("__neg__"))
setattr(Vector, "__abs__", _operator("__abs__"))


def vector_type(name: str) -> Callable[..., Vector]:
    """A vector class: of numbers, or a copy of a vector."""
    element, _ = VECTORS[name]

    def make(*values: Any) -> Vector:
        lanes = (
            lane
            for value in values
            for lane in (value.lanes() if isinstance(value, Vector) else [value])
        )
        return Vector(element, lanes)

    return make


class Record:
    """A struct: members convert to the type in their name. Calling it with one copies that."""

    def __init__(self, other: "Record | None" = None, **members: Any) -> None:
        for name, value in (vars(other) if other is not None else members).items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = TYPES[name.rpartition("_")[2]](value)


class Rows:
    """An array of structs: reading gives the struct in its place, writing copies."""

    def __init__(self, rows: list[Record]) -> None:
        self.rows = rows

    def __getitem__(self, index: int) -> Record:
        return self.rows[int(index)]

    def __setitem__(self, index: int, value: Record) -> None:
        self.rows[int(index)].__init__(value)


# -- functions ----------------------------------------------------------------------------


def _shared(values: tuple[Any, ...]) -> list[Any]:
    """Numbers in the type in which they meet; a Python number takes the others' type."""
    own = np.result_type(*values)
    return [TYPES[NAMES[own]](value) for value in values]


def _lane_wise(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for vectors, lane by lane."""

    def apply(*values: Any) -> Any:
        vectors = [value for value in values if isinstance(value, Vector)]
        if not vectors:
            return function(*_shared(values))
        if isinstance(values[0], Vector):
            return values[0].each(apply, *values[1:])
        raise TypeError(values)

    return apply


def _least(*values: Any) -> Any:
    result = values[0]
    for value in values[1:]:
        result = value if value < result else result
    return result


def _most(*values: Any) -> Any:
    result = values[0]
    for value in values[1:]:
        result = value if value > result else result
    return result


def _clamp(value: Any, low: Any, high: Any) -> Any:
    return _least(_most(value, low), high)


def _sign(value: Any) -> Any:
    own = type(value)
    if value > 0:
        return own(1)
    return own(-1) if value < 0 else value


def _popcount(value: Any) -> Any:
    width = value.dtype.itemsize * 8
    return type(value)((int(value) & ((1 << width) - 1)).bit_count())


def _clz(value: Any) -> Any:
    width = value.dtype.itemsize * 8
    return type(value)(width - (int(value) & ((1 << width) - 1)).bit_length())


def _dot(left: Vector, right: Vector) -> Any:
    total, *rest = [a * b for a, b in zip(left.lanes(), right.lanes(), strict=True)]
    for part in rest:
        total = total + part
    return total


def _cross(left: Vector, right: Vector) -> Vector:
    return cast("Any", left.yzx * right.zxy) - cast("Any", left.zxy * right.yzx)


def _mix(a: Any, b: Any, t: Any) -> Any:
    return a + (b - a) * t


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of floats: integers become the float that NumPy's own functions make of them."""

    def apply(*values: Any) -> Any:
        shared = _shared(values)
        own = TYPES[float_of(NAMES[shared[0].dtype])]
        return own(function(*(own(value) for value in shared)))

    return apply


def _remainder(left: Any, right: Any) -> float:
    try:
        return math.remainder(float(left), float(right))
    except ValueError:
        return math.nan


class Math:
    """The module `math`: exact functions, and NaN for those that nobody compares here."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        exact: dict[str, Callable[..., Any]] = {
            "floor": np.floor,
            "ceil": np.ceil,
            "trunc": np.trunc,
            "fabs": np.fabs,
            "fmod": np.fmod,
            "copysign": np.copysign,
            "remainder": _remainder,
        }
        if name in {"isnan", "isinf", "isfinite"}:
            return getattr(np, name)
        return _of_floats(exact[name]) if name in exact else _unknown


def _unknown(*_: Any) -> float:
    return math.nan


# -- memory -------------------------------------------------------------------------------


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "inc": lambda old, _: old + type(old)(1),
    "dec": lambda old, _: old - type(old)(1),
    "min": min,
    "max": max,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}


def _atomic(change: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def apply(array: Array, index: Any, operand: Any = 0) -> None:
        old = array[index]
        array[index] = change(old, TYPES[NAMES[array.dtype]](operand))

    return apply


@dataclass
class Group:
    """The local arrays of a work group; items make them in the same order."""

    arrays: list[Array] = field(default_factory=list[Array])
    asked: int = 0

    def local(self, element: Scalar, *dims: int) -> Array:
        """The array that the first item made, for all of them."""
        if self.asked == len(self.arrays):
            self.arrays.append(np.zeros(dims, DTYPES[element.name]))
        self.asked += 1
        return self.arrays[self.asked - 1]


def _private(element: Scalar, *dims: int) -> Array:
    return np.zeros(dims, DTYPES[element.name])


# -- the program --------------------------------------------------------------------------


class _Rewriting(ast.NodeTransformer):
    """Python that means on NumPy scalars what the kernel says."""

    def __init__(self) -> None:
        self.result: ast.expr | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:  # noqa: N802 -- ast's name
        is_kernel = node.name == "kernel"
        self.result = None if is_kernel else node.returns
        body: list[ast.stmt] = []
        for argument in node.args.args:
            declared = argument.annotation
            if isinstance(declared, ast.Name | ast.Attribute) and _converts(declared):
                value = ast.Name(argument.arg, ast.Load())
                body.append(_set(argument.arg, _call(declared, value)))
            argument.annotation = None
        rest = [cast("ast.stmt", self.visit(part)) for part in node.body]
        if is_kernel:
            rest.append(ast.Expr(ast.Yield()))
        return ast.FunctionDef(node.name, node.args, body + rest, [], None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:  # noqa: N802 -- ast's name
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise TypeError(node)
        return _set(node.target.id, _call(node.annotation, self.visit(node.value)))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:  # noqa: N802 -- ast's name
        (target,) = node.targets
        value = self.visit(node.value)
        if isinstance(target, ast.Name):
            is_array = target.id.startswith(("a", "tile"))
            return _set(target.id, value if is_array else _converted(target.id, value))
        return ast.Assign([self.visit(target)], value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:  # noqa: N802 -- ast's name
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            name = node.target.id
            changed = ast.BinOp(ast.Name(name, ast.Load()), node.op, value)
            return _set(name, _converted(name, changed))
        return ast.AugAssign(self.visit(node.target), node.op, value)

    def visit_Return(self, node: ast.Return) -> ast.stmt:  # noqa: N802 -- ast's name
        if node.value is None or self.result is None:
            return node
        return ast.Return(_call(self.result, self.visit(node.value)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # noqa: N802 -- ast's name
        changed = ast.UnaryOp(node.op, self.visit(node.operand))
        is_not = isinstance(node.op, ast.Not)
        return _call(ast.Name("bool", ast.Load()), changed) if is_not else changed

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:  # noqa: N802 -- ast's name
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "kc.barrier":
            return ast.Expr(ast.Yield())
        return ast.Expr(self.visit(call))


def _converts(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) not in {"KernelContext", "Table"}


def _call(function: ast.expr, value: ast.expr) -> ast.Call:
    return ast.Call(function, [value], [])


def _set(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _converted(name: str, value: ast.expr) -> ast.expr:
    """The type stands behind the last `_` of a name."""
    type_ = name.rpartition("_")[2]
    if type_ in VECTORS:
        return _call(ast.Attribute(ast.Name("tb", ast.Load()), type_, ast.Load()), value)
    known = type_ in TYPES or type_ == RECORD
    return _call(ast.Name(type_, ast.Load()), value) if known and "_" in name else value


def _compiled(program: Program, group: SimpleNamespace) -> Callable[..., Generator[None]]:
    tree = ast.parse(program.text)
    functions = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name != "run"
    ]
    module = ast.Module([_Rewriting().visit(node) for node in functions], [])
    names: dict[str, Any] = {**TYPES, "tb": _toolkit(group), "math": Math(), RECORD: Record}
    names |= {"min": _lane_wise(_least), "max": _lane_wise(_most)}
    exec(compile(ast.fix_missing_locations(module), "<meaning>", "exec"), names)  # noqa: S102 -- our own text
    return names["kernel"]


def _toolkit(group: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(
        **{name: vector_type(name) for name in VECTORS},
        **{f"atomic_{name}": _atomic(change) for name, change in CHANGES.items()},
        clamp=_lane_wise(_clamp),
        sign=_sign,
        popcount=_popcount,
        clz=_clz,
        mix=_mix,
        dot=_dot,
        cross=_cross,
        rsqrt=_unknown,
        fma=_unknown,
        private=_private,
        local=lambda *args: group.now.local(*args),
    )


def run_with_numpy(program: Program, arguments: dict[str, Any]) -> None:
    """Run every work item; arrays and tables among the arguments are changed in place."""
    group = SimpleNamespace(now=Group())
    kernel = _compiled(program, group)
    local = program.local or program.size
    counts = [-(-n // step) for n, step in zip(program.size, local, strict=True)]
    with np.errstate(all="ignore"):
        for number in product(*(range(n) for n in reversed(counts))):
            group.now = Group()
            items = _items(program, local, number[::-1])
            _run_group(group.now, [kernel(kc, **arguments) for kc in items])


def _items(
    program: Program, local: tuple[int, ...], number: tuple[int, ...]
) -> list[SimpleNamespace]:
    """The contexts of the items of one group that lie within the range."""
    contexts: list[SimpleNamespace] = []
    for place in product(*(range(n) for n in reversed(local))):
        inner = place[::-1]
        ids = [g * step + n for g, step, n in zip(number, local, inner, strict=True)]
        if any(n >= size for n, size in zip(ids, program.size, strict=True)):
            continue
        kc = SimpleNamespace()
        for axis, letter in enumerate("xyz"[: len(ids)]):
            size, step = program.size[axis], local[axis]
            fields = {
                "": ids[axis],
                "max_": size,
                "local_": inner[axis],
                "local_max_": step,
                "group_": number[axis],
                "group_max_": -(-size // step),
            }
            for word, value in fields.items():
                setattr(kc, f"{word}{letter}", np.int32(value))
        contexts.append(kc)
    return contexts


def _run_group(group: Group, items: list[Generator[None]]) -> None:
    """All items to the first barrier, all to the next, until they have ended."""
    running = items
    while running:
        still: list[Generator[None]] = []
        for item in running:
            group.asked = 0
            if next(item, "ended") is None:
                still.append(item)
        running = still


