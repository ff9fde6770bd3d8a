"""Transforms, the record of them, and the transforms of each strategy and language."""

from dataclasses import replace

import pytest
from tests.reflect import host_samples as samples
from tests.transform.golden_tracking import aliased, mandel

from trilby.codegen.python import to_python
from trilby.errors import ModelError
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func
from trilby.model.ops.control import Break
from trilby.model.ops.host import HostRun
from trilby.model.rewrite import transform
from trilby.model.text import to_text
from trilby.options import Transfers
from trilby.reflect.host_functions import reflect_compute
from trilby.runtime.compile import analyse_compute
from trilby.transform.pipelines import (
    TransformStep,
    changed_lines,
    compute_transforms,
    run_transforms,
)


@transform("compute")
def begun(func: Func) -> Func:
    first = HostRun(HostCode("start()"), (), ())
    return replace(func, body=Block((first, *func.body.ops)))


@transform("compute")
def nothing(func: Func) -> Func:
    return func


@transform("compute")
def broken(func: Func) -> Func:
    return replace(func, body=Block((Break(),)))


FUNC = reflect_compute(samples.square_all).func


def test_each_step_is_kept() -> None:
    done = run_transforms([FUNC], [begun, nothing, begun])
    assert done.original == (FUNC,)
    assert [step.name for step in done.steps] == ["begun", "nothing", "begun"]
    assert [step.changed for step in done.steps] == [True, False, True]
    assert [step.before for step in done.steps[1:]] == [s.after for s in done.steps[:-1]]
    assert (done.func,) == done.steps[-1].after
    assert len(done.func.body.ops) == len(FUNC.body.ops) + 2


def test_without_transforms_nothing_changes() -> None:
    assert run_transforms([FUNC], []).func is FUNC


def test_what_a_transform_breaks_is_found_at_once() -> None:
    with pytest.raises(ModelError, match="there is no loop around it"):
        run_transforms([FUNC], [broken, nothing])


def test_a_listing_marks_what_is_new() -> None:
    lines = str(run_transforms([FUNC], [begun, nothing])).splitlines()
    text = to_text(FUNC).splitlines()
    assert lines[: len(text) + 3] == ["BEFORE", *text, "", "AFTER begun"]
    after = lines[len(text) + 3 : -3]
    assert after == [text[0], '+ host.run @"start()" @() @()', *text[1:]]
    assert lines[-3:] == ["", "AFTER nothing", "no change"]


def test_a_listing_shows_what_is_gone() -> None:
    def shorter(func: Func) -> Func:
        return replace(func, body=Block(func.body.ops[:-1]))

    step = TransformStep("shorter", (FUNC,), (shorter(FUNC),))
    gone = [line for line in changed_lines(step) if line.startswith("-")]
    assert gone == [f'- dispatch %4 %6 %7 @"{samples.square_kernel.symbol}"']


def test_values_keep_their_numbers() -> None:
    closure = analyse_compute(mandel).closure
    done = run_transforms([closure.graph.entry], compute_transforms(Transfers.TRACKED, closure))
    kept = [line for line in changed_lines(done.steps[0]) if line[0] != "+"]
    assert kept == to_text(*done.original).splitlines()


@pytest.mark.parametrize("strategy", [Transfers.ALWAYS, Transfers.BY_ACCESS])
def test_copies_around_every_dispatch_need_no_transform(strategy: Transfers) -> None:
    assert compute_transforms(strategy, analyse_compute(mandel).closure) == ()


TRACKING = ["pre_access", "post_access", "pre_mutate", "post_mutate"]


@pytest.mark.parametrize(
    ("strategy", "name", "calls"),
    [
        (Transfers.TRACKED, "inject_tracking", TRACKING),
        (Transfers.PLANNED, "place_transfers", ["to_device", "to_host"]),
        (Transfers.AUTO, "place_certain_transfers", []),
    ],
)
def test_the_others_have_one(strategy: Transfers, name: str, calls: list[str]) -> None:
    closure = analyse_compute(aliased).closure
    transforms = compute_transforms(strategy, closure)
    assert [one.name for one in transforms] == [name]
    text = to_python(run_transforms([closure.graph.entry], transforms).func)
    known = [*TRACKING, "to_device", "to_host"]
    assert [call for call in known if f"cc.{call}(" in text] == calls


def test_nothing_is_brought_early_to_a_device_that_shares_memory() -> None:
    closure = analyse_compute(aliased).closure
    assert compute_transforms(Transfers.AUTO, closure, shares=True) == ()
