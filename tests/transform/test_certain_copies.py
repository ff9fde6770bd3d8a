"""What is left of a plan when nothing may be copied in vain."""

import pytest

from trilby.analysis.alias import PlainExpression
from trilby.analysis.transfer_plan import (
    Action,
    NewerFlag,
    Owe,
    PlannedCopy,
    SetFlag,
    TransferPlan,
    When,
)
from trilby.model.op import Block, Func
from trilby.model.ops.core import Return
from trilby.model.value import NONE
from trilby.transform.place_transfers import certain_copies

A = PlainExpression("a", ("a",))
SURE = PlannedCopy("device", A, certain=True)
PERHAPS = PlannedCopy("host", A)
ELEMENT = PlannedCopy("host", A, "array[]", (A,), certain=True)
WHOLE = PlannedCopy("host", A, certain=True)
FLAG = NewerFlag("a_is_newer_on_host", at_first=True)
TEST = PlainExpression("n > 0", ("n",))
LAST = PlainExpression("i + 1 == n", ("i", "n"))

CASES: dict[str, tuple[Action, tuple[Action, ...]]] = {
    "a certain copy": (SURE, (SURE,)),
    "one that may be in vain": (PERHAPS, ()),
    "what is owed": (Owe(A), ()),
    "a flag": (SetFlag(FLAG, value=True), ()),
    "under a flag": (When(FLAG, (SURE, SetFlag(FLAG, value=False))), (SURE,)),
    "either of two under a flag": (When(FLAG, (SURE,), (ELEMENT,)), (ELEMENT,)),
    "under a condition": (When(TEST, (SURE, PERHAPS)), (When(TEST, (SURE,)),)),
    "nothing certain under a condition": (When(TEST, (PERHAPS,), (Owe(A),)), ()),
    "deep inside": (When(TEST, (When(FLAG, (SURE,)),)), (When(TEST, (SURE,)),)),
    "all of it in the last turn": (
        When(LAST, (WHOLE, SetFlag(FLAG, value=False)), (ELEMENT,)),
        (When(LAST, (WHOLE,), (ELEMENT,)),),
    ),
}


@pytest.mark.parametrize(("action", "kept"), CASES.values(), ids=list(CASES))
def test_what_is_kept(action: Action, kept: tuple[Action, ...]) -> None:
    end = Return()
    func = Func("f", (), NONE, Block((end,)), "compute")
    plan = TransferPlan(func, {end: (action,)}, {end: (action,)}, (action,), (FLAG,))
    found = certain_copies(plan)
    wanted = {end: kept} if kept else {}
    assert (found.func, found.before, found.after) == (func, wanted, wanted)
    assert (found.at_end, found.flags) == (kept, ())
