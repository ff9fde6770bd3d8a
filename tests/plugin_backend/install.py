"""Installs the plug-in of this folder, as pip does for a user; nothing is downloaded."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def install(folder: Path) -> Path:
    """The place for `sys.path` at which the distribution `trilby-arrays` was installed."""
    source, target = folder / "source", folder / "installed"
    shutil.copytree(HERE / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "pyproject.toml", source)
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *offline]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True)
    return target


def add_to_path(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let Python find what is installed in a folder."""
    patch.setattr(sys, "path", [str(folder), *sys.path])
    importlib.invalidate_caches()
