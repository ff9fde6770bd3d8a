"""The map of the packages shows the imports that there are."""

from pathlib import Path

from scripts.draw_packages import (
    DRAWING,
    FOUNDATION,
    PURPOSES,
    about,
    drawing,
    import_graph,
    layers,
    lines_in,
)

FILES = {
    "__init__.py": "from pack.upper.one import A\n",
    "cli.py": "def main():\n    from pack.upper import one\n",
    "errors.py": "import ast\n",
    "upper/__init__.py": "",
    "upper/one.py": (
        "import pack.lower.two\nfrom pack.lower.two import B, C\nfrom pack import errors\n"
    ),
    "lower/__init__.py": "",
    "lower/deep/__init__.py": "",
    "lower/deep/three.py": "from pack.lower.two import B\nfrom pack.errors import D\n",
    "lower/two.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from pack.upper.one import A\n"
        "else:\n"
        "    from pack.errors import D\n"
    ),
}


def test_the_drawing_is_current() -> None:
    is_current = DRAWING.read_text("utf-8") == drawing()
    assert is_current, "run `python scripts/draw_packages.py`"


def test_imports_are_counted_between_packages(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    for name, text in FILES.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    assert import_graph(package) == {
        ("cli", "upper"): 1,
        ("lower", FOUNDATION): 2,
        ("upper", FOUNDATION): 1,
        ("upper", "lower"): 2,
    }
    assert lines_in(package) == {"cli": 2, FOUNDATION: 1, "upper": 3, "lower": 7}


def test_every_package_has_a_layer_and_a_purpose() -> None:
    boxes = [box for layer in layers() for box in layer]
    assert sorted(boxes) == sorted(PURPOSES) == sorted(lines_in())


def test_imports_point_down() -> None:
    boxes = [box for layer in layers() for box in layer]
    assert [edge for edge in import_graph() if boxes.index(edge[0]) > boxes.index(edge[1])] == []


def test_an_ordinary_edit_changes_no_size() -> None:
    assert about(8_666) == about(8_700) == "about 9,000 lines"
    assert about(363) == "about 400 lines"
    assert about(12) == "about 100 lines"
