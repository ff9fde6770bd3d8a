"""What a random program means: what the host sees, and what is left in its buffers.

The text runs on the simulated machine, with twins in place of kernels. This file must not
know Trilby.
"""

import ast
import warnings
from collections import deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from tests.property import program_simulation as simulated
from tests.property import program_twins

T = TypeVar("T")

MOST_TURNS = 200
"""So often the bodies of `while` may run; what was cut out of a program may have ended it."""


@dataclass(frozen=True)
class Outcome:
    """What the host saw, in order, and what the buffers hold at the end."""

    seen: list[Any]
    left: list[Any]


def meaning(text: str) -> Outcome:
    """What a program does; an `UnfitError` where it has no meaning."""
    machine = simulated.Machine()
    names = _names()
    tree = _CountingTurns().visit(ast.parse(text))
    code = compile(ast.fix_missing_locations(tree), "<simulated program>", "exec")
    exec(code, names)  # noqa: S102 -- our own text
    buffers = names["drive"](machine, machine)
    if not machine.launches:
        raise simulated.UnfitError("nothing is launched")
    return Outcome(names["log"], [content(buffer) for buffer in buffers])


def content(buffer: Any) -> list[Any]:
    """All numbers of a buffer, simulated or not."""
    if hasattr(buffer, "row"):
        columns = np.asarray(buffer.row.key).tolist(), np.asarray(buffer.row.value).tolist()
        return [buffer.total, *columns]
    return np.asarray(buffer).tolist()


class _CountingTurns(ast.NodeTransformer):
    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body = [*ast.parse("_turn()").body, *node.body]
        return node


@dataclass
class _Turns:
    count: int = 0

    def __call__(self) -> None:
        self.count += 1
        if self.count > MOST_TURNS:
            raise simulated.UnfitError("a loop does not end")


def _itself(function: T) -> T:
    return function


def _names() -> dict[str, Any]:
    """All that a program uses and does not define."""
    twins = {name: twin for name, twin in vars(program_twins).items() if not name.startswith("_")}
    return twins | {
        "_turn": _Turns(),
        "np": np,
        "warnings": warnings,
        "deque": deque,
        "namedtuple": namedtuple,  # noqa: PYI024 -- programs have no types
        "tb": SimpleNamespace(compute=_itself),
        "i32": int,
        "SimpleNamespace": SimpleNamespace,
        "ComputeContext": simulated.ComputeContext,
        "NDRange": simulated.NDRange,
        "NDArray": simulated.NDArray,
        "S32Array": simulated.Line,
        "S32Array2D": simulated.Plane,
        "F32Array": simulated.Real,
        "U8Array": simulated.Bits,
        "Table": simulated.Table,
    }
