"""Settings for all tests.

Property tests draw the same examples in every run, so that a red run can be repeated.
`pytest --hypothesis-profile=search` draws new ones, and more of them; `fuzz` is for `make fuzz`.
"""

import linecache
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def no_source_is_left_behind() -> Iterator[None]:
    """Programs that tests write as text are all called `app.py`: each ends with its test."""
    yield
    linecache.cache.pop("app.py", None)
