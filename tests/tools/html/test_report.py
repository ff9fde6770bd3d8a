"""The report of a run: what is on it, whole in a browser, and asking for nothing."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.tools.browser import brightness, look_at, needs_browser
from tests.tools.traced_programs import scale, steps, traced

from trilby import Accelerator, F32Array, Transfers
from trilby.runtime.tracing import TracedRun
from trilby.tools.html.report import report_of
from trilby.tools.run import watching_accelerators

SECTIONS = [
    "Timeline",
    "Bytes per buffer",
    "Kernels and buffers",
    "Hottest lines",
    "Copies, and why each was made",
]


@pytest.fixture(scope="module")
def run() -> TracedRun:
    return traced("native", times=4)


def test_a_page_needs_nothing_beside_itself(run: TracedRun) -> None:
    page = report_of([run], "a run")
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", page)


def test_names_are_escaped(run: TracedRun) -> None:
    page = report_of([run], "<script>alert('a & b')</script>")
    assert "<script>" not in page
    assert "&lt;script&gt;alert('a &amp; b')&lt;/script&gt;" in page


def test_the_size_of_a_page_is_bounded() -> None:
    with Accelerator("null", memory="discrete", transfers=Transfers.ALWAYS) as accelerator:
        a, b = F32Array.of(np.ones(10)), F32Array.of(np.ones(10))
        with accelerator.trace() as run:
            accelerator.compute(steps, a, b, 1000)
    assert len(run.ledger.copies) > 5_000
    assert len(report_of([run], "a long run")) < 1_500_000


def test_two_accelerators_with_the_same_buffers() -> None:
    a, b = F32Array.of(np.ones(10)), F32Array.of(np.ones(10))
    with watching_accelerators() as runs:
        first, second = (Accelerator("native", memory="discrete") for _ in range(2))
        for accelerator in (first, second, first):
            accelerator.compute(steps, a, b, 2)
    page = report_of(runs, "two")
    assert [run.place in page for run in runs] == [True, True]
    assert all(run.ledger.copies for run in runs)


@needs_browser
def test_a_report_in_a_browser(run: TracedRun, tmp_path: Path) -> None:
    seen = look_at(
        report_of([run], "a run"),
        tmp_path,
        "svg.timeline rect.kernel",
        "svg.timeline rect.copy-up",
        "svg.timeline rect.copy-down",
        "svg.graph .node.is-kernel",
        "svg.graph .node.is-buffer",
    )
    assert seen.title == "a run · Trilby"
    assert seen.sections == SECTIONS
    ledger = run.ledger
    copies = len(ledger.uploads), len(ledger.downloads)
    assert f"{copies[0]} up, {copies[1]} down" in seen.text
    assert f"{ledger.bytes_up + ledger.bytes_down:,} bytes moved" in seen.text
    assert "cc.dispatch(a.length, scale, a, 0.5)" in seen.text
    for copy in ledger.copies:
        assert copy.cause in seen.text
    assert seen.counts.pop("svg.graph .node.is-kernel") == 2
    assert seen.counts.pop("svg.graph .node.is-buffer") == 2
    assert min(seen.counts.values()) > 0
    assert scale.name in seen.text


@needs_browser
@pytest.mark.parametrize("width", [1240, 480])
def test_nothing_is_cut_off_and_nothing_overlaps(
    run: TracedRun, tmp_path: Path, width: int
) -> None:
    seen = look_at(report_of([run], "a run"), tmp_path, width=width)
    assert seen.width <= max(width, 500)  # the narrowest window of the browser
    assert seen.outside == []
    assert seen.overlaps == []
    assert seen.loaded == []


@needs_browser
def test_light_and_dark(run: TracedRun, tmp_path: Path) -> None:
    page = report_of([run], "a run")
    light, dark = look_at(page, tmp_path), look_at(page, tmp_path, dark=True)
    assert brightness(light.paper) - brightness(light.ink) > 150
    assert brightness(dark.ink) - brightness(dark.paper) > 150


@needs_browser
def test_two_accelerators_and_none(tmp_path: Path) -> None:
    runs = [traced("native"), traced("interpreter", Transfers.ALWAYS)]
    seen = look_at(report_of(runs, "two"), tmp_path)
    assert [name for name in seen.sections if name not in SECTIONS] == [r.place for r in runs]
    assert "the target had it already" in seen.text
    assert "opened no accelerator" in look_at(report_of([], "none"), tmp_path).text
