"""From a compute function to its code model.

Whatever the model need not understand is kept as text and runs unchanged, so any Python is
welcome here. Compiling a model back to Python is not this package's part.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, UnsupportedSyntaxError
from trilby.model.build import Builder
from trilby.model.op import Block, Func
from trilby.model.value import NONE, OBJECT, Value
from trilby.reflect.capture import Captured, capture
from trilby.reflect.functions import Kernel, Reflectable
from trilby.reflect.host_direct import direct_form
from trilby.reflect.host_expressions import HostFunction
from trilby.reflect.host_launch import (
    AnyCompute,
    AnyKernel,
    Symbols,
    check_dispatches,
    says_what_moves,
    targets,
)
from trilby.reflect.host_names import locals_of, reads_its_frame
from trilby.reflect.host_statements import Statements
from trilby.reflect.host_text import Pages
from trilby.reflect.host_types import Typing
from trilby.reflect.host_variables import typing_of
from trilby.source import Location


@dataclass(frozen=True, slots=True, eq=False)
class ReflectedCompute:
    """The model of a compute function, and the decorated functions that it names.

    `kernels` and `callees` also hold those that only its text names, by their symbols.
    """

    func: Func
    kernels: Mapping[str, AnyKernel]
    callees: Mapping[str, AnyCompute]
    captured: Captured
    typing: Typing
    targets: tuple[tuple[ast.expr, AnyKernel | AnyCompute], ...]
    """Where kernels and compute functions are named, and which they were."""
    says_what_moves: bool
    """True where it puts and gets itself, so that nobody should plan copies for it."""

    def is_current(self) -> bool:
        """False once a name stands for another kernel or compute function than it did."""
        return all(self.typing.resolve(name) is target for name, target in self.targets)


def symbol_of(function: Reflectable) -> str:
    """The symbol of a decorated function where nobody decides otherwise."""
    return function.symbol


def reflect_compute(compute: AnyCompute, symbols: Symbols = symbol_of) -> ReflectedCompute:
    """The model of a compute function.

    >>> print(to_text(reflect_compute(square_all).func))
    compute @"squares.square_all" (%0 : ComputeContext, %1 : S32Array) -> None {
      %2 : Var<ComputeContext> = var %0 @"cc"
      %3 : Var<S32Array> = var %1 @"s32"
      %4 : ComputeContext = var.load %2
      %5 : S32Array = var.load %3
    ! %6 : i32 = load %5 @"length"
      %7 : S32Array = var.load %3
      dispatch %4 %6 %7 @"squares.square_kernel"
    }
    """
    original = capture(compute.function)
    written = _definition(compute, original)
    outside = Typing(original, locals_of(written), {})
    captured, node = direct_form(original, written, outside.resolve)
    local = outside.locals if node is written else locals_of(node)
    typing = typing_of(compute, captured, node, local)
    check_dispatches(typing, node)
    host = HostFunction(captured, Pages.around(captured.lines, node), typing, symbols)
    found = tuple(targets(typing, node))
    return ReflectedCompute(
        _func(compute, host, node),
        {symbols(target): target for _, target in found if isinstance(target, Kernel)},
        {symbols(target): target for _, target in found if not isinstance(target, Kernel)},
        original,
        typing,
        found,
        compute.explicit or says_what_moves(typing, node),
    )


def _func(compute: AnyCompute, host: HostFunction, node: ast.FunctionDef) -> Func:
    types = host.typing.variables
    params = tuple(Value(types.get(name) or OBJECT, name) for name in host.typing.locals.params)
    result = OBJECT if any(_returned_values(node)) else NONE
    where = _head(host.captured, node)
    return Func(
        host.symbol_of(compute), params, result, _body(host, node, params), "compute", where
    )


def _body(host: HostFunction, node: ast.FunctionDef, params: tuple[Value, ...]) -> Block:
    statements = Statements(host, Builder(_head(host.captured, node)))
    for param in params:
        statements.declare(param.hint, (param,), node)
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if reads_its_frame(node):
        # variables of ours, or text cut into values, would show
        for statement in body:
            statements.text([statement])
    else:
        statements.top(body)
    return statements.out.block()


def _head(captured: Captured, node: ast.FunctionDef) -> Location:
    """The line of `def`, without the body."""
    whole = captured.location(node)
    return replace(whole, end_line=whole.line, end_column=len(captured.lines[whole.line - 1]))


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What belongs to a function itself and not to a function inside of it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _own_parts(child)


def _returned_values(node: ast.FunctionDef) -> Iterator[ast.expr]:
    for part in _own_parts(node):
        if isinstance(part, ast.Return) and part.value:
            yield part.value


# ----------------------------------------------------------------------------------- refusals


def _definition(compute: AnyCompute, captured: Captured) -> ast.FunctionDef:
    """The function's tree, if it can be run by a compute context at all."""
    node = captured.node
    if isinstance(node, ast.Lambda):
        raise _refused(captured, node, "a lambda", "write the compute function with `def`")
    if isinstance(node, ast.AsyncFunctionDef):
        advice = (
            "use a plain `def`: dispatches are asynchronous already, and nothing waits for them "
            "before their results are read"
        )
        raise _refused(captured, node, "an `async def`", advice)
    for part in _own_parts(node):
        if isinstance(part, ast.Yield | ast.YieldFrom):
            advice = "pass a function and call it with each result, or return a list"
            raise _refused(captured, part, "a generator", advice)
    if not node.args.posonlyargs and not node.args.args:
        raise ArgumentTypeError(
            f"the compute function `{compute.name}` takes no compute context",
            advice=f"write `def {compute.name}(cc: ComputeContext, …):`",
            location=_head(captured, node),
        )
    first = [*node.args.posonlyargs, *node.args.args][0]
    if first.arg in {"self", "cls"}:
        raise ArgumentTypeError(
            f"the compute function `{compute.name}` is a method, and its first parameter has to be "
            "the compute context",
            advice="write `@staticmethod` above `@tb.compute`, and pass what it needs",
            location=captured.location(first),
        )
    return node


def _refused(captured: Captured, node: ast.AST, what: str, advice: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"a compute function cannot be {what}", advice=advice, location=captured.location(node)
    )
