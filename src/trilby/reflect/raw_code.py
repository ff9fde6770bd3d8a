"""From what stands in `@tb.raw` to the raw code of a model, checked against the parameters."""

import ast

from trilby.arguments import closest
from trilby.data.schema import BufferType, NDArrayType
from trilby.errors import KernelTypeError
from trilby.model.op import Raw, RawBody
from trilby.model.value import space_of
from trilby.reflect.capture import Captured
from trilby.reflect.raw import RawHelper
from trilby.reflect.signature import Signature
from trilby.source import Location


def raw_code(helper: RawHelper[..., object], signature: Signature, captured: Captured) -> Raw:
    """What the decorator says, checked against the parameters."""
    decorator = _decorator(captured)
    where = captured.location(decorator)
    _check_declared(helper, signature, where)
    bodies = (
        RawBody(language, text, captured.location(_written(decorator, language)))
        for language, text in helper.texts.items()
    )
    names = tuple(param.name for param in signature.params)
    return Raw(names, tuple(bodies), helper.reads, helper.writes)


def _decorator(captured: Captured) -> ast.AST:
    """The call of `tb.raw` above the function; the function where it stands elsewhere."""
    node = captured.node
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    calls = (decorator for decorator in decorators[-1:] if isinstance(decorator, ast.Call))
    return next(calls, node)


def _written(decorator: ast.AST, language: str) -> ast.AST:
    """The literal that holds the text, so that its lines have a place in the source."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    values = (keyword.value for keyword in keywords if keyword.arg == language)
    return next((v for v in values if isinstance(v, ast.Constant)), decorator)


def _check_declared(helper: RawHelper[..., object], signature: Signature, where: Location) -> None:
    buffers = {
        param.name: param
        for param in signature.params
        if isinstance(param.type, BufferType | NDArrayType)
    }
    for name in (*helper.reads, *helper.writes):
        if name not in buffers:
            raise KernelTypeError(
                f"@tb.raw names `{name}`, which is no buffer parameter of `{helper.name}`",
                advice=_known_advice(name, tuple(buffers)),
                location=where,
            )
    for name, param in buffers.items():
        if name not in (*helper.reads, *helper.writes):
            raise KernelTypeError(
                f"nothing says what the device code of `{helper.name}` does with `{name}`",
                advice=f'add `reads=("{name}",)` or `writes=("{name}",)`, or both, to @tb.raw',
                location=where,
            )
        if name in helper.writes and space_of(param.type) == "constant":
            raise KernelTypeError(
                f"`{name}` lies in constant memory, and @tb.raw says that it is written",
                advice="declare the parameter without `tb.Constant`, or only read it",
                location=where,
            )


def _known_advice(name: str, buffers: tuple[str, ...]) -> str:
    if not buffers:
        return "it has none: leave `reads` and `writes` out"
    close = closest(name, buffers)
    hint = f"did you mean `{close}`? " if close else ""
    return f"{hint}its buffers are {', '.join(f'`{buffer}`' for buffer in buffers)}"
