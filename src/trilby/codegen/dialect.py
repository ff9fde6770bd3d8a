"""What one C-like language says differently from the others: a table, no code.

OpenCL C and CUDA C share one writer; a `Dialect` holds all that it asks them.
"""

from collections.abc import Callable, Mapping

from trilby.data.dtypes import ScalarType
from trilby.dataclass import dataclass
from trilby.model.value import Space


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of a language.

    `spaces` are the words for kinds of memory. `scalars` are the types of values, `stored`
    those that are spelt otherwise in memory and in kernel arguments (a bool is a byte there).
    `grid` gives the vendor's expression for a field of the kernel context. `math` has the
    functions whose name is not the intrinsic's own; `{}` stands for the type's suffix.
    `atomics` names the function that makes a change of a place (its address is the first
    argument) for a type and a memory space, and `functions` has what the text needs before it
    can call a function of that name. `barriers` has a statement for each scope; in a kernel with
    barriers, `loop_guard` stands before a loop that work items may leave at different times, if
    other loops run in it. `saturating` spells a cast from a float to an integer type of that C
    name. `half_load` and `half_store` spell access to a half at an address ({0}) in a memory space
    (the last one). `bits_of_float` and `float_of_bits` name the functions between a float and its
    bits. `is_keyword`, `is_reserved` and `is_used` say which names nothing, no member, and no
    local variable may have.
    """

    name: str
    kernel: str
    helper: str
    spaces: Mapping[Space, str]
    scalars: Mapping[ScalarType, str]
    stored: Mapping[ScalarType, str]
    unsigned: Mapping[ScalarType, str]
    grid: Mapping[str, str]
    math: Mapping[str, str]
    atomics: Callable[[str, ScalarType, Space], str]
    barriers: Mapping[str, str]
    functions: Mapping[str, str]
    saturating: Callable[[str, str], str]
    float_literal: Callable[[float, ScalarType], str]
    half_load: str
    half_store: str
    bits_of_float: str
    float_of_bits: str
    is_keyword: Callable[[str], bool]
    is_reserved: Callable[[str], bool]
    is_used: Callable[[str], bool]
    preamble: str = ""
    loop_guard: str = ""
