"""Launches, transfers and calls of other compute functions inside a compute function."""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
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


def is_context(typing: Typing, node: ast.expr) -> bool:
    """Whether an expression is a compute context: its name, or a chain of calls on that."""
    return root(typing, node) is not None


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


def place_given(node: ast.expr) -> tuple[ast.expr, str | ast.expr] | None:
    """What `owner.name` and `owner[index]` are made of; None for what is no place, or a view."""
    match node:
        case ast.Attribute(value=owner, attr=name):
            return owner, name
        case ast.Subscript(value=owner, slice=index) if not any(_parts(index)):
            return owner, index
        case _:
            return None


def _parts(index: ast.expr) -> Iterator[bool]:
    """Whether each index selects more than one element."""
    for one in index.elts if isinstance(index, ast.Tuple) else (index,):
        yield isinstance(one, ast.Slice | ast.Starred)


def link(whole: Location, method: Location, name: str) -> Location:
    """The place of the last call of a chain: from the name of its method on."""
    return replace(whole, line=method.end_line, column=max(0, method.end_column - len(name)))


def says_what_moves(typing: Typing, node: ast.FunctionDef) -> bool:
    """Whether a compute function has blocks, puts or gets of its own."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(
        isinstance(call.func, ast.Attribute)
        and (call.func.attr == "explicit" or move_of(typing, call) is not None)
        for call in calls
    )


# -------------------------------------------------------------------------------------- host launch

Argument: TypeAlias = ast.expr | bool | int | float
AnyKernel: TypeAlias = Kernel[...]

_PLAIN = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A launch or call whose target is known.

    `given` are the expressions in the order of the source, the context first; `arranged`
    says for each parameter after the context which of them it gets, or what number. `options`
    are those that are no arguments of the kernel.
    """

    target: AnyKernel | AnyCompute
    given: tuple[ast.expr, ...]
    arranged: tuple[Argument, ...]
    options: Mapping[str, ast.expr]

    @property
    def context(self) -> ast.expr:
        """The compute context that launches."""
        return self.given[0]


def launch_of(typing: Typing, node: ast.expr) -> HostLaunch | None:
    """What `cc.dispatch(range, kernel, …)` or `other(cc, …)` launches, if that is known."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=context, attr="dispatch"), args=[size, kernel, *args]
        ):
            target = typing.resolve(kernel)
            if not isinstance(target, Kernel) or not is_context(typing, context):
                return None
            return _launch(typing, node, target, (context, size), args)
        case ast.Call(func=function, args=[context, *args]):
            callee = typing.resolve(function)
            if not isinstance(callee, Compute) or not is_context(typing, context):
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
    if any(isinstance(argument, ast.Starred) for argument in args):
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given = (*first, *args, *keywords.values())
    options: dict[str, ast.expr] = {}
    if isinstance(target, Kernel):
        check_options(target, len(args), keywords, typing.captured.location(call))
        options = {name: keywords.pop(name) for name in DISPATCH_OPTIONS if name in keywords}
    params = _parameters(target)
    names = {keyword.arg for keyword in call.keywords} - options.keys()
    if params is None or not params.keys() >= names:
        return None
    arranged = _arranged(typing, call, target, params, args, keywords)
    return HostLaunch(target, given, tuple(arranged), options) if arranged is not None else None


def _parameters(target: Reflectable) -> dict[str, Parameter] | None:
    """The parameters after the context, if each can be given by its position."""
    params = list(inspect.signature(target.function).parameters.values())[1:]
    if any(param.kind not in _PLAIN for param in params):
        return None
    return {param.name: param for param in params}


def _arranged(
    typing: Typing,
    call: ast.Call,
    target: Reflectable,
    params: dict[str, Parameter],
    args: list[ast.expr],
    keywords: dict[str, ast.expr],
) -> list[Argument] | None:
    """The arguments in the order of the parameters; None where only Python can tell."""
    by_position = dict(zip(params, args, strict=False))
    problem = _misfit(params, args, by_position, keywords)
    if problem and isinstance(target, Kernel):
        kernel_signature(target)  # one that is declared wrongly says so first
        raise ArgumentTypeError(
            f"`{target.name}` {problem}",
            advice=f"its parameters after the kernel context are: {', '.join(params) or 'none'}",
            location=typing.captured.location(call),
        )
    if problem or any(params[name].kind is Parameter.POSITIONAL_ONLY for name in keywords):
        return None
    wanted = list(params)
    if isinstance(target, Compute):
        # Python fills in what is missing at the end
        while wanted and wanted[-1] not in by_position and wanted[-1] not in keywords:
            wanted.pop()
    found: list[Argument] = []
    for name in wanted:
        value = by_position.get(name, keywords.get(name, params[name].default))
        if not isinstance(value, ast.expr | bool | int | float):
            return None
        found.append(value)
    return found


def _misfit(
    params: dict[str, Parameter],
    args: list[ast.expr],
    by_position: dict[str, ast.expr],
    keywords: dict[str, ast.expr],
) -> str:
    """How arguments do not fit the parameters of a function, or nothing."""
    if len(args) > len(params):
        return f"takes {len(params)} arguments, and {len(args)} are given"
    for name, param in params.items():
        if name in by_position and name in keywords:
            return f"gets two values for `{name}`"
        if name not in by_position and name not in keywords and param.default is Parameter.empty:
            return f"gets no value for `{name}`"
    return ""


# ------------------------------------------------------------------- a look over everything


def targets(
    typing: Typing, node: ast.FunctionDef
) -> Iterator[tuple[ast.expr, AnyKernel | AnyCompute]]:
    """Every kernel and compute function that a function names, also in text."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            found = typing.resolve(part)
            if isinstance(found, Kernel | Compute):
                yield part, found


def check_dispatches(typing: Typing, node: ast.FunctionDef) -> None:
    """Refuse launches of what is known not to be a kernel."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                if method == DISPATCH and name == typing.locals.params[0]:
                    _check_kernel(typing, part)
            case _:
                continue


def _check_kernel(typing: Typing, call: ast.Call) -> None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kernel = call.args[1] if len(call.args) > 1 else given.get("kernel")
    if isinstance(kernel, ast.Lambda):
        raise ArgumentTypeError(
            "the lambda of a dispatch is its second argument",
            advice="write `cc.dispatch(range, lambda kc: kernel(kc, …))`",
            location=typing.captured.location(kernel),
        )
    found = typing.resolve(kernel) if kernel else None
    if kernel is None or not isinstance(found, FunctionType | Helper | Compute | type):
        return
    what, advice = _MISTAKEN[_kind(cast("object", found))]
    name = ast.unparse(kernel)
    raise ArgumentTypeError(
        f"`{name}` is {what}, and only kernels can be dispatched",
        advice=advice.format(name=name),
        location=typing.captured.location(kernel),
    )


def _kind(found: object) -> str:
    if isinstance(found, Reflectable):
        return found.kind
    return "class" if isinstance(found, type) else "function"


_MISTAKEN = {
    "function": ("a plain function", "decorate it with `@tb.kernel`"),
    "class": ("a class", "dispatch a function that is decorated with `@tb.kernel`"),
    "func": (
        "a helper of kernels (@tb.func)",
        "write a `@tb.kernel` that calls `{name}` for its work item, and dispatch that",
    ),
    "compute": ("a compute function", "call it: `{name}(cc, …)`"),
}

Symbols = Callable[[Reflectable], str]
"""Gives the symbol under which a decorated function is known in a program."""


# ------------------------------------------------------------------------- lambdas of launches
# `cc.dispatch(n, lambda kc: k(kc, a))` in its direct form, `cc.dispatch(n, k, a)`. The lambda is
# never executed: it only says which kernel is launched with what. It is taken out of the tree, in
# which everything that stays keeps its place. Evaluation order is that of the source.

Resolve = Callable[[ast.expr], object]
"""Gives the value of a dotted name that the function does not bind itself."""

DISPATCH = "dispatch"


def direct_form(
    captured: Captured, node: ast.FunctionDef, resolve: Resolve
) -> tuple[ast.FunctionDef, frozenset[ast.AST]]:
    """The function without lambdas around launches, and the calls that are changed by that."""
    params = parameters(node.args)
    context = params[0].arg if params else ""
    quoted = {call: _quoted(captured, call, resolve, context) for call in _dispatches(node)}
    changed: set[ast.AST] = set()

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


def _dispatches(node: ast.AST) -> Iterator[ast.Call]:
    """Every call of the form `X.dispatch(range, lambda …)`, outer before inner."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(attr=name), args=[_, ast.Lambda(), *_]):
                if name == DISPATCH:
                    yield part
            case _:
                continue


def _quoted(captured: Captured, call: ast.Call, resolve: Resolve, context: str) -> ast.Call | None:
    """The call inside the lambda of a launch.

    Anything else may have a method `dispatch` too: unless it is called on the function's own
    context, only a lambda around a known kernel is taken for a launch.
    """
    function, wanted = call.func, call.args[1]
    if not isinstance(function, ast.Attribute) or not isinstance(wanted, ast.Lambda):
        return None
    if isinstance(function.value, ast.Name) and function.value.id == context:
        return _checked(captured, call, wanted)
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
