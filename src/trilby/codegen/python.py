"""Compute models as Python: as text for people, as functions that run.

What is written comes from the model alone. The original function only lends what is not in
the model: its signature and defaults, its globals, the variables of functions around it.
"""

import __future__

import ast
from collections.abc import Iterator, Mapping
from copy import copy
from types import CellType, CodeType, FunctionType
from typing import cast

from trilby.codegen.python_blocks import BlockWriter
from trilby.codegen.python_values import SLICE, NamedValues, placed
from trilby.errors import ModelError
from trilby.model.op import Func
from trilby.syntax import compiled, parsed

UNNAMED = "_trilby_function_"

VARIADIC, KEYWORDS = 0x04, 0x08
"""The flags of a code object with `*args`, and with `**kwargs`."""

FUTURES = __future__.annotations.compiler_flag
"""The one feature that changes what a function compiles to."""


def emit(
    func: Func, function: FunctionType | None = None
) -> tuple[ast.FunctionDef, dict[str, str]]:
    """A compute model in Python, and the symbol of each kernel and function by its name there.

    It has the signature of the original function if that is given.
    """
    known = NamedValues.of(func)
    body = [*_kept_parameters(known), *BlockWriter(known, func.body.ops).write()]
    # parsed, because newer versions of Python have more fields in this node
    tree = cast("ast.FunctionDef", parsed("def function(): pass").body[0])
    tree.name = function.__name__ if function else func.name.rpartition(".")[2]
    names = [ast.arg(name) for name in known.parameters.values()]
    plain = ast.arguments([], names, None, [], [], None, [])
    tree.args = _signature(function) if function else plain
    tree.body = body or [placed(ast.Pass(), func.location)]
    ast.fix_missing_locations(placed(tree, func.location))
    return tree, {name: symbol for symbol, name in known.objects.items()}


def to_python(func: Func, function: FunctionType | None = None) -> str:
    """The text of a compute model in Python, for people.

    >>> print(to_python(reflect_compute(square_all).func))
    def square_all(cc, s32):
        cc.dispatch(s32.length, square_kernel, s32)
    """
    return ast.unparse(emit(func, function)[0])


def compile_compute(
    func: Func,
    function: FunctionType,
    objects: Mapping[str, object],
    class_name: str = "",
) -> FunctionType:
    """A function that does what a model says, in the place of the one it was made of.

    It has the original's signature, defaults, globals and closure, and its lines in
    tracebacks. `objects` gives kernels and compute functions by their symbols; `class_name`
    is the class around the function, for names like `__x`.
    """
    tree, symbols = emit(func, function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells |= {name: CellType(_object(func, objects, s)) for name, s in symbols.items()}
    code = _code(tree, function, tuple(cells), class_name)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    for name in ("__doc__", "__module__", "__qualname__", "__annotations__"):
        setattr(made, name, getattr(function, name))
    return made


def _object(func: Func, objects: Mapping[str, object], symbol: str) -> object:
    if symbol in objects:
        return objects[symbol]
    if symbol == SLICE:
        return slice
    raise ModelError(
        f"`{func.name}` uses `{symbol}`, and nothing is known under that symbol",
        advice="give the kernels and compute functions of the model to `compile_compute`",
        location=func.location,
    )


# -------------------------------------------------------------------------------- parameters


def _kept_parameters(known: NamedValues) -> Iterator[ast.stmt]:
    """A parameter that is used besides its variable is kept where the variable changes."""
    changed = {name for op in known.func.body.ops for name in known.sets(op)}
    for param, name in known.parameters.items():
        known.names[param] = name
        is_variable = name in known.variables.values()
        if is_variable and known.left[param] > 1 and name in changed:
            kept = ast.Name(known.temporary(param), ast.Store())
            given = ast.Name(name, ast.Load())
            yield placed(ast.Assign([kept], given), known.func.location)


def _signature(function: FunctionType) -> ast.arguments:
    """The parameters of a function; default values are set on the function that is made."""
    code = function.__code__
    names = iter(code.co_varnames)
    arguments = [ast.arg(next(names)) for _ in range(code.co_argcount)]
    keyword_only = [ast.arg(next(names)) for _ in range(code.co_kwonlyargcount)]
    return ast.arguments(
        posonlyargs=arguments[: code.co_posonlyargcount],
        args=arguments[code.co_posonlyargcount :],
        vararg=ast.arg(next(names)) if code.co_flags & VARIADIC else None,
        kwonlyargs=keyword_only,
        kw_defaults=[None for _ in keyword_only],
        kwarg=ast.arg(next(names)) if code.co_flags & KEYWORDS else None,
        defaults=[],
    )


# --------------------------------------------------------------------------------- compiling


def _code(
    tree: ast.FunctionDef, function: FunctionType, outer: tuple[str, ...], class_name: str
) -> CodeType:
    """Compile a function as if it stood inside one that has the variables `outer`."""
    around = f"class {class_name}:\n " if class_name else ""
    module = parsed(f"{around}def around({', '.join(outer)}):\n  pass")
    (inside,) = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))
    # the function's own name would be a variable of the function around it
    inside.body = [copied := copy(tree)]
    copied.name = UNNAMED
    file = function.__code__.co_filename
    flags = function.__code__.co_flags & FUTURES
    code = compiled(module, file, flags)
    for _ in range(3 if class_name else 2):
        code = next(inner for inner in code.co_consts if isinstance(inner, CodeType))
    named = code.replace(co_name=function.__code__.co_name)
    return _renamed(named, code.co_qualname, function.__code__.co_qualname)


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """The code, and all code inside of it, under the qualified name of the original."""

    def constant(one: object) -> object:
        if isinstance(one, CodeType):
            return _renamed(one, old, new)
        if isinstance(one, str) and one.startswith(f"{old}."):
            return new + one[len(old) :]  # the body of a class holds its qualified name
        return one

    name = new + code.co_qualname[len(old) :]
    return code.replace(co_consts=tuple(map(constant, code.co_consts)), co_qualname=name)
