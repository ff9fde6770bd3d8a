"""Who writes down what happens. What they do it with is loaded when somebody asks for it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilby.runtime.recording import Recording

RECORDINGS: "list[Recording]" = []
"""All that record now, of any accelerator. Empty nearly always, and then nothing is done."""
