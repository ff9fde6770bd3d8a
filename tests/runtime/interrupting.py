"""Interrupts at a chosen step, for tests of what they leave."""

from typing import Any

import pytest


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
