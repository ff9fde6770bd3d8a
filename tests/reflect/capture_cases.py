"""Functions that are hard to find in their source, and the text that each one stands for.

A case is a module, an expression over it that gives a function, and the function's text,
written by hand. Run as a program, this file checks every case with the interpreter and the
flags at hand, needs nothing but `trilby.reflect`, and prints what went wrong as JSON:

    python -O tests/reflect/capture_cases.py
"""

import ast
import importlib.util
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from trilby.reflect.capture import Captured, capture


@dataclass(frozen=True)
class Case:
    """A module's source, an expression that gives one of its functions, and its text.

    `line` is where it starts, given where the text alone would not tell.
    """

    source: str
    function: str
    text: str
    line: int = 0


CASES = {
    # ------------------------------------------------------------------ several on one line
    "first of two": Case(
        "pair = (lambda x: x + 1, lambda x: x + 2)\n", "pair[0]", "lambda x: x + 1"
    ),
    "second of two": Case(
        "pair = (lambda x: x + 1, lambda x: x + 2)\n", "pair[1]", "lambda x: x + 2"
    ),
    "same code, other global": Case(
        "a = b = 1\npair = (lambda: a, lambda: b)\n", "pair[1]", "lambda: b"
    ),
    "same code, other attribute": Case(
        "pair = (lambda x: x.real, lambda x: x.imag)\n", "pair[1]", "lambda x: x.imag"
    ),
    "same code, other local name": Case(
        "pair = (lambda x: x + x, lambda y: y + y)\n", "pair[1]", "lambda y: y + y"
    ),
    "same code, other variable around": Case(
        "def make(a, b): return lambda: a, lambda: b\n", "make(1, 2)[1]", "lambda: b"
    ),
    "star or two stars": Case("pair = (lambda *a: a, lambda **a: a)\n", "pair[1]", "lambda **a: a"),
    "star or keyword only": Case(
        "pair = (lambda *a: a, lambda *, a: a)\n", "pair[1]", "lambda *, a: a"
    ),
    "positional only or not": Case(
        "pair = (lambda x: x, lambda x, /: x)\n", "pair[1]", "lambda x, /: x"
    ),
    "semicolons": Case(
        "f = lambda x: x * 3; g = lambda x: x * 5; h = lambda x: x * 7\n", "g", "lambda x: x * 5"
    ),
    "nine on a line": Case(
        "fs = [lambda: 1, lambda: 2, lambda: 3, lambda: 4, lambda: 5, lambda: 6, lambda: 7, "
        "lambda: 8, lambda: 9]\n",
        "fs[6]",
        "lambda: 7",
    ),
    "one that is never compiled": Case(
        "f = (lambda: 1) if 1 else (lambda: 2); g = lambda: 3\n", "g", "lambda: 3"
    ),
    # --------------------------------------------------------------------------- constants
    "the integer 1": Case("fs = [lambda: 1, lambda: 1.0, lambda: True]\n", "fs[0]", "lambda: 1"),
    "the float 1": Case("fs = [lambda: 1, lambda: 1.0, lambda: True]\n", "fs[1]", "lambda: 1.0"),
    "True": Case("fs = [lambda: 1, lambda: 1.0, lambda: True]\n", "fs[2]", "lambda: True"),
    "zero": Case("fs = [lambda x: x + 0.0, lambda x: x + -0.0]\n", "fs[0]", "lambda x: x + 0.0"),
    "minus zero": Case(
        "fs = [lambda x: x + 0.0, lambda x: x + -0.0]\n", "fs[1]", "lambda x: x + -0.0"
    ),
    "minus zero in a tuple": Case(
        "fs = [lambda: (1, (2, 0.0)), lambda: (1, (2, -0.0))]\n", "fs[1]", "lambda: (1, (2, -0.0))"
    ),
    "complex with minus zero": Case(
        "fs = [lambda x: (x, 0j), lambda x: (x, -0j)]\n", "fs[1]", "lambda x: (x, -0j)"
    ),
    "not a number": Case(
        "fs = [lambda: 1e999 - 1e999, lambda: 1e999]\n", "fs[0]", "lambda: 1e999 - 1e999"
    ),
    "sets of strings": Case(
        "fs = [lambda x: x in {'ab', 'cd', 'ef'}, lambda x: x in {'ab', 'cd', 'gh'}]\n",
        "fs[1]",
        "lambda x: x in {'ab', 'cd', 'gh'}",
    ),
    "sets of 1 and 1.0": Case(
        "fs = [lambda x: x in {1, 2}, lambda x: x in {1.0, 2}]\n",
        "fs[1]",
        "lambda x: x in {1.0, 2}",
    ),
    "text or bytes": Case("fs = [lambda: 'a', lambda: b'a']\n", "fs[1]", "lambda: b'a'"),
    # ----------------------------------------------------------------------------- nesting
    "outer": Case(
        "f = lambda x: lambda y: lambda z: x + y + z\n",
        "f",
        "lambda x: lambda y: lambda z: x + y + z",
    ),
    "middle": Case(
        "f = lambda x: lambda y: lambda z: x + y + z\n", "f(1)", "lambda y: lambda z: x + y + z"
    ),
    "inner": Case(
        "f = lambda x: lambda y: lambda z: x + y + z\n", "f(1)(2)", "lambda z: x + y + z"
    ),
    "equal within equal": Case("f = lambda: lambda: lambda: 0\n", "f()()", "lambda: 0"),
    "outer of many lines": Case(
        "f = lambda x: [\n    x,\n    lambda: x or\n        1, lambda: x or 2]\n",
        "f",
        "lambda x: [\n    x,\n    lambda: x or\n        1, lambda: x or 2]",
    ),
    "inner of many lines": Case(
        "f = lambda x: [\n    x,\n    lambda: x or\n        1, lambda: x or 2]\n",
        "f(0)[2]",
        "lambda: x or 2",
    ),
    "a loop's line shared with its lambda": Case(
        "def make():\n    while True: f = lambda: 1; return f, lambda: 2\n",
        "make",
        "def make():\n    while True: f = lambda: 1; return f, lambda: 2",
    ),
    "lambda with a branch inside a lambda": Case(
        "f = lambda a: (lambda b: b if b else a) if a else (lambda b: a if b else b)\n",
        "f(0)",
        "lambda b: a if b else b",
    ),
    # --------------------------------------------------------------------- unusual places
    "default of a lambda": Case("f = lambda x=lambda: 0: x\n", "f.__defaults__[0]", "lambda: 0"),
    "lambda with a default": Case("f = lambda x=lambda: 0: x\n", "f", "lambda x=lambda: 0: x"),
    "default of a function": Case(
        "def f(g=lambda v: v - 1, *, h=lambda v: v - 2): return lambda v: v - 3\n",
        "f.__kwdefaults__['h']",
        "lambda v: v - 2",
    ),
    "body beside defaults": Case(
        "def f(g=lambda v: v - 1, *, h=lambda v: v - 2): return lambda v: v - 3\n",
        "f()",
        "lambda v: v - 3",
    ),
    "argument of a decorator": Case(
        "kept = []\n"
        "def keep(*fs):\n    kept.extend(fs)\n    return lambda g: g\n"
        "@keep(lambda: 1, lambda: 2)\ndef f():\n    return 3\n",
        "kept[1]",
        "lambda: 2",
    ),
    "decorator": Case(
        "kept = []\n@(lambda f: kept.append(f) or (lambda: 0))\ndef f():\n    return 3\n",
        "f",
        "lambda: 0",
    ),
    "function behind a lambda as decorator": Case(
        "kept = []\n@(lambda f: kept.append(f) or (lambda: 0))\ndef f():\n    return 3\n",
        "kept[0]",
        "def f():\n    return 3",
        3,
    ),
    "comprehension": Case(
        "fs = [lambda: i * 2 for i in range(3)] + [lambda: i * 3 for i in range(3)]\n",
        "fs[4]",
        "lambda: i * 3",
    ),
    "generator expression": Case(
        "fs = list((lambda x: x + n) for n in (1, 2))\n", "fs[1]", "lambda x: x + n"
    ),
    "class body": Case(
        "class C:\n    f = lambda self: 1; g = lambda self: 2\n", "C.g", "lambda self: 2"
    ),
    "f-string": Case(
        "fs = []\ntext = f'{fs.append(lambda: 1)} {fs.append(lambda: 2)}'\n", "fs[1]", "lambda: 2"
    ),
    "f-string after other letters": Case(
        "fs = []\ntext = f'héé {fs.append(lambda: 1)}', 'é', lambda: 'é'\n",
        "text[2]",
        "lambda: 'é'",
    ),
    "dictionary": Case("d = {'a': lambda x: x, 'b': lambda x: -x}\n", "d['b']", "lambda x: -x"),
    "keyword argument": Case(
        "fs = dict(a=lambda x: x / 2, b=lambda x: x / 4)\n", "fs['b']", "lambda x: x / 4"
    ),
    "subscript": Case("f = [lambda: 'a', lambda: 'b'][1]\n", "f", "lambda: 'b'"),
    "finally": Case(
        "try:\n    pass\nfinally:\n    f, g = lambda: 1, lambda: 2\n", "g", "lambda: 2"
    ),
    "match": Case("match 3:\n    case 3: f, g = lambda: 1, lambda: 2\n", "g", "lambda: 2"),
    "walrus": Case("x = [(f := lambda: 1), (g := lambda: 2)]\n", "g", "lambda: 2"),
    # --------------------------------------------------------------------- lines and columns
    "continuation line": Case(
        "f = max(\n    [1, 2],\n    key=lambda v:\n        -v,\n)\n"
        "fs = sorted(\n    'ab',\n), lambda v: v, (\n    lambda v: 2 * v)\n",
        "fs[2]",
        "lambda v: 2 * v",
        9,
    ),
    "backslash": Case(
        "f = \\\n    lambda x: \\\n        x + \\\n        1\n",
        "f",
        "lambda x: \\\n        x + \\\n        1",
    ),
    "many lines": Case(
        "f = (lambda x:\n     # a comment\n     x\n     + 1)\n",
        "f",
        "lambda x:\n     # a comment\n     x\n     + 1",
    ),
    "tabs": Case("if True:\n\tf =\tlambda x:\tx - 1\n", "f", "lambda x:\tx - 1"),
    "other letters before": Case(
        "größe = 'ÄÖÜ→😀'; f = lambda x: x + '😀'; g = lambda y: y\n", "f", "lambda x: x + '😀'"
    ),
    "after other letters": Case(
        "größe = 'ÄÖÜ→😀'; f = lambda x: x + '😀'; g = lambda y: y\n", "g", "lambda y: y"
    ),
    "text of several lines before": Case(
        's = """\nlambda x: 0\n"""; f = lambda x: 1\n',
        "f",
        "lambda x: 1",
        3,
    ),
    "form feed": Case("x = 1\n\f\ndef f():\n    return 1\n", "f", "def f():\n    return 1"),
    "no newline at the end": Case("f, g = lambda: 1, lambda: 2", "g", "lambda: 2"),
    "Windows lines": Case("x = 1\r\nf = (lambda:\r\n  1)\r\n", "f", "lambda:\n  1"),
    "declared encoding": Case(
        "# -*- coding: utf-8 -*-\nf = 'ä', lambda: 'ö'\n", "f[1]", "lambda: 'ö'"
    ),
    # ------------------------------------------------------------------------ functions
    "several decorators": Case(
        "def same(f):\n    return f\n\n@same\n@(\n    same\n)\n@same\ndef f(x):\n    return x\n",
        "f",
        "def f(x):\n    return x",
        9,
    ),
    "wrapper, not what it wraps": Case(
        "import functools\ndef wrap(f):\n    @functools.wraps(f)\n    def inner(*a):\n"
        "        return f(*a)\n    return inner\n@wrap\ndef f(x):\n    return x\n",
        "f",
        "def inner(*a):\n        return f(*a)",
    ),
    "method": Case(
        "class C:\n    def f(self):\n        return 1\n"
        "class D:\n    def f(self):\n        return 1\n",
        "D.f",
        "def f(self):\n        return 1",
        5,
    ),
    "method with super": Case(
        "class C:\n    @staticmethod\n    def other(): ...\n    def f(self):\n"
        "        return super().__repr__()\n",
        "C.f",
        "def f(self):\n        return super().__repr__()",
        4,
    ),
    "static method": Case(
        "class C:\n    @staticmethod\n    def f(x):\n        return x\n",
        "C.f",
        "def f(x):\n        return x",
    ),
    "property": Case(
        "class C:\n    @property\n    def f(self):\n        return 1\n",
        "C.f.fget",
        "def f(self):\n        return 1",
    ),
    "private names": Case(
        "class C:\n    def f(self):\n        return self.__x + __y\n"
        "    g = lambda self: self.__x, lambda self: self.__z\n",
        "C.g[1]",
        "lambda self: self.__z",
    ),
    "private method": Case(
        "class _C:\n    def __f(self):\n        return self.__f\n",
        "_C._C__f",
        "def __f(self):\n        return self.__f",
    ),
    "same name in two branches": Case(
        "def make(flag):\n    if flag:\n        def f(): return 1\n    else:\n"
        "        def f(): return 2\n    return f\n",
        "make(False)",
        "def f(): return 2",
        5,
    ),
    "conditional redefinition": Case(
        "try:\n    raise ImportError\n    def f(): return 1\nexcept ImportError:\n"
        "    def f(): return 1\n",
        "f",
        "def f(): return 1",
        5,
    ),
    "redefined": Case(
        "def f(): return 1\nold = f\ndef f(): return 1\n",
        "old",
        "def f(): return 1",
        1,
    ),
    "nonlocal": Case(
        "def counter():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n"
        "        return n\n    return step\n",
        "counter()",
        "def step():\n        nonlocal n\n        n += 1\n        return n",
    ),
    "closure or global": Case(
        "k = 1\ndef make():\n    k = 2\n    return lambda x: x + k\nf = lambda x: x + k\n",
        "make()",
        "lambda x: x + k",
        4,
    ),
    "cell in the function": Case(
        "def f(n):\n    g = lambda: n\n    return g\n",
        "f",
        "def f(n):\n    g = lambda: n\n    return g",
    ),
    "coroutine": Case(
        "async def f(x):\n    async with x: return await x\n",
        "f",
        "async def f(x):\n    async with x: return await x",
    ),
    "generator": Case("def f():\n    yield 1\n", "f", "def f():\n    yield 1"),
    "docstring": Case(
        'def f():\n    """Says\n       much."""\n    return 1\n',
        "f",
        'def f():\n    """Says\n       much."""\n    return 1',
    ),
    "assert": Case(
        "def f(x):\n    assert x, 'no'\n    return x\n",
        "f",
        "def f(x):\n    assert x, 'no'\n    return x",
    ),
    "debug branch": Case(
        "def f(x):\n    if __debug__:\n        x += 1\n    return x\n",
        "f",
        "def f(x):\n    if __debug__:\n        x += 1\n    return x",
    ),
    "exceptions": Case(
        "def f(x):\n    try:\n        return 1 / x\n    except ValueError:\n        return 0\n",
        "f",
        "def f(x):\n    try:\n        return 1 / x\n    except ValueError:\n        return 0",
    ),
    "inner class": Case(
        "def f():\n    class C:\n        def f(self): return C\n    return C\n",
        "f().f",
        "def f(self): return C",
        3,
    ),
    "annotations as text": Case(
        "from __future__ import annotations\n"
        "def f(x: unknown = (lambda: 1)()) -> other: return x, lambda: 2, lambda: 3\n",
        "f(1)[2]",
        "lambda: 3",
    ),
    "annotated function": Case(
        "from __future__ import annotations\n"
        "def f(x: unknown) -> other:\n    y: no = x\n    return y\n",
        "f",
        "def f(x: unknown) -> other:\n    y: no = x\n    return y",
    ),
}


def load(folder: Path, source: str, name: str = "case") -> ModuleType:
    """A module of that source, in a file of that name."""
    file = folder / f"{name}.py"
    file.write_bytes(source.encode())
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(str(file))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(case: Case, folder: Path) -> tuple[str, int]:
    """Load the case's module, capture the function, give its text and where that starts."""
    module = load(folder, case.source)
    captured = capture(cast("object", eval(case.function, vars(module))))  # noqa: S307 -- ours
    return text_of(captured, captured.node), captured.location(captured.node).line


def text_of(captured: Captured, node: ast.AST) -> str:
    """The text at a node's location, which counts in characters."""
    place = captured.location(node)
    lines = Path(captured.file).read_text(encoding="utf-8").split("\n")
    lines = lines[place.line - 1 : place.end_line]
    lines[-1] = lines[-1][: place.end_column]
    lines[0] = lines[0][place.column :]
    return "\n".join(lines)


def main() -> None:
    """Check all cases and print the wrong ones."""
    wrong: dict[str, object] = {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                text, line = run(case, Path(folder))
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is the report
                wrong[name] = repr(error)
                continue
        if text != case.text or case.line not in {0, line}:
            wrong[name] = [text, line]
    json.dump({"cases": len(CASES), "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main()
