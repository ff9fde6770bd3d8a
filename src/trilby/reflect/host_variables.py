"""The types of the variables of a compute function, found by looking at all assignments."""

import ast
from collections.abc import Iterator
from typing import TypeAlias, cast

from trilby.data.annotations import type_of
from trilby.data.dtypes import Type
from trilby.data.markers import Constant
from trilby.data.ndarray import NDArray
from trilby.data.schema import BufferType, NDArrayType, in_global
from trilby.model.host_code import names_in, parameters
from trilby.model.value import COMPUTE_CONTEXT, OBJECT
from trilby.reflect.capture import MISSING, Captured
from trilby.reflect.host_launch import AnyCompute
from trilby.reflect.host_names import Locals
from trilby.reflect.host_types import Typing
from trilby.syntax import parsed_expression

Binding: TypeAlias = tuple[str, ast.expr | None, ast.expr | None]
"""A name, the expression it is bound to where that is known, and its annotation."""


def typing_of(
    compute: AnyCompute, captured: Captured, node: ast.FunctionDef, local: Locals
) -> Typing:
    """Infer the types of all variables.

    A variable has the type that all its assignments agree on. Since assignments refer to
    each other, they are looked at until nothing new comes out.
    """
    types: dict[str, Type | None] = dict.fromkeys(local.plain)
    types |= {n: t for n, t in _parameter_types(compute, captured, node) if n in local.plain}
    typing = Typing(captured, local, types)
    bindings = [binding for binding in _bindings(node.body) if binding[0] in local.plain]
    before: dict[str, Type | None] = {}
    while types != before:
        before = dict(types)
        for name, value, annotation in bindings:
            bound = OBJECT if value is None else typing.of(value)
            declared = annotation and _annotation_type(compute, captured, annotation)
            types[name] = _join(types[name], declared or bound)
    types.update({name: OBJECT for name, found in types.items() if found is None})
    return typing


def _join(known: Type | None, new: Type | None) -> Type | None:
    if known is None or new is None:
        return known or new
    return known if known == new else OBJECT


def _bindings(body: list[ast.stmt]) -> Iterator[Binding]:
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value, statement.annotation
            case ast.If() | ast.While() | ast.For() | ast.With():
                yield from _compound(statement)
            case _:
                yield from _unknown(statement)


def _compound(statement: ast.If | ast.While | ast.For | ast.With) -> Iterator[Binding]:
    match statement:
        case ast.For(target=target):
            yield from _unknown(target)
        case ast.With(items=items):
            yield from _unknown(*(item.optional_vars for item in items if item.optional_vars))
        case _:
            pass
    yield from _bindings(statement.body)
    if not isinstance(statement, ast.With):
        yield from _bindings(statement.orelse)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[Binding]:
    """`a, b = b, a` binds each name to what stands opposite."""
    pairs = opposite(target, value)
    if isinstance(target, ast.Name):
        yield target.id, value, None
    elif pairs:
        for inner, bound in pairs:
            yield from _pairs(inner, bound)
    else:
        yield from _unknown(target)


def opposite(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The pairs of a tuple assignment whose sides have equal length and no stars."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return []
    sides = (*target.elts, *value.elts)
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in sides):
        return []
    return list(zip(target.elts, value.elts, strict=True))


def _unknown(*nodes: ast.AST) -> Iterator[Binding]:
    for name in names_in(*nodes).sets:
        yield name, None, None


# ------------------------------------------------------------------------------ annotations


def _parameter_types(
    compute: AnyCompute, captured: Captured, node: ast.FunctionDef
) -> Iterator[tuple[str, Type]]:
    args = node.args
    stars = [star for star in (args.vararg, args.kwarg) if star]
    for number, argument in enumerate(parameters(args)):
        if number == 0:
            yield argument.arg, COMPUTE_CONTEXT
        elif argument in stars or argument.annotation is None:
            yield argument.arg, OBJECT
        else:
            found = _annotation_type(compute, captured, argument.annotation)
            yield argument.arg, found or OBJECT


def _annotation_type(compute: AnyCompute, captured: Captured, annotation: ast.expr) -> Type | None:
    """The buffer or array type that an annotation names, if it does."""
    found = _annotation_value(compute, captured, annotation)
    known = None if found is MISSING else type_of(found)
    known = known and in_global(known)
    return known if isinstance(known, BufferType | NDArrayType) else None


def _annotation_value(compute: AnyCompute, captured: Captured, node: ast.expr) -> object:
    """What an annotation means, if it is of names, dots, `NDArray[…]` and `Constant[…]`."""
    match node:
        case ast.Constant(value=str(text)):
            return _text_value(compute, captured, text)
        case ast.Name(id=name):
            return _name_value(compute, captured, name)
        case ast.Attribute(value=owner, attr=name):
            found = _annotation_value(compute, captured, owner)
            return MISSING if found is MISSING else getattr(found, name, MISSING)
        case ast.Subscript(value=owner, slice=element):
            base = _annotation_value(compute, captured, owner)
            inner = _annotation_value(compute, captured, element)
            if base is Constant:
                return inner
            return NDArray[cast("type", inner)] if base is NDArray else MISSING
        case _:
            return MISSING


def _text_value(compute: AnyCompute, captured: Captured, text: str) -> object:
    """An annotation in quotes; one that is not even Python names no type."""
    try:
        inner = parsed_expression(text.strip())
    except SyntaxError:
        return MISSING
    return _annotation_value(compute, captured, inner)


def _name_value(compute: AnyCompute, captured: Captured, name: str) -> object:
    """Annotations see the names around the function, even those that its body does not use."""
    if not captured.is_closure(name) and name in compute.scope:
        return compute.scope[name]
    return captured.lookup(name)
