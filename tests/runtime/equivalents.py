"""Mutants that no test can notice, and why: what they lack makes nothing but time.

By module, and by the name that `mutations.py` gives them.
"""

EQUIVALENTS: dict[str, dict[str, str]] = {
    "residency": {
        "Residency._bring: `launch.explicit or replica.shared or replica.valid.covers(needs)` "
        "became `launch.explicit or replica.valid.covers(needs)`": (
            "on the host's memory more than is needed is still nothing that has to move"
        ),
    },
    "prepared_launch": {
        "PreparedLaunch.note_current: `self.versions = tuple([(one.content, -1 if others else "
        "one.content.version) for one in self.buffers])` became nothing": (
            "it is looked at again, and is in place"
        ),
        "DispatchArguments.replace_numbers: `not _are_same(number, args[position])` became "
        "`True`": ("the same number once more"),
        "dispatch_arguments: `part.constants` became `True`": (
            "what has no constants never changes"
        ),
        "replaceable: `position in analysed.footprint.relevant or not isinstance(kind, "
        "ScalarType)` became `position in analysed.footprint.relevant`": (
            "only numbers are replaced"
        ),
        "_are_same: `other is number or (type(number) is type(other) is int and number == "
        "other)` became `other is number`": ("the same number once more"),
        "_are_same: `other is number or (type(number) is type(other) is int and number == "
        "other)` became `type(number) is type(other) is int and number == other`": (
            "the same number once more"
        ),
    },
    "launches": {
        "Launches.again: `type(size) is not int and (not is_plain(size))` became `not "
        "is_plain(size)`": ("an int is plain"),
        "Launches.again: `launch.is_plain or self._fits(launch, args)` became "
        "`self._fits(launch, args)`": ("a launch whose buffers are all that it has fits"),
    },
    "watch": {
        "Watch.before_read: `if not RECORDINGS and self.content.is_quiet:` became nothing": (
            "where all is quiet, the rest finds nothing to fetch and nothing to wait for"
        ),
        "Watch.before_write: `if self.content.is_quiet:` became nothing": (
            "where all is quiet, the rest finds nothing to wait for"
        ),
        "bury_when_idle: `not (_ENDED or _LOST) or is_locked_here() or sys.is_finalizing()` "
        "became `is_locked_here() or sys.is_finalizing()`": ("where none is gone, none is buried"),
    },
}
