"""The processor that code is generated for."""

from trilby.data.dtypes import ScalarType
from trilby.dataclass import dataclass
from trilby.source import Location

# ---------------------------------------------------------------------------------------- generated
# What is generated of a kernel.


@dataclass(frozen=True, slots=True)
class LlvmModule:
    """Device code: its text, the symbol of its entry, and what a launch has to know of it.

    `lanes` work items of a row run at once. A call takes `group_bytes` of memory and `vector_bytes`
    for each vector of a group, which is what local and private arrays need, and values that are
    kept across barriers. `any_group` is true where a kernel cannot tell which group it is in, or
    how large that is. `asserts` are the messages that a report counts, `prints` the forms and the
    types of the numbers of each `print`.
    """

    text: str
    entry: str
    lanes: int
    group_bytes: int = 0
    vector_bytes: int = 0
    any_group: bool = False
    asserts: tuple[tuple[str, Location], ...] = ()
    prints: tuple[tuple[str, tuple[ScalarType, ...]], ...] = ()


# ------------------------------------------------------------------------------------------- target

TRANSFORMS = ("inline_calls", "forward_variables")
"""The kernel transforms that the generator wants, in their order."""


@dataclass(frozen=True, slots=True)
class LlvmTarget:
    """What the generator asks of a processor.

    `width_bits` is the size of its vectors, `features` are LLVM's names (`avx2`, `fma`, `f16c`).
    `fast_math` allows to round `a * b + c` once, as `fma` does. `vector_math` names the library of
    vector functions that the backend has loaded (`libmvec`), or nothing.
    """

    width_bits: int
    triple: str
    features: frozenset[str] = frozenset()
    fast_math: bool = False
    vector_math: str = ""
