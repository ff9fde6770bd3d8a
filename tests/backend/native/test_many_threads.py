"""Several threads of Python use the device at once, in all ways, and let go of things early."""

import gc
import sys
import threading
from collections import deque
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.backend.native.running import SCALE, scaling, shared

from trilby.backend.base import Scalar
from trilby.backend.native import NativeBackend, NativeFamily
from trilby.backend.native.engine import Engine
from trilby.data.dtypes import I32


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads change places as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("seed", range(4))
def test_everything_at_once(native: NativeBackend, seed: int) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        random = np.random.default_rng((seed, number))
        for _ in range(15):
            own = native if random.random() < 0.7 else NativeFamily().open(0)
            try:
                wrong.extend(negated_again_and_again(own, random))
            except Exception as error:  # noqa: BLE001 -- it is shown by the assertion
                wrong.append(error)
            if own is not native:
                own.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def negated_again_and_again(native: NativeBackend, random: np.random.Generator) -> Iterator[object]:
    """Negate numbers in every way that there is; yields what is wrong at the end."""
    numbers = random.integers(-50, 50, int(random.choice([1, 10, 1000, 100_000]))).astype(np.int32)
    if random.random() < 0.5:
        lent = numbers.copy()
        memory = shared(native, lent)
    else:
        memory = native.allocate(numbers.nbytes)
        native.upload(memory, 0, numbers.copy().data.cast("B"))
    prepared = scaling(native, memory, -1, native.begin_build(SCALE, 2)())
    expected = numbers
    for choice in random.integers(0, 7, 60):
        if choice < 3:
            prepared.submit()
            expected = -expected
        elif choice == 3:
            prepared.submit().wait()
            expected = -expected
        elif choice == 4:
            prepared.replace(1, Scalar(I32, -1))
        elif choice == 5:
            passing = native.allocate(64)
            native.fill(passing, 0, 64, 1)
            native.free(passing)
        else:
            gc.collect(0)
    found = np.zeros_like(numbers)
    native.download(memory, 0, found.data.cast("B")).wait()
    native.free(memory)
    if not np.array_equal(found, expected):
        yield len(numbers), np.flatnonzero(found != expected)


class Watched:
    """Something that must live until a record is done."""

    def __init__(self, engine: Any, sequence: int, early: list[int]) -> None:
        self._engine, self._sequence, self._early = engine, sequence, early

    def __del__(self) -> None:
        if self._sequence > self._engine.state.completed:
            self._early.append(self._sequence)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("seed", range(8))
def test_nothing_ends_before_its_record_is_done(seed: int) -> None:
    """Whichever thread lets go of it, and whatever others do meanwhile."""
    engine: Any = object.__new__(Engine)  # a queue that is always a little behind
    engine.state, engine._kept = SimpleNamespace(completed=0), deque[object]()
    early: list[int] = []
    numbers, turn = count(1), threading.Lock()

    def work(thread: int) -> None:
        random = np.random.default_rng((seed, thread))
        for _ in range(4000):
            with turn:  # threads change places here
                number = next(numbers)
                if random.random() < 0.5:
                    engine.state.completed = number - 5
            engine.keep(number + random.integers(4), Watched(engine, number, early))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert early == []
