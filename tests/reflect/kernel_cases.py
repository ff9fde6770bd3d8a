"""Kernels given as text: loaded, analysed, and run on the interpreter.

The text stands in a file `app.py` that exists only for `linecache`, so its first line is
line 1 of every error. The names of `trilby`, `math` and NumPy (`np`) need no import there.
"""

import linecache
import math
from textwrap import dedent
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from tests.backend.interpreter.kernels import launch

import trilby as tb
from trilby.data.buffer import Buffer
from trilby.data.ndrange import NDRange
from trilby.errors import TrilbyError
from trilby.model.parse import named_types, parse
from trilby.model.text import to_text
from trilby.model.verify import verify
from trilby.reflect import kernel_builtins
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import AnalysedKernel, analyse_kernel

Given: TypeAlias = npt.NDArray[Any] | Buffer | float
ErrorT = TypeVar("ErrorT", bound=TrilbyError)
FILE = "app.py"
AT_HAND: dict[str, Any] = {
    **{name: getattr(tb, name) for name in tb.__all__ if name in vars(tb) or "Array" in name},
    "tb": tb,
    "math": math,
    "atomics": kernel_builtins,
    "np": np,
}


def load(source: str, file: str = FILE, **names: Any) -> dict[str, Any]:
    """Run a module's text; `names` are globals that it finds when it starts."""
    text = dedent(source).lstrip("\n")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": file.removesuffix(".py"), **AT_HAND, **names}
    exec(compile(text, file, "exec", dont_inherit=True), namespace)  # noqa: S102 -- our own text
    return namespace


def kernel(source: str, **names: Any) -> Kernel[...]:
    """The last kernel of a module's text."""
    return [thing for thing in load(source, **names).values() if isinstance(thing, Kernel)][-1]


def analysed(made: Kernel[...], ranks: tuple[int, ...] | None = None) -> AnalysedKernel:
    """Analyse a kernel, and check that all its models are whole and read back from their text."""
    result = analyse_kernel(made, ranks)
    functions = {function.name: function for function in result.graph.functions}
    for function in functions.values():
        verify(function, functions)
        text = to_text(function, locations=True)
        again = parse(text, named_types(*functions.values()))
        assert to_text(again, locations=True) == text
    return result


def model(source: str, ranks: tuple[int, ...] | None = None, **names: Any) -> str:
    """The text of the last kernel's model."""
    return to_text(analysed(kernel(source, **names), ranks).graph.entry)


def body(lines: str, params: str = "", **names: Any) -> str:
    """The model's body for a kernel with these parameters, without its last `return`."""
    text = model(f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(lines)}", **names)
    return dedent("\n".join(line.replace("!", " ", 1) for line in text.splitlines()[1:-2]))


def indented(lines: str) -> str:
    """The lines four columns to the right."""
    return "\n".join(f"    {line}" for line in dedent(lines).strip("\n").splitlines())


def run(made: Kernel[...], size: int | tuple[int, ...] | NDRange, *arguments: Given) -> None:
    """Launch a kernel on the interpreter; arrays and buffers come back with what it wrote."""
    ranks = tuple(a.ndim for a in arguments if isinstance(a, np.ndarray))
    plain = [a.segment.memory if isinstance(a, Buffer) else a for a in arguments]
    launch(analysed(made, ranks).graph, size, *plain)


def error_of(kind: type[ErrorT], source: str, **names: Any) -> ErrorT:
    """The error that reflecting the last kernel of a text raises."""
    made = kernel(source, **names)
    with pytest.raises(kind) as caught:
        analysed(made)
    assert type(caught.value) is kind
    return caught.value


def said(kind: type[ErrorT], source: str, **names: Any) -> str:
    """The full text of that error."""
    return str(error_of(kind, source, **names))


def lined(text: str) -> str:
    """An expected text, written with the indentation of the test around it."""
    return dedent(text).strip("\n")
