"""Numbers for people."""

from trilby.runtime.profile import time_text


def bytes_text(nbytes: int) -> str:
    """`1.5 MB`; what is small is written out."""
    if nbytes < 10_000:
        return f"{nbytes:,} B"
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= 0.9995 * size:
            number = nbytes / size
            decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
            return f"{number:,.{decimals}f} {unit}"
    return f"{nbytes:,} B"


def ratio_text(ratio: float) -> str:
    """`1.00×`; what had not to move at all has no ratio."""
    return "∞" if ratio == float("inf") else f"{ratio:.2f}×"


def counted(count: int, what: str, several: str = "") -> str:
    """`1 copy`, `2 copies`."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


__all__ = ["bytes_text", "counted", "ratio_text", "time_text"]
