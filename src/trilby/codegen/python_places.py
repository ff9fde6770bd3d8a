"""Places in buffers as Python expressions: `table.result[i].x` from a base, a path, indices."""

import ast
from collections.abc import Sequence

from trilby.codegen.python_text import placed
from trilby.data.dtypes import Type
from trilby.data.schema import INDEX, ArrayType, NDArrayType, path_steps, step_into
from trilby.model.value import RefType
from trilby.source import Location


def place_tree(
    base: Type, path: str, trees: Sequence[ast.expr], location: Location, *, stored: bool = False
) -> ast.expr:
    """The expression of a place; `trees` are the base, of type `base`, and the indices.

    The last `[]` of a path takes all indices that are left: views may have fewer than there
    are dimensions, or more (`None`), or none, and then the step leaves no trace.
    """
    tree, *rest = trees
    here: Type | None = base.to if isinstance(base, RefType) else base
    steps = list(path_steps(path))
    last = max((n for n, step in enumerate(steps) if step == INDEX), default=-1)
    for number, step in enumerate(steps):
        if step == INDEX:
            count = len(rest) if number == last else _rank(here)
            tree = _subscript(tree, rest[:count], location)
            rest = rest[count:]
        else:
            tree = placed(ast.Attribute(tree, step, ast.Load()), location)
        here = step_into(here, step) if here else None
    if stored and isinstance(tree, ast.Attribute | ast.Subscript):
        tree.ctx = ast.Store()
    return tree


def _rank(array: Type | None) -> int:
    return array.rank if isinstance(array, ArrayType | NDArrayType) else 0


def _subscript(tree: ast.expr, indices: list[ast.expr], location: Location) -> ast.expr:
    if not indices:
        return tree
    index = indices[0] if len(indices) == 1 else placed(ast.Tuple(indices, ast.Load()), location)
    return placed(ast.Subscript(tree, index, ast.Load()), location)
