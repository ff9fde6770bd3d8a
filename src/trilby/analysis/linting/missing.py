"""What is missing to decide: the unknown numbers that a question turns on, in words."""

from collections.abc import Iterable

from trilby.analysis.linting.terms import Terms, leaves_of
from trilby.analysis.touching.expressions import Expr


def unknown_leaves(roots: Iterable[Expr]) -> list[Expr]:
    """The leaves that a solver may choose freely."""
    return [leaf for leaf in leaves_of(roots) if leaf.op in {"opaque", "data", "fn"}]


def missing_data(terms: Terms, indices: Iterable[Expr]) -> str:
    """What is not known of indices that come out of data; empty where none do."""
    leaves = unknown_leaves(indices)
    reasons = sorted({_reason(terms, leaf) for leaf in leaves if _is_data(terms, leaf)})
    return f"the index depends on {' and '.join(reasons)}" if reasons else ""


def missing_rest(terms: Terms, conditions: Iterable[Expr], what: str) -> str:
    """Why something that a solver found did not show when it was run."""
    leaves = unknown_leaves(conditions)
    told = [leaf for leaf in leaves if leaf.op != "fn"] or leaves
    reasons = sorted({_reason(terms, leaf) for leaf in told})
    if reasons:
        return f"whether {what} depends on {' and '.join(reasons)}"
    return "what the solver found did not show when it was run"


def _is_data(terms: Terms, leaf: Expr) -> bool:
    if leaf.op == "opaque":
        why = terms.unknowns.get(leaf.number)
        return why is not None and why.kind in {"data", "ticket"}
    return leaf.op == "data"


def _reason(terms: Terms, leaf: Expr) -> str:
    if leaf.op == "data":
        return "what its buffers hold"
    if leaf.op == "fn":
        return f"`{leaf.what}`, which is not followed"
    why = terms.unknowns.get(leaf.number)
    return why.reason if why else "an unknown number"
