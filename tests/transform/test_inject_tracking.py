"""Calls around the host's accesses: where they stand, and that nothing else changes."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest
from tests.codegen.compute_programs import PREAMBLE, PROGRAMS
from tests.codegen.compute_recorder import Recorder
from tests.codegen.compute_recorder import compute as as_compute
from tests.codegen.compute_running import compiled, load, original, outcome
from tests.transform.tracking_context import TrackingRecorder

from trilby.codegen.python import to_python
from trilby.data.library import S32Array
from trilby.model.parse import named_types, parse
from trilby.model.text import to_text
from trilby.model.verify import verify
from trilby.reflect.functions import Compute
from trilby.reflect.host_functions import reflect_compute
from trilby.transform.inject_tracking import inject_tracking


def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any recorder be told about accesses, without a trace in what it shows."""

    def told(_self: Recorder, _buffer: object) -> None:
        return None

    for name in ("pre_access", "post_access", "pre_mutate", "post_mutate"):
        monkeypatch.setattr(Recorder, name, told, raising=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_did(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet(monkeypatch)
    text = PREAMBLE + PROGRAMS[name]
    wanted = outcome(load(tmp_path, text), original)
    assert outcome(load(tmp_path, text), lambda f: compiled(f, inject_tracking)) == wanted


def function(folder: Path, body: str, params: str = "a: S32Array, b: S32Array, n: int") -> Any:
    """A compute function of some statements."""
    text = f"{PREAMBLE}\ndef f(cc, {params}):\n{indent(dedent(body), '    ')}\n"
    return as_compute(load(folder, text).f)


def tracked(folder: Path, body: str, params: str = "a: S32Array, b: S32Array, n: int") -> list[str]:
    """The statements of a compute function with the calls around them."""
    func = inject_tracking(reflect_compute(function(folder, body, params)).func)
    verify(func)
    assert to_text(parse(to_text(func), named_types(func))) == to_text(func)
    return [line.removeprefix("    ") for line in to_python(func).splitlines()[1:]]


PRE_A, POST_A = "cc.pre_access(a)", "cc.post_access(a)"
PRE_WA, POST_WA = "cc.pre_mutate(a)", "cc.post_mutate(a)"

PLACED = {
    "x = a.array[0]": [PRE_A, "_v0 = a.array[0]", POST_A, "x = _v0"],
    "a.array[0] = 1": [PRE_WA, "a.array[0] = 1", POST_WA],
    "a.array[:] = 1": [PRE_WA, "a.array[:] = 1", POST_WA],
    "a.array[0] += n": [PRE_WA, "a.array[0] += n", POST_WA],
    "a.array[1:3] += n": [PRE_WA, "a.array[1:3] += n", POST_WA],
    # what may run code in between is not one access with what stands around it
    "a.array[0] += n()": [
        *(PRE_A, "_v0 = a.array[0]", POST_A, "_v1 = _v0", "_v1 += n()"),
        *(PRE_WA, "a.array[0] = _v1", POST_WA),
    ],
    # no access: lengths, views, other names, launches
    "x = a.length": ["x = a.length"],
    "v = a.array": ["v = a.array"],
    "v = a.array[1:n]": ["v = a.array[1:n]"],
    "x = len(a.array)": ["x = len(a.array)"],
    "c = a if n else b": ["c = a if n else b"],
    "c = [a, b]": ["c = [a, b]"],
    "x = a is b": ["x = a is b"],
    "a, b = b, a": ["a, b = (b, a)"],
    "cc.dispatch(n, square, a)": ["cc.dispatch(n, square, a)"],
    "helper(cc, a)": ["helper(cc, a)"],
    "x = n + 1": ["x = n + 1"],
    "note(n)": ["note(n)"],
    # what a view is used for is the access
    "x = a.array[1:3].sum()": ["_v0 = a.array[1:3]", PRE_A, "_v1 = _v0.sum()", POST_A, "x = _v1"],
    "print(a.array[:])": ["_v0 = a.array[:]", PRE_A, "print(_v0)", POST_A],
    "v = a.array\nv[0] = n": ["v = a.array", "cc.pre_mutate(v)", "v[0] = n", "cc.post_mutate(v)"],
    "a.array[:2] = b.array[:2]": [
        *("_v0 = b.array[:2]", "cc.pre_access(b)", PRE_WA, "a.array[:2] = _v0"),
        *(POST_WA, "cc.post_access(b)"),
    ],
    # what is not known may write
    "note(a)": [PRE_WA, "note(a)", POST_WA],
    "note(a.array)": ["_v0 = a.array", PRE_WA, "note(_v0)", POST_WA],
    "np.copyto(a.array, 1)": ["_v0 = a.array", PRE_WA, "np.copyto(_v0, 1)", POST_WA],
    # texts in which kernels are launched are left alone
    "try:\n    cc.dispatch(n, square, a)\nfinally:\n    a.array[0] = 1": [
        *("try:", "    cc.dispatch(n, square, a)", "finally:", "    a.array[0] = 1"),
    ],
    # conditions
    "if a.array[0] > n:\n    pass": [
        *(PRE_A, "_v0 = a.array[0]", POST_A, "if _v0 > n:", "    pass"),
    ],
    "while a.array[0] < n:\n    cc.dispatch(n, square, a)": [
        *("while True:", "    " + PRE_A, "    _v0 = a.array[0]", "    " + POST_A),
        *("    if not _v0 < n:", "        break", "    cc.dispatch(n, square, a)"),
    ],
    "if a.array[:1]:\n    pass": [
        *("_v0 = a.array[:1]", PRE_A, "_v1 = not not _v0", POST_A, "if _v1:", "    pass"),
    ],
    "for x in a.array:\n    note(x)": [
        *("_v0 = a.array", PRE_A, "for x in _v0:", "    note(x)", POST_A),
    ],
    "for c in (a, b):\n    note(c)": [
        *("for c in (a, b):", "    cc.pre_mutate(c)", "    note(c)", "    cc.post_mutate(c)"),
    ],
    # objects that may be buffers
    "c = [a, b][n]\nc.array[0] = 1": [
        *("c = [a, b][n]", "cc.pre_mutate(c)", "c.array[0] = 1", "cc.post_mutate(c)"),
    ],
    # a name that may have no value is not asked for it
    "if n:\n    c = a\nnote(n and c)": ["if n:", "    c = a", "note(n and c)"],
}


@pytest.mark.parametrize(("body", "wanted"), PLACED.items(), ids=list(PLACED))
def test_calls_stand_around_accesses(body: str, wanted: list[str], tmp_path: Path) -> None:
    assert tracked(tmp_path, body) == wanted


def test_what_a_kernel_takes_as_a_buffer_is_one(tmp_path: Path) -> None:
    kernel = parse('kernel @"k" (%0 : KernelContext, %1 : S32Array, %2 : i32) -> None {}', TYPES)
    func = function(tmp_path, "note(a)\nnote(n)\ncc.dispatch(4, scale, a, n, 1)", "a, n")
    made = inject_tracking(reflect_compute(func).func, {"program.scale": kernel})
    assert to_python(made).splitlines()[1:] == [
        "    cc.pre_mutate(a)",
        "    note(a)",
        "    cc.post_mutate(a)",
        "    note(n)",
        "    cc.dispatch(4, scale, a, n, 1)",
    ]


TYPES = {"S32Array": S32Array.__schema__}


def run(function: Compute[..., Any], *args: Any) -> TrackingRecorder:
    recorder = TrackingRecorder()
    compiled(function, inject_tracking)(recorder, *args)
    return recorder


def test_the_context_is_told_in_the_order_of_the_accesses(tmp_path: Path) -> None:
    body = """
        for i in range(n):
            source = a if i % 2 == 0 else b
            to = b if i % 2 == 0 else a
            cc.dispatch(a.length, lambda kc: life(kc, source, to))
            note(to.array[0])
    """
    a, b = S32Array.of([1, 2]), S32Array.of([3, 4])
    told = run(function(tmp_path, body), a, b, 3).told
    assert [word for word, _ in told] == ["dispatch", "pre_access", "post_access"] * 3
    assert [buffer for word, buffer in told if word == "pre_access"] == [b, a, b]


def test_a_view_is_told_as_it_is(tmp_path: Path) -> None:
    a = S32Array.of(range(4))
    recorder = run(function(tmp_path, "row = a.array[1:3]\nrow[0] = n"), a, a, 9)
    ((_, view), _) = recorder.told
    assert recorder.words == ["pre_mutate", "post_mutate"]
    assert np.asarray(view).tolist() == [9, 2]


def test_an_error_in_an_access_leaves_it_open(tmp_path: Path) -> None:
    a = S32Array.of(range(4))
    recorder = TrackingRecorder()
    made = compiled(function(tmp_path, "x = a.array[n]"), inject_tracking)
    with pytest.raises(IndexError):
        made(recorder, a, a, 99)
    assert recorder.words == ["pre_access"]


def test_only_compute_functions_are_changed() -> None:
    kernel = parse('kernel @"k" (%0 : KernelContext, %1 : S32Array) -> None {}', TYPES)
    assert inject_tracking(kernel) is kernel


def test_a_function_without_accesses_stays_the_same(tmp_path: Path) -> None:
    func = reflect_compute(function(tmp_path, "cc.dispatch(n, square, a)")).func
    assert inject_tracking(func) is func
