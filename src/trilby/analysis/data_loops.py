"""Whether data decides for how long a kernel runs.

A launch then may take much longer than the one before it, though it is given the same range and
the same numbers. The ids of work items, the range, lengths and numbers that are passed by value are
no data here.
"""

from trilby.analysis.access import is_length
from trilby.analysis.reach import KernelGraph, reaching, waiting_functions
from trilby.model.op import Block, Func, Op, blocks, operands, ops_within, walk
from trilby.model.ops.arith import Binary, Cast, Compare, Math, Pow, Unary
from trilby.model.ops.control import Break, Continue, For, While
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

# ------------------------------------------------------------------------------------- uneven loops
# Which loops the work items of a group may leave after different numbers of turns.

Loop = For | While


def uneven_loops_around_others(graph: KernelGraph) -> frozenset[Op]:
    """The loops that items may leave at different times and in which other loops run.

    A loop with a barrier in it is even: all items of a group have to come by there. A whole
    power counts as a loop, since devices compute it in one.
    """
    waiting, looping = waiting_functions(graph), reaching(graph, For, While, Pow)
    found: set[Op] = set()
    for function in graph.functions:
        uneven = _uneven(function, is_kernel=function is graph.entry)
        for loop in uneven:
            inside = list(ops_within(loop))
            waits = _holds(inside, waiting, Barrier)
            if not waits and _holds(inside, looping, For, While, Pow):
                found.add(loop)
    return frozenset(found)


def _holds(ops: list[Op], functions: frozenset[str], *kinds: type[Op]) -> bool:
    """Whether such an op is among these, or a call of one of these functions."""
    return any(
        isinstance(op, kinds) or (isinstance(op, Call) and op.callee in functions) for op in ops
    )


def _uneven(function: Func, *, is_kernel: bool) -> list[Loop]:
    """The loops of a function that are not known to be even."""
    even = set(function.params) if is_kernel else set[Value]()
    found: list[Loop] = []
    for op in walk(function.body):
        if isinstance(op, For) and _is_even(op, even):
            even.update(op.body.params)
        elif isinstance(op, Loop):
            found.append(op)
        elif op.result is not None and _is_same_for_all(op, even):
            even.add(op.result)
    return found


def _is_even(loop: For, even: set[Value]) -> bool:
    """True where the range is the same for all, and nothing ends the loop early."""
    return even.issuperset(operands(loop)) and not _may_be_left(loop.body)


def _may_be_left(block: Block, *, in_loop: bool = False) -> bool:
    """Whether a block has a `return`, or a `break` that is not one of an inner loop."""
    for op in block.ops:
        if isinstance(op, Return) or (isinstance(op, Break) and not in_loop):
            return True
        inner = in_loop or isinstance(op, Loop)
        if any(_may_be_left(nested, in_loop=inner) for nested in blocks(op)):
            return True
    return False


def _is_same_for_all(op: Op, even: set[Value]) -> bool:
    """Whether the result of an op is surely the same for all items of a group."""
    match op:
        case Constant() | Extent():
            return True
        case Grid(field=field):
            return "max" in field or field.startswith("group")
        case Load(indices=()):
            return op.base in even  # a field of a buffer's head
        case Binary() | Unary() | Cast() | Math():
            return even.issuperset(operands(op))
        case _:
            return False


# --------------------------------------------------------------------------------------- data loops


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
    It finds one in `for i in range(a[0])`, and none in `for i in range(n)`.
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
            runs_loop = isinstance(op, Call) and op.callee in self._looping
            is_decisive = runs_loop or isinstance(op, For | Return | Break | Continue)
            if (decided and is_decisive) or (isinstance(op, For) and not given):
                self._found = True
            self._note(op, given=given, decided=decided)
            inner = decided or not (given or isinstance(op, Var | VarStore))
            for nested in blocks(op):
                self._read(nested, decided=inner)

    def _note(self, op: Op, *, given: bool, decided: bool) -> None:
        match op:
            case While():
                self._found = True
            case For() if given:
                self._known.update(op.body.params)
            case Var(init=init) if op.result is not None:
                self._known.add(op.result)  # the variable itself, whatever is in it
                if decided or not self._known.issuperset(init):
                    self._varied.add(op.result)
            case Call(args=args):
                unknown = {n for n, one in enumerate(args) if one not in self._known}
                self._data[op.callee] |= unknown
            case VarStore():
                if decided or op.stored not in self._known:
                    self._varied.add(op.var)
            case _ if op.result is not None and self._is_known(op, given=given):
                self._known.add(op.result)
            case _:
                pass

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
