"""The files around the source agree with each other and mention nothing they should not."""

import os
import re
import shutil
import subprocess
import sys
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
        yield from (Path(folder, file) for file in files if file != ".git")


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
    commands = re.findall(r"^make \w+", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    said = re.search(r"machines\s+that check each change run (.+?)\.", read("README.md"), re.DOTALL)
    assert said
    assert commands == re.findall(r"`(make \w+)`", said[1]) == ["make test", "make newest"]


# --------------------------------------------------------------------------- other Pythons


def printed(*command: str, folder: Path = ROOT, **variables: str) -> str:
    """What a command prints, with none of the variables that `make` gives to its programs."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        command, cwd=folder, env=kept | variables, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("target", ["run", "pytest", "check-types", "check-typing", "check-docs"])
def test_a_python_that_is_named_has_an_environment_of_its_own(target: str) -> None:
    own = f".venv-{sys.implementation.cache_tag}"
    for told, folder in (((), ".venv"), ((f"PYTHON={sys.executable}",), own)):
        commands = printed("make", "--dry-run", target, *told)
        assert set(re.findall(r"\.venv[\w.-]*(?=/bin/)", commands)) == {folder}


def fake_python(file: Path, minor: int, level: str = "final", *, locked: bool = True) -> None:
    """Write a program that says it is Python 3.`minor`, and is the one that runs this test."""
    prepare = (
        "import ensurepip, sys, sysconfig, venv; "
        f"members = dict(minor={minor}, releaselevel={level!r}); "
        f"sys.version_info = type('Version', (tuple,), members)((3, {minor}, 0)); "
        f"sysconfig.get_config_var = lambda name: {int(not locked)}; exec(sys.argv[1])"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{prepare}" "$2"\n', encoding="utf-8")
    file.chmod(0o755)


def test_the_newest_python_is_one_that_works_and_is_newer(tmp_path: Path) -> None:
    setup = tmp_path / "scripts/setup.sh"
    setup.parent.mkdir()
    shutil.copy(ROOT / "scripts/setup.sh", setup)
    programs = tmp_path / "bin"
    fake_python(tmp_path / ".venv/bin/python", 11)
    fake_python(programs / "python3", 10)
    fake_python(programs / "python3.11", 11)
    path = f"{programs}:/usr/bin:/bin"

    def newest() -> str:
        found = printed("bash", str(setup), "newest", PATH=path).strip()
        return found if found.startswith(str(programs)) or not found else "one of this machine"

    (programs / "python3.14").write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    (programs / "python3.14").chmod(0o755)
    fake_python(programs / "python3.12", 12)
    fake_python(programs / "python3.13", 99, "beta")
    fake_python(programs / "python3.13", 99, locked=False)
    assert newest() in {str(programs / "python3.12"), "one of this machine"}
    fake_python(programs / "python3.13", 99)
    assert newest() == str(programs / "python3.13")
    fake_python(tmp_path / ".venv/bin/python", 99)
    assert not newest()
