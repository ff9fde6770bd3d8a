"""Imports that wait until something is used, without looking for garbage meanwhile.

They make a hundred thousand objects that stay. Python would look at each of them several times to
see whether it is garbage, which takes a tenth of the time of an import.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def loading() -> Generator[None]:
    """Around such imports: what was made then counts as old, as if it had been looked at."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # nobody else has put objects aside, who may want that
            gc.freeze()
            gc.unfreeze()  # to the oldest
        if collects:
            gc.enable()
