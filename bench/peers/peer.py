"""What a peer is: a name, and functions by the names of the problems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = Numbers | int | float
Function: TypeAlias = Callable[..., object]


class PeerAbsentError(Exception):
    """Raised where a peer is not installed; the message says what is missing."""


@dataclass(frozen=True)
class Launch:
    """One problem given to one peer: `run` computes it, `result` is what it computed."""

    run: Callable[[], object]
    result: Callable[[], list[Numbers]]


@dataclass(frozen=True)
class Peer:
    """A way to run the kernels. Those it has no way to write are missing in `functions`."""

    name: str
    functions: Mapping[str, Function]

    def launch(self, problem: str, arguments: Sequence[Argument], written: Sequence[int]) -> Launch:
        """Make a problem ready, on copies of the arrays that are written."""
        own = own_copies(arguments, written)
        function = self.functions[problem]
        return Launch(lambda: function(*own), lambda: [np.asarray(own[n]) for n in written])


def own_copies(arguments: Sequence[Argument], written: Sequence[int]) -> list[Argument]:
    """The arguments, with copies of those that are written."""
    return [
        np.array(given) if place in written and isinstance(given, np.ndarray) else given
        for place, given in enumerate(arguments)
    ]
