"""How findings speak of elements, work items and launches."""

from collections.abc import Sequence

from trilby.analysis.linting.accesses import Access
from trilby.analysis.linting.witness import Witness, range_text
from trilby.data.schema import ArrayType, NDArrayType, path_steps, step_into


def element_text(access: Access, indices: Sequence[int]) -> str:
    """`grid.array[1, 2]`, `table.result[3].x`."""
    text = access.memory.name
    left = list(indices)
    here = access.memory.type
    for step in path_steps(access.path):
        if step == "[]":
            rank = here.rank if isinstance(here, ArrayType | NDArrayType) else 1
            text += f"[{', '.join(map(str, left[:rank]))}]"
            left = left[rank:]
        else:
            text += f".{step}"
        here = step_into(here, step) or here
    return text


def launch_text(witness: Witness) -> str:
    """The launch in which something happens: `range=2 with n=1`."""
    numbers = ", ".join(f"{name}={number}" for name, number in witness.arguments.items())
    return range_text(witness.range) + (f" with {numbers}" if numbers else "")
