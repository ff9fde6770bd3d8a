"""Interrupts at a chosen step, for tests of what they leave."""

import dis
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest

HEARD_AFTER = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "RESUME"}
"""The instructions behind which Python looks for signals."""


def with_ctrl_c(work: Callable[[], object]) -> None:
    """Do some work that takes long, and have Ctrl-C pressed a moment after it began."""
    press = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    try:
        work()
    finally:
        press.join()


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
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
