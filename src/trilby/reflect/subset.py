"""The Python that kernels do not take, and what to say about each kind of it."""

import ast
from typing import TypeAlias

from trilby.errors import UnsupportedSyntaxError
from trilby.source import Location

Refusal: TypeAlias = tuple[str, str]


def _of_newer_pythons(**refusals: Refusal) -> dict[type[ast.AST], Refusal]:
    """Refusals of syntax, by its name, as far as this Python has it."""
    return {getattr(ast, name): said for name, said in refusals.items() if hasattr(ast, name)}


REFUSED: dict[type[ast.AST], Refusal] = {
    ast.FunctionDef: (
        "a nested function",
        "move it to module level and decorate it with @tb.func",
    ),
    ast.AsyncFunctionDef: ("`async def`", "kernels run to their end: use a plain `def`"),
    ast.ClassDef: ("a nested class", "declare it at module level as a tb.Struct"),
    ast.Delete: ("`del`", "local variables end with the kernel: leave it out"),
    ast.With: ("`with`", "there is nothing to enter on a device: move it to the host"),
    ast.AsyncWith: ("`async with`", "move it to the host"),
    ast.AsyncFor: ("`async for`", "use `for … in range(…)`"),
    ast.Match: ("`match`", "use `if`/`elif`/`else`"),
    ast.Raise: ("`raise`", "devices have no exceptions: write a flag into a buffer"),
    ast.Try: ("`try`", "devices have no exceptions: test the condition with `if`"),
    ast.TryStar: ("`try`", "devices have no exceptions: test the condition with `if`"),
    ast.Import: ("`import`", "import at the top of the module"),
    ast.ImportFrom: ("`import`", "import at the top of the module"),
    ast.Global: (
        "`global`",
        "kernels cannot change Python variables: pass a buffer and write to it",
    ),
    ast.Nonlocal: (
        "`nonlocal`",
        "kernels cannot change Python variables: pass a buffer and write to it",
    ),
    ast.NamedExpr: ("`:=`", "assign on a line of its own"),
    ast.Lambda: ("`lambda`", "write a function with @tb.func"),
    ast.Dict: ("a dict", "pass a buffer, or use module-level constants"),
    ast.Set: ("a set", "compare with each value: `x == 1 or x == 2`"),
    ast.List: ("a list", "pass a buffer"),
    ast.ListComp: ("a list comprehension", "write a `for` loop over `range(…)`"),
    ast.SetComp: ("a set comprehension", "write a `for` loop over `range(…)`"),
    ast.DictComp: ("a dict comprehension", "write a `for` loop over `range(…)`"),
    ast.GeneratorExp: ("a generator", "write a `for` loop over `range(…)`"),
    ast.Await: ("`await`", "kernels run to their end: take it out"),
    ast.Yield: ("`yield`", "write results into a buffer"),
    ast.YieldFrom: ("`yield from`", "write results into a buffer"),
    ast.JoinedStr: ("an f-string", "kernels compute numbers; format on the host"),
    ast.FormattedValue: ("an f-string", "kernels compute numbers; format on the host"),
    ast.Starred: ("`*` unpacking", "name each item"),
    ast.Slice: ("a slice", "index single elements, in a `for` loop where you need many"),
    ast.MatMult: ("`@` of numbers", "it multiplies matrices: `f32x4x4`; write `*` for numbers"),
    ast.Is: ("`is`", "use `==`"),
    ast.IsNot: ("`is not`", "use `!=`"),
    ast.In: ("`in`", "compare with each value: `x == 1 or x == 2`"),
    ast.NotIn: ("`not in`", "compare with each value: `x != 1 and x != 2`"),
    **_of_newer_pythons(
        TypeAlias=("`type`", "write the type itself, or name it at module level"),
        TemplateStr=("a template string", "kernels compute numbers; format on the host"),
        Interpolation=("a template string", "kernels compute numbers; format on the host"),
    ),
}
"""Every syntax without a meaning on a device: what to call it, and what to write instead."""


def refuse(node: ast.AST, location: Location) -> UnsupportedSyntaxError:
    """The error for a piece of Python that kernels do not take."""
    what, advice = REFUSED.get(
        type(node), (f"`{type(node).__name__}` syntax", "write it with simpler statements")
    )
    return UnsupportedSyntaxError(
        f"{what} has no meaning in a kernel", advice=advice, location=location
    )
