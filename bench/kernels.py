"""Kernels beside their peers: Numba, Taichi, C with OpenMP, and Trilby's own devices, in one run.

    python bench/kernels.py                          all of it, some minutes
    python bench/kernels.py --kernels saxpy life --peers native gcc
    python bench/kernels.py --quick --json           small, for a look at whether it works

Each result is checked against NumPy before anything is timed. Then all peers take turns, each
other turn backwards, and each runs twice in its turn, of which the second is timed: so its threads
are awake and its data is where it left it. The table has the shortest and the median time, in
milliseconds, and the shortest as a multiple of the shortest of all. `pip install trilby[bench]`
brings the peers; those that are absent are left out by name.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin would disturb the others
sys.path.insert(0, str(Path(__file__).parent))

from peers.peer import Argument, Launch, PeerAbsentError
from peers.problems import PROBLEMS, Problem
from rich.console import Console
from rich.table import Table

SECONDS = 4.0
LEAST_TURNS = 7
QUICK_TURNS = 3


class AnyPeer(Protocol):
    """What a peer has, whoever it is."""

    @property
    def name(self) -> str:
        """How the table calls it."""
        ...

    @property
    def functions(self) -> Mapping[str, object]:
        """The problems that it can run."""
        ...

    def launch(
        self, problem: str, arguments: tuple[Argument, ...], written: tuple[int, ...], /
    ) -> Launch:
        """Make a problem ready."""
        ...


def _trilby(device: str) -> AnyPeer:
    from peers.trilby_peer import TrilbyPeer  # noqa: PLC0415 -- each where it is asked for

    from trilby import Accelerator  # noqa: PLC0415
    from trilby.errors import DeviceUnavailableError  # noqa: PLC0415

    try:
        return TrilbyPeer(f"trilby {device}", Accelerator(device))
    except DeviceUnavailableError as error:
        raise PeerAbsentError(str(error)) from error


def _numba(*, fast: bool) -> AnyPeer:
    from peers import numba_peer  # noqa: PLC0415

    return numba_peer.peer(fast=fast)


def _taichi() -> AnyPeer:
    from peers import taichi_peer  # noqa: PLC0415

    return taichi_peer.peer()


def _gcc(option: str) -> AnyPeer:
    from peers import c_peer  # noqa: PLC0415

    return c_peer.peer(option)


PEERS: Mapping[str, Callable[[], AnyPeer]] = {
    "native": lambda: _trilby("native"),
    "opencl": lambda: _trilby("opencl"),
    "numba": lambda: _numba(fast=False),
    "numba-fast": lambda: _numba(fast=True),
    "taichi": _taichi,
    "gcc": lambda: _gcc("-O3"),
    "gcc-fast": lambda: _gcc("-Ofast"),
}


@dataclass(frozen=True)
class Measured:
    """The times of a peer in seconds, or why there are none."""

    times: tuple[float, ...] = ()
    failure: str = ""

    @property
    def shortest(self) -> float:
        """The least that it took."""
        return min(self.times, default=float("inf"))

    def as_json(self, fastest: float) -> dict[str, float | str]:
        """Milliseconds, and the multiple of the fastest."""
        if not self.times:
            return {"failure": self.failure}
        return {
            "min_ms": round(self.shortest * 1e3, 4),
            "median_ms": round(statistics.median(self.times) * 1e3, 4),
            "ratio": round(self.shortest / fastest, 3),
        }


def found_peers(names: list[str]) -> tuple[list[AnyPeer], list[str]]:
    """The peers that are there, and a line for each that is not."""
    there: list[AnyPeer] = []
    absent: list[str] = []
    for name in names:
        try:
            there.append(PEERS[name]())
        except PeerAbsentError as error:
            absent.append(f"{name} is left out: {error}")
    return there, absent


def measure(name: str, peers: list[AnyPeer], *, quick: bool) -> dict[str, Measured]:
    """The times of one kernel by all peers that have it."""
    problem = PROBLEMS[name]
    arguments = problem.arguments(quick)
    expected = problem.expected(*arguments)
    found: dict[str, Measured] = {}
    launches: list[tuple[Launch, list[float]]] = []
    spent: dict[str, list[float]] = {}
    for peer in peers:
        if name not in peer.functions:
            found[peer.name] = Measured(failure="–")
            continue
        launch = peer.launch(name, arguments, problem.written)
        launch.run()
        failure = problem.check(launch.result(), expected)
        if failure:
            found[peer.name] = Measured(failure=failure)
        else:
            launches.append((launch, spent.setdefault(peer.name, [])))
    _take_turns(launches, quick=quick)
    return found | {peer: Measured(tuple(times)) for peer, times in spent.items()}


def _take_turns(launches: list[tuple[Launch, list[float]]], *, quick: bool) -> None:
    begun = time.perf_counter()
    turns = 0
    while turns < (QUICK_TURNS if quick else LEAST_TURNS) or (
        not quick and time.perf_counter() - begun < SECONDS
    ):
        for launch, times in launches if turns % 2 else launches[::-1]:
            launch.run()
            started = time.perf_counter()
            launch.run()
            times.append(time.perf_counter() - started)
        turns += 1


def shown(problem: Problem, rows: dict[str, Measured], peers: list[AnyPeer]) -> list[str]:
    """One row of the table."""
    fastest = min(measured.shortest for measured in rows.values())
    cells = [problem.title]
    for peer in peers:
        measured = rows[peer.name]
        if not measured.times:
            cells.append(measured.failure)
            continue
        ratio = measured.shortest / fastest
        median = statistics.median(measured.times)
        text = f"{measured.shortest * 1e3:.2f} ({median * 1e3:.2f}) {ratio:.2f}×"
        cells.append(f"[bold]{text}[/bold]" if ratio <= 1.05 else text)
    return cells


def main() -> None:
    """Measure what was asked for, and show it."""
    parser = argparse.ArgumentParser(description="Kernels beside their peers.")
    parser.add_argument("--kernels", nargs="+", choices=[*PROBLEMS], default=[*PROBLEMS])
    parser.add_argument("--peers", nargs="+", choices=[*PEERS], default=[*PEERS])
    parser.add_argument("--quick", action="store_true", help="small sizes, few turns")
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    options = parser.parse_args()
    console = Console(stderr=options.json)
    peers, absent = found_peers(options.peers)
    for line in absent:
        console.print(line, highlight=False)
    rows: dict[str, dict[str, Measured]] = {}
    for name in options.kernels:
        console.print(f"{PROBLEMS[name].title} …", style="dim", highlight=False)
        rows[name] = measure(name, peers, quick=options.quick)
    if options.json:
        found = {
            name: {
                peer: measured.as_json(min(m.shortest for m in row.values()))
                for peer, measured in row.items()
            }
            for name, row in rows.items()
        }
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    table = Table(title="shortest (median) in ms, and the multiple of the fastest")
    table.add_column("kernel")
    for peer in peers:
        table.add_column(peer.name, justify="right")
    for name, row in rows.items():
        table.add_row(*shown(PROBLEMS[name], row, peers))
    console.print(table)


if __name__ == "__main__":
    main()
