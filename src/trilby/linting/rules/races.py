"""Races: different work items touch one element, one of them writes, and nothing orders them."""

from collections.abc import Iterator

from trilby.linting.accesses import Does
from trilby.linting.findings import Finding, element_text
from trilby.linting.kernel_facts import Collision, KernelFacts, RaceKind
from trilby.linting.lint_registry import Lint, kernel_lint


@kernel_lint("race-write-write", severity="error")
def race_write_write(facts: KernelFacts) -> Iterator[Finding]:
    """Two work items write the same element, and nothing orders them.

    Which of them is last is left to chance. Within a group a barrier between the writes orders
    them; between groups nothing does. Where all write one constant the result is the same
    whoever is last: that is reported as benign, one severity lower. An index that comes out of
    data is `unknown`.

    Give every work item an element of its own, or use an atomic operation.
    """
    yield from _findings(facts, "write-write", race_write_write, "write")


@kernel_lint("race-read-write", severity="error")
def race_read_write(facts: KernelFacts) -> Iterator[Finding]:
    """One work item reads an element that another one writes, and nothing orders them.

    The reader may see the old content or the new one. Within a group, put `kc.barrier()` between
    the write and the read. Between groups there is no order: write to a second buffer, or
    dispatch a second kernel.
    """
    yield from _findings(facts, "read-write", race_read_write, "read")


@kernel_lint("race-plain-atomic", severity="error")
def race_plain_atomic(facts: KernelFacts) -> Iterator[Finding]:
    """An element is changed atomically by one work item, and read or written plainly by another.

    An atomic operation is indivisible for other atomic operations only. Use atomics for every
    access, or order the two by a barrier or a second dispatch.
    """
    yield from _findings(facts, "plain-atomic", race_plain_atomic, "atomic")


_VERBS = {"read": "reads", "write": "writes", "atomic": "changes"}
_ADVICE = {
    "write-write": "give each work item an element of its own, or use an atomic operation",
    "read-write": "put a barrier between them, or write to a second buffer",
    "plain-atomic": "use atomic operations for both",
}

_BENIGN = "let one work item do it, or silence this with its id"


def _findings(facts: KernelFacts, kind: RaceKind, lint: Lint, does: Does) -> Iterator[Finding]:
    """One finding for each pair of lines: what is proved, then what is unknown, then benign.

    And one for each access that does such a thing and could not be followed.
    """
    seen: set[object] = set()
    ordered = sorted(facts.collisions, key=lambda one: (one.is_benign, one.example is None))
    for one in ordered:
        lines = frozenset((one.first.location, one.second.location))
        key = (one.first.memory.name, one.first.path, lines)
        if one.kind == kind and key not in seen:
            seen.add(key)
            yield _finding(facts, one, lint)
    for lost in facts.walked.lost:
        if lost.does == does:
            yield lint.unknown(
                f"whether two work items meet here cannot be told: {lost.reason}",
                lost.location,
                "make it plainer, or silence this with its id",
            )


def _finding(facts: KernelFacts, one: Collision, lint: Lint) -> Finding:
    first, second = one.first, one.second
    others = () if first.location == second.location else (second.location,)
    if one.example is None and one.is_benign:
        told = f"benign: whoever meets at `{first.text}` writes the same value; {one.missing}"
        text = first.text
        return lint.bug(
            told, first.location, _BENIGN, severity="warning", others=others, about=text
        )
    if one.example is None:
        return lint.unknown(
            f"whether two work items meet at `{first.text}` cannot be told: {one.missing}",
            first.location,
            "if no two are the same, silence this with its id",
            others=others,
            about=first.text,
        )
    element = element_text(first, one.example.indices)
    witness = facts.witness(one.example, element, confirmed=True)
    one_item, other = (witness.item_text(item) for item in one.example.items)
    if first.does == second.does:
        verb = "change" if first.does == "atomic" else first.does
        what = f"work items {one_item} and {other} both {verb} `{element}`"
    else:
        what = (
            f"work item {one_item} {_VERBS[first.does]} and {other} {_VERBS[second.does]} "
            f"`{element}`"
        )
    told = f"{what} in {witness.launch}, and nothing orders them"
    if one.is_benign:
        told = f"benign: {what} in {witness.launch}, all with the same value"
    return lint.bug(
        told,
        first.location,
        _BENIGN if one.is_benign else _ADVICE[one.kind],
        severity="warning" if one.is_benign else "error",
        witness=witness,
        others=others,
        about=first.text,
    )
