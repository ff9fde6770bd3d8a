"""The event of backends that do everything at once."""


class DoneEvent:
    """Work that was over before anybody could wait for it."""

    __slots__ = ("origin",)
    done = True
    seconds = 0.0

    def __init__(self) -> None:
        self.origin: object = None

    def wait(self) -> None:
        """Return at once."""
