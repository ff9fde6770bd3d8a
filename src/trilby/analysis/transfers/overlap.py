"""Whether a copy could run while something else does: asked before a plan is made, and cheap.

```
cc.dispatch(a.length, double, a, b)   # takes time
n = max(a.length, 2)                  # takes none
print(c.array.sum())                  # takes time: a copy of `c` could begin before the launch
```
"""

from trilby.analysis.access import AccessMode, is_length
from trilby.analysis.closure import ComputeClosure
from trilby.data.dtypes import ScalarType
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Constant, Return, Var, VarLoad
from trilby.model.ops.host import (
    Dispatch,
    HostCall,
    HostFor,
    HostRun,
    HostValue,
    HostWhile,
    HostWith,
)
from trilby.model.ops.memory import Extent, Load, Store
from trilby.model.value import Value

_QUICK = frozenset({"NDRange", "range", "len", "int", "float", "bool", "min", "max", "type"})


def takes_time(op: Op) -> bool:
    """Whether an op runs a kernel, a loop, host code of any length, or waits for data."""
    if isinstance(op, HostValue):
        return not _QUICK.issuperset(op.code.called())
    if isinstance(op, Load):
        return bool(op.indices)
    return isinstance(op, Dispatch | HostCall | HostFor | HostRun | HostWhile | HostWith | Store)


def can_overlap(closure: ComputeClosure) -> bool:
    """Whether a copy in any function could begin while something else runs."""
    return any(_can_overlap(func, closure) for func in closure.graph.functions)


def _can_overlap(func: Func, closure: ComputeClosure) -> bool:
    """With two ops that take time; not where each launch reads only what those before it wrote."""
    ops = tuple(walk(func.body))
    if sum(map(takes_time, ops)) < 2:
        return False
    if not all(map(_only_launches, ops)):
        return True
    variables: dict[Value, Value] = {}  # by their names, and by what was loaded from them
    for op in ops:
        if isinstance(op, VarLoad):
            variables[op.value] = variables.get(op.var, op.var)
        elif isinstance(op, Var) and op.init and op.init[0] in variables:  # `b = a`
            variables[op.value] = variables[op.init[0]]
    read, written = set[Value | None](), set[Value | None]()
    for number, op in enumerate(op for op in ops if isinstance(op, Dispatch)):
        modes = {access.name: access.whole for access in closure.access[op.kernel].parameters}
        params = closure.graph.kernels[op.kernel].entry.params[1:]
        touched = [
            (variables.get(value), modes[param.hint])
            for value, param in zip(op.args, params, strict=False)
            if param.hint in modes
        ]
        reads = {var for var, mode in touched if AccessMode.READS in mode}
        if any(var is None for var, _ in touched) or (number and not reads <= written - read):
            return True
        read |= reads
        written |= {var for var, mode in touched if AccessMode.WRITES in mode}
    return False


def _only_launches(op: Op) -> bool:
    """Whether an op launches a kernel once, or only makes numbers for a launch.

    No variable changes here: each holds the same buffer in all launches.
    """
    match op:
        case Load(base, (), path):
            return is_length(base.type, path)
        case HostValue(inputs=inputs, uses=()):
            are_numbers = all(isinstance(value.type, ScalarType) for value in inputs)
            return are_numbers and not takes_time(op)
        case Var() | VarLoad() | Constant() | Extent() | Return():
            return True
        case _:
            return type(op) is Dispatch
