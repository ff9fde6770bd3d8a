"""What others see while passes go on: progress, other threads, Ctrl-C, devices that fail."""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred, Watched
from tests.runtime.interrupting import with_ctrl_c
from tests.runtime.pass_programs import (
    count,
    count_below,
    run,
    run_counting,
    run_flip,
    run_step,
    run_until,
    stepped,
)
from tests.runtime.simulated import CPU, GPU, Simulated, machine

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32
from trilby.errors import DeviceError, PassesCancelledError
from trilby.runtime import passes

LENGTH = 8
MANY = 10**9
START = np.arange(LENGTH, dtype=np.int32)


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told after every portion, and portions are small."""
    monkeypatch.setattr(passes, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(passes, "MOST_AT_ONCE", 10)


def two() -> tuple[S32Array, S32Array]:
    return S32Array.create(length=LENGTH), S32Array.create(length=LENGTH)


# -------------------------------------------------------------------------- progress


@pytest.mark.usefixtures("talkative")
def test_progress_is_told_and_sees_whole_passes(accelerator: Accelerator) -> None:
    a, b = two()
    told: list[tuple[int, int]] = []

    def tell(done: int, of: int) -> None:
        told.append((done, of))
        assert np.asarray(a).tolist() == np.asarray(b).tolist() == [done] * LENGTH

    assert accelerator.compute(run_counting, a, b, 60, tell) == 60
    assert told[-1] == (60, 60)
    assert len(told) > 2
    assert [of for _, of in told] == [60] * len(told)
    assert sorted(set(told)) == told


@pytest.mark.usefixtures("talkative")
def test_what_progress_writes_is_seen_by_the_passes_behind(accelerator: Accelerator) -> None:
    a, b = two()

    def tell(done: int, _: int) -> None:
        a.array[:] = -done

    accelerator.compute(run_counting, a, b, 60, tell)
    assert np.asarray(a).tolist() == [-60] * LENGTH
    last: list[int] = []

    def remember(done: int, of: int) -> None:
        if done < of:
            a.array[0] = 1000
            last[:] = [done]

    accelerator.compute(run_counting, a, b, 60, remember)
    assert np.asarray(a).tolist() == [1000 + 60 - last[0]] + [0] * (LENGTH - 1)


@tb.kernel
def write_part(kc: KernelContext, a: S32Array, done: S32Array, last: i32) -> None:
    """Each pass writes another part, and the last one says so."""
    a.array[4 * kc.pass_id + kc.x] = kc.pass_id
    if kc.pass_id == last:
        done.array[0] = 1


@tb.compute
def write_parts(cc: ComputeContext, a: S32Array, done: S32Array, last: int) -> int:
    cc.dispatch(4, write_part, a, done, last, passes=4, until=done.array[0], check_every=1)
    return cc.passes_done


def test_a_raw_view_shows_what_the_passes_that_were_run_wrote(accelerator: Accelerator) -> None:
    a, done = S32Array.of([50] * 16), S32Array.create(length=1)
    raw = a.array.raw()
    assert accelerator.compute(write_parts, a, done, 1) == 2
    assert raw.tolist() == [0] * 4 + [1] * 4 + [50] * 8


def test_a_raw_view_shows_what_the_passes_before_one_that_failed_wrote(
    accelerator: Accelerator,
) -> None:
    a, b = two()
    raw = b.array.raw()
    with pytest.raises(AssertionError, match="too far"):
        accelerator.compute(run, count_below, (a, b, 3), {"passes": 9})
    assert raw[3] == 3
    assert set(raw.tolist()) <= {3, 4}  # others may have done their work
    raw[1] = 8
    assert b.array.tolist() == raw.tolist()


def test_a_raw_view_shows_the_passes_before_others_stopped_them(accelerator: Accelerator) -> None:
    a, b = two()
    raw = b.array.raw()
    cancel = threading.Event()
    threading.Timer(0.02, cancel.set).start()
    with pytest.raises(PassesCancelledError) as caught:
        accelerator.compute(run_counting, a, b, MANY, cancel=cancel)
    assert raw.tolist() == [caught.value.done] * LENGTH


@pytest.mark.usefixtures("talkative")
def test_progress_may_dispatch_and_look_through_raw_views(accelerator: Accelerator) -> None:
    a, b = two()
    c = S32Array.create(length=LENGTH)
    raw = b.array.raw()
    seen: list[tuple[int, int]] = []

    def tell(done: int, _: int) -> None:
        seen.append((done, int(raw[3])))
        accelerator.compute(run_step, c, 2)

    accelerator.compute(run_counting, a, b, 40, tell)
    assert seen
    assert all(done == shown for done, shown in seen)
    zeros = np.zeros(LENGTH, np.int32)
    for _ in seen:
        zeros = stepped(zeros, 2)
    assert np.asarray(c).tolist() == zeros.tolist()


@pytest.mark.usefixtures("talkative")
def test_an_error_in_progress_ends_them(accelerator: Accelerator) -> None:
    a, b = two()
    told: list[int] = []

    def tell(done: int, _: int) -> None:
        told.append(done)
        if len(told) == 2:
            raise LookupError(done)

    with pytest.raises(LookupError):
        accelerator.compute(run_counting, a, b, MANY, tell)
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [told[-1]] * LENGTH


@pytest.mark.usefixtures("talkative")
def test_progress_that_only_looks_at_numbers_moves_nothing(discrete: Accelerator) -> None:
    a, b = two()
    with discrete.record() as ledger:
        discrete.compute(run_counting, a, b, 100, lambda _done, _of: None)
        np.asarray(a)
    assert (len(ledger.uploads), len(ledger.downloads)) == (0, 1)


@pytest.mark.usefixtures("talkative")
def test_a_bar(discrete: Accelerator, capsys: pytest.CaptureFixture[str]) -> None:
    @tb.compute
    def with_bar(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
        cc.dispatch(a.length, count, a, b, passes=50, progress=True)

    discrete.compute(with_bar, *two())
    shown = capsys.readouterr().err
    assert "count" in shown
    assert "50/50" in shown


# ----------------------------------------------------------------------------- profile


def test_for_a_profile_all_passes_are_one_dispatch(discrete: Accelerator) -> None:
    a, b = two()
    discrete.compute(run_counting, a, b, 50)
    with discrete.profile() as profile:
        discrete.compute(run_counting, a, b, 3000)
        discrete.compute(run_counting, a, b, 100)
        np.asarray(a)
    (row,) = [row for row in profile.dispatches if row.kernel == "count"]
    assert row.count == 2
    assert 0 < row.least_seconds < row.most_seconds < row.execute_seconds
    assert row.copy_out.nbytes == 4 * LENGTH


# --------------------------------------------------------------------- other threads


def test_other_threads_see_whole_passes(accelerator: Accelerator) -> None:
    a, b = two()
    stop, problems = threading.Event(), list[str]()

    def look() -> None:
        for _ in range(15):
            one = np.asarray(b).tolist()
            if len(set(one)) != 1 and not accelerator.residency.replicas.shares:
                problems.append(str(one))
        stop.set()

    looking = threading.Thread(target=look)
    looking.start()
    with pytest.raises(PassesCancelledError) as caught:
        accelerator.compute(run_counting, a, b, MANY, cancel=stop)
    looking.join()
    assert not problems
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [caught.value.done] * LENGTH


def test_two_threads_may_run_passes_on_one_device(accelerator: Accelerator) -> None:
    arrays = [S32Array.of(START) for _ in range(4)]

    def work(a: S32Array) -> None:
        for _ in range(5):
            accelerator.compute(run_step, a, 30)

    threads = [threading.Thread(target=work, args=(a,)) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = START
    for _ in range(5):
        expected = stepped(expected, 30)
    for a in arrays:
        assert np.asarray(a).tolist() == expected.tolist()


# ----------------------------------------------------------------------------- Ctrl-C


def interrupted(seconds: float, work: Callable[[], object]) -> None:
    """Do work without end, and press Ctrl-C after some time, whatever is done just then."""
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(work, seconds)


has_signals = pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent otherwise there")


@has_signals
@pytest.mark.parametrize("stoppable", [False, True])
def test_ctrl_c_leaves_whole_passes(accelerator: Accelerator, *, stoppable: bool) -> None:
    accelerator.compute(run_counting, *two(), 100)  # everything is compiled
    random = np.random.default_rng(5)
    cancel = threading.Event() if stoppable else None
    for _ in range(20):
        a, b = two()
        interrupted(
            float(random.uniform(0.003, 0.02)),
            lambda: accelerator.compute(run_counting, a, b, MANY, cancel=cancel),  # noqa: B023 -- called at once
        )
        done = int(b.array[0])
        assert np.asarray(a).tolist() == np.asarray(b).tolist() == [done] * LENGTH
    a, b = two()
    assert accelerator.compute(run_counting, a, b, 10) == 10
    assert np.asarray(a).tolist() == [10] * LENGTH


@has_signals
def test_ctrl_c_while_two_buffers_flip(discrete: Accelerator) -> None:
    discrete.compute(run_flip, *two(), 100)  # everything is compiled
    random = np.random.default_rng(6)
    for _ in range(15):
        a, b = S32Array.of(START), S32Array.create(length=LENGTH)
        interrupted(
            float(random.uniform(0.003, 0.02)),
            lambda: discrete.compute(run_flip, a, b, MANY),  # noqa: B023 -- called at once
        )
        left, right = np.asarray(a), np.asarray(b)
        is_untouched = (left == START).all() and not right.any()
        assert is_untouched or (right == left + 1).all() or (left == right * 2).all()


@has_signals
def test_ctrl_c_while_a_flag_is_looked_at(discrete: Accelerator) -> None:
    discrete.compute(run_until, *two(), MANY, 100, 3)  # everything is compiled
    random = np.random.default_rng(7)
    for _ in range(15):
        a, done = two()
        interrupted(
            float(random.uniform(0.003, 0.02)),
            lambda: discrete.compute(run_until, a, done, MANY, MANY, 3),  # noqa: B023 -- called at once
        )
        assert len(set(np.asarray(a).tolist())) == 1
        assert not np.asarray(done).any()


@has_signals
def test_ctrl_c_while_the_same_passes_come_again_and_again(accelerator: Accelerator) -> None:
    random = np.random.default_rng(8)
    a, b = two()
    accelerator.compute(run_counting, a, b, 50)

    def go_on() -> None:
        while True:
            accelerator.compute(run_counting, a, b, 50)

    for _ in range(20):
        interrupted(float(random.uniform(0.003, 0.02)), go_on)
        (counted,), (told,) = set(np.asarray(a).tolist()), set(np.asarray(b).tolist())
        assert counted % 50 == told % 50
        accelerator.compute(run_counting, a, b, 50 - told)
        assert accelerator.compute(run_counting, a, b, 50) == 50
        assert np.asarray(a).tolist() == [counted + 50 - told + 50] * LENGTH


def test_the_end_of_passes_can_be_sent_to_another_process() -> None:
    error = PassesCancelledError("it was cancelled", advice="begin again", done=7)
    other = pickle.loads(pickle.dumps(error))  # noqa: S301 -- our own
    assert (other.done, str(other)) == (7, str(error))


# -------------------------------------------------------------------- devices that fail


def test_a_device_that_fails_midway_leaves_the_passes_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, Simulated(GPU, "run", good_runs=5))
    accelerator = Accelerator("sim:0", memory="discrete", poison=True)
    a, b = two()
    with pytest.raises(DeviceError, match="run 6 failed") as caught:
        accelerator.compute(run_counting, a, b, 20)
    assert caught.value.location is not None
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [5] * LENGTH


def test_what_fails_later_is_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, Simulated(GPU, "later", good_runs=5))
    accelerator = Accelerator("sim:0", memory="discrete", poison=True)
    a, b = two()
    c = S32Array.of(START)
    accelerator.compute(run_step, c, 3)
    assert np.asarray(c).tolist() == stepped(START, 3).tolist()
    with pytest.raises(DeviceError, match="the kernel trapped"):
        accelerator.compute(run_counting, a, b, 200)
    for buffer in (a, b):
        with pytest.raises(DeviceError, match="the kernel trapped"):
            np.asarray(buffer)
    assert np.asarray(c).tolist() == stepped(START, 3).tolist()


def test_an_upload_that_fails_leaves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of(START)
    backend.fail_at = "upload"
    with pytest.raises(DeviceError):
        accelerator.compute(run_step, a, 20)
    assert np.asarray(a).tolist() == START.tolist()


@pytest.mark.parametrize("good_runs", [0, 1, 4, 9])
@pytest.mark.parametrize("fails", ["run", "later", "lost"])
def test_passes_start_again_on_another_device(
    monkeypatch: pytest.MonkeyPatch, fails: str, good_runs: int
) -> None:
    machine(monkeypatch, Simulated(GPU, fails, good_runs), Simulated(CPU))
    accelerator = Accelerator("sim:0", fallback=["cpu"], memory="discrete", poison=True)
    a = S32Array.of(START)
    assert accelerator.compute(run_step, a, 12) == 12
    assert len(accelerator.fallbacks) == 1
    assert np.asarray(a).tolist() == stepped(START, 12).tolist()


@pytest.mark.parametrize("fails", ["run", "later", "lost"])
def test_passes_start_again_while_a_raw_view_shows_them(
    monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    machine(monkeypatch, Simulated(GPU, fails, good_runs=5), Simulated(CPU))
    accelerator = Accelerator("sim:0", fallback=["cpu"], memory="discrete", poison=True)
    a = S32Array.of(START)
    raw = a.array.raw()
    for _ in range(2):
        assert accelerator.compute(run_step, a, 12) == 12
    assert len(accelerator.fallbacks) == 1
    assert raw.tolist() == stepped(stepped(START, 12), 12).tolist()


def test_passes_whose_progress_was_told_do_not_start_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, Simulated(GPU, "run", good_runs=5), Simulated(CPU))
    accelerator = Accelerator("sim:0", fallback=["cpu"], memory="discrete")
    with pytest.raises(DeviceError) as caught:
        accelerator.compute(run_counting, *two(), 20, lambda _done, _of: None)
    assert "calls code that is not known" in caught.value.advice


# ------------------------------------------------------------------ nothing is done early


def test_passes_that_are_put_off_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Deferred()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a, b = S32Array.of(START), S32Array.of(-START)
    accelerator.compute(run_step, a, 9)
    accelerator.compute(run_flip, a, b, 4)
    expected = stepped(START, 9)
    for number in range(4):
        expected = expected + 1 if number % 2 == 0 else expected * 2
    assert np.asarray(a).tolist() == expected.tolist()
    assert len(backend.started("run")) == 13


def test_a_few_passes_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "MOST_UNDER_WAY", 99)
    backend = Deferred()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of(START)
    accelerator.compute(run_step, a, 9)
    assert not any(event.done for event in backend.started("run"))
    assert np.asarray(a).tolist() == stepped(START, 9).tolist()


# -------------------------------------------------------------- two real devices of OpenCL

TWO_DEVICES = """
import sys
import numpy as np
import trilby as tb
from tests.runtime.pass_programs import run_step, step, stepped
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32
from trilby.backend.opencl.opencl_device import OpenCLPrepared
from trilby.errors import DeviceError

@tb.compute(explicit=True)
def explicitly(cc: ComputeContext, a: S32Array, passes: int) -> int:
    cc.put(a).dispatch(a.length, step, a, passes=passes).get(a.array[0])
    return passes if a.array[0] else 0

submit = OpenCLPrepared.submit

def fail_midway(self, times=1, first_pass=0, after=()):
    if self._queue.device.index == 0 and self.begun >= 2:
        raise DeviceError("out of resources")
    return submit(self, times, first_pass, after)

OpenCLPrepared.submit = fail_midway
accelerator = Accelerator("opencl:0", fallback=["opencl"], memory="discrete", poison=True)
start = np.arange(8, dtype=np.int32)
a = S32Array.of(start)
function = {"explicitly": explicitly, "automatically": run_step}[sys.argv[1]]
assert accelerator.compute(function, a, 50) == 50
assert np.asarray(a).tolist() == stepped(start, 50).tolist()
(fallback,) = accelerator.fallbacks
print(fallback.failed.spec, fallback.used.spec, fallback.reason)
"""


@pytest.mark.parametrize("way", ["explicitly", "automatically"])
def test_passes_start_again_on_another_device_of_opencl(tmp_path: Path, way: str) -> None:
    program = tmp_path / "two_devices.py"
    program.write_text(TWO_DEVICES, "utf-8")
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "POCL_DEVICES": "pthread pthread",
        "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}",
    }
    done = subprocess.run(
        [sys.executable, program, way], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.split(maxsplit=2) == ["opencl:0", "opencl:1", "out of resources\n"], (
        done.stderr
    )
