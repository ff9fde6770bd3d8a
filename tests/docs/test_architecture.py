"""What the pages for contributors name is there."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

SOURCE = ROOT / "src" / "trilby"
PAGES = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"]
PLACES = re.compile(r"(?:[\w.*-]+/)*[\w.*-]+(?:\.(?:py|md|toml|svg|sh)|/)")
FUNCTION = re.compile(r"(\w+)\(\)")
MADE = {"out/"}
"""Folders that are made, not written."""
CLASS = re.compile(r"([A-Z]+[a-z]\w*)(?:\.(\w+))?")


def members() -> dict[str, set[str]]:
    """The members of each class of the source; the functions and names of modules are under ""."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] |= names_in(node.body)
        found[""] |= names_in(tree.body)
    return found


def names_in(body: list[ast.stmt]) -> set[str]:
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


KNOWN = members()


def spelled(page: Path) -> list[str]:
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", prose)


def is_there(place: str) -> bool:
    return any(any(folder.glob(place.rstrip("/"))) for folder in (ROOT, SOURCE)) or any(
        SOURCE.rglob(place) if "*" in place else ()
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    places = [place for place in spelled(page) if PLACES.fullmatch(place) and place not in MADE]
    assert places
    assert [place for place in places if not is_there(place)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_is_run_exists(page: Path) -> None:
    modules = re.findall(r"python -m (tests[\w.]+)", page.read_text("utf-8"))
    assert modules
    assert [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []


def test_every_class_and_function_that_is_named_exists() -> None:
    wrong: list[str] = []
    for name in spelled(PAGES[0]):
        if function := FUNCTION.fullmatch(name):
            wrong += [name] if function[1] not in KNOWN[""] | {"message"} else []
        elif found := CLASS.fullmatch(name):
            owner, member = found.groups()
            is_known = owner in KNOWN and (member is None or member in KNOWN[owner])
            wrong += [] if is_known else [name]
    assert wrong == []
