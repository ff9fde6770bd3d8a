"""Breadth-first search (Rodinia): two kernels for each level, and a flag that says "go on"."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, U8Array, i32

NODES = 40
MOST_EDGES = 3
SOURCE = 0


class Nodes(tb.Buffer):
    """Each node knows where its edges begin, and how many there are."""

    class Node(tb.Struct):
        start: i32
        edges: i32

    length: i32
    node: tb.Array[Node] = tb.array("length")


class Graph(NamedTuple):
    nodes: Nodes
    edges: S32Array
    mask: U8Array
    updating: U8Array
    visited: U8Array
    cost: S32Array
    more: U8Array


@tb.kernel
def visit(
    kc: KernelContext,
    nodes: Nodes,
    edges: S32Array,
    mask: U8Array,
    updating: U8Array,
    visited: U8Array,
    cost: S32Array,
) -> None:
    """Give a cost to the neighbours of all nodes in the mask."""
    if mask.array[kc.x] == 1:
        mask.array[kc.x] = 0
        node = nodes.node[kc.x]
        for e in range(node.start, node.start + node.edges):
            neighbour = edges.array[e]
            if visited.array[neighbour] == 0:
                cost.array[neighbour] = cost.array[kc.x] + 1
                updating.array[neighbour] = 1


@tb.kernel
def advance(
    kc: KernelContext, mask: U8Array, updating: U8Array, visited: U8Array, more: U8Array
) -> None:
    """The nodes that were reached are the next mask."""
    if updating.array[kc.x] == 1:
        mask.array[kc.x] = 1
        visited.array[kc.x] = 1
        more.array[0] = 1
        updating.array[kc.x] = 0


@tb.compute
def search(cc: ComputeContext, graph: Graph) -> int:
    nodes, edges, mask, updating, visited, cost, more = graph
    levels = 0
    go_on = True
    while go_on:
        more.array[0] = 0
        cc.dispatch(nodes.length, visit, nodes, edges, mask, updating, visited, cost)
        cc.dispatch(nodes.length, lambda kc: advance(kc, mask, updating, visited, more))
        levels += 1
        go_on = more.array[0] == 1
    return levels


def random_graph() -> tuple[Numbers, Numbers]:
    """How many edges each node has, and where they lead."""
    random = seeded(6)
    counts = random.integers(1, MOST_EDGES + 1, NODES, np.int32)
    return counts, random.integers(0, NODES, counts.sum(), np.int32)


def make(accelerator: Accelerator) -> Graph:
    counts, targets = random_graph()
    nodes = Nodes.create(accelerator, length=NODES)
    nodes.node.start[:] = np.cumsum(counts) - counts
    nodes.node.edges[:] = counts
    mask, visited = np.zeros(NODES, np.uint8), np.zeros(NODES, np.uint8)
    mask[SOURCE] = visited[SOURCE] = 1
    cost = np.full(NODES, -1, np.int32)
    cost[SOURCE] = 0
    return Graph(
        nodes,
        S32Array.of(targets),
        U8Array.of(mask),
        U8Array.of(np.zeros(NODES, np.uint8)),
        U8Array.of(visited),
        S32Array.of(cost),
        U8Array.create(accelerator, length=1),
    )


def run(accelerator: Accelerator, graph: Graph) -> Outcome:
    levels = accelerator.compute(search, graph)
    return [np.array(levels), np.asarray(graph.cost)]


def reference() -> Outcome:
    counts, targets = random_graph()
    ends = np.cumsum(counts)
    cost = np.full(NODES, -1)
    cost[SOURCE], reached, levels = 0, [SOURCE], 0
    while reached:
        levels += 1
        neighbours = {int(t) for n in reached for t in targets[ends[n] - counts[n] : ends[n]]}
        reached = sorted(n for n in neighbours if cost[n] == -1)
        cost[reached] = levels
    return [np.array(levels), cost]


LEVELS = int(reference()[0])

BFS = Program(
    "bfs",
    "K×{H W stop; k1 R nodes, edges, mask, vis, cost, w mask, upd, cost; "
    "k2 R upd, w mask, vis, upd, stop; H R stop}; H R cost",
    make,
    run,
    reference,
    minimal=Copies(6 + LEVELS, LEVELS + 1),
    naive=Copies(10 * LEVELS, 10 * LEVELS),
)
