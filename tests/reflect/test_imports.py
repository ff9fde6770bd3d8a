"""Which sources import Trilby."""

import pytest

from trilby.reflect.capture import imports_trilby


@pytest.mark.parametrize(
    "source",
    [
        "import trilby",
        "import os, trilby.data as data",
        "from trilby import f32",
        "from trilby.errors import TrilbyError",
        "def f():\n    try:\n        import trilby as tb\n    except ImportError: ...",
        "\ufeffimport trilby",
        "import trilby\ndef f(:",
        "x = 'trilby\0'",
        "trilby" + "(" * 100_000,
    ],
)
def test_it_is_imported_or_nobody_can_tell(source: str) -> None:
    assert imports_trilby(source.encode())


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def f(:",
        "# import trilby",
        "'import trilby'",
        "from . import trilby",
        "from .trilby import x",
        "from other import trilby",
        "import trilby_of_mine, other.trilby",
        "x = 'trilby \\d'",
    ],
)
def test_it_is_not_imported(source: str) -> None:
    assert not imports_trilby(source.encode())
