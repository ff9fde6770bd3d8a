"""Interrupts at a chosen step, for tests of what they leave."""

import dis
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

import pytest

import trilby

HEARD_AFTER = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "RESUME"}
"""The instructions behind which Python looks for signals."""


AGAIN_SECONDS = 10.0


def with_ctrl_c(work: Callable[[], object], seconds: float = 0.1) -> None:
    """Do some work that takes long, and have Ctrl-C pressed a moment after it began.

    It is pressed again where nothing came of it: Python ignores what a finaliser raises.
    """
    over = threading.Event()

    def press() -> None:
        pause = seconds
        while not over.wait(pause):
            os.kill(os.getpid(), signal.SIGINT)
            pause = AGAIN_SECONDS

    pressing = threading.Thread(target=press)
    try:
        pressing.start()  # Ctrl-C may come before it returns
        work()
    finally:
        over.set()
        pressing.join()


def interrupt_once(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str, *, behind: bool
) -> None:
    """Raise a `KeyboardInterrupt` at the first call of a method: behind what it does, or before."""
    original = getattr(owner, method)
    heard: list[str] = []

    def interrupted(*given: Any) -> Any:
        result = original(*given) if behind or heard else None
        if not heard:
            heard.append(method)
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, method, interrupted)


def announce_opcodes() -> None:
    """Say that opcodes will be traced: Python 3.12 leaves those of the first frame out else."""
    frame = inspect.currentframe()
    assert frame is not None
    frame.f_trace_opcodes = True


@contextmanager
def interrupt(code: CodeType, moment: int) -> Generator[None]:
    """Raise where an interrupt may be heard in some code, at one of all these moments."""
    names = {one.offset: one.opname for one in dis.get_instructions(code)}
    left, last = moment, ""

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        nonlocal left, last
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            heard, last = last in HEARD_AFTER, names[frame.f_lasti]
            left -= heard
            if heard and left < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    announce_opcodes()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


_HEARD_AFTER = HEARD_AFTER if sys.version_info >= (3, 12) else HEARD_AFTER - {"RESUME"}
"""Python 3.11 loses its stack where a trace function raises at the first step of a function."""

_PACKAGE = Path(trilby.__file__).parent
_PARTS = tuple(str(_PACKAGE / part) for part in ("runtime", "backend", "data"))


@cache
def _names(code: CodeType) -> dict[int, str]:
    return {one.offset: one.opname for one in dis.get_instructions(code)}


def press_ctrl_c() -> None:
    """What Python does when it hears of Ctrl-C."""
    raise KeyboardInterrupt


class Signal:
    """A signal that arrives at one of all moments of a `with` block at which Python may hear it.

    `handler` is called then. Moments are those in the runtime, the backends and the data, whatever
    function they are in; a call of a function in Python is none by itself. `where` says which one
    it was, None where the block had fewer.
    """

    def __init__(self, moment: int, handler: Callable[[], None] = press_ctrl_c) -> None:
        self.where: str | None = None
        self._left = moment
        self._handler = handler
        self._returned_to: FrameType | None = None
        self._kept: list[object] = []
        """What follows the frames: where it raises, Python lets go of it too early."""

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        follow = self._follow
        self._kept.append(follow)
        announce_opcodes()
        sys.settrace(follow)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _follow(self, frame: FrameType, _event: str, _: Any) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(_PARTS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        names, last = _names(frame.f_code), ""

        def step(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
            nonlocal last
            if event == "return":
                self._returned_to = frame.f_back
            elif event == "opcode":
                was_python = last.startswith("CALL") and self._returned_to is frame
                is_heard = last in _HEARD_AFTER and not was_python
                self._returned_to, last = None, names[frame.f_lasti]
                if is_heard and self.where is None:
                    self._count(frame)
            return step

        self._kept.append(step)
        return step

    def _count(self, frame: FrameType) -> None:
        self._left -= 1
        if self._left < 0:
            self.where = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
            self._handler()
