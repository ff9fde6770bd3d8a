"""From the models of a kernel to its touches: runs them with expressions instead of numbers.

Both arms of a branch are followed, each under its condition; the body of a loop is followed
once, for all turns. Helpers are followed at every call, with what the call passes, up to a
number of ops that grows with the size of the models; further calls count with all that their
callee may do.
"""

from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.expressions import Expressions
from trilby.analysis.touching.follow_branches import BRANCH_RULES
from trilby.analysis.touching.follow_loops import LOOP_RULES
from trilby.analysis.touching.follow_memory import MEMORY_RULES, touch_all
from trilby.analysis.touching.followed_call import FollowedCall, Following
from trilby.analysis.touching.integers import counted_type
from trilby.analysis.touching.touches import Known, Scope, Target, Touch
from trilby.data.schema import BufferType, NDArrayType
from trilby.model.value import Value

RULES = {**MEMORY_RULES, **BRANCH_RULES, **LOOP_RULES}
"""How each op is followed; those without a rule touch nothing and give nothing."""


def touches_of(graph: KernelGraph) -> tuple[Touch, ...]:
    """All accesses of a kernel, in the order in which they are written."""
    following = Following(graph, RULES)
    entry = graph.entry
    arguments = [_argument(following.made, number, p) for number, p in enumerate(entry.params)]
    if entry.raw:
        touch_all(following, entry, arguments, Scope(), entry.location)
    else:
        FollowedCall(following, entry, arguments, Scope()).run()
    return tuple(following.touches)


def _argument(made: Expressions, number: int, param: Value) -> Known:
    if isinstance(param.type, BufferType | NDArrayType):
        return (Target(number, "", (), made.true),)
    type_ = counted_type(param)
    return made.make("scalar", (), number, type_) if type_ else None
