"""Running a random program on accelerators, and telling where it differs from its meaning."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from tests.property.kernel_running import forget, load
from tests.property.program_texts import HEAD, Outcome, content, meaning

from trilby import Accelerator, Ledger, Transfers


@dataclass(frozen=True)
class Bench:
    """Two accelerators of one kind; few programs use the second."""

    name: str
    main: Accelerator
    other: Accelerator

    def close(self) -> None:
        self.main.close()
        self.other.close()


class Alternating:
    """An accelerator that runs each compute call under the next strategy."""

    def __init__(self, accelerator: Accelerator, strategies: Iterator[Transfers]) -> None:
        self.accelerator = accelerator
        self.strategies = strategies

    def compute(self, entry: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self.accelerator.strategy(next(self.strategies)):
            return self.accelerator.compute(entry, *args, **kwargs)

    def array(self, values: object) -> Any:
        return self.accelerator.array(values)


def run(text: str, bench: Bench, strategy: Transfers) -> tuple[Outcome, Ledger]:
    """What a program does under one strategy, and what is copied for that."""
    with bench.main.strategy(strategy), bench.other.strategy(strategy):
        return _run(text, bench.main, bench.other, bench.main.record())


def run_alternating(text: str, bench: Bench) -> Outcome:
    """What a program does when each compute call has another strategy than the one before."""
    strategies = cycle(Transfers)
    main = Alternating(bench.main, strategies)
    outcome, _ = _run(text, main, Alternating(bench.other, strategies), bench.main.record())
    return outcome


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


def problems(text: str, benches: list[Bench]) -> Iterator[tuple[str, str]]:
    """All that is wrong with a program: in a few words, and at length."""
    expected = meaning(text)
    for bench in benches:
        for strategy in Transfers:
            outcome, ledger = run(text, bench, strategy)
            where = f"{bench.name}, {strategy.name}"
            if told := difference(expected, outcome):
                yield where, f"{where}: {told}"
            elif told := _excess(text, strategy, ledger):
                yield f"{where}, bytes", f"{where}: {told}"
        if told := difference(expected, run_alternating(text, bench)):
            yield f"{bench.name}, alternating", f"{bench.name}, alternating: {told}"


def _excess(text: str, strategy: Transfers, ledger: Ledger) -> str | None:
    if "other.compute" in text:
        return None  # a ledger knows one accelerator only
    moved, least = ledger.bytes_up + ledger.bytes_down, ledger.optimal
    if moved < least.range.nbytes:
        return f"{moved} bytes moved, less than the {least.range.nbytes} that are needed"
    if strategy is Transfers.AUTO and moved > least.buffer.nbytes:
        return f"{moved} bytes moved, and whole buffers would be {least.buffer.nbytes}\n{ledger}"
    return None
