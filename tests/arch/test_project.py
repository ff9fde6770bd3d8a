"""The files around the source agree with each other and mention nothing they should not."""

import os
import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]

MADE = {"out", "build", "dist", "__pycache__"}
"""Folders that are made, not written; those that begin with a dot are left out as well."""

UNWANTED = {
    "a path of one machine": r"(?<![\w.*])/(?:wor[k]|roo[t])/",
    "a package index": r"pypi\.or[g]/simple|files\.pythonhoste[d]|index-ur[l]|find-link[s]",
    "a Debian mirror": r"de[b]\.debian|snapsho[t]\.debian",
    "a number in a tracker": r"\bissu[e]s? #?\d",
}
"""What the text must not say. Each pattern is spelt so that it does not match itself."""

PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[\w.]+)(?: ; (?P<marker>.+))?$")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


INSTALLED = {normal(dist.name): dist.version for dist in metadata.distributions()}


def project() -> dict[str, Any]:
    return tomllib.loads(read("pyproject.toml"))["project"]


def locked_lines(name: str) -> list[str]:
    lines = (line.strip() for line in read(f"requirements/{name}.txt").splitlines())
    return [line for line in lines if line and not line.startswith(("#", "-r "))]


def pins() -> dict[str, str]:
    """The locked version of every package, by its normal name."""
    matches = (PIN.match(line) for line in locked_lines("run") + locked_lines("dev"))
    return {normal(match["name"]): match["version"] for match in matches if match}


def applies(requirement: Requirement) -> bool:
    """False for what belongs to another platform or to an extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def written_files() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in MADE and (f == ".ci" or f[0] != ".")]
        yield from (Path(folder, file) for file in files)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


@pytest.mark.parametrize("kind", UNWANTED)
def test_the_text_never_says(kind: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in written_files()
        for number, line in enumerate(lines_of(path), start=1)
        if re.search(UNWANTED[kind], line)
    ]
    assert found == []


def test_requirements_are_pinned_exactly() -> None:
    lines = locked_lines("run") + locked_lines("dev")
    assert lines
    assert [line for line in lines if not PIN.match(line)] == []


def test_every_direct_dependency_is_locked() -> None:
    extras: dict[str, list[str]] = project()["optional-dependencies"]
    del extras["bench"]  # peers to compare with, of any version
    wanted = [*project()["dependencies"], *(name for extra in extras.values() for name in extra)]
    names = {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in wanted}
    assert names - {"trilby"} <= pins().keys()


def test_the_lock_is_complete() -> None:
    """What a locked package asks for is locked too, so that no version is left to chance."""
    locked = pins()
    missing = [
        f"{name} asks for {requirement}"
        for name in locked.keys() & INSTALLED.keys()
        for requirement in map(Requirement, metadata.requires(name) or ())
        if applies(requirement)
        if (version := locked.get(normal(requirement.name))) is None
        or not requirement.specifier.contains(version)
    ]
    assert missing == []


def test_what_is_installed_is_what_is_locked() -> None:
    different = {
        name: (version, INSTALLED[name])
        for name, version in pins().items()
        if name in INSTALLED and INSTALLED[name] != version
    }
    assert different == {}


def test_the_installed_version_is_the_written_one() -> None:
    assert metadata.version("trilby") == project()["version"]
    assert f"## {project()['version']} " in read("CHANGELOG.md")


def test_the_licence_is_whole() -> None:
    text = read("LICENSE")
    assert project()["license"] == "Apache-2.0"
    assert text.split()[:6] == ["Apache", "License", "Version", "2.0,", "January", "2004"]
    assert "END OF TERMS AND CONDITIONS" in text
    assert [n for n in range(1, 10) if f"\n   {n}. " in text] == list(range(1, 10))


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src/trilby/py.typed").is_file()


def test_every_make_command_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", read("README.md"), flags=re.MULTILINE))
    assert {"run", "test"} <= named <= targets


def test_continuous_integration_runs_what_the_readme_says() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert re.findall(r"\bmake \w+", script.read_text(encoding="utf-8")) == ["make test"]
