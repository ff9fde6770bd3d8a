"""Pipelines: the named transforms that models go through, and a record of what each did.

A transform is a pure function from a model to a model. What it made is verified at once, so that a
fault is found where it arises.

```
done = run_transforms([func], [Transform("inject_tracking", inject_tracking, ("compute",))])
print(to_text(done.func, like=func))
```

Transforms of users come first, on models as they were reflected, and before every analysis. Then
compute functions go through the transforms of a transfer strategy, and kernels through those that
the language of a device wants.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import partial
from typing import cast

from trilby.analysis.closure import ComputeClosure
from trilby.analysis.reach import KernelGraph, kernel_graph
from trilby.analysis.transfers.overlap import can_overlap
from trilby.dataclass import dataclass
from trilby.errors import ModelError, TrilbyError
from trilby.model.op import Func
from trilby.model.rewrite import Transform
from trilby.model.text import to_text
from trilby.options import Transfers
from trilby.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class TransformStep:
    """What one transform made of some functions, callees before callers.

    `TransformStep("inline_calls", (square, square_kernel), (other_square_kernel,))`
    """

    name: str
    before: tuple[Func, ...]
    after: tuple[Func, ...]

    @property
    def changed(self) -> bool:
        """False where the transform had nothing to do."""
        return self.after != self.before


@dataclass(frozen=True, slots=True, eq=False)
class Transformed(Shown):
    """Functions before their transforms, and each step from there.

    A compute function is alone. A kernel stands behind the device functions that it reaches:
    `Transformed((square, square_kernel), (inlining,)).functions` is `(square_kernel,)`.
    """

    original: tuple[Func, ...]
    steps: tuple[TransformStep, ...] = ()

    @property
    def functions(self) -> tuple[Func, ...]:
        """The functions in their last form."""
        return self.steps[-1].after if self.steps else self.original

    @property
    def func(self) -> Func:
        """The compute function, or the kernel, in its last form."""
        return self.functions[-1]

    def then(self, transforms: Iterable[Transform]) -> "Transformed":
        """The same, with more transforms."""
        steps = list(self.steps)
        for one in transforms:
            before = steps[-1].after if steps else self.original
            steps.append(TransformStep(one.name, before, _applied(one, before)))
        return Transformed(self.original, tuple(steps))

    def __str__(self) -> str:
        """The functions before all transforms, and after each."""
        before = "\n".join(map(to_text, self.original))
        sections = [f"BEFORE\n{before}"]
        for step in self.steps:
            made = "\n".join(changed_lines(step)) if step.changed else "no change"
            sections.append(f"AFTER {step.name}\n{made}")
        return "\n\n".join(sections)


def run_transforms(functions: Iterable[Func], transforms: Iterable[Transform]) -> Transformed:
    """Send functions through transforms, one after the other; those no longer called are left out.

    Callees come before callers. A fault raises a `ModelError` that names the transform.
    """
    return Transformed(tuple(functions)).then(transforms)


def _applied(transform: Transform, before: tuple[Func, ...]) -> tuple[Func, ...]:
    known = {func.name: func for func in before}

    def change(symbol: str) -> Func:
        if symbol not in known:
            raise ModelError(
                f"`{symbol}` is called, and nothing that was reached has this name",
                advice="call device functions that the kernel reaches already",
            )
        return _changed(transform, known[symbol])

    try:
        entry = change(before[-1].name)
        functions = kernel_graph(entry, change).functions if len(before) > 1 else (entry,)
        by_name = {func.name: func for func in functions}
        for func in functions:
            if func is not known[func.name]:
                from trilby.model.verify import verify  # noqa: PLC0415 -- most stay as they are

                verify(func, by_name)
    except ModelError as error:
        error.problem = f"the transform `{transform.name}` is at fault: {error.problem}"
        raise
    return before if functions == before else functions


def _changed(transform: Transform, func: Func) -> Func:
    try:
        after = cast("object", transform(func))
    except (TrilbyError, RecursionError):
        raise
    except Exception as error:
        raise ModelError(
            f"it cannot change `{func.name}`: {type(error).__name__}: {error}",
            advice="`to_text` shows the model that it was given",
        ) from error
    made = f"an object of the class `{type(after).__name__}`"
    if isinstance(after, Func):
        signature = func.name, func.kind, func.result, func.params
        if signature == (after.name, after.kind, after.result, after.params):
            return after
        made = "a function with another name, kind or parameters"
    raise ModelError(
        f"it made {made} of `{func.name}`",
        advice="return a function with the same name, kind and parameters: only its body may "
        "change",
    )


# ---------------------------------------------------------------------------------------- pipelines
# Which transforms a compute function goes through, for each strategy of moving data, and a kernel,
# for each language.
#
# What a pipeline needs is loaded when it is used: a plan takes a quarter of all of Trilby's code.

COMPUTE_TRANSFORMS: Mapping[str, Transfers] = {
    "inject_tracking": Transfers.TRACKED,
    "place_transfers": Transfers.PLANNED,
    "place_certain_transfers": Transfers.AUTO,
}
"""Every transform of compute functions, with the strategy that it belongs to."""


def compute_transforms(
    strategy: Transfers, closure: ComputeClosure, *, shares: bool = False
) -> tuple[Transform, ...]:
    """The transforms for the compute functions of a closure, as they were reflected.

    `ALWAYS` and `BY_ACCESS` have none: their copies stand around every dispatch. Nor does `AUTO`
    place any where a device shares the memory of the host: there is nothing to bring early.
    """
    match strategy:
        case Transfers.ALWAYS | Transfers.BY_ACCESS:
            return ()
        case Transfers.TRACKED:
            return (_tracking(closure),)
        case Transfers.PLANNED:
            return (_placing(closure, "place_transfers", ahead=False),)
        case Transfers.AUTO:
            if shares:
                return ()
            return (_placing(closure, "place_certain_transfers", ahead=True),)


def _tracking(closure: ComputeClosure) -> Transform:
    from trilby.transform.inject_tracking import inject_tracking  # noqa: PLC0415 -- see above

    kernels = {symbol: kernel.entry for symbol, kernel in closure.graph.kernels.items()}
    return Transform("inject_tracking", partial(inject_tracking, kernels=kernels), ("compute",))


def _placing(closure: ComputeClosure, name: str, *, ahead: bool) -> Transform:
    """Copies of a plan for the whole closure; a plan belongs to a model that nobody changed yet.

    With `ahead` there is none where no copy could overlap with other work.
    """
    if ahead and not can_overlap(closure):
        return Transform(name, lambda func: func, ("compute",))
    from trilby.transform.place_transfers import place_transfers  # noqa: PLC0415 -- see above

    placed = {func.name: func for func in place_transfers(closure, ahead=ahead)}
    return Transform(name, lambda func: placed[func.name], ("compute",))


KERNEL_TRANSFORMS = ("inline_calls", "forward_variables")
"""Every transform of kernels; the generator of a language names those that it wants."""


def lower_kernel(kernel: Transformed, names: Iterable[str]) -> Transformed:
    """Send a kernel through the transforms that a language wants.

    `lower_kernel(Transformed(graph.functions), ["inline_calls"]).functions` is for its generator.
    """
    from trilby.transform.forward_variables import forward_variables  # noqa: PLC0415 -- see above
    from trilby.transform.inline_calls import inline_calls  # noqa: PLC0415 -- see above

    for name in names:
        is_inlining = name == "inline_calls"
        change = inline_calls(KernelGraph(kernel.functions)) if is_inlining else forward_variables
        kernel = kernel.then([Transform(name, change, ("kernel", "func"))])
    return kernel


# ------------------------------------------------------------------------------------------ listing
# Models before a transform and behind it, so that a reader sees what was put in.
#
# Values keep their numbers, and a `+` in the margin marks every line that is new, a `-` one that
# is no more. A `!` marks an access of a buffer, as in any text of a model.


def changed_lines(step: TransformStep) -> Iterator[str]:
    """The lines of the functions, marked where they differ from those that they had before."""
    after = {func.name: func for func in step.after}
    for func in step.before:
        yield from _changed_function(func, after.get(func.name))


def _changed_function(before: Func, after: Func | None) -> Iterator[str]:
    old = to_text(before).splitlines()
    new = to_text(after, like=before).splitlines() if after else []
    for kind, old_start, old_end, start, end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield from new[start:end]
        else:
            yield from (_marked("-", line) for line in old[old_start:old_end])
            yield from (_marked("+", line) for line in new[start:end])


def _marked(mark: str, line: str) -> str:
    """A line with a mark in its margin; the first and the last of a function have none."""
    return f"{mark}{line[1:]}" if line.startswith((" ", "!", "+")) else f"{mark} {line}"
