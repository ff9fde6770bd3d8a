"""Settings for all tests.

Property tests draw the same examples in every run, so that a red run can be repeated.
`pytest --hypothesis-profile=search` draws new ones, and more of them; `fuzz` is for `make fuzz`.
`first_failure` is for who wants to know that a test fails, and not how.
"""

import gc
import linecache
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=60, print_blob=True
)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=2000, print_blob=True)
settings.register_profile(
    "first_failure", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Put the tests themselves aside: who collects garbage need not look at a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_source_is_left_behind() -> Iterator[None]:
    """Programs that tests write as text are all called `app.py`: each ends with its test."""
    yield
    linecache.cache.pop("app.py", None)
