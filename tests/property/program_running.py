"""Running a random program on accelerators, and telling where it differs from its meaning."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from tests.property.kernel_running import forget, load
from tests.property.program_meaning import Outcome, content
from tests.property.program_texts import HEAD

from trilby import Accelerator, Ledger, Transfers


@dataclass(frozen=True)
class Bench:
    """Two accelerators of one kind; few programs use the second."""

    name: str
    main: Accelerator
    other: Accelerator

    def close(self) -> None:
        """Give the devices back."""
        self.main.close()
        self.other.close()


class Alternating:
    """An accelerator that runs each compute call under the next strategy."""

    def __init__(self, accelerator: Accelerator, strategies: Iterator[Transfers]) -> None:
        self.accelerator = accelerator
        self.strategies = strategies

    def compute(self, entry: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a compute function."""
        with self.accelerator.strategy(next(self.strategies)):
            return self.accelerator.compute(entry, *args, **kwargs)

    def array(self, values: object) -> Any:
        """An n-d array."""
        return self.accelerator.array(values)


@dataclass(frozen=True)
class Problem:
    """What is wrong with a program: the kind of it in a word, and at length."""

    kind: str
    told: str


@dataclass(frozen=True)
class Way:
    """A way to run a program; without a strategy, each compute call has another one."""

    bench: Bench
    strategy: Transfers | None

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.bench.name}, {self.strategy.name if self.strategy else 'alternating'}"

    def problem(self, text: str, expected: Outcome) -> Problem | None:
        """What is wrong with a program that is run in this way."""
        try:
            found, ledger = self.run(text)
            least = ledger.optimal.range.nbytes, ledger.optimal.buffer.nbytes
        except Exception as error:  # noqa: BLE001 -- any is a finding: the program has a meaning
            return Problem(type(error).__name__, f"{type(error).__name__}: {error}")
        if told := difference(expected, found):
            return Problem("difference", told)
        moved = ledger.bytes_up + ledger.bytes_down
        if "other.compute" in text:
            return None  # a ledger knows one accelerator only
        if moved < least[0]:
            return Problem("too few", f"{moved} bytes moved, where {least[0]} are needed\n{ledger}")
        if self.strategy is Transfers.AUTO and moved > least[1]:
            told = f"{moved} bytes moved, where whole buffers would be {least[1]}\n{ledger}"
            return Problem("too many", told)
        return None

    def run(self, text: str) -> tuple[Outcome, Ledger]:
        """What a program does, and what is copied for that."""
        main, other = self.bench.main, self.bench.other
        record = main.record()
        if self.strategy is None:
            strategies = cycle(Transfers)
            return _run(text, Alternating(main, strategies), Alternating(other, strategies), record)
        with main.strategy(self.strategy), other.strategy(self.strategy):
            return _run(text, main, other, record)


def _run(
    text: str, main: Any, other: Any, record: AbstractContextManager[Ledger]
) -> tuple[Outcome, Ledger]:
    module = load(HEAD + text)
    try:
        with record as ledger:
            buffers = module.drive(main, other)
        return Outcome(module.log, [content(buffer) for buffer in buffers]), ledger
    finally:
        forget(module)


def difference(expected: Outcome, found: Outcome) -> str | None:
    """Where two outcomes differ first."""
    for what, right, wrong in (
        ("look", expected.seen, found.seen),
        ("buffer", expected.left, found.left),
    ):
        for number, (one, other) in enumerate(zip(right, wrong, strict=False)):
            if one != other:
                return f"{what} {number}: {one} became {other}"
        if len(right) != len(wrong):
            return f"{what}: {len(right)} became {len(wrong)}"
    return None
