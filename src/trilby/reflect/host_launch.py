"""Launches, transfers and calls of other compute functions inside a compute function."""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from types import FunctionType
from typing import TypeAlias, cast

from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, UnsupportedSyntaxError
from trilby.model.host_code import parameters, substituted
from trilby.model.value import COMPUTE_CONTEXT
from trilby.reflect.capture import Captured
from trilby.reflect.functions import (
    DISPATCH_OPTIONS,
    Compute,
    Helper,
    Kernel,
    Reflectable,
    check_options,
    is_compute,
    is_helper,
)
from trilby.reflect.host_scope import AnyCompute, Typing
from trilby.reflect.quote import quoted_call
from trilby.reflect.signature import kernel_signature
from trilby.source import Location

# --------------------------------------------------------------------------------------- host moves
# `cc.put(…)` and `cc.get(…)` inside a compute function, and chains of them.
#
# They say where data is to be, and read none of it. Python would read a number that it is given,
# `cc.get(table.count)`; what is given here is its place instead.

_MOVES = frozenset({"put", "get"})
_FLUENT = _MOVES | {"dispatch"}
"""The methods of a compute context that give it back, for the next call."""


def root(typing: Typing, node: ast.expr) -> ast.Name | None:
    """The name of the compute context at the beginning of a chain of calls."""
    match node:
        case ast.Name() if typing.of(node) == COMPUTE_CONTEXT:
            return node
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _FLUENT:
            return root(typing, inner)
        case _:
            return None


def move_of(typing: Typing, node: ast.expr) -> ast.Name | None:
    """The name of the context in `cc.put(…)` or `cc.get(…)`; None for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=context, attr=method), args=args, keywords=[]) if (
            method in _MOVES and not any(isinstance(arg, ast.Starred) for arg in args)
        ):
            return root(typing, context)
        case _:
            return None


def says_what_moves(typing: Typing, node: ast.FunctionDef) -> bool:
    """Whether a compute function has blocks, puts or gets of its own."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(
        isinstance(call.func, ast.Attribute)
        and (call.func.attr == "explicit" or move_of(typing, call) is not None)
        for call in calls
    )


# -------------------------------------------------------------------------------------- host launch

AnyKernel: TypeAlias = Kernel[...]
AnyHelper: TypeAlias = Helper[..., object]

_PLAIN = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A launch or call whose target is known.

    `given` are the expressions in the order of the source: the context first, then, of a launch,
    the range. `arranged` says for each parameter after the context which of them it gets, or what
    number. `options` are those that are no arguments of the kernel.
    """

    target: AnyKernel | AnyCompute
    given: tuple[ast.expr, ...]
    arranged: tuple[ast.expr | bool | int | float, ...]
    options: Mapping[str, ast.expr]


def launch_of(typing: Typing, node: ast.expr) -> HostLaunch | None:
    """What `cc.dispatch(range, kernel, …)` or `other(cc, …)` launches, if that is known."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=context, attr="dispatch"), args=[size, kernel, *args]
        ):
            target = typing.resolve(kernel)
            if not isinstance(target, Kernel) or root(typing, context) is None:
                return None
            return _launch(typing, node, target, (context, size), args)
        case ast.Call(func=function, args=[context, *args]):
            callee = typing.resolve(function)
            if not isinstance(callee, Compute) or root(typing, context) is None:
                return None
            return _launch(typing, node, cast("AnyCompute", callee), (context,), args)
        case _:
            return None


def _launch(
    typing: Typing,
    call: ast.Call,
    target: AnyKernel | AnyCompute,
    first: tuple[ast.expr, ...],
    args: list[ast.expr],
) -> HostLaunch | None:
    has_star = any(isinstance(argument, ast.Starred) for argument in args)
    if has_star or any(keyword.arg is None for keyword in call.keywords):
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given = (*first, *args, *keywords.values())
    options: dict[str, ast.expr] = {}
    if isinstance(target, Kernel):
        check_options(target, len(args), keywords, typing.captured.location(call))
        options = {name: keywords.pop(name) for name in DISPATCH_OPTIONS if name in keywords}
    signature = inspect.signature(target.function)
    params = list(signature.parameters.values())[1:]
    if any(param.kind not in _PLAIN for param in params):
        return None
    if not {param.name for param in params} >= keywords.keys():
        return None
    try:
        bound = signature.bind(None, *args, **keywords).arguments
    except TypeError as error:
        if not isinstance(target, Kernel):
            return None  # Python says so when it runs
        kernel_signature(target)  # one that is declared wrongly says so first
        names = [param.name for param in params]
        raise ArgumentTypeError(
            f"`{target.name}`: {error}",
            advice=f"its parameters after the kernel context are: {', '.join(names) or 'none'}",
            location=typing.captured.location(call),
        ) from error
    while params and params[-1].name not in bound:  # Python fills in what is missing at the end
        params.pop()
    arranged = tuple(bound.get(param.name, param.default) for param in params)
    if not all(isinstance(value, ast.expr | bool | int | float) for value in arranged):
        return None
    return HostLaunch(target, given, arranged, options)


# ------------------------------------------------------------------- a look over everything


def targets(
    typing: Typing, node: ast.FunctionDef
) -> Iterator[tuple[ast.expr, AnyKernel | AnyCompute | AnyHelper]]:
    """Every kernel, helper and compute function that a function names, also in text."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            found = typing.resolve(part)
            if isinstance(found, Kernel | Compute | Helper):
                yield part, found


def check_dispatches(typing: Typing, node: ast.FunctionDef) -> None:
    """Refuse launches of what is known not to be a kernel."""
    context = typing.locals.params[0]
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="dispatch")):
                if name == context:
                    _check_kernel(typing, part)
            case _:
                pass


def _check_kernel(typing: Typing, call: ast.Call) -> None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kernel = call.args[1] if len(call.args) > 1 else given.get("kernel")
    if kernel is None:
        return
    if isinstance(kernel, ast.Lambda):
        raise ArgumentTypeError(
            "the lambda of a dispatch is its second argument",
            advice="write `cc.dispatch(range, lambda kc: kernel(kc, …))`",
            location=typing.captured.location(kernel),
        )
    found = typing.resolve(kernel)
    if is_helper(found) or is_compute(found) or isinstance(found, FunctionType | type):
        raise not_a_kernel(found, ast.unparse(kernel), typing.captured.location(kernel))


def not_a_kernel(thing: object, name: str, location: Location | None = None) -> ArgumentTypeError:
    """The error of a dispatch of something else, which may have a name."""
    advice = "dispatch a function that is decorated with `@tb.kernel`"
    match thing:
        case Compute():
            what, advice = "a compute function", f"call it: `{name}(cc, …)`"
        case Helper(kind=kind):
            what = f"a helper of kernels (@tb.{kind})"
            advice = (
                f"write a `@tb.kernel` that calls `{name}` for its work item, and dispatch that"
            )
        case FunctionType():
            what, advice = "a plain function", "decorate it with `@tb.kernel`"
        case type():
            what = "a class"
        case _:
            what = f"of the class `{type(thing).__name__}`"
    return ArgumentTypeError(
        f"{f'`{name}`' if name else 'this'} is {what}, and only kernels can be dispatched",
        advice=advice,
        location=location,
    )


Symbols = Callable[[Reflectable], str]
"""Gives the symbol under which a decorated function is known in a program."""


# ------------------------------------------------------------------------- lambdas of launches
# `cc.dispatch(n, lambda kc: k(kc, a))` in its direct form, `cc.dispatch(n, k, a)`. The lambda is
# never executed: it only says which kernel is launched with what. It is taken out of the tree, in
# which everything that stays keeps its place. Evaluation order is that of the source.

Resolve = Callable[[ast.expr], object]
"""Gives the value of a dotted name that the function does not bind itself."""


def direct_form(
    captured: Captured, node: ast.FunctionDef, resolve: Resolve
) -> tuple[ast.FunctionDef, frozenset[ast.AST]]:
    """The function without lambdas around launches, and the calls that are changed by that."""
    params = parameters(node.args)
    context = params[0].arg if params else ""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    quoted = {call: _quoted(captured, call, resolve, context) for call in calls}
    changed: set[ast.AST] = set()
    if not any(quoted.values()):
        return node, frozenset()

    def find(part: ast.AST) -> ast.AST | None:
        inner = quoted.get(part) if isinstance(part, ast.Call) else None
        if inner is None or not isinstance(part, ast.Call):
            return None
        given = [part.args[0], inner.func, *inner.args[1:]]
        args = [substituted(one, find) for one in given]
        named = [substituted(one, find) for one in (*inner.keywords, *part.keywords)]
        direct = ast.copy_location(ast.Call(substituted(part.func, find), args, named), part)
        changed.add(direct)
        return direct

    return substituted(node, find), frozenset(changed)


def _quoted(captured: Captured, call: ast.Call, resolve: Resolve, context: str) -> ast.Call | None:
    """The call inside the lambda of `X.dispatch(range, lambda …)`; None for any other call.

    Anything else may have a method `dispatch` too: unless it is called on the function's own
    context, only a lambda around a known kernel is taken for a launch.
    """
    match call:
        case ast.Call(
            func=ast.Attribute(value=owner, attr="dispatch"), args=[_, ast.Lambda() as wanted, *_]
        ):
            if isinstance(owner, ast.Name) and owner.id == context:
                return _checked(captured, call, wanted)
        case _:
            return None
    try:
        quoted = _checked(captured, call, wanted)
    except UnsupportedSyntaxError:
        return None
    return quoted if isinstance(resolve(quoted.func), Kernel) else None


def _checked(captured: Captured, call: ast.Call, wanted: ast.Lambda) -> ast.Call:
    quoted = quoted_call(captured, wanted)
    for extra in call.args[2:]:
        raise UnsupportedSyntaxError(
            "the arguments of a kernel stand inside the lambda, and this one is outside",
            advice=f"write `lambda kc: {ast.unparse(quoted.func)}(kc, …)` with all arguments",
            location=captured.location(extra),
        )
    for part in ast.walk(wanted):
        if isinstance(part, ast.NamedExpr):
            raise UnsupportedSyntaxError(
                "a lambda that is never executed cannot set a variable",
                advice=f"write `{part.target.id} = …` on a line before the dispatch",
                location=captured.location(part),
            )
    return quoted
