"""The map of the source: which package imports which, as a drawing for the documentation.

    python scripts/draw_packages.py            # write docs/pictures/packages.svg
    python scripts/draw_packages.py --check    # exit with 1 if that file is not current

The arrows come from the import statements of the files, also from those inside functions. Imports
for type checkers alone are left out, and so is the front door, `trilby/__init__.py`. Sizes are
rounded and widths have three steps, so that an ordinary edit does not change the drawing.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "trilby"
DRAWING = ROOT / "docs" / "pictures" / "packages.svg"

COMMAND = "cli"
FOUNDATION = "errors, source, options …"
"""The box of all modules that belong to no package."""

PURPOSES = {
    COMMAND: "the trilby command: reads arguments, calls a tool",
    "tools": "what the commands show: explain, emit, lint, report, devices",
    "linting": "lints: rules, symbolic execution of kernels, solvers",
    "runtime": "accelerators, launches, where data is valid, the ledger",
    "backend": "devices: native, OpenCL, interpreter, null",
    "codegen": "from the IR to source code: OpenCL C, LLVM IR, Python",
    "transform": "from IR to IR: schedules transfers in compute functions",
    "reflect": "from Python functions to the IR",
    "analysis": "what kernels and host code access; transfer plans",
    "model": "the IR: ops, types, text, rules, math functions",
    "data": "buffers: dtypes, layout, memory, views, NumPy",
    "oracle": "the minimum that a recorded run had to copy",
    FOUNDATION: "small modules that all others may use",
}

Edges = dict[tuple[str, str], int]
"""How many import statements lead from one box to another."""


# ---------------------------------------------------------------------------------- the graph


def box_of(module: str, packages: set[str]) -> str:
    """The box of a module, whose name is given without `trilby.`."""
    head = module.partition(".")[0]
    if head in packages:
        return head
    return COMMAND if head in {COMMAND, "__main__"} else FOUNDATION


def packages_in(folder: Path) -> set[str]:
    """The folders that hold modules."""
    return {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}


def modules_in(folder: Path) -> Iterator[tuple[str, str]]:
    """The name of each module below a package, without the package's, and its source code."""
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        if name != "__init__":
            yield name.removesuffix(".__init__"), path.read_text("utf-8")


def imports_of(node: ast.AST, package: str) -> Iterator[str]:
    """The modules of a package that some code imports when it runs, without the package's name."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module == package:
        names = [f"{package}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module or ""]
    else:
        names = []
    yield from (
        name.removeprefix(f"{package}.") for name in names if name.startswith(f"{package}.")
    )
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        children = iter(node.orelse)
    for child in children:
        yield from imports_of(child, package)


def import_graph(folder: Path = PACKAGE) -> Edges:
    """The imports between the boxes of a package; those inside a box are left out."""
    packages = packages_in(folder)
    found: Counter[tuple[str, str]] = Counter()
    for name, text in modules_in(folder):
        for imported in imports_of(ast.parse(text), folder.name):
            found[box_of(name, packages), box_of(imported, packages)] += 1
    return {edge: count for edge, count in sorted(found.items()) if edge[0] != edge[1]}


def lines_in(folder: Path = PACKAGE) -> dict[str, int]:
    """How many lines each box has."""
    packages = packages_in(folder)
    found: Counter[str] = Counter()
    for name, text in modules_in(folder):
        found[box_of(name, packages)] += text.count("\n")
    return dict(found)


def layers(project: Path = ROOT / "pyproject.toml", folder: Path = PACKAGE) -> list[list[str]]:
    """The boxes of each layer, the highest first, as import-linter is told."""
    contracts = tomllib.loads(project.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    packages = packages_in(folder)
    found: list[list[str]] = []
    seen = {FOUNDATION}
    for line in next(contract["layers"] for contract in contracts if "layers" in contract):
        boxes = [box_of(name, packages) for name in re.findall(r"\w+", line)]
        layer = [box for box in dict.fromkeys(boxes) if box not in seen]
        seen.update(layer)
        found += [layer] if layer else []
    return [*found, [FOUNDATION]]


# -------------------------------------------------------------------------------- the drawing

BOX_LEFT, BOX_WIDTH, BOX_HEIGHT = 28, 452, 68
GAP, LAYER_GAP, TOP = 8, 22, 66
LANE, FIRST_LANE = 26, 44
PORT, FIRST_PORT, EXIT = 5.8, 6, 61
"""How far arrows into a box are apart; where the first, and those out of it, are from its top."""
WIDTHS = ((50, 4), (10, 2.2), (1, 1))
"""From how many imports on an arrow is how wide."""
COLOURS = (
    *("#555555", "#9a6a00", "#b3261e", "#1f5fbf", "#7a3fa0", "#00807a"),
    *("#a8447c", "#3a7d1e", "#c2560c", "#2a4b8d", "#6b5b2a"),
)
PAPER, INK, PALE, LAYER_PAPER = "#fcfcfa", "#1c1c1c", "#5a5a5a", "#eeeeea"
FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Box:
    """A box on the page."""

    name: str
    top: float
    colour: str
    lane: float
    """Where its imports run down."""

    @property
    def exit(self) -> float:
        """Where its imports begin: below the arrows that lead into it."""
        return self.top + EXIT


def placed(rows: list[list[str]]) -> list[Box]:
    """The boxes one below the other; of two, the lower has the lane further left."""
    names = [name for row in rows for name in row]
    right = BOX_LEFT + BOX_WIDTH + FIRST_LANE
    boxes: list[Box] = []
    top = float(TOP)
    for row in rows:
        for name in row:
            at = len(boxes)
            lane = right + LANE * (len(names) - 2 - at)
            boxes.append(Box(name, top, COLOURS[at % len(COLOURS)], lane))
            top += BOX_HEIGHT + GAP
        top += LAYER_GAP - GAP
    return boxes


def width_of(count: int) -> float:
    """How wide the arrow of so many imports is."""
    return next(width for least, width in WIDTHS if count >= least)


def about(lines: int) -> str:
    """A size that an edit seldom changes: hundreds below a thousand, thousands above."""
    digits = -2 if lines < 950 else -3
    return f"about {max(round(lines, digits), 100):,} lines"


def tag(name: str, text: str = "", **attributes: object) -> str:
    """An element: `tag("rect", x=1, stroke_width=2)` is `<rect x="1" stroke-width="2"/>`."""
    values = {key: f"{v:g}" if isinstance(v, float) else str(v) for key, v in attributes.items()}
    pairs = (f' {key.replace("_", "-")}="{escape(value)}"' for key, value in values.items())
    return f"<{name}{''.join(pairs)}" + (f">{escape(text)}</{name}>" if text else "/>")


def words(x: float, y: float, size: int, text: str, fill: str = INK, **more: object) -> str:
    """Text on the page."""
    return tag("text", text, x=x, y=y, font_size=size, fill=fill, **more)


def drawn_layer(boxes: list[Box], right: float) -> str:
    """The band behind the boxes of a layer."""
    top, bottom = boxes[0].top - 6, boxes[-1].top + BOX_HEIGHT + 6
    width, height = right - 24, bottom - top
    return tag("rect", x=12, y=top, width=width, height=height, rx=8, fill=LAYER_PAPER)


def drawn_box(box: Box, lines: int) -> Iterator[str]:
    """A box with its name, its size and its purpose."""
    left, right, baseline = BOX_LEFT + 20, BOX_LEFT + BOX_WIDTH - 14, box.top + 28
    x, y, height, colour = BOX_LEFT, box.top, BOX_HEIGHT, box.colour
    yield tag("rect", x=x, y=y, width=BOX_WIDTH, height=height, rx=6, fill="#fff", stroke=colour)
    yield tag("rect", x=x, y=y, width=8, height=height, rx=3, fill=colour)
    yield words(left, baseline, 16, box.name, font_weight="bold")
    yield words(right, baseline, 12, about(lines), PALE, text_anchor="end")
    yield words(left, box.top + 51, 13, PURPOSES[box.name])


def drawn_imports(box: Box, targets: list[tuple[float, int]]) -> Iterator[str]:
    """The imports of a box: out of it, down its lane, and into each target."""
    if not targets:
        return
    edge = BOX_LEFT + BOX_WIDTH
    lowest = max(y for y, _ in targets)
    trunk = min(max(width_of(count) for _, count in targets), 2.2)
    way = f"M{edge} {box.exit:g}H{box.lane:g}V{lowest:g}"
    yield tag("path", d=way, fill="none", stroke=box.colour, stroke_width=trunk)
    for y, count in targets:
        width = width_of(count)
        size = 4.5 + width / 2
        way = f"M{box.lane + trunk / 2:g} {y:g}H{edge + size + 2:g}"
        yield tag("path", d=way, stroke=box.colour, stroke_width=width)
        head = f"M{edge + 1} {y:g}l{size + 2:g} {-size / 2:g}v{size:g}z"
        yield tag("path", d=head, fill=box.colour)


def legend(y: float) -> Iterator[str]:
    """What the widths of the arrows mean."""
    x = float(BOX_LEFT)
    texts = ("50 import statements or more", "10 or more", "fewer")
    for (_, width), text in zip(WIDTHS, texts, strict=True):
        yield tag("path", d=f"M{x:g} {y:g}h30", stroke=PALE, stroke_width=width)
        yield words(x + 38, y + 4, 12, text, PALE)
        x += 60 + 7.2 * len(text)


def port_places(boxes: list[Box], graph: Edges) -> dict[tuple[str, str], float]:
    """Where each import enters its target: the importer that is furthest up comes in lowest."""
    order = [box.name for box in boxes]
    found: dict[tuple[str, str], float] = {}
    for box in boxes:
        users = sorted((u for u, used in graph if used == box.name), key=order.index, reverse=True)
        for number, user in enumerate(users):
            found[user, box.name] = box.top + FIRST_PORT + PORT * number
    return found


def drawing() -> str:
    """The drawing of this source, as SVG."""
    rows, graph, lines = layers(), import_graph(), lines_in()
    boxes = placed(rows)
    ports = port_places(boxes, graph)
    right, bottom = boxes[0].lane + 28, boxes[-1].top + BOX_HEIGHT
    height = bottom + 52
    size = f'viewBox="0 0 {right:g} {height:g}" width="{right:g}" height="{height:g}"'
    caption = (
        "An arrow leads from a package, in its colour, to one that it imports. Bands are layers."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img">',
        tag("title", "The packages of Trilby, and which of them import which"),
        tag("rect", width=right, height=height, rx=10, fill=PAPER),
        words(BOX_LEFT, 32, 18, "The packages of Trilby", font_weight="bold"),
        words(BOX_LEFT, 51, 12, caption, PALE),
        *(drawn_layer([box for box in boxes if box.name in row], right) for row in rows),
    ]
    for box in boxes:
        targets = [(ports[edge], count) for edge, count in graph.items() if edge[0] == box.name]
        parts += drawn_imports(box, targets)
    for box in boxes:
        parts += drawn_box(box, lines[box.name])
    return "\n".join((*parts, *legend(bottom + 30), "</svg>", ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if not current")
    options = parser.parse_args()
    text = drawing()
    if not options.check:
        DRAWING.write_text(text, encoding="utf-8")
        return 0
    is_current = DRAWING.is_file() and DRAWING.read_text("utf-8") == text
    if not is_current:
        print("docs/pictures/packages.svg is not current: run `python scripts/draw_packages.py`")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
