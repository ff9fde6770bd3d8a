"""Settings for all tests.

Property tests draw the same examples in every run, so that a red run can be repeated.
`pytest --hypothesis-profile=search` draws new ones, and more of them; `fuzz` is for `make fuzz`.
`first_failure` is for who wants to know that a test fails, and not how.
"""

import atexit
import gc
import linecache
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
ANY_SPEED = settings.get_profile("any_speed")
settings.register_profile("repeatable", ANY_SPEED, derandomize=True, max_examples=60)
settings.register_profile("search", ANY_SPEED, max_examples=1000)
settings.register_profile("fuzz", ANY_SPEED, max_examples=2000)
settings.register_profile(
    "first_failure", ANY_SPEED, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("repeatable")


def own_caches() -> None:
    """Give this process, and the programs it starts, compiled kernels of its own.

    Workers do not wait for each other, and no run meets what another, killed, left half-written.
    Drivers read these variables when they are loaded, and no test has been imported yet.
    """
    folder = Path(tempfile.mkdtemp(prefix="trilby-tests-"))
    owner = os.getpid()

    @atexit.register
    def remove() -> None:  # pyright: ignore[reportUnusedFunction] -- `atexit` has it
        if os.getpid() == owner:  # and not a child that a test has forked
            shutil.rmtree(folder, ignore_errors=True)

    for variable in ("POCL_CACHE_DIR", "TRILBY_CACHE"):
        cache = folder / variable.lower()
        cache.mkdir(mode=0o700)
        os.environ[variable] = str(cache)


own_caches()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # and tests press Ctrl-C


def pytest_collection_finish() -> None:
    """Put the tests themselves aside: who collects garbage need not look at a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_source_is_left_behind() -> Iterator[None]:
    """Programs that tests write as text are all called `app.py`: each ends with its test."""
    yield
    linecache.cache.pop("app.py", None)
