"""Whether the private arrays of all lanes can lie interleaved, number by number.

Interleaved, the same number of neighbouring lanes is one vector. Where the members of a union have
numbers of unequal sizes, the bytes of a number would be elsewhere than those of the numbers that
share them; such arrays lie one behind the other.
"""

from trilby.data.dtypes import Type
from trilby.data.schema import ArrayType, StructType, leaves
from trilby.model.op import Func, walk
from trilby.model.ops.memory import PrivateArray
from trilby.model.value import RefType


def can_interleave(func: Func) -> bool:
    """Whether no private array of a kernel has a number that shares bytes with one of another size.

    References to all private arrays are alike, so one such array decides for all.
    """
    made = [op.value.type for op in walk(func.body) if isinstance(op, PrivateArray)]
    return not any(isinstance(type_, RefType) and _overlaps(type_.to) for type_ in made)


def _overlaps(type_: Type) -> bool:
    match type_:
        case ArrayType():
            return _overlaps(type_.element)
        case StructType(is_union=True):
            return len({leaf.type.size for leaf in leaves(type_)}) > 1
        case StructType():
            return any(_overlaps(field.type) for field in type_.fields)
        case _:
            return False
