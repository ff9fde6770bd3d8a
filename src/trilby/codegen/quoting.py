"""Texts of the user (names of files and functions, what is printed) in generated code.

No text may end the string that it stands in: every generator quotes with these. In a comment, a
text is `source.printable`.
"""

_C, _LLVM = "\\{:03o}", "\\{:02X}"
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')
"""The bytes that mean themselves between quotes; two question marks may begin a trigraph."""


def c_string(text: str) -> str:
    """A text in the quotes of C: `"app.py"`."""
    return f'"{_escaped(text, _C)}"'


def llvm_string(text: str) -> str:
    """A text in the quotes of LLVM IR."""
    return f'"{_escaped(text, _LLVM)}"'


def _escaped(text: str, escape: str) -> str:
    """The text with each byte that is not plain as a number.

    The name of a file may have bytes that are no UTF-8: Python keeps them as surrogates.
    """
    content = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _PLAIN else escape.format(byte) for byte in content)
