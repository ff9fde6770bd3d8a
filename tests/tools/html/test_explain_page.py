"""The page of an explanation, in a browser."""

import re
from pathlib import Path

import pytest
from tests.runtime.programs import square_kernel
from tests.tools.browser import brightness, look_at, needs_browser
from tests.tools.traced_programs import scale, steps, traced

from trilby.cli import main
from trilby.options import Transfers
from trilby.tools.explanation import explanation_of
from trilby.tools.html.code import changes
from trilby.tools.html.explain_page import explanation_page


@pytest.fixture(scope="module")
def page() -> str:
    run = traced("native", Transfers.PLANNED)
    return explanation_page(explanation_of(steps, Transfers.PLANNED, runs=[run]))


def test_a_page_needs_nothing_beside_itself(page: str) -> None:
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", page)


@needs_browser
def test_an_explanation_in_a_browser(page: str, tmp_path: Path) -> None:
    seen = look_at(
        page, tmp_path, ".listing .source", ".listing .note-launch", ".note-ran-up", "pre .added"
    )
    assert seen.sections == [
        "Source",
        "The run against the optimum",
        "Copies, and why each was made",
        "Kernel scale",
        "Kernel add",
        "What becomes of steps",
    ]
    assert "cc.dispatch(a.length, scale, a, 0.5)" in seen.text
    assert "scale reads and writes" not in seen.text
    assert "scale reads a and writes a" in seen.text
    assert "add reads a and b and writes a" in seen.text
    assert "cc.to_device(a)" in seen.text
    assert seen.counts[".listing .source"] == len(steps_lines())
    assert seen.counts[".listing .note-launch"] == 2
    assert seen.counts[".note-ran-up"] > 0
    assert seen.counts["pre .added"] > 0
    assert (seen.outside, seen.overlaps, seen.loaded) == ([], [], [])
    assert seen.width <= 1240


def test_lines_of_a_model_that_has_changed() -> None:
    assert changes("  a\n+ the same\n- b\n  c") == (
        '<pre><span class="same">  a</span>\n<span class="added">+ the same</span>'
        '<span class="removed">- b</span><span class="same">  c</span>\n</pre>'
    )


def steps_lines() -> list[str]:
    text = Path(steps.location.file).read_text("utf-8")
    body = text[text.index("@tb.compute\ndef steps") :]
    return body[: body.index("\n\n\n")].splitlines()


@needs_browser
def test_dark_and_narrow(page: str, tmp_path: Path) -> None:
    seen = look_at(page, tmp_path, dark=True, width=480)
    assert brightness(seen.ink) - brightness(seen.paper) > 150
    assert seen.width <= 500


@needs_browser
def test_a_kernel_alone(tmp_path: Path) -> None:
    seen = look_at(explanation_page(explanation_of(square_kernel, Transfers.AUTO)), tmp_path)
    assert seen.sections == ["Kernel square_kernel"]
    assert "The OpenCL that a device gets" in seen.text


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.html"
    assert main(["explain", f"{scale.location.file}:steps", "--html", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert "What becomes of steps" in out.read_text("utf-8")
