"""The options of a dispatch beside the arguments of its kernel, and how the two are told apart."""

from collections.abc import Collection

from trilby.errors import ArgumentTypeError
from trilby.reflect.functions import Kernel
from trilby.source import Location

DISPATCH_OPTIONS = ("passes", "until", "check_every", "progress", "cancel", "timeout")
"""What `cc.dispatch` takes by name. Kernels may have such parameters, and get them by position."""


def check_options(
    kernel: Kernel[...], given: int, names: Collection[str], location: Location | None = None
) -> None:
    """Refuse a name that could be an option as well as a parameter that has no value yet.

    `given` is how many arguments of the kernel are given by position.
    """
    code = kernel.function.__code__
    parameters = code.co_varnames[1 : code.co_argcount]
    for name in names:
        if name in DISPATCH_OPTIONS and name in parameters[given:]:
            raise ArgumentTypeError(
                f"`{name}` is an option of every dispatch, and a parameter of `{kernel.name}` too",
                advice=f"give the kernel's own `{name}` by its position, without a name",
                location=location,
            )
