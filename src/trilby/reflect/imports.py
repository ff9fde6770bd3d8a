"""Whether a file imports Trilby, by its source: nothing of it is run."""

import ast

from trilby.syntax import parsed


def imports_trilby(source: bytes) -> bool:
    """Whether there is an import of Trilby, wherever it stands.

    What is not Python counts if it speaks of Trilby: importing it says what is wrong.
    """
    if b"trilby" not in source:
        return False
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any("trilby" in _imported_packages(node) for node in ast.walk(tree))


def _imported_packages(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {one.name.partition(".")[0] for one in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").partition(".")[0]}
    return set()
