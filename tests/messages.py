"""What an error says, apart from where."""

from trilby.errors import TrilbyError


def message(error: TrilbyError) -> str:
    """The problem and the advice of an error that names whichever line raised it."""
    return f"{error.problem}\n  help: {error.advice}" if error.advice else error.problem
