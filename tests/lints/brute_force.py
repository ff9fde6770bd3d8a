"""A judge that needs no solver: all work items of small launches are run, all pairs looked at."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, product

from trilby.backend.interpreter.item_recording import Recorded, record
from trilby.backend.interpreter.kernel_arguments import bind
from trilby.data.ndrange import NDRange
from trilby.linting.decide.confirm import Examples
from trilby.linting.decide.question import Example
from trilby.linting.dispatches import LaunchFacts
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel


def meets(kernel: Kernel[...], size: int, length: int, scalars: Mapping[str, int]) -> set[str]:
    """The races between work items of one launch of a kernel without atomics and barriers."""
    graph = analyse_kernel(kernel).graph
    numbers = {param.hint: number for number, param in enumerate(graph.entry.params)}
    items = tuple((x, 0, 0) for x in range(size))
    given: dict[object, int] = {numbers[name]: value for name, value in scalars.items()}
    example = Example(NDRange(size), items, (), {(numbers["a"], "length"): length}, given)
    examples = Examples(graph, LaunchFacts(("x",)))
    arguments = bind(graph.entry, list(examples.arguments(example, 0)))
    recording = record(examples.program, example.range, (1,), arguments, frozenset(items))
    assert not recording.failures
    touched: dict[tuple[int, int], set[Recorded]] = defaultdict(set)
    for access in recording.accesses:
        touched[access.memory, access.start].add(access)
    return set(_races(touched))


def _races(touched: Mapping[tuple[int, int], set[Recorded]]) -> Iterator[str]:
    for accesses in touched.values():
        for one, other in combinations(accesses, 2):
            if one.item != other.item and (one.writes or other.writes):
                both = one.writes and other.writes
                yield "race-write-write" if both else "race-read-write"


def meets_in_some_launch(kernel: Kernel[...]) -> set[str]:
    """The races in small launches with small numbers."""
    launches = product((3, 7, 12, 17), (1, 3, 5))
    return {race for size, n in launches for race in meets(kernel, size, 40, {"n": n})}
