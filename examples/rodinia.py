"""Programs of the Rodinia suite at sizes as they are measured: what they take and what they copy.

Graphs, heat, speckles, sequences, a neural network, LU and a path down a wall: each runs once as
it is, and is compared with NumPy; and once with every access written down, from which follows how
few bytes would have done. The ratio is to the least in whole buffers: where the host reads a part
and only that part moves, it is below 1.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rodinia_suite.backprop import backprop
from rodinia_suite.bfs import bfs
from rodinia_suite.hotspot import hotspot
from rodinia_suite.lud import lud
from rodinia_suite.nw import nw
from rodinia_suite.pathfinder import pathfinder
from rodinia_suite.srad import srad
from rodinia_suite.workload import Workload
from terminal.bars import watched

from trilby import Accelerator, Ledger

PROGRAMS: dict[str, Callable[[], Workload[Any]]] = {
    "backprop": backprop,
    "bfs": bfs,
    "hotspot": hotspot,
    "lud": lud,
    "nw": nw,
    "pathfinder": pathfinder,
    "srad": srad,
}

SMALL: dict[str, Callable[[], Workload[Any]]] = {
    "backprop": lambda: backprop(32),
    "bfs": lambda: bfs(50, 3),
    "hotspot": lambda: hotspot(8, 12, 3),
    "lud": lambda: lud(2),
    "nw": lambda: nw(2),
    "pathfinder": lambda: pathfinder(9, 60),
    "srad": lambda: srad(10, 12, 2, (slice(2, 6), slice(3, 8))),
}
"""The same for a device that is slow."""


class Measured(NamedTuple):
    """One program: how large it was, how long it took with compiling, and what it copied."""

    name: str
    size: str
    seconds: float
    ledger: Ledger


def measure(accelerator: Accelerator, work: Workload[Any]) -> Measured:
    """Run a program, compare it, and run it again to write down what it copies."""
    buffers = work.make(accelerator)
    started = time.perf_counter()
    found = work.run(accelerator, buffers)
    seconds = time.perf_counter() - started
    for computed, expected in zip(found, work.reference(), strict=True):
        allowed = work.tolerance * float(np.abs(expected).max())
        np.testing.assert_allclose(computed, expected, rtol=0, atol=allowed, err_msg=work.name)
    again = work.make(accelerator)
    with accelerator.record() as ledger:
        work.run(accelerator, again)
    return Measured(work.name, work.size, seconds, ledger)


def table(rows: list[Measured]) -> str:
    """Copies and bytes of each program, and the ratio to the least that it had to move."""
    lines = [_line("program", "size", "seconds", "up", "down", "bytes up", "bytes down", "ratio")]
    for name, size, seconds, ledger in rows:
        copies = f"{len(ledger.uploads)}", f"{len(ledger.downloads)}"
        moved = f"{ledger.bytes_up:,}", f"{ledger.bytes_down:,}"
        lines.append(_line(name, size, f"{seconds:.2f}", *copies, *moved, f"{ledger.ratio:.2f}"))
    return "\n".join(lines)


def _line(name: str, size: str, *cells: str) -> str:
    widths = (8, 4, 5, 12, 12, 6)
    return f"{name:<11}{size:<34}" + " ".join(map(str.rjust, cells, widths))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(PROGRAMS)}; by default all"
    )
    parser.add_argument("--small", action="store_true", help="for a device that is slow")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program is called {unknown[0]}: there are {', '.join(PROGRAMS)}")
    programs = SMALL if options.small else PROGRAMS
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    chosen = options.names or list(PROGRAMS)
    rows = [measure(accelerator, programs[name]()) for name in watched(chosen, "programs")]
    print(f"on {accelerator.device.name}; every result is NumPy's\n")
    print(table(rows))
    if len(rows) == 1:
        print(f"\n{rows[0].ledger}")


if __name__ == "__main__":
    main()
