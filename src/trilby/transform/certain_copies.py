"""Of a plan the copies that surely serve a use: those that may start early, whatever happens.

Nothing else of the plan is kept. Flags are not needed, because a copy of what is current does
nothing; what is not certain is copied when it is used. One bet is taken: a buffer that the host
looks into in the last turn of a loop is fetched as a whole there, because whoever looks into a
result will look at all of it. Lost, it costs no more than a copy of the whole for that look.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trilby.analysis.alias import Text
from trilby.analysis.transfer_plan import Action, Copy, Flag, TransferPlan, When
from trilby.model.op import Op


def certain_copies(plan: TransferPlan) -> TransferPlan:
    """A plan of nothing but certain copies."""
    before, after = _kept(plan.before), _kept(plan.after)
    at_end = tuple(_certain(plan.at_end))
    return replace(plan, before=before, after=after, at_end=at_end, flags=())


def _kept(actions: Mapping[Op, tuple[Action, ...]]) -> dict[Op, tuple[Action, ...]]:
    kept = {op: tuple(_certain(some)) for op, some in actions.items()}
    return {op: some for op, some in kept.items() if some}


def _certain(actions: Iterable[Action]) -> Iterator[Action]:
    for action in actions:
        match action:
            case Copy(certain=True):
                yield action
            case When(
                condition=Text(),
                then=(Copy("host", path="") as whole, *_),
                otherwise=(Copy("host", certain=True) as part,),
            ) if part.path:
                yield replace(action, then=(whole,))
            case When(condition=Flag(), otherwise=(Copy(certain=True) as part,)):
                yield part
            case When(condition=Flag(), then=then, otherwise=()):
                yield from _certain(then)
            case When(then=then, otherwise=otherwise) if not isinstance(action.condition, Flag):
                kept = replace(
                    action, then=tuple(_certain(then)), otherwise=tuple(_certain(otherwise))
                )
                if kept.then or kept.otherwise:
                    yield kept
            case _:
                continue
