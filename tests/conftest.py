"""Settings for all tests.

Property tests draw the same examples in every run, so that a red run can be repeated.
`pytest --hypothesis-profile=search` draws new ones, and more of them; `fuzz` is for `make fuzz`.
`first_failure` is for who wants to know that a test fails, and not how.
"""

import atexit
import fcntl
import gc
import linecache
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
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

    Workers do not wait for each other. The next run finds what this one compiled, unless this one
    is killed: then it may be half-written, and is removed. Drivers read these variables when they
    are loaded, and no test has been imported yet.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    folder = Path(__file__).parents[1] / ".pytest_cache" / "compiled" / worker
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another run has it
        folder = Path(tempfile.mkdtemp(prefix="trilby-tests-"))
        atexit.register(_in_this_process(shutil.rmtree), folder, ignore_errors=True)
    in_use = folder / "in-use"
    for variable in ("POCL_CACHE_DIR", "TRILBY_CACHE"):
        cache = folder / variable.lower()
        if in_use.exists():
            shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(mode=0o700, exist_ok=True)
        os.environ[variable] = str(cache)
    in_use.touch()
    atexit.register(_in_this_process(in_use.unlink), missing_ok=True)


def _in_this_process(act: Callable[..., object]) -> Callable[..., None]:
    """Do something here, and not in a child that a test has forked."""
    owner = os.getpid()

    def act_here(*args: object, **options: object) -> None:
        if os.getpid() == owner:
            act(*args, **options)

    return act_here


own_caches()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # and tests press Ctrl-C


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Let signals be lost where a finaliser hears of them: Python ignores what it raises."""
    report = sys.unraisablehook  # pytest's

    def report_all_but_signals(what: "sys.UnraisableHookArgs") -> None:
        from trilby.errors import ReentryError  # noqa: PLC0415 -- see `own_caches`

        if not issubclass(what.exc_type, KeyboardInterrupt | ReentryError):
            report(what)

    sys.unraisablehook = report_all_but_signals


@pytest.fixture(scope="module", autouse=True)
def others_are_put_aside() -> None:
    """Who collects garbage in a test need not look at all tests, and at what others have made."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def devices_of_tests_end_with_them() -> Iterator[None]:
    """Some fail on purpose: whoever collects their accelerators later would hear of it."""
    from trilby.errors import TrilbyError  # noqa: PLC0415 -- see `own_caches`
    from trilby.runtime.residency import close_all, open_now  # noqa: PLC0415

    yield
    for residency in open_now():
        if type(residency.backend).__module__.startswith("tests."):
            with suppress(TrilbyError):
                close_all([residency])


@pytest.fixture(autouse=True)
def nothing_is_known_of_memory_that_ended() -> Iterator[None]:
    """Other memory may be at the same place, and its content would be lost."""
    from trilby.runtime.content import CONTENTS  # noqa: PLC0415 -- see `own_caches`
    from trilby.runtime.watch import bury_when_idle  # noqa: PLC0415

    yield
    bury_when_idle()
    for content in CONTENTS.all:
        for watch in content.watches:
            assert watch.ends is not None
            assert watch.ends[0]() is not None


@pytest.fixture(autouse=True)
def no_source_is_left_behind() -> Iterator[None]:
    """Programs that tests write as text are all called `app.py`: each ends with its test."""
    yield
    linecache.cache.pop("app.py", None)
