"""The bar that `progress=True` asks for.

What draws on a terminal stands above this layer, and is loaded by its name when it is asked for.
"""

import importlib
from contextlib import AbstractContextManager
from typing import cast

from trilby.runtime.pass_options import Progress

_BAR = "trilby.tools.progress"


def progress_bar(title: str) -> AbstractContextManager[Progress]:
    """A bar for the passes of a kernel, as long as the block goes on."""
    module = importlib.import_module(_BAR)
    return cast("AbstractContextManager[Progress]", module.progress_bar(title))
