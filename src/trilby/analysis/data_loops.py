"""Whether data decides for how long a kernel runs.

A launch then may take much longer than the one before it, though it is given the same range and
the same numbers. The ids of work items, the range, lengths and numbers that are passed by value are
no data here.
"""

from trilby.analysis.access import is_length
from trilby.analysis.reach import KernelGraph, reaching
from trilby.model.op import Block, Func, Op, block_fields, operands
from trilby.model.ops.arith import Binary, Cast, Compare, Math, Pow, Unary
from trilby.model.ops.control import Break, Continue, For, While
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value


def data_decides_loops(graph: KernelGraph) -> bool:
    """Whether a loop of a kernel, or of what it calls, may have other turns with other data."""
    looping = reaching(graph, For, While)
    data = {function.name: set[int]() for function in graph.functions}
    for function in reversed(graph.functions):  # callers come first
        is_called = function.raw is not None or function.name in looping
        if is_called and _TaintedLoops(function, looping, data).finds_one():
            return True
    return False


class _TaintedLoops:
    """A taint analysis of one function: which loop bounds, branches and exits depend on data.

    `_known` are the values that no data has any part in, `_varied` the variables that hold data,
    or are set where data says so. `_data` are the parameters of each function that may be data.
    """

    def __init__(self, function: Func, looping: frozenset[str], data: dict[str, set[int]]) -> None:
        self._function = function
        self._looping = looping
        self._data = data
        self._known: set[Value] = set()
        self._varied: set[Value] = set()
        self._found = function.raw is not None

    def finds_one(self) -> bool:
        """Whether data decides about a loop: what is set later in a loop counts before, too."""
        before = -1
        while not self._found and before != len(self._varied):
            before = len(self._varied)
            data = self._data[self._function.name]
            self._known = {one for n, one in enumerate(self._function.params) if n not in data}
            self._read(self._function.body, decided=False)
        return self._found

    def _read(self, block: Block, *, decided: bool) -> None:
        """Read ops in order; `decided` is true where data decides whether they are run."""
        for op in block.ops:
            given = self._known.issuperset(operands(op))
            if (decided and self._is_decisive(op)) or (isinstance(op, For) and not given):
                self._found = True
            self._note(op, given=given, decided=decided)
            inner = decided or not (given or isinstance(op, Var | VarStore))
            for name in block_fields(type(op)):
                self._read(getattr(op, name), decided=inner)

    def _is_decisive(self, op: Op) -> bool:
        """Whether an op runs a loop, or decides about those that come after it."""
        if isinstance(op, Call):
            return op.callee in self._looping
        return isinstance(op, For | Return | Break | Continue)

    def _note(self, op: Op, *, given: bool, decided: bool) -> None:
        match op:
            case While():
                self._found = True
            case For() if given:
                self._known.update(op.body.params)
            case Var(init=init) if op.result is not None:
                self._known.add(op.result)  # the variable itself, whatever is in it
                self._set(op.result, self._known.issuperset(init) and not decided)
            case Call(args=args):
                unknown = {n for n, one in enumerate(args) if one not in self._known}
                self._data[op.callee] |= unknown
            case VarStore():
                self._set(op.var, op.stored in self._known and not decided)
            case _ if op.result is not None and self._is_known(op, given=given):
                self._known.add(op.result)
            case _:
                pass

    def _set(self, var: Value, is_known: bool) -> None:  # noqa: FBT001 -- what is set
        if not is_known:
            self._varied.add(var)

    def _is_known(self, op: Op, *, given: bool) -> bool:
        match op:
            case Constant() | Extent() | Grid():
                return True
            case Load(indices=()):
                return is_length(op.base.type, op.path)
            case VarLoad():
                return op.var not in self._varied
            case Binary() | Unary() | Cast() | Compare() | Math() | Pow():
                return given
            case _:
                return False
