"""`trilby lint`: the lints of all functions in files, folders and modules, in three forms."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from trilby.dataclass import dataclass
from trilby.errors import ArgumentValueError, TrilbyError
from trilby.linting.findings import Finding, Report
from trilby.linting.lint import LintSettings, functions_of, lint, settings_for
from trilby.linting.lint_registry import all_lints, lint_named
from trilby.reflect.capture import imports_trilby
from trilby.source import Location, excerpt
from trilby.tools.html.elements import counted
from trilby.tools.load import load_module
from trilby.version import VERSION

# -------------------------------------------------------------------------------------------- sarif
# Findings in SARIF 2.1.0, the form that code hosts and editors read.

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}


def as_sarif(linted: "Linted") -> str:
    """One run of one tool with all its rules and results, and what it could not look at."""
    rules = [
        {
            "id": lint.id,
            "shortDescription": {"text": lint.summary},
            "fullDescription": {"text": lint.page},
            "defaultConfiguration": {"level": _LEVELS[lint.severity]},
        }
        for lint in all_lints()
    ]
    untold = [{"level": "error", "message": {"text": failure}} for failure in linted.failures]
    run = {
        "tool": {"driver": {"name": "trilby lint", "version": VERSION, "rules": rules}},
        "invocations": [{"executionSuccessful": not untold, "toolExecutionNotifications": untold}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in linted.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding) -> dict[str, Any]:
    """What is unknown is `open`, and has no level: so the standard has it."""
    is_open = finding.verdict == "unknown"
    return {
        "ruleId": finding.lint,
        "level": "none" if is_open else _LEVELS[finding.severity],
        "kind": "open" if is_open else "fail",
        "message": {"text": f"{finding.message}\n{finding.advice}".strip()},
        "locations": [_place(finding.location)],
        "relatedLocations": [_place(other) for other in finding.others],
    }


def _place(where: Location) -> dict[str, Any]:
    region = {"startLine": max(where.line, 1), "startColumn": where.column + 1}
    if where.end_line >= where.line and where.end_column:
        region |= {"endLine": where.end_line, "endColumn": where.end_column + 1}
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(where.file)}, "region": region},
    }


def _uri(file: str) -> str:
    """Relative to where the command runs, if it is below; without characters that URIs lack."""
    path = _from_here(Path(file).absolute())
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _from_here(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


# --------------------------------------------------------------------------------------------- lint


@dataclass(slots=True)
class Linted:
    """The reports on all functions that were found, and what could not be looked at."""

    reports: list[Report] = field(default_factory=list[Report])
    failures: list[str] = field(default_factory=list[str])
    left_out: list[Path] = field(default_factory=list[Path])
    """Files that were named, and do not import Trilby."""

    @property
    def findings(self) -> list[Finding]:
        """All findings, by file and line, each once."""
        found = {finding.key: finding for report in self.reports for finding in report.findings}
        return sorted(
            found.values(), key=lambda one: (one.location.file, one.location.line, one.lint)
        )

    @property
    def code(self) -> int:
        """What the command ends with: hints are no reason to fail."""
        return 2 if self.failures else int(any(f.severity != "hint" for f in self.findings))


def lint_paths(
    paths: Sequence[str], form: str, select: tuple[str, ...], ignore: tuple[str, ...]
) -> tuple[str, int]:
    """Lint every function of some files, folders and modules: the text to print, the exit code.

    `select` and `ignore` are ids, and go before those of `pyproject.toml`.
    """
    LintSettings(select, ignore)  # ids that do not exist are told once
    linted = Linted()
    for module, path in _modules(paths, linted):
        for function in functions_of(module):
            try:
                project = settings_for(str(path))
                chosen = (select or project.select, (*project.ignore, *ignore), project.severity)
                linted.reports.append(lint(function, settings=LintSettings(*chosen)))
            except TrilbyError as error:
                linted.failures.append(str(error))
    linted.failures = list(dict.fromkeys(linted.failures))  # a kernel may be dispatched often
    forms = {"text": as_text, "json": as_json, "sarif": as_sarif}
    return forms[form](linted), linted.code


def _modules(paths: Sequence[str], linted: Linted) -> Iterator[tuple[ModuleType, Path]]:
    for path in paths:
        folder = str(_root(Path(path).absolute()))
        if Path(path).exists() and folder not in sys.path:
            sys.path.insert(0, folder)  # the packages in it import each other
        named = list(_files(path, linted)) if Path(path).exists() else [path]
        for one in named:
            try:
                with redirect_stdout(sys.stderr):  # what is printed here is not for modules
                    module = load_module(one) if isinstance(one, Path) else _imported(one)
            except TrilbyError as error:
                linted.failures.append(str(error))
            else:
                yield module, one if isinstance(one, Path) else Path(module.__file__ or ".")


def _root(path: Path) -> Path:
    """The folder itself, or the one around the package in which a file lies."""
    folder = path if path.is_dir() else path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def _files(path: str, linted: Linted) -> Iterator[Path]:
    """The files of a path that import Trilby: no other is imported itself."""
    place = Path(path)
    found = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    for file in found:
        inside = file.relative_to(place).parts if file != place else ()
        hidden = any(part.startswith((".", "__pycache__")) for part in inside)
        is_regular = file.is_file()  # other things, such as a FIFO, may have no end
        if file != place and (hidden or not is_regular):
            continue
        try:
            imports = is_regular and imports_trilby(file.read_bytes())
        except OSError as error:
            linted.failures.append(f"`{file}` cannot be read: {error.strerror}")
            continue
        if not is_regular:
            linted.failures.append(f"`{file}` cannot be read: it is not a regular file")
        elif imports:
            yield file
        elif file == place:
            linted.left_out.append(file)


def _imported(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return import_module(name)
    except ImportError as error:
        raise ArgumentValueError(
            f"`{name}` is neither a file, nor a folder, nor a module: {error}",
            advice="name what is to be linted: app.py, src/, package.module",
        ) from error
    except TrilbyError:
        raise
    except (Exception, SystemExit) as error:
        raise ArgumentValueError(
            f"`{name}` cannot be imported: {type(error).__name__}: {error}",
            advice=f"see to it that `python -c 'import {name}'` ends without errors",
        ) from error


# -- what is printed


def as_text(linted: Linted) -> str:
    """The findings one after the other, each with its line, and what they come to."""
    parts = [_finding_text(finding) for finding in linted.findings]
    parts += [f"cannot be linted: {failure}\n" for failure in linted.failures]
    parts += [f"{file} is left out: it has no `import trilby`\n" for file in linted.left_out]
    return "\n".join([*parts, _total(linted)]) + "\n"


def _finding_text(finding: Finding) -> str:
    where, level = finding.location, finding.severity
    if finding.verdict == "unknown":
        level = "unknown"
    lines = [f"{_shown(where)}: {level}[{finding.lint}] {finding.message}"]
    shown = excerpt(where)
    if shown:
        lines.append(shown)
    lines += [f"  with {_shown(other)}" for other in finding.others if other != where]
    if finding.advice:
        lines.append(f"  help: {finding.advice}")
    return "\n".join(lines) + "\n"


def _shown(where: Location) -> str:
    return f"{_from_here(Path(where.file))}:{where.line}:{where.column + 1}"


def _total(linted: Linted) -> str:
    verdicts = [report.verdict for report in linted.reports]
    if not verdicts and not linted.failures:
        return "there are no kernels and no compute functions here"
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in ("clean", "unknown", "bug"))
    found = len(linted.findings)
    return f"{counted(len(verdicts), 'function')}: {counts}; {counted(found, 'finding')}"


def as_json(linted: Linted) -> str:
    """The findings for programs."""
    functions = [
        {
            "function": report.function,
            "file": report.location.file if report.location else "",
            "line": report.location.line if report.location else 0,
            "verdict": report.verdict,
            "assumptions": list(report.assumptions),
            "silenced": report.silenced,
            "findings": [finding_table(finding) for finding in report.findings],
        }
        for report in linted.reports
    ]
    return json.dumps({"functions": functions, "failures": linted.failures}, indent=2) + "\n"


def finding_table(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    where, witness = finding.location, finding.witness
    table: dict[str, Any] = {
        "lint": finding.lint,
        "severity": finding.severity,
        "verdict": finding.verdict,
        "message": finding.message,
        "advice": finding.advice,
        "file": where.file,
        "line": where.line,
        "column": where.column + 1,
    }
    if witness is not None:
        table["witness"] = {
            "items": [list(item) for item in witness.items],
            "element": witness.element,
            "range": list(witness.range.size),
            "local": list(witness.range.local) if witness.range.local else None,
            "arguments": dict(witness.arguments),
        }
    return table


def list_lints(names: Sequence[str] = ()) -> str:
    """All lints with their summaries, or the pages of some."""
    if names:
        pages = [lint_named(name) for name in names]
        return "\n\n".join(f"{one.id} ({one.severity})\n\n{one.page}" for one in pages) + "\n"
    width = max(len(one.id) for one in all_lints())
    return "".join(f"{one.id:{width}}  {one.summary}\n" for one in all_lints())
