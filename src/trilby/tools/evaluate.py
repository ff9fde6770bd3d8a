"""Running an expression among the names of the user's file, and watching what it moves."""

import sys
from collections.abc import Sequence

from trilby.errors import SourceError
from trilby.options import Options, default_options
from trilby.reflect.functions import Reflectable
from trilby.runtime.accelerator import Accelerator
from trilby.runtime.tracing import TracedRun
from trilby.tools.run import watching_accelerators


def run_expression(function: Reflectable, expression: str, options: Options) -> Sequence[TracedRun]:
    """Evaluate `main(accelerator)` or the like; gives what was traced on each accelerator used.

    The names are those of the file of the function; `accelerator` is one that copies as a card
    with its own memory does, unless the file has that name itself.
    """
    names = dict(vars(sys.modules[function.function.__module__]))
    with default_options(options), watching_accelerators() as runs:
        names.setdefault("accelerator", Accelerator(memory=options.memory or "discrete"))
        try:
            eval(expression, names)  # noqa: S307 -- it is the user's own, from the command line
        except Exception as error:
            raise SourceError(
                f"`{expression}` fails: {type(error).__name__}: {error}",
                advice="it is run among the names of the file, and `accelerator`",
            ) from error
    used = [run for run in runs if run.book.seen]
    return used or runs[:1]
