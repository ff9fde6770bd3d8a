"""The local names of a compute function."""

import ast
from collections.abc import Iterable, Iterator

from trilby.dataclass import dataclass
from trilby.model.host_code import named_by, names_in, parameters

FRAME_READERS = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"}
)
"""Calls of these see the local variables of the function that makes them."""


@dataclass(frozen=True, slots=True)
class Locals:
    """The local names of a compute function.

    `plain` ones change only where a statement of the function says so, and are variables of
    the model; `wild` ones stay in the text.
    """

    params: tuple[str, ...]
    plain: frozenset[str]
    wild: frozenset[str]
    bound_anywhere: frozenset[str]
    """Also the names that inner functions and comprehensions bind for themselves."""

    @property
    def all(self) -> frozenset[str]:
        """Every local name."""
        return self.plain | self.wild

    def own(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names` that are local."""
        return tuple(name for name in names if name in self.plain or name in self.wild)


def locals_of(node: ast.FunctionDef) -> Locals:
    """The local names of a function."""
    params = tuple(argument.arg for argument in parameters(node.args))
    found = names_in(*node.body)
    own = {*params, *found.sets, *_annotated(node)} - found.declared
    return Locals(
        params,
        frozenset(own - found.wild),
        frozenset(own & found.wild),
        frozenset(own | set(_bound_anywhere(node))),
    )


def reads_its_frame(node: ast.FunctionDef) -> bool:
    """Whether a function may look at its own variables by other means than their names."""
    return any(
        (isinstance(part, ast.Name) and part.id in FRAME_READERS)
        or (isinstance(part, ast.Attribute) and part.attr in FRAME_READERS)
        for part in ast.walk(node)
    )


def _annotated(node: ast.FunctionDef) -> Iterator[str]:
    """`x: int` alone makes a name local, too."""
    for part in ast.walk(node):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


def _bound_anywhere(node: ast.FunctionDef) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names):
                yield from names
            case _:
                yield from named_by(part)
