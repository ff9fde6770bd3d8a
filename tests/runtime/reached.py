"""Which tests come by which lines: only those can notice that a line has changed."""

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from _typeshed import TraceFunction

Place: TypeAlias = tuple[str, int]
"""A module by its name, and a line."""


class Follower:
    """A plugin of pytest that writes down the lines of some files that each test comes by."""

    def __init__(self, files: Sequence[Path], target: Path) -> None:
        self._modules = {str(file): file.stem for file in files}
        self._target = target
        self._lines: set[Place] = set()
        self._found: dict[str, tuple[float, list[Place]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Follow one test."""
        self._lines = set()
        started = time.perf_counter()
        sys.settrace(self._enter)
        threading.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # pyright: ignore[reportArgumentType] -- it takes None
            seconds = time.perf_counter() - started
            self._found[item.nodeid] = seconds, sorted(self._lines)

    def pytest_sessionfinish(self) -> None:
        """Leave what was found to whoever asked for it."""
        self._target.write_text(json.dumps(self._found), encoding="utf-8")

    def _enter(self, frame: FrameType, _event: str, _given: object) -> "TraceFunction | None":
        module = self._modules.get(frame.f_code.co_filename)
        if module is None:
            return None

        def follow(frame: FrameType, _event: str, _given: object) -> "TraceFunction":
            self._lines.add((module, frame.f_lineno))
            return follow

        return follow


def tests_by_line(recorded: Path) -> dict[Place, list[str]]:
    """The tests that come by each line, the fastest first."""
    found: defaultdict[Place, list[tuple[float, str]]] = defaultdict(list)
    for test, (seconds, places) in json.loads(recorded.read_text(encoding="utf-8")).items():
        for module, line in places:
            found[module, line].append((seconds, test))
    return {place: [test for _, test in sorted(tests)] for place, tests in found.items()}
