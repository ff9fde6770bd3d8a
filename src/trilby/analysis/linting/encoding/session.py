"""z3, loaded when it is asked for, with a context of its own for each question.

What z3 answers to a hard question depends on what it has seen before in the same context. A fresh
one gives the same answer to the same question, whoever asked what before.
"""

import importlib
from functools import cache
from typing import Any


@cache
def z3_module() -> Any:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module("z3")
    except ImportError:
        return None


class Session:
    """The functions of z3 that make things in a context, and by attribute all others."""

    def __init__(self) -> None:
        self._z3 = z3_module()
        self._context = self._z3.Context()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._z3, name)

    def Int(self, name: str) -> Any:  # noqa: N802 -- z3's spelling, as are those below
        """An unknown integer."""
        return self._z3.Int(name, self._context)

    def Bool(self, name: str) -> Any:  # noqa: N802
        """An unknown truth value."""
        return self._z3.Bool(name, self._context)

    def IntVal(self, value: object) -> Any:  # noqa: N802
        """A number."""
        return self._z3.IntVal(value, self._context)

    def BoolVal(self, value: object) -> Any:  # noqa: N802
        """A truth value."""
        return self._z3.BoolVal(bool(value), self._context)

    def IntSort(self) -> Any:  # noqa: N802
        """The integers."""
        return self._z3.IntSort(self._context)

    def And(self, *parts: Any) -> Any:  # noqa: N802
        """All hold; true where there are none."""
        return self._z3.And(*parts, self.BoolVal(value=True))

    def Or(self, *parts: Any) -> Any:  # noqa: N802
        """One holds; false where there are none."""
        return self._z3.Or(*parts, self.BoolVal(value=False))

    def solver(self, effort: int, seconds: float) -> Any:
        """A solver that gives up after so many steps, or so much time."""
        solver = self._z3.Solver(ctx=self._context)
        solver.set("rlimit", effort)
        solver.set("timeout", int(seconds * 1000))
        return solver
