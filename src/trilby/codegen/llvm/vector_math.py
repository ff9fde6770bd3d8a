"""The C library's math on vectors (libmvec), for what has no formula or cannot use it.

Its functions take as many numbers as fit in a register; what has more lanes is cut into pieces.
"""

from collections.abc import Sequence

from trilby.codegen.llvm.lanes import Lanes
from trilby.codegen.llvm.writer import KernelWriter

_FUNCTIONS = frozenset({"exp", "log", "pow", "sin", "cos"})
"""What every libmvec has, and what is within the ulps of the table."""


def in_vectors(writer: KernelWriter, function: str, args: Sequence[Lanes]) -> Lanes | None:
    """A function of a vector library, or None where there is none for it.

    The logarithm of floats strays too far, and is computed with doubles.
    """
    if function == "log" and args[0].kind == "float":
        wide = [writer.apply("fpext {t} {0} to {o}", [arg], "double") for arg in args]
        found = in_vectors(writer, function, wide)
        return found and writer.apply("fptrunc {t} {0} to {o}", [found], "float")
    bits = {"float": 32, "double": 64}[args[0].kind]
    piece = writer.target.width_bits // bits
    letter, needed = _REGISTERS.get(writer.target.width_bits, ("", ""))
    is_there = writer.target.vector_math == "libmvec" and needed in writer.target.features
    if not is_there or function not in _FUNCTIONS or writer.lanes < piece:
        return None
    kind, name = args[0].kind, f"{function}{'f' if bits == 32 else ''}"
    symbol = f"@_ZGV{letter}N{piece}{'v' * len(args)}_{name}"
    small = f"<{piece} x {kind}>"
    writer.declare(f"declare {small} {symbol}({', '.join(small for _ in args)}) #1")
    vectors = [writer.spread(arg) for arg in args]
    found = [
        _call(writer, symbol, small, [_piece(writer, kind, v, n, piece) for v in vectors])
        for n in range(0, writer.lanes, piece)
    ]
    return Lanes(kind, _joined(writer, kind, found, piece), None)


_REGISTERS = {128: ("b", "sse2"), 256: ("d", "avx2"), 512: ("e", "avx512f")}
"""How symbols name the registers they take, and the feature of processors that have them."""


def _call(writer: KernelWriter, symbol: str, small: str, args: list[str]) -> str:
    return writer.let(f"call {small} {symbol}({', '.join(f'{small} {arg}' for arg in args)})")


def _piece(writer: KernelWriter, kind: str, vector: str, first: int, count: int) -> str:
    """Some neighbours of a vector."""
    if count == writer.lanes:
        return vector
    whole = writer.vector(kind)
    indices = ", ".join(f"i32 {lane}" for lane in range(first, first + count))
    return writer.let(
        f"shufflevector {whole} {vector}, {whole} poison, <{count} x i32> <{indices}>"
    )


def _joined(writer: KernelWriter, kind: str, pieces: list[str], count: int) -> str:
    """The pieces as one vector again."""
    while len(pieces) > 1:
        type_ = f"<{count} x {kind}>"
        indices = ", ".join(f"i32 {lane}" for lane in range(2 * count))
        form = f"shufflevector {type_} {{}}, {type_} {{}}, <{2 * count} x i32> <{indices}>"
        pieces = [writer.let(form.format(*pieces[n : n + 2])) for n in range(0, len(pieces), 2)]
        count *= 2
    return pieces[0]
