"""Named passes over models, and a record of what each of them did.

A pass is a pure function from a model to a model. What it made is checked at once, so that a
fault is found where it arises.

```
passed = run_passes(func, [Pass("inject_tracking", inject_tracking)])
print(to_text(passed.func, like=func))
```
"""

from collections.abc import Callable, Iterable

from trilby.dataclass import dataclass
from trilby.model.op import Func
from trilby.shown import Shown


@dataclass(frozen=True, slots=True)
class Pass:
    """A change of models under a name."""

    name: str
    change: Callable[[Func], Func]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What one pass made of a model."""

    name: str
    before: Func
    after: Func

    @property
    def changed(self) -> bool:
        """False where the pass had nothing to do."""
        return self.after is not self.before


@dataclass(frozen=True, slots=True, eq=False)
class Passed(Shown):
    """A model behind all its passes, and the way to it."""

    original: Func
    steps: tuple[Step, ...]

    @property
    def func(self) -> Func:
        """The model in its last form."""
        return self.steps[-1].after if self.steps else self.original


def run_passes(func: Func, passes: Iterable[Pass]) -> Passed:
    """Send a model through passes, one after the other."""
    steps: list[Step] = []
    for one in passes:
        before = steps[-1].after if steps else func
        after = one.change(before)
        if after is not before:
            _verify(after)
        steps.append(Step(one.name, before, after))
    return Passed(func, tuple(steps))


def _verify(func: Func) -> None:
    from trilby.model.verify import verify  # noqa: PLC0415 -- most models stay as they are

    verify(func)
