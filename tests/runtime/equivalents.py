"""Mutants that no test can notice, and why: what they lack makes nothing but time.

By module, and by the name that `mutations.py` gives them.
"""

EQUIVALENTS: dict[str, dict[str, str]] = {
    "residency": {
        "Residency._bring: `work.explicit or replica.shared or replica.valid.covers(needs)` "
        "became `work.explicit or replica.valid.covers(needs)`": (
            "on the host's memory more than is needed is still nothing that has to move"
        ),
        "Residency._begin: `one.replica.shared and work.executable.debugs` became "
        "`work.executable.debugs`": (
            "where a device has memory of its own, the host's bytes are put back as they are"
        ),
    },
    "known": {
        "CachedLaunch.is_current: `self.moment = CLOCK.now` became nothing": (
            "it is looked at again"
        ),
        "CachedLaunch.note_current: `self.versions = versions_of(self.held)` became nothing": (
            "it is looked at again, and is in place"
        ),
        "CachedLaunch.note_current: `self.moment = CLOCK.now` became nothing": (
            "it is looked at again"
        ),
        "Given.changed: `not _are_same(number, args[position])` became `True`": (
            "the same number once more"
        ),
        "given_by: `part.constants` became `True`": ("what has no constants never changes"),
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
        "LaunchOrder._note_reader: `one is replica and reading == replica.reading` became "
        "`reading == replica.reading`": ("tuples that are equal are as good, whoever has them"),
    },
    "launches": {
        "Launches.again: `break` became nothing": ("it is looked for again, and found again"),
        "Launches.again: `known.moment == CLOCK.now or known.is_current()` became "
        "`known.is_current()`": ("at the same moment all is as it was"),
        "Launches.again: `not current and (not self._is_in_place(known, args))` became `not "
        "self._is_in_place(known, args)`": ("what is current is in place, or goes the long way"),
        "Launches.again: `(known.unsure or RECORDINGS) and (not self._fits(known, args))` became "
        "`not self._fits(known, args)`": ("a launch that is sure fits"),
        "Launches._fits: `given is not number and (not self._replaced(known, entry, position, "
        "given))` became `not self._replaced(known, entry, position, given)`": (
            "the same number in its own place, or the long way"
        ),
        "Launches._find: `type(size) is int or is_plain(size)` became `is_plain(size)`": (
            "an int is plain"
        ),
        "Launches._run: `CLOCK.settle()` became nothing": (
            "whoever asks a replica what is under way has it noted first"
        ),
        "Launches._steady_turn: `one is None or not one.is_steady() or one.launch.held is not "
        "last.launch.held` became `not one.is_steady() or one.launch.held is not "
        "last.launch.held`": (
            "a loop that was gone through some times has a follower for each of its launches"
        ),
        "Launches.forget: `CLOCK.settle()` became nothing": (
            "who is ahead can be noted later, too"
        ),
        "Launches.replay: `self._last = CLOCK.ahead = last` became nothing": (
            "the turn before left the same, which is noted or will be"
        ),
    },
    "watch": {
        "Watch.before_read: `if not RECORDINGS and self.content.is_quiet:` became nothing": (
            "where all is quiet, the rest finds nothing to fetch and nothing to wait for"
        ),
        "Watch.before_write: `if self.content.is_quiet:` became nothing": (
            "where all is quiet, the rest finds nothing to wait for"
        ),
        "bury_when_idle: `not (_ENDED or _LOST) or GIVING.now or is_locked_here() or "
        "sys.is_finalizing()` became `GIVING.now or is_locked_here() or sys.is_finalizing()`": (
            "where none is gone, none is buried"
        ),
    },
}
