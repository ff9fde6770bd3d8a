"""The call inside a lambda that is never executed.

`lambda cc: square_all(cc, numbers)` names an entry point and its arguments. Reading it means:
check its shape, find the function, compute the arguments as Python would. This module does
not know what compute functions and kernels are; whoever asked for the quote does.
"""

import __future__

import ast
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, Final, cast

from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, KernelNameError, UnsupportedSyntaxError
from trilby.reflect.capture import MISSING, Captured, capture
from trilby.source import Location
from trilby.syntax import compiled, parsed

_COLLECT: Final = "__collect__"


@dataclass(frozen=True, slots=True)
class Quoted:
    """What a quoted lambda says: call `target` with these arguments, after the context.

    For `lambda cc: square_all(cc, numbers, scale=2)` the target is `square_all`, the
    arguments are `(numbers,)` and `{"scale": 2}`.
    """

    target: object
    args: tuple[object, ...]
    kwargs: dict[str, object]
    location: Location
    captured: Captured


def quote(function: Callable[[Any], object]) -> Quoted:
    """Read the single call of a lambda, and compute its arguments, without running it.

    >>> quoted = quote(lambda cc: square_all(cc, numbers))
    >>> quoted.target is square_all, quoted.args == (numbers,)
    (True, True)
    """
    captured = capture(function)
    node = captured.node
    if not isinstance(node, ast.Lambda):
        raise ArgumentTypeError(
            f"`{node.name}` is a function of its own, and a lambda around one call is needed",
            advice=f"name it and its arguments: `accelerator.compute({node.name}, args…)`",
            location=captured.location(node),
        )
    call = quoted_call(captured, node)
    target = resolve(captured, call.func)
    if not callable(target):
        raise ArgumentTypeError(
            f"`{ast.unparse(call.func)}` is {_article(type(target).__name__)} and not a function",
            advice="call a compute function or a kernel in the lambda",
            location=captured.location(call.func),
        )
    args, kwargs = _arguments(captured, call)
    return Quoted(target, args, kwargs, captured.location(call), captured)


def quoted_call(captured: Captured, node: ast.Lambda) -> ast.Call:
    """The call in a lambda of the form `lambda c: f(c, …)`, or an error that says why not.

    `node` may also be a lambda inside of the captured function.
    """
    parameter = _parameter(captured, node)
    call = node.body
    if not isinstance(call, ast.Call):
        raise UnsupportedSyntaxError(
            "a quoted lambda consists of one call, and this is none",
            advice=f"write `lambda {parameter}: function({parameter}, …)`",
            location=captured.location(call),
        )
    _check_first_argument(captured, call, parameter)
    named = (keyword.value for keyword in call.keywords)
    for part in (call.func, *call.args[1:], *named):
        _check_not_used(captured, part, parameter)
    return call


def resolve(captured: Captured, expression: ast.expr) -> object:
    """The value of a name or of a dotted name such as `kernels.square`."""
    match expression:
        case ast.Name(id=name):
            return _value(captured, expression, name)
        case ast.Attribute(value=owner, attr=name):
            found = cast(
                "object", getattr(resolve(captured, owner), captured.mangled(name), MISSING)
            )
            if found is MISSING:
                raise KernelNameError(
                    f"`{ast.unparse(owner)}` has no attribute `{name}`",
                    advice="check the spelling, and that the module with the name is imported",
                    location=captured.location(expression),
                )
            return found
        case _:
            raise UnsupportedSyntaxError(
                f"`{ast.unparse(expression)}` does not name a function",
                advice="give the function a name outside of the lambda, and call it by that name",
                location=captured.location(expression),
            )


# -------------------------------------------------------------------------------- the shape


def _parameter(captured: Captured, node: ast.Lambda) -> str:
    """The name of the only parameter."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    others = [*args.kwonlyargs, *(star for star in (args.vararg, args.kwarg) if star)]
    if len(plain) == 1 and not others:
        return plain[0].arg
    extra = [*plain[1:], *others]
    raise UnsupportedSyntaxError(
        f"a quoted lambda has one parameter, the context, and this one has "
        f"{len(plain) + len(others) or 'none'}",
        advice="use other values directly in the call: they are read when the lambda is given",
        location=captured.location(extra[0] if extra else node),
    )


def _check_first_argument(captured: Captured, call: ast.Call, parameter: str) -> None:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Name) and first.id == parameter:
        return
    raise UnsupportedSyntaxError(
        f"the first argument of the call has to be the lambda's parameter `{parameter}`",
        advice=f"write `{ast.unparse(call.func)}({parameter}, …)`",
        location=captured.location(first or call),
    )


def _check_not_used(captured: Captured, part: ast.expr, parameter: str) -> None:
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and node.id == parameter:
            problem = f"`{parameter}` exists only while the call runs, so only as first argument"
            advice = "move what needs it into the function that is called"
            raise UnsupportedSyntaxError(problem, advice=advice, location=captured.location(node))
        if isinstance(node, ast.Yield | ast.YieldFrom):
            problem = "the arguments of a quoted call cannot wait for anything"
            advice = "compute the value before, and give it a name"
            raise UnsupportedSyntaxError(problem, advice=advice, location=captured.location(node))


def _value(captured: Captured, node: ast.Name, name: str) -> object:
    value = captured.lookup(name)
    if value is not MISSING:
        return value
    unset = captured.is_closure(name)
    raise KernelNameError(
        f"`{name}` has no value yet" if unset else f"`{name}` is not defined",
        advice="define it before the lambda is given" if unset else "check spelling and imports",
        location=captured.location(node),
    )


# ---------------------------------------------------------------------------- the arguments


def _arguments(captured: Captured, call: ast.Call) -> tuple[tuple[object, ...], dict[str, object]]:
    """The values of all arguments but the first.

    The call is run with a function in place of its target that hands back what it gets, so
    stars, keywords and the order of evaluation are Python's own; the code keeps its lines,
    so a traceback through it shows the user's.
    """
    collect = ast.copy_location(ast.Name(_COLLECT, ast.Load()), call.func)
    rest = ast.copy_location(ast.Call(collect, call.args[1:], call.keywords), call)
    cells = {**captured.cells, _COLLECT: CellType(_collect)}
    code = _nested_code(captured, rest, tuple(cells))
    closure = tuple(cells[name] for name in code.co_freevars)
    run = FunctionType(code, captured.function.__globals__, "<lambda>", None, closure)
    return cast("tuple[tuple[object, ...], dict[str, object]]", run())


def _nested_code(captured: Captured, body: ast.expr, names: tuple[str, ...]) -> CodeType:
    """The code of `lambda: body`, in which `names` are variables of an enclosing function."""
    around = f"class {captured.class_name}: " if captured.class_name else ""
    tree = parsed(f"{around}lambda {', '.join(names)}: lambda: 0")
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)][-1]
    inner.body = body
    ast.copy_location(inner, body)
    flags = captured.function.__code__.co_flags & __future__.annotations.compiler_flag
    code = compiled(tree, captured.file, flags)
    for _ in range(3 if around else 2):
        code = next(inside for inside in code.co_consts if isinstance(inside, CodeType))
    return code


def _collect(*args: object, **kwargs: object) -> tuple[tuple[object, ...], dict[str, object]]:
    return args, kwargs


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0].lower() in "aeiou" else f"a {noun}"
