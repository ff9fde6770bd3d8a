"""What moves in every program: the least by default, and as the table says under other rules.

The figures stand beside the programs and are worked out by hand. The oracle works them out again
from what each run touched.
"""

from typing import Any

import pytest
from tests.apps.catalogue import DOCUMENTS, PROGRAMS
from tests.apps.program import Bytes, Copies, Program

import trilby as tb
from trilby import Accelerator, Ledger

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
programs_of_the_documents = pytest.mark.parametrize(
    "program", DOCUMENTS, ids=lambda program: program.name
)
programs_that_need_less_than_whole_buffers = pytest.mark.parametrize(
    "program",
    [program for program in PROGRAMS if program.moved is not None],
    ids=lambda program: program.name,
)


def recorded(accelerator: Accelerator, program: Program[Any], transfers: tb.Transfers) -> Ledger:
    buffers = program.make(accelerator)
    with accelerator.strategy(transfers), accelerator.record() as ledger:
        program.run(accelerator, buffers)
    return ledger


def copies(ledger: Ledger) -> Copies:
    return Copies(len(ledger.uploads), len(ledger.downloads))


def story(ledger: Ledger) -> str:
    """What a person needs to see where too much was copied."""
    return f"\n{ledger}\n{ledger.optimal.buffer}\n{ledger.optimal.range}"


@every_program
def test_nothing_moves_that_need_not(accelerator: Accelerator, program: Program[Any]) -> None:
    ledger = recorded(accelerator, program, tb.Transfers.AUTO)
    assert copies(ledger) == program.minimal, story(ledger)


@every_program
def test_no_more_bytes_move_than_the_oracle_allows(
    accelerator: Accelerator, program: Program[Any]
) -> None:
    ledger = recorded(accelerator, program, tb.Transfers.AUTO)
    assert ledger.bytes_up + ledger.bytes_down <= ledger.optimal.buffer.nbytes, story(ledger)
    assert ledger.ratio <= 1.0, story(ledger)


@programs_that_need_less_than_whole_buffers
def test_no_more_than_the_ranges_that_are_needed_moves(
    accelerator: Accelerator, program: Program[Any]
) -> None:
    ledger = recorded(accelerator, program, tb.Transfers.AUTO)
    least = ledger.optimal.range
    assert Bytes(least.bytes_up, least.bytes_down) == program.moved, story(ledger)
    assert ledger.bytes_down == least.bytes_down, story(ledger)
    assert ledger.bytes_up <= least.bytes_up + program.beside, story(ledger)


@every_program
def test_always_copies_every_argument_of_every_dispatch(
    accelerator: Accelerator, program: Program[Any]
) -> None:
    ledger = recorded(accelerator, program, tb.Transfers.ALWAYS)
    assert copies(ledger) == program.naive, story(ledger)


@programs_of_the_documents
def test_a_plan_alone_moves_no_more(accelerator: Accelerator, program: Program[Any]) -> None:
    ledger = recorded(accelerator, program, tb.Transfers.PLANNED)
    assert copies(ledger) == program.minimal, story(ledger)
