"""Which buffers the arguments of a launch may be, in all the ways that a name can come to one."""

from typing import Any

import pytest
from tests.analysis import alias_programs as programs

from trilby.analysis.alias import HostHeap, Seen, Thing, Things
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.transfers.kernel_reads import kernel_buffers
from trilby.analysis.transfers.uses_walk import UsesWalk
from trilby.data.library import F32Array, S32Array
from trilby.data.schema import BufferType
from trilby.model.op import walk
from trilby.model.ops.host import Dispatch
from trilby.model.value import OBJECT, Value, VarType
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute

S32: BufferType = S32Array.__schema__


def arguments(function: Compute[..., Any]) -> list[set[str]]:
    """What the arguments of the last launch may be: `parameter a`, `created S32Array`."""
    closure = analyse_compute(function).closure
    graph = closure.graph
    ops = HostOps.of(graph.entry)
    kernels = {
        symbol: kernel_buffers(kernel, closure.footprints[symbol].touches)
        for symbol, kernel in graph.kernels.items()
    }
    for _ in range(2):  # what functions made on the spot see may be set later
        UsesWalk(ops, kernels, {}, lambda _op, _thing: False).run()
    *_, launch = (op for op in walk(graph.entry.body) if isinstance(op, Dispatch))
    return [set(map(str, ops.seen(argument).things)) for argument in launch.args]


A, B = "parameter a", "parameter b"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (programs.plain, [{A}, {B}]),
        (programs.swapped_once, [{B}, {A}]),
        (programs.swapped_in_a_loop, [{A, B}, {A, B}]),
        (programs.chosen, [{A, B}, {B}]),
        (programs.created, [{"filled S32Array"}, {"created S32Array"}]),
        (programs.in_a_list, [{A}, {A, B}]),
        (programs.in_a_list_that_changes, [{A, B}, {A}]),
        (programs.in_an_attribute, [{"found world.grid"}, {A}]),
        (programs.put_in_an_attribute, [{A, "found world.grid"}, {A}]),
        (programs.through_a_function, [{A, "found …()"}, {B}]),
        (programs.one_way, [{A, B}, {B}]),
        (programs.walked_through, [{A, B}, {A, B}]),
        (programs.unpacked, [{"found pair.[]"}, {"found pair.[]"}]),
    ],
    ids=lambda one: one.name if isinstance(one, Compute) else "",
)
def test_arguments(function: Compute[..., Any], expected: list[set[str]]) -> None:
    assert arguments(function) == expected


def test_a_closure_sees_what_its_variable_ever_holds() -> None:
    assert {A, B} <= arguments(programs.through_a_closure)[0]


def test_a_call_may_give_what_it_was_given() -> None:
    assert A in arguments(programs.through_a_call)[0]


@pytest.mark.parametrize(
    "function",
    [
        programs.set_in_an_expression,
        programs.set_by_an_inner_function,
        programs.named_like_a_builtin,
    ],
    ids=lambda one: one.name,
)
def test_names_that_change_unseen_are_never_surely_one_buffer(function: Compute[..., Any]) -> None:
    found = arguments(function)[0]
    assert found != {A}
    assert len(found) > 1 or "found" in "".join(found)


# ------------------------------------------------------------------------------- the parts


def some_things() -> tuple[Things, dict[str, Thing]]:
    things = Things()
    made = {
        "a": things.make("a", "parameter", "a", S32),
        "b": things.make("b", "parameter", "b", S32),
        "f": things.make("f", "parameter", "f", F32Array.__schema__),
        "new": things.make("new", "created", "new", S32),
        "found": things.make("found", "found", "found", S32),
    }
    return things, made


def test_a_thing_is_made_once() -> None:
    things, made = some_things()
    assert things.make("a", "found", "other") is made["a"]


def test_parameters_of_one_type_may_be_one_buffer() -> None:
    things, made = some_things()
    assert set(things.others(made["a"])) == {made["b"], made["found"]}
    assert set(things.others(made["f"])) == set()


def test_a_new_buffer_is_no_parameter_but_may_have_been_found() -> None:
    things, made = some_things()
    assert set(things.others(made["new"])) == {made["found"]}
    assert set(things.others(made["found"])) == {made["a"], made["b"], made["new"]}


def test_two_ways_join_to_what_holds_on_either() -> None:
    _, made = some_things()
    var, half = Value(VarType(OBJECT), "x"), Value(VarType(OBJECT), "y")
    one, other = HostHeap(), HostHeap()
    one.store(var, Seen(frozenset({made["a"]})))
    one.store(half, Seen(frozenset({made["a"]})))
    other.store(var, Seen(frozenset({made["b"]})))
    assert one.join(other)
    assert one.held[var].things == {made["a"], made["b"]}
    assert one.unsure == {half}
    assert not one.join(other)


def test_what_is_inside_of_something_inside_is_reached() -> None:
    _, made = some_things()
    memory = HostHeap()
    memory.put(frozenset({made["found"]}), frozenset({made["new"]}))
    memory.put(frozenset({made["new"]}), frozenset({made["a"], made["found"]}))
    assert memory.reach(frozenset({made["found"]})) == {made["found"], made["new"], made["a"]}
