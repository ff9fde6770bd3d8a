"""Footprints in words."""

from trilby.analysis.touching.touches import Touch
from trilby.model.value import Value


def footprint_text(kernel: str, parameters: tuple[Value, ...], touches: tuple[Touch, ...]) -> str:
    return f'footprint @"{kernel}"'
