"""What writers of random programs know of the kernels: what they take, and how to launch them."""

from dataclasses import dataclass
from typing import TypeAlias

Kind: TypeAlias = str
"""What a buffer is. `flag` is a line of one element, `wide` a table of many rows."""

WIDE = 5000
"""So many rows: a column of them lies in more pieces than are told apart."""

LINES = ("line", "flag", "flat", "real", "bits", "table", "wide")
PLANES = ("grid", "plane")
KINDS = (*LINES, *PLANES)

ANNOTATIONS = {
    "line": "S32Array",
    "flag": "S32Array",
    "flat": "NDArray[i32]",
    "real": "F32Array",
    "bits": "U8Array",
    "table": "Table",
    "wide": "Table",
    "grid": "NDArray[i32]",
    "plane": "S32Array2D",
}

VIEWS = {
    "line": ("{}.array",),
    "flag": ("{}.array",),
    "flat": ("{}",),
    "real": ("{}.array",),
    "bits": ("{}.array",),
    "table": ("{}.row.key", "{}.row.value"),
    "wide": ("{}.row.key", "{}.row.value"),
    "grid": ("{}",),
    "plane": ("{}.array",),
}
"""How the elements of a buffer are reached on the host."""


SIZES = ("{0}.length", "{0}.length", "N", "N - 2")
"""How most ranges are written."""


@dataclass(frozen=True)
class Palette:
    """A kernel: the kinds of its buffers, which come first, and of its numbers.

    Numbers are `v` any, `f` a float, `bool`, `i` an index, `low`/`high` two that bound a part,
    `y` and `x` a row and a column. `apart` are buffers that must not be the same. `sizes`
    are ways to write the range: `N` elements, `H` rows, `W` columns.
    """

    name: str
    buffers: tuple[Kind, ...]
    numbers: tuple[str, ...] = ()
    apart: tuple[tuple[int, int], ...] = ()
    sizes: tuple[str, ...] = SIZES


ALL = ("N", "N", "{0}.shape[0]", "N - 1")
CELLS = ("(W, H)", "(W, H)", "({0}.shape[1], {0}.shape[0])", "(W, H - 1)", "(W - 1, H)")
PIXELS = ("({0}.width, {0}.height)", "(W, H)", "(W - 1, H - 1)")
ONE = ("1",)
L, F, G, P = "line", "flat", "grid", "plane"
FIRST_TWO = ((0, 1),)

PALETTE = (
    Palette("number", (L,), ("v",)),
    Palette("increase", (L,), ("v",)),
    Palette("copy", (L, L)),
    Palette("add_to", (L, L)),
    Palette("add_both", (L, L, L)),
    Palette("first_half", (L,), ("v",)),
    Palette("last_half", (L,), ("v",)),
    Palette("every_other", (L,), ("v",), sizes=("{0}.length // 2", "(N + 1) // 2", "1")),
    Palette("where_odd", (L, L)),
    Palette("poke", (L,), ("i", "v"), sizes=ONE),
    Palette("between", (L,), ("low", "high", "v")),
    Palette("shifted", (L,), ("i", "v"), sizes=("N - {1}", "1", "{0}.length - {1}")),
    Palette("fill_guarded", (L,), ("v",), sizes=("NDRange((N + 3) // 4 * 4, 4)", "N + 3", "N")),
    Palette("fill_alone", (L,), ("high", "v"), sizes=ONE),
    Palette("gather", (L, L, L), apart=FIRST_TWO),
    Palette("backwards", (L, L), apart=FIRST_TWO),
    Palette("smooth", (L, L), apart=FIRST_TWO),
    Palette("smooth_inside", (L, L), apart=FIRST_TWO),
    Palette("sums", (L, L), apart=FIRST_TWO),
    Palette("set_and_add", (L,), ("v",)),
    Palette("tally", ("flag", L), sizes=("N", "{1}.length")),
    Palette("tally", (L, L), apart=FIRST_TWO),
    Palette("note_above", ("flag", L), ("v",), sizes=("N", "{1}.length", "N // 2")),
    Palette("number", ("flag",), ("v",), sizes=("1", "{0}.length")),
    Palette("increase", ("flag",), ("v",), sizes=("1", "{0}.length")),
    Palette("split", (L, L, L)),
    Palette("clear_or_copy", (L, L), ("bool",)),
    Palette("ignore", (L, L)),
    Palette("flat_number", (F,), ("v",), sizes=ALL),
    Palette("flat_add", (F, F), sizes=ALL),
    Palette("flat_rotate", (F, F), ("v",), FIRST_TWO, ALL),
    Palette("flat_from_line", (F, L), sizes=ALL),
    Palette("line_from_flat", (L, F)),
    Palette("grid_number", (G,), ("v",), sizes=CELLS),
    Palette("grid_add", (G, G), sizes=CELLS),
    Palette("grid_around", (G, G), apart=FIRST_TWO, sizes=CELLS),
    Palette("grid_inside", (G, G), apart=FIRST_TWO, sizes=("(W - 2, H - 2)",)),
    Palette("grid_row", (G,), ("y", "v"), sizes=("W", "W - 1")),
    Palette("grid_column", (G,), ("x", "v"), sizes=("H", "H - 1")),
    Palette("grid_rows_from", (G,), ("y", "v"), sizes=CELLS),
    Palette("line_from_grid", (L, G), ("y",), sizes=("min(N, W)", "2")),
    Palette("plane_number", (P,), ("v",), sizes=PIXELS),
    Palette("plane_add", (P, P), sizes=PIXELS),
    Palette("plane_turn", (P, P), apart=FIRST_TWO, sizes=PIXELS),
    Palette("plane_column", (P,), ("x", "v"), sizes=("H", "{0}.height")),
    Palette("grid_from_plane", (G, P), sizes=CELLS),
    Palette("real_fill", ("real",), ("f",)),
    Palette("real_mean", ("real", "real")),
    Palette("real_from_line", ("real", L)),
    Palette("bits_fill", ("bits",), ("v",)),
    Palette("bits_from", ("bits",), ("low", "v")),
    Palette("bits_of", ("bits", L)),
    Palette("table_keys", ("table",), ("v",)),
    Palette("table_values", ("table",)),
    Palette("table_rows", ("table",), ("v",)),
    Palette("table_copy", ("table", "table")),
    Palette("table_collect", ("table", L)),
    Palette("line_from_table", (L, "table")),
    Palette("table_keys", ("wide",), ("v",), sizes=("N",)),
    Palette("table_values", ("wide",), sizes=("N",)),
    Palette("table_copy", ("wide", "table")),
    Palette("line_from_table", (L, "wide")),
)
