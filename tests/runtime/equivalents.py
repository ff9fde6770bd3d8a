"""Mutants that no test can notice, and why: what they lack makes nothing but time.

By module, and by the name that `mutations.py` gives them.
"""

EQUIVALENTS: dict[str, dict[str, str]] = {
    "residency": {
        "Residency._bring: `work.explicit or replica.shared or replica.valid.covers(needs)` became "
        "`work.explicit or replica.valid.covers(needs)`": (
            "on the host's memory more than is needed is still nothing that has to move"
        ),
        "Residency._begin: `one.replica.shared and work.executable.debugs` became "
        "`work.executable.debugs`": (
            "where a device has memory of its own, the host's bytes are put back as they are"
        ),
    },
    "order": {
        "Order._note_reader: `one is replica and reading == replica.reading` became "
        "`reading == replica.reading`": "tuples that are equal are as good, whoever has them",
    },
    "watch": {
        "Watch.before_read: `if not RECORDINGS and self.content.is_quiet:` became nothing": (
            "where all is quiet, the rest finds nothing to fetch and nothing to wait for"
        ),
        "Watch.before_write: `if self.content.is_quiet:` became nothing": (
            "where all is quiet, the rest finds nothing to wait for"
        ),
        "bury_when_idle: `_GONE and (not GIVING.now) and (not LOCK._is_owned())` became "
        "`not GIVING.now and (not LOCK._is_owned())`": "where none is gone, none is buried",
    },
}
