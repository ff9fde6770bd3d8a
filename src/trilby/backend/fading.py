"""Events that forget."""


class FadingEvent:
    """An event whose times are forgotten after a while, unless somebody wants them kept.

    It is no abstract class, of which Python would take long to find out that an event is one.
    """

    __slots__ = ()

    def keep_times(self) -> None:
        """Somebody will ask for its times, perhaps much later."""
        raise NotImplementedError
