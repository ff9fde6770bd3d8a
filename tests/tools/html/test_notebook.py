"""What notebooks show: escaped, bounded, and without moving anything."""

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.browser import look_at, needs_browser
from tests.tools.traced_programs import many_passes, scale, steps, traced

import trilby as tb
from trilby import Accelerator, F32Array, S32Array2D, f32, i32
from trilby.errors import GuardError
from trilby.options import Transfers
from trilby.runtime.compile import analyse_compute
from trilby.shown import Shown
from trilby.transform.pipelines import run_transforms

MOST_LETTERS = 60_000


class Text(HTMLParser):
    """The texts of HTML, and a check that its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.parts.append(data)


def html_of(thing: Any) -> str:
    assert isinstance(thing, Shown)
    return thing._repr_html_()  # pyright: ignore[reportPrivateUsage] -- what notebooks call


def text_of(thing: Any) -> str:
    html = html_of(thing)
    assert len(html) < MOST_LETTERS
    reader = Text()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return " ".join(" ".join(reader.parts).split())


# ---------------------------------------------------------------------------------- buffers


class Table(tb.Buffer):
    class Result(tb.Struct):
        x: f32
        y: f32

    count: tb.Atomic[i32]
    length: i32
    result: tb.Array[Result] = tb.array("length")


def test_a_buffer_shows_its_fields_and_first_values() -> None:
    text = text_of(F32Array.of([1.5, 2.5, 3.5]))
    assert "F32Array, 16 B" in text
    assert "length i32 3" in text
    assert "array f32 3 1.5, 2.5, 3.5" in text
    assert "current on host: all" in text


def test_structs_and_two_dimensions() -> None:
    table = Table.create(length=4)
    table.result[0].x = 0.5
    table.count = 3
    text = text_of(table)
    assert "count i32 3" in text
    assert "result Result 4 (0.5, 0.0), (0.0, 0.0)" in text
    assert "2 × 3 1, 2, 3" in text_of(S32Array2D.of([[1, 2, 3], [4, 5, 6]]))


def test_nothing_moves_when_a_buffer_is_shown() -> None:
    with Accelerator("native", memory="discrete") as accelerator:
        a = F32Array.of(np.ones(1_000_000))
        accelerator.compute(many_passes, a, 1)
        accelerator.wait()
        with accelerator.guard(), accelerator.record() as ledger:
            text = text_of(a)
            assert "array f32 1,000,000 newer on the device" in text
            assert "current on host: nothing · native:0" in text
            with pytest.raises(GuardError):
                _ = a.array[0]
        assert ledger.copies == ()
        _ = a.array[:8].sum()
        assert "0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, …" in text_of(a)


def test_a_buffer_on_shared_memory() -> None:
    with Accelerator("native") as accelerator:
        a = F32Array.of(np.ones(10))
        accelerator.compute(many_passes, a, 1)
        accelerator.wait()
        text = text_of(a)
    assert "on the host's memory" in text
    assert "0.5, 0.5" in text


def test_an_array_of_numpy() -> None:
    with Accelerator("native") as accelerator:
        assert "NDArray of f32, 2 × 3, 24 B" in text_of(
            accelerator.array(np.ones((2, 3), np.float32))
        )
        assert "none" in text_of(accelerator.array(np.ones((0, 3), np.float32)))


def test_a_buffer_that_was_released() -> None:
    a = F32Array.of([1.0])
    a.release()
    assert "released" in text_of(a)


# -------------------------------------------------------------------- runs, models and graphs


@pytest.mark.parametrize("transfers", list(Transfers))
def test_a_ledger(transfers: Transfers) -> None:
    ledger = traced("native", transfers).ledger
    text = text_of(ledger)
    assert f"{len(ledger.copies)} copies" in text
    assert f"{ledger.ratio:.2f}×" in text
    assert ledger.copies[0].cause in text


def test_an_empty_ledger() -> None:
    with Accelerator("native") as accelerator, accelerator.record() as ledger:
        pass
    assert "0 copies, 0 B" in text_of(ledger)


def test_a_profile_and_a_run() -> None:
    run = traced("native", times=5)
    text = text_of(run.profile)
    assert "10 dispatches" in text
    assert "scale" in text
    assert "A run on" in text_of(run)


def test_what_is_shown_is_bounded() -> None:
    run = traced("null", Transfers.ALWAYS, times=500)
    for thing in (run.ledger, run.profile):
        assert len(html_of(thing)) < MOST_LETTERS
    assert len(html_of(run)) < 700_000


def test_models_and_graphs() -> None:
    context = analyse_compute(steps)
    text = text_of(context)
    assert "scale" in text
    assert "scale a F32Array array[] both" in text
    model = context.entry.func
    assert "dispatch %" in text_of(model)
    done = run_transforms([model], context.transforms(Transfers.PLANNED))
    assert "transfer.to_device" in text_of(done)


def test_names_are_escaped() -> None:
    run = traced("native")
    buffers = run.ledger.recording.trace.buffers
    buffers[0] = replace(buffers[0], name="<b>a</b>")
    html = html_of(run.ledger)
    assert "<b>" not in html
    assert "&lt;b&gt;a&lt;/b&gt;" in html


def test_tools_are_loaded_when_somebody_looks() -> None:
    program = (
        "import sys, trilby; a = trilby.F32Array.of([1.0]);"
        "print(*[name for name in sys.modules if name.startswith('trilby.tools')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@needs_browser
def test_outputs_in_a_browser(tmp_path: Path) -> None:
    run = traced("native")
    parts = [F32Array.of(range(5)), run.ledger, run.profile, run, analyse_compute(steps)]
    body = "\n".join(map(html_of, parts))
    page = f"<!doctype html><html><head><title>n</title></head><body>{body}</body></html>"
    seen = look_at(page, tmp_path, ".notebook", "svg")
    assert seen.counts == {".notebook": 5, "svg": 3}
    assert (seen.outside, seen.overlaps, seen.loaded) == ([], [], [])
    assert scale.name in seen.text
