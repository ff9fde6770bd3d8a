"""Running a random program on accelerators, and telling where it differs from its meaning."""

import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import cycle
from types import ModuleType
from typing import Any

from tests.property.kernel_running import forget, load
from tests.property.program_meaning import Outcome, content, meaning
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
class Loaded:
    """A program as a module, and what it means. Its models are kept from run to run."""

    text: str
    module: ModuleType
    expected: Outcome

    def run(self, main: Any, other: Any) -> list[Any]:
        """Run it from the beginning; gives its buffers."""
        for name in ("log", "held"):
            getattr(self.module, name, []).clear()
        return self.module.drive(main, other)

    def outcome(self, buffers: list[Any]) -> Outcome:
        """What the last run saw and left."""
        return Outcome([*self.module.log], [content(buffer) for buffer in buffers])


@contextmanager
def loaded(text: str) -> Generator[Loaded]:
    """The module of a program, and its meaning; what has none raises some error."""
    expected = meaning(text)
    module = load(HEAD + text)
    try:
        yield Loaded(text, module, expected)
    finally:
        forget(module)


@dataclass(frozen=True)
class Way:
    """A way to run a program; without a strategy, each compute call has another one.

    While anything records, no launch takes the short way of one that is known: so some runs
    are not recorded.
    """

    bench: Bench
    strategy: Transfers | None
    is_recorded: bool

    @property
    def name(self) -> str:
        """What to call it."""
        strategy = self.strategy.name if self.strategy else "alternating"
        return f"{self.bench.name}, {strategy}{', recorded' if self.is_recorded else ''}"

    def problem(self, program: Loaded) -> Problem | None:
        """What is wrong with a program that is run in this way."""
        try:
            with self.bench.main.record() if self.is_recorded else nullcontext() as ledger:
                buffers = self._run(program)
            if told := difference(program.expected, program.outcome(buffers)):
                return Problem("difference", told)
            return self._excess(program, ledger) if ledger is not None else None
        except Exception as error:  # noqa: BLE001 -- any is a finding: the program has a meaning
            return Problem(type(error).__name__, traceback.format_exc(limit=-3))

    def _run(self, program: Loaded) -> list[Any]:
        main, other = self.bench.main, self.bench.other
        if self.strategy is None:
            strategies = cycle(Transfers)
            return program.run(Alternating(main, strategies), Alternating(other, strategies))
        with main.strategy(self.strategy), other.strategy(self.strategy):
            return program.run(main, other)

    def _excess(self, program: Loaded, ledger: Ledger) -> Problem | None:
        if "other.compute" in program.text:
            return None  # a ledger knows one accelerator only
        moved, least = ledger.bytes_up + ledger.bytes_down, ledger.optimal
        if moved < least.range.nbytes:
            needed = least.range.nbytes
            return Problem("too few", f"{moved} bytes moved, where {needed} are needed\n{ledger}")
        if self.strategy is Transfers.AUTO and moved > least.buffer.nbytes:
            most = least.buffer.nbytes
            told = f"{moved} bytes moved, where whole buffers would be {most}\n{ledger}"
            return Problem("too many", told)
        return None


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


def open_benches() -> list[Bench]:
    """Devices with their own memory, and one that shares the host's, which comes last."""
    return [
        _bench("interpreter", lambda: Accelerator("interpreter", poison=True)),
        _bench("discrete", lambda: Accelerator("opencl", memory="discrete", poison=True)),
        _bench("shared", lambda: Accelerator("native", memory="shared", poison=True)),
    ]


def _bench(name: str, opened: Callable[[], Accelerator]) -> Bench:
    return Bench(name, opened(), opened())


def ways(benches: Sequence[Bench]) -> list[Way]:
    """All ways to run a program; where nothing moves, there is nothing to record."""
    *apart, shared = benches
    return [
        *(Way(bench, strategy, is_recorded=True) for bench in apart for strategy in Transfers),
        *(
            Way(bench, strategy, is_recorded=False)
            for bench in (*apart, shared)
            for strategy in (*Transfers, None)
        ),
    ]


def problem_in(text: str, way: Way) -> Problem | None:
    """What is wrong with the text of a program; nothing where it has no meaning."""
    try:
        with loaded(text) as program:
            return way.problem(program)
    except Exception:  # noqa: BLE001 -- text with pieces cut out may raise anything
        return None
