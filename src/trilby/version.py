"""The version of Trilby, and the builds of Python that it takes.

The version stands here for what must not wait for the metadata of the installation.
"""

import sys

VERSION = "0.1.0"


def check_python(version: str = sys.version) -> None:
    """Raise where Python was built without its global lock, on which Trilby relies.

    A switch that turns the lock on again does not help: compiled packages and the reference counts
    of such a build differ as well.
    """
    if "free-threading" in version:
        release = version.split(maxsplit=1)[0]
        message = (
            "Trilby does not support free-threaded builds of Python yet, and this is one: "
            f"{release}\n  help: use the ordinary build: python{release[:4]}, without a `t`"
        )
        raise ImportError(message, name="trilby")


check_python()
