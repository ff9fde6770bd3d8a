"""Imports that wait until something is used, without looking for garbage meanwhile.

They make a hundred thousand objects that stay. Python would look at each of them several times to
see whether it is garbage, which takes a tenth of the time of an import.
"""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def loading(module: str) -> Generator[None]:
    """Around the import of a module: what is made then counts as old, as if it had been looked at.

    Where it was imported before, nothing is done.
    """
    if module in sys.modules:
        yield
        return
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
