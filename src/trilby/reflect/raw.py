"""`@tb.raw`: a helper whose body on a device is given as text, one for each language.

The Python body is what the helper means: the interpreter and the host run it. What the text
does with buffers is declared, because nobody reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar, cast

from trilby.arguments import brief
from trilby.errors import ArgumentTypeError, ArgumentValueError
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
        reads: tuple[str, ...],
        writes: tuple[str, ...],
    ) -> None:
        super().__init__(function, scope)
        self.texts = texts
        self.reads = reads
        self.writes = writes


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
    for language, text in given.items():
        _check_text(language, text)
    read, written = _names("reads", reads), _names("writes", writes)
    texts = {language: text for language, text in given.items() if text.strip()}

    def decorate(function: Callable[P, R]) -> RawHelper[P, R]:
        made = RawHelper(function, scope_of_caller(), texts, read, written)
        if not texts:
            raise ArgumentTypeError(
                f"`{made.name}` has no device code",
                advice='give some: `@tb.raw(opencl="return …;")`, or use @tb.func',
                location=made.location,
            )
        return made

    return decorate


def _check_text(language: str, text: object) -> None:
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"the body in {language} is a text, and {brief(text)} is {type(text).__name__}",
            advice=f'write `@tb.raw({language}="return …;")`',
        )
    # halves of characters have no bytes in UTF-8
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text):
        raise ArgumentValueError(
            f"the body in {language} has a character that no source code has: {brief(text)}",
            advice="remove NUL characters and halves of characters",
        )


def _names(argument: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if isinstance(names, list | tuple):
        listed = tuple(cast("Sequence[object]", names))
        if all(isinstance(name, str) for name in listed):
            return cast("tuple[str, ...]", listed)
    raise ArgumentTypeError(
        f"`{argument}` names parameters, and {brief(given)} is {type(given).__name__}",
        advice=f'write `{argument}="a"`, or `{argument}=["a", "b"]`',
    )
