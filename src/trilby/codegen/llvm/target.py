"""The processor that code is generated for."""

from trilby.dataclass import dataclass


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
