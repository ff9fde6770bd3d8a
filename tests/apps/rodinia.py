"""The programs of Rodinia in small: the kernels are those of `examples/rodinia_suite`."""

from typing import TypeVar

from rodinia_suite.backprop import backprop
from rodinia_suite.bfs import bfs
from rodinia_suite.hotspot import hotspot
from rodinia_suite.lud import lud
from rodinia_suite.nw import nw
from rodinia_suite.pathfinder import AT_ONCE, pathfinder
from rodinia_suite.srad import srad
from rodinia_suite.workload import Workload
from tests.apps.program import Bytes, Copies, Program

B = TypeVar("B")


def known(
    work: Workload[B], structure: str, minimal: Copies, naive: int, moved: Bytes | None = None
) -> Program[B]:
    """A workload whose transfers are known; the naive ones are as many up as down."""
    return Program(
        work.name,
        structure,
        work.make,
        work.run,
        work.reference,
        minimal,
        naive=Copies(naive, naive),
        moved=moved,
        tolerance=work.tolerance,
    )


_SEARCH = bfs(nodes=40, most_edges=3)
_LEVELS = int(_SEARCH.reference()[0])

BFS = known(
    _SEARCH,
    "K×{H W stop; k1 R nodes, edges, mask, vis, cost, w mask, upd, cost; "
    "k2 R upd, w mask, vis, upd, stop; H R stop}; H R cost",
    minimal=Copies(6 + _LEVELS, _LEVELS + 1),
    naive=10 * _LEVELS,
)

HOTSPOT = known(
    hotspot(rows=9, columns=13, steps=5),
    "T×{k R src, power W dst; swap}; H R last",
    minimal=Copies(2, 1),
    naive=3 * 5,
)

SRAD = known(
    srad(rows=10, columns=12, steps=4, region=(slice(2, 6), slice(3, 8))),
    "T×{H R J[region]; k1 R J W 5; k2 R all W J}; H R J",
    minimal=Copies(1, 4),
    naive=12 * 4,
    moved=Bytes(4 * 10 * 12, 3 * (4 * 4 * 5) + 4 * 10 * 12),
)

NW = known(
    nw(blocks=3),
    "L wavefront launches, each R ref, w items; H R items",
    minimal=Copies(2, 1),
    naive=2 * (2 * 3 - 1),
)

BACKPROP = known(
    backprop(inputs=48),
    "k R w W wtmp; k R input, wtmp W psum, w wtmp; H R psum W hdelta; "
    "k R hdelta, input RW w, pw; H R w",
    minimal=Copies(4, 2),
    naive=9,
)

LUD = known(
    lud(blocks=3),
    "3(N/16−1)+1 launches, all RW m; H R m",
    minimal=Copies(1, 1),
    naive=3 * (3 - 1) + 1,
)

PATHFINDER = known(
    pathfinder(rows=4 * AT_ONCE + 1, columns=110),
    "L×{k R wall rows, src W dst; swap}; H R last",
    minimal=Copies(2, 1),
    naive=3 * 4,
)
