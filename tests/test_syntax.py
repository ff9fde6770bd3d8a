"""Python's parser, as several threads use it."""

import ast
import gc
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import trilby
from trilby.syntax import compiled, parsed, parsed_expression

SOURCES = sorted(Path(trilby.__file__).parent.rglob("*.py"))
TEXT = "\n".join(f"def f{n}(x): return x[{n}] + (x.a, {{'b': [x * {n}]}})" for n in range(40))


class Other:
    """Garbage that lets other threads run when it is collected."""

    def __init__(self) -> None:
        self.this = self

    def __del__(self) -> None:
        time.sleep(5e-4)


def in_threads(act: Callable[[], object]) -> list[BaseException]:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                for _ in range(5):
                    Other()
                act()
        except BaseException as error:  # noqa: BLE001 -- it is looked at
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_parse_while_garbage_is_collected() -> None:
    thresholds, filters = gc.get_threshold(), warnings.filters
    gc.set_threshold(20, 2, 2)
    try:
        assert in_threads(lambda: parsed(TEXT)) == []
    finally:
        gc.set_threshold(*thresholds)
    assert warnings.filters is filters


def test_who_wrote_a_text_had_its_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = parsed("text = '\\d'\nx = 1 is 1")
        compiled(tree, "app.py", 0)
        parsed_expression("'\\d'")


def test_trees_and_code() -> None:
    assert ast.unparse(parsed_expression("( a+b\n)")) == "a + b"
    found: dict[str, object] = {}
    exec(compiled(parsed(b"x = 3"), "app.py", 0), found)  # noqa: S102 -- that is what code is for
    assert found["x"] == 3
    for text in ("1 +", "a = 1"):
        with pytest.raises(SyntaxError):
            parsed_expression(text)


def test_nobody_else_parses() -> None:
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        is_ours = source.name == "syntax.py"
        assert "ast.parse(" not in text, source
        opens = source.name == "opencl_device.py"  # a pool of pyopencl warns when it is made
        assert opens or "catch_warnings(" not in text, source
        assert ("ast.PyCF_ONLY_AST" in text) is is_ours, source
