"""Say of loops that do nothing but dispatch when they repeat themselves.

`for _ in range(n):` becomes `for _ in cc.turns(range(n), 2, 1):`, so that the run time can repeat
two turns of one dispatch each without running their Python.
"""

from dataclasses import replace

from trilby.model.host_code import HostCode
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Var
from trilby.model.ops.host import HostFor, HostValue
from trilby.model.rewrite import Rewriter, rewrite
from trilby.model.value import COMPUTE_CONTEXT, OBJECT
from trilby.transform.steady_loops import steady_loop


def repeat_turns(func: Func) -> Func:
    """The function with such loops marked."""
    contexts = [param for param in func.params if param.type == COMPUTE_CONTEXT]
    if not contexts:
        return func
    names = {op.value: op.name for op in walk(func.body) if isinstance(op, Var)}

    def visit(op: Op, out: Rewriter) -> None:
        found = steady_loop(op, names) if isinstance(op, HostFor) else None
        if isinstance(op, HostFor) and found is not None:
            code = HostCode(f"{{0}}.turns({{1}}, {found.turns}, {found.dispatches})", 2)
            items = out.value(HostValue, (contexts[0], op.iterable), code, (), type=OBJECT)
            op = replace(op, iterable=items)
        out.emit(op)

    return rewrite(func, visit)
