"""`@tb.raw`: a helper whose body on a device is given as text, one for each language.

The Python body is what the helper means: the interpreter and the host run it. What the text
does with buffers is declared, because nobody reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from trilby.errors import ArgumentTypeError
from trilby.reflect.functions import Helper, scope_of_caller

P = ParamSpec("P")
R = TypeVar("R")


class RawHelper(Helper[P, R]):
    """A function that kernels call, with device code of its own."""

    kind = "raw"

    def __init__(
        self,
        function: Callable[P, R],
        scope: Mapping[str, object],
        texts: Mapping[str, str],
        reads: Sequence[str],
        writes: Sequence[str],
    ) -> None:
        super().__init__(function, scope)
        self.texts = texts
        self.reads = tuple(reads)
        self.writes = tuple(writes)


def raw(
    *,
    opencl: str = "",
    cuda: str = "",
    wgsl: str = "",
    reads: str | Sequence[str] = (),
    writes: str | Sequence[str] = (),
) -> Callable[[Callable[P, R]], RawHelper[P, R]]:
    """Make a function that kernels can call, with its body in the language of a device.

    >>> @tb.raw(opencl="return native_sin(x);")
    ... def fast_sin(x: f32) -> f32:
    ...     return math.sin(x)

    The text sees the parameters under their names. `reads` and `writes` name the buffer
    parameters whose content it uses; every buffer parameter is in one of them, or in both.
    """
    given = {"opencl": opencl, "cuda": cuda, "wgsl": wgsl}
    texts = {language: text for language, text in given.items() if text.strip()}

    def decorate(function: Callable[P, R]) -> RawHelper[P, R]:
        made = RawHelper(function, scope_of_caller(), texts, _names(reads), _names(writes))
        if not texts:
            raise ArgumentTypeError(
                f"`{made.name}` has no device code",
                advice='give some: `@tb.raw(opencl="return …;")`, or use @tb.func',
                location=made.location,
            )
        return made

    return decorate


def _names(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
