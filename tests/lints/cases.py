"""What a kernel of the corpus is: the kernel, what is right to say of it, and how to run it.

`verdict` and `lints` are what a person says who has read the kernel. `range` and `arguments` are a
launch that is plainly meant, on which another judge, Oclgrind, is asked. Where that judge cannot
see what the verdict says, `disagrees` tells why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trilby.data.ndrange import NDRange
from trilby.linting.findings import Verdict
from trilby.reflect.functions import Kernel

Sees: TypeAlias = Literal["race", "bounds", "divergence", "nothing"]
Launch: TypeAlias = int | tuple[int, ...] | NDRange
Arguments: TypeAlias = Mapping[str, int | tuple[int, ...] | list[int]]
"""By parameter: a number, the length of a buffer or the extents of an array, or its content."""


@dataclass(frozen=True)
class Case:
    kernel: Kernel[...]
    verdict: Verdict
    lints: frozenset[str]
    range: Launch
    arguments: Arguments
    sees: Sees
    disagrees: str = ""
    given: bool = False

    @property
    def name(self) -> str:
        return self.kernel.name


@dataclass
class Corpus:
    """The cases of one module; its methods are decorators above `@tb.kernel`."""

    cases: list[Case] = field(default_factory=list[Case])

    def clean(
        self,
        range: Launch,  # noqa: A002 -- as in `tb.lint`
        *,
        notes: str = "",
        given: bool = False,
        disagrees: str = "",
        sees: Sees = "nothing",
        **arguments: int | tuple[int, ...] | list[int],
    ) -> Callable[[Kernel[...]], Kernel[...]]:
        """Nothing is wrong; `notes` are lints below an error that speak all the same."""
        return self._adding("clean", notes, range, arguments, sees, disagrees, given=given)

    def bug(
        self,
        lints: str,
        range: Launch,  # noqa: A002 -- as in `tb.lint`
        *,
        sees: Sees = "race",
        given: bool = False,
        disagrees: str = "",
        **arguments: int | tuple[int, ...] | list[int],
    ) -> Callable[[Kernel[...]], Kernel[...]]:
        """Something is wrong, and these lints say so."""
        return self._adding("bug", lints, range, arguments, sees, disagrees, given=given)

    def unknown(
        self,
        lints: str,
        range: Launch,  # noqa: A002 -- as in `tb.lint`
        *,
        sees: Sees = "nothing",
        **arguments: int | tuple[int, ...] | list[int],
    ) -> Callable[[Kernel[...]], Kernel[...]]:
        """It depends on data, and these lints say so."""
        return self._adding("unknown", lints, range, arguments, sees, "", given=False)

    def _adding(
        self,
        verdict: Verdict,
        lints: str,
        range: Launch,  # noqa: A002 -- as in `tb.lint`
        arguments: Arguments,
        sees: Sees,
        disagrees: str,
        *,
        given: bool,
    ) -> Callable[[Kernel[...]], Kernel[...]]:
        def add(kernel: Kernel[...]) -> Kernel[...]:
            names = frozenset(lints.split())
            self.cases.append(
                Case(kernel, verdict, names, range, arguments, sees, disagrees, given)
            )
            return kernel

        return add
