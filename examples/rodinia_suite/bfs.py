"""Breadth-first search (Rodinia): two kernels for each level, and a flag that says "go on"."""

from typing import NamedTuple

import numpy as np
from rodinia_suite.workload import Numbers, Outcome, Workload, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, U8Array, i32

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


# Where a node leads to stands in the graph; all that meet at a node write the same.
@tb.kernel  # trilby: ignore[out-of-bounds, race-write-write, race-read-write]
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
        more.array[0] = 1  # trilby: ignore[race-write-write]
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
        go_on = more.array[0] == 1  # trilby: ignore[copy-in-loop] -- four bytes tell when to stop
    return levels


def random_graph(nodes: int, most: int) -> tuple[Numbers, Numbers]:
    """How many edges each node has, and where they lead."""
    random = seeded(6)
    counts = random.integers(1, most + 1, nodes, np.int32)
    return counts, random.integers(0, nodes, counts.sum(), np.int32)


def bfs(nodes: int = 500_000, most_edges: int = 6) -> Workload[Graph]:
    """How far each node is from the first."""
    counts, targets = random_graph(nodes, most_edges)
    starts = (np.cumsum(counts) - counts).astype(np.int32)

    def make(accelerator: Accelerator) -> Graph:
        table = Nodes.create(accelerator, length=nodes)
        table.node.start[:], table.node.edges[:] = starts, counts
        first, cost = np.zeros(nodes, np.uint8), np.full(nodes, -1, np.int32)
        first[SOURCE], cost[SOURCE] = 1, 0
        return Graph(
            table,
            S32Array.of(targets),
            U8Array.of(first),
            U8Array.of(np.zeros(nodes, np.uint8)),
            U8Array.of(first),
            S32Array.of(cost),
            U8Array.create(accelerator, length=1),
        )

    def run(accelerator: Accelerator, graph: Graph) -> Outcome:
        levels = accelerator.compute(search, graph)
        return [np.array(levels), np.asarray(graph.cost)]

    def reference() -> Outcome:
        return distances(counts, targets)

    return Workload("bfs", f"{nodes:,} nodes, {len(targets):,} edges", make, run, reference)


def distances(counts: Numbers, targets: Numbers) -> Outcome:
    """The levels, and the distance of each node: all edges from one level at once."""
    sources = np.repeat(np.arange(len(counts)), counts)
    cost = np.full(len(counts), -1)
    cost[SOURCE], levels, reached = 0, 0, True
    while reached:
        ends = targets[cost[sources] == levels]
        levels += 1
        ends = ends[cost[ends] == -1]
        cost[ends], reached = levels, len(ends) > 0
    return [np.array(levels), cost]
