"""Which ops take time, so that a copy gains something by starting before them.

Cheap to ask, and asked before a plan is made: without two such ops nothing can overlap.

```
cc.dispatch(a.length, double, a)      # takes time
n = max(a.length, 2)                  # takes none
print(b.array.sum())                  # takes time
```
"""

from trilby.analysis.reach import ComputeGraph
from trilby.model.op import Op, walk
from trilby.model.ops.host import (
    Dispatch,
    HostCall,
    HostFor,
    HostRun,
    HostValue,
    HostWhile,
    HostWith,
)
from trilby.model.ops.memory import Load, Store

_QUICK = frozenset({"NDRange", "range", "len", "int", "float", "bool", "min", "max", "type"})


def takes_time(op: Op) -> bool:
    """Whether an op runs a kernel, a loop, host code of any length, or waits for data."""
    if isinstance(op, HostValue):
        return not _QUICK.issuperset(op.code.called())
    if isinstance(op, Load):
        return bool(op.indices)
    return isinstance(op, Dispatch | HostCall | HostFor | HostRun | HostWhile | HostWith | Store)


def can_overlap(graph: ComputeGraph) -> bool:
    """Whether any function of a graph has two ops that take time."""
    return any(sum(map(takes_time, walk(func.body))) > 1 for func in graph.functions)
