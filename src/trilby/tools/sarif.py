"""Findings in SARIF 2.1.0, the form that code hosts and editors read."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trilby.analysis.linting.registry import Lint
from trilby.analysis.linting.report import Finding
from trilby.source import Location
from trilby.version import VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}


def as_sarif(
    findings: Iterable[Finding], lints: Iterable[Lint], failures: Iterable[str] = ()
) -> str:
    """One run of one tool with all its rules and results, and what it could not look at."""
    driver = {
        "name": "trilby lint",
        "version": VERSION,
        "rules": [_rule(lint) for lint in lints],
    }
    untold = [{"level": "error", "message": {"text": failure}} for failure in failures]
    invocation = {"executionSuccessful": not untold, "toolExecutionNotifications": untold}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(lint: Lint) -> dict[str, Any]:
    return {
        "id": lint.id,
        "shortDescription": {"text": lint.summary},
        "fullDescription": {"text": lint.page},
        "defaultConfiguration": {"level": _LEVELS[lint.severity]},
    }


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
    path, here = Path(file).absolute(), Path.cwd()
    if path.is_relative_to(here):
        return quote(os.fsencode(path.relative_to(here).as_posix()))
    return path.as_uri()
