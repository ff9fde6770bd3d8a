"""A model before a pass and behind it, so that a reader sees what was put in.

Values keep their numbers, and a `+` in the margin marks every line that is new, a `-` one that
is no more. A `!` marks an access of a buffer, as in any text of a model.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher

from trilby.model.op import Func
from trilby.model.text import to_text
from trilby.transform.passes import Passed


def listing(passed: Passed) -> str:
    """The model before all passes, and behind each that changed it."""
    sections = [f"BEFORE\n{to_text(passed.original)}"]
    for step in passed.steps:
        made = "\n".join(changed_lines(step.before, step.after)) if step.changed else "no change"
        sections.append(f"AFTER {step.name}\n{made}")
    return "\n\n".join(sections)


def changed_lines(before: Func, after: Func) -> Iterator[str]:
    """The lines of a model, marked where they differ from those it had before."""
    old = to_text(before).splitlines()
    new = to_text(after, like=before).splitlines()
    for kind, old_start, old_end, start, end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield from new[start:end]
        else:
            yield from (f"-{line[1:]}" for line in old[old_start:old_end])
            yield from (f"+{line[1:]}" for line in new[start:end])
