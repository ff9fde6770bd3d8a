"""LLVM IR of kernels: generated, or kept from an earlier process.

It is taken again for a model that is the same in every part, for the same processor, and from the
same generator: its files are in the key with the times when they were written. So the generator
is loaded only if there is something to generate.
"""

import os
import sys
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from trilby.analysis.reach import KernelGraph
from trilby.backend.native.cache import Cache, users_cache
from trilby.codegen.llvm.target import TRANSFORMS, LlvmModule, LlvmTarget
from trilby.data.dtypes import ScalarType, Type
from trilby.model.value import Value

# ----------------------------------------------------------------------------------------- identity
# All of a model as one text: two models with the same text are the same to every reader.
#
# It is for keys, not for people. Every field of every part is in it, places in the source as
# well.

_PLAIN = (str, int, float, bool, type(None))


def identity(*things: object) -> str:
    """The text of functions of a model, and of other things that consist of fields."""
    numbers: dict[int, tuple[int, object]] = {}  # of values and types, which are told of once

    def text(thing: object) -> str:
        kind = type(thing)
        if kind in _PLAIN:
            return repr(thing)
        if kind is ScalarType:
            return str(thing)
        if kind is tuple:
            return f"({','.join(map(text, cast('tuple[object, ...]', thing)))})"
        if kind is frozenset:
            return f"{{{','.join(sorted(map(text, cast('frozenset[object]', thing))))}}}"
        if not isinstance(thing, Value | Type):
            return with_fields(thing)
        known = numbers.get(id(thing))
        if known is not None:
            return f"#{known[0]}"
        number = len(numbers)
        numbers[id(thing)] = number, thing  # which keeps others from its address
        return f"#{number}={with_fields(thing)}"

    def with_fields(thing: object) -> str:
        kind: type[Any] = type(thing)
        if not is_dataclass(kind):
            raise TypeError(f"{thing!r} of the class `{kind.__name__}` is no part of a model")
        parts = ",".join(text(getattr(thing, name)) for name in _names(kind))
        return f"{kind.__module__}.{kind.__qualname__}({parts})"

    return ",".join(map(text, things))


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


# ------------------------------------------------------------------------------------------ modules

FOLDERS = (
    "",
    "data",
    "model",
    "model/ops",
    "analysis",
    "codegen",
    "codegen/llvm",
    "codegen/llvm/formulas",
    "transform",
)
"""Where the files are that decide what is generated."""


def module_of(graph: KernelGraph, target: LlvmTarget, kept: Cache | None) -> LlvmModule:
    """The module of a kernel, with the lines of its source: generated, or taken from a cache."""
    if kept is None:
        return generated(graph, target, lines=True)
    key = identity(target, *graph.functions)
    found = kept.get(key)
    if found is not None:
        return _from_bytes(found)
    made = generated(graph, target, lines=True)
    if not made.asserts and not made.prints:  # they are for a person, who has time
        kept.put(key, _as_bytes(made))
    return made


def generated(graph: KernelGraph, target: LlvmTarget, *, lines: bool = False) -> LlvmModule:
    """The module of a kernel, made now: its graph goes through the transforms of the language."""
    from trilby.codegen.llvm.module import generate  # noqa: PLC0415 -- see above
    from trilby.transform.pipelines import Transformed, lower_kernel  # noqa: PLC0415

    lowered = lower_kernel(Transformed(graph.functions), TRANSFORMS)
    return generate(KernelGraph(lowered.functions), target, lines=lines)


@cache
def kept_modules() -> Cache | None:
    """Modules of earlier processes, in the folder that the environment names."""
    return users_cache(generator(), "ll")


def generator() -> str:
    """What generates, with everything that it is made of."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    files = sorted(text for folder in FOLDERS for text in _files(os.path.join(package, folder)))
    return f"generated, python {sys.version}, numpy {np.__version__}, {' '.join(files)}"


def _files(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        found = list(entries)
    sources = [(one.path, one.stat()) for one in found if one.name.endswith(".py")]
    return [f"{path} {about.st_mtime_ns} {about.st_size}" for path, about in sources]


def _as_bytes(module: LlvmModule) -> bytes:
    sizes = (module.lanes, module.group_bytes, module.vector_bytes, int(module.any_group))
    return "\n".join((module.entry, *map(str, sizes), module.text)).encode()


def _from_bytes(content: bytes) -> LlvmModule:
    entry, *sizes, text = content.decode().split("\n", 5)
    lanes, group_bytes, vector_bytes, any_group = map(int, sizes)
    return LlvmModule(text, entry, lanes, group_bytes, vector_bytes, any_group == 1)
