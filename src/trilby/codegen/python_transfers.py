"""Moving and tracking data, as calls of the compute context: `cc.to_host(a.array, 0)`."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from trilby.codegen.python_places import place_tree
from trilby.codegen.python_text import placed
from trilby.codegen.python_values import Known, outside_brackets
from trilby.data.dtypes import ScalarType
from trilby.data.schema import INDEX, index_count, path_steps, type_at
from trilby.model.ops.transfer import Owed, ToDevice, ToHost, Tracking
from trilby.model.value import RefType


def transfer_statement(
    op: Tracking | ToDevice | ToHost | Owed, trees: Sequence[ast.expr], known: Known
) -> ast.stmt:
    """The call that an op is; `trees` are the context, the buffer and the indices."""
    context, *rest = trees
    name = op.mnemonic.rpartition(".")[2]
    # A method that stands on several lines, as a loop does, would be called on the last of them.
    first_line = replace(op.location, end_line=op.location.line)
    method = placed(ast.Attribute(context, name, ast.Load()), first_line)
    args = _part(op, rest, known) if isinstance(op, ToHost) else rest
    return placed(ast.Expr(placed(ast.Call(method, args, []), op.location)), op.location)


def _part(op: ToHost, trees: Sequence[ast.expr], known: Known) -> list[ast.expr]:
    """What `to_host` is given.

    A view and the index in it: `t.result.x, i`. A view alone: `t.result.x`. A field that is a
    number has no view, and goes by its name: `t, "count"`.
    """
    held = op.buffer.type.to if isinstance(op.buffer.type, RefType) else op.buffer.type
    if INDEX not in op.path:
        whole, _, name = op.path.rpartition(".")
        if isinstance(type_at(held, op.path), ScalarType):
            field = placed(ast.Constant(name), op.location)
            return [place_tree(op.buffer.type, whole, trees, op.location), field]
        return [place_tree(op.buffer.type, op.path, trees, op.location)]
    before, _, behind = op.path.rpartition(INDEX)
    buffer, *indices = trees
    count = index_count(held, before)
    view = place_tree(op.buffer.type, before, [buffer, *indices[:count]], op.location)
    for step in path_steps(behind):
        view = placed(ast.Attribute(view, step, ast.Load()), op.location)
    return [view, *_index(op, indices[count:], known)]


def _index(op: ToHost, indices: list[ast.expr], known: Known) -> list[ast.expr]:
    """Several indices are one tuple, as in brackets."""
    plain = [outside_brackets(index, known) for index in indices]
    return [placed(ast.Tuple(plain, ast.Load()), op.location)] if len(plain) > 1 else plain
