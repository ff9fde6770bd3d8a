"""The tracking of the documents' programs: the kept texts, and what the context is told."""

from typing import Any

import pytest
from tests.codegen.compute_running import compiled
from tests.transform import golden_tracking as programs
from tests.transform.golden_tracking import FOLDER, GOLDEN, text_of
from tests.transform.tracking_context import TrackingRecorder

from trilby.data.library import S32Array
from trilby.data.library_2d import S32Array2D
from trilby.reflect.functions import Compute
from trilby.transform.inject_tracking import inject_tracking


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_is_the_one_that_was_kept(name: str) -> None:
    assert text_of(GOLDEN[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_text_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(GOLDEN)


def told(function: Compute[..., Any], *args: Any) -> list[tuple[str, Any]]:
    recorder = TrackingRecorder()
    compiled(function, inject_tracking)(recorder, *args)
    return [(word, None if word == "dispatch" else buffer) for word, buffer in recorder.told]


def grid() -> S32Array2D:
    return S32Array2D.create(width=16, height=16)


LAUNCH = ("dispatch", None)


def read(buffer: object) -> list[tuple[str, object]]:
    return [("pre_access", buffer), ("post_access", buffer)]


def written(buffer: object) -> list[tuple[str, object]]:
    return [("pre_mutate", buffer), ("post_mutate", buffer)]


def test_mandel_reports_what_the_document_reports() -> None:
    """Without the two lines for `size()`: a size never changes, so asking for it is no access."""
    image, palette = grid(), S32Array.create(length=4)
    assert told(programs.mandel, image, palette, 0.0, 0.0, 1.0) == [
        *read(image),
        *written(image),
        LAUNCH,
    ]


@pytest.mark.parametrize("function", [programs.filled, programs.doubled, programs.life])
def test_where_the_host_does_not_look_nothing_is_told(function: Compute[..., Any]) -> None:
    memory = grid() if function is programs.life else S32Array.create(length=4)
    count = () if function is programs.filled else (2,)
    assert set(told(function, memory, *count)) == {LAUNCH}


def test_slot_0_is_read_in_every_turn(capsys: pytest.CaptureFixture[str]) -> None:
    memory = S32Array.of([7, 8])
    assert told(programs.doubled_and_shown, memory, 3) == [LAUNCH, *read(memory)] * 3
    assert capsys.readouterr().out == "slot0 7\n" * 3


def test_an_alias_is_the_buffer() -> None:
    memory = S32Array.of([7, 8])
    assert told(programs.aliased, memory) == [LAUNCH, *read(memory), *written(memory)]
    assert memory.array[0] == 8


def test_what_is_displayed_may_be_changed_by_it() -> None:
    shown: list[S32Array2D] = []
    state = grid()
    found = told(programs.life_displayed, state, 4, shown.append)
    assert found == [entry for buffer in shown for entry in (LAUNCH, *written(buffer))]
    assert [buffer is state for buffer in shown] == [False, True, False, True]


def test_an_odd_number_of_generations_is_copied_home() -> None:
    state = grid()
    *launches, first, second, third, fourth = told(programs.life, state, 3)
    assert launches == [LAUNCH] * 3
    assert [first[0], second, third, fourth[0]] == ["pre_access", *written(state), "post_access"]
    assert first[1] is fourth[1] is not state


def test_buffers_in_a_list_are_told_one_by_one() -> None:
    state = grid()
    found = told(programs.life_in_a_list, state, 4)
    looked = [buffer for word, buffer in found if word == "pre_access"]
    assert [word for word, _ in found] == ["dispatch", "pre_access", "post_access"] * 4
    assert [buffer is state for buffer in looked] == [False, True, False, True]
