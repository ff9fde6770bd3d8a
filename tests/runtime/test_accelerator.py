"""Opening accelerators, what they say about themselves, and how they fail."""

import json
import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runtime.programs import (
    add,
    add_to_all,
    dispatch,
    plus_one,
    square,
    square_all,
    square_kernel,
)

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, f32
from trilby.analysis.reach import KernelGraph
from trilby.codegen.cfamily import Generated
from trilby.codegen.opencl_c import generate
from trilby.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BuildError,
    DeviceError,
    DeviceUnavailableError,
    SourceError,
    TrilbyError,
)
from trilby.source import line_text

# ------------------------------------------------------------------------------------ opening


def test_the_first_that_works_is_opened_and_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRILBY_BACKEND", raising=False)
    with caplog.at_level(logging.INFO, "trilby"), Accelerator() as accelerator:
        assert accelerator.device.backend == "native"
        assert accelerator.passed_over == ()
        name = accelerator.device.name
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("INFO", f"using native:0 ({name})")
    ]


def test_one_that_was_asked_for_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "trilby"), Accelerator("interpreter"):
        pass
    assert caplog.records == []


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("native", "native:0"),
        ("opencl", "opencl:0"),
        ("opencl:0", "opencl:0"),
        ("interpreter", "interpreter:0"),
        ("null", "null:0"),
    ],
)
def test_by_name(name: str, spec: str) -> None:
    with Accelerator(name) as accelerator:
        assert accelerator.device.spec == spec
        assert repr(accelerator) == f"Accelerator({spec!r}: {accelerator.device.name})"


@pytest.mark.parametrize(
    ("name", "kind", "problem"),
    [
        ("opencl:7", DeviceUnavailableError, "there is no `opencl:7`"),
        ("opengl", ArgumentValueError, "there is no backend `opengl`"),
        ("opencl:x", ArgumentValueError, "after the colon comes its number"),
        (3, ArgumentTypeError, "a backend is named by a string, and 3 is int"),
    ],
)
def test_what_cannot_be_opened(name: Any, kind: type[TrilbyError], problem: str) -> None:
    with pytest.raises(kind, match=problem) as caught:
        Accelerator(name)
    assert caught.value.advice


def test_the_environment_names_a_backend(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRILBY_BACKEND", "interpreter")
    with caplog.at_level(logging.INFO, "trilby"):
        assert Accelerator().device.spec == "interpreter:0"
        assert Accelerator("null").device.spec == "null:0"  # who is asked for by name is meant
    assert [one.getMessage() for one in caplog.records] == [
        "using interpreter:0 (Python interpreter)"
    ]
    monkeypatch.setenv("TRILBY_BACKEND", "interpretor")
    with pytest.raises(ArgumentValueError, match="there is no backend `interpretor`") as caught:
        Accelerator()
    assert "did you mean `interpreter`?" in caught.value.advice


def run(program: str, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    wanted = {key: value for key, value in os.environ.items() if not key.startswith("TRILBY_")}
    return subprocess.run(
        [sys.executable, *flags, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**wanted, **environment},
    )


OPEN = "from trilby import Accelerator; a = Accelerator(); print(a.device.spec)"


def test_messages_go_to_standard_error() -> None:
    done = run(OPEN, TRILBY_BACKEND="interpreter")
    assert done.stdout == "interpreter:0\n"
    assert done.stderr == "trilby: using interpreter:0 (Python interpreter)\n"


def test_messages_can_be_turned_off() -> None:
    done = run(OPEN, TRILBY_BACKEND="interpreter", TRILBY_LOG="warning")
    assert (done.stdout, done.stderr) == ("interpreter:0\n", "")


def test_a_program_that_sets_up_logging_gets_the_messages_its_own_way() -> None:
    program = f"import logging; logging.basicConfig(level='INFO', format='>> %(message)s'); {OPEN}"
    done = run(program, TRILBY_BACKEND="interpreter")
    assert done.stderr == ">> using interpreter:0 (Python interpreter)\n"


def test_a_level_that_is_none() -> None:
    done = run(OPEN, TRILBY_LOG="loud")
    assert "`TRILBY_LOG` is 'loud', and there is no such choice" in done.stderr
    assert 'help: use one of "error", "warning", "info", "debug"' in done.stderr


WITHOUT = "import sys; sys.modules['pyopencl'] = sys.modules['llvmlite'] = None; "


def test_without_a_driver_package_the_next_is_taken_and_it_says_why() -> None:
    done = run(f"{WITHOUT}{OPEN}; print(a.passed_over)")
    assert done.stdout.splitlines()[0] == "interpreter:0"
    assert "pyopencl is not installed" in done.stdout
    assert done.stderr == (
        "trilby: native was passed over: llvmlite is not installed\n"
        "trilby: opencl was passed over: pyopencl is not installed\n"
        "trilby: using interpreter:0 (Python interpreter)\n"
    )
    for name, package, install in (
        ("opencl", "pyopencl", '"trilby[opencl]"'),
        ("native", "llvmlite", "llvmlite"),
    ):
        asked = run(WITHOUT + OPEN, TRILBY_BACKEND=name)
        assert asked.returncode == 1
        assert f"DeviceUnavailableError: <string>:1: {package} is not installed" in asked.stderr
        advice = f"  help: pip install {install}; `TRILBY_BACKEND`, or an option of `trilby`, asks"
        assert asked.stderr.splitlines()[-1] == f"{advice} for it"


def test_a_driver_that_cannot_link_is_passed_over_and_it_says_why(tmp_path: Path) -> None:
    done = run(f"import sys; sys.modules['llvmlite'] = None; {OPEN}", PATH=str(tmp_path))
    assert done.stdout == "interpreter:0\n"
    _, passed, using = done.stderr.splitlines()
    assert passed.startswith("trilby: opencl was passed over: ")
    assert '"ld" doesn\'t exist' in passed
    assert using == "trilby: using interpreter:0 (Python interpreter)"
    asked = run(OPEN, PATH=str(tmp_path), TRILBY_BACKEND="opencl")
    assert asked.returncode == 1
    assert "DeviceUnavailableError" in asked.stderr
    assert "  help: " in asked.stderr


# ----------------------------------------------------------------------------------- computing


def plain(cc: ComputeContext) -> None:
    raise AssertionError(cc)


@pytest.mark.parametrize(
    ("entry", "problem", "advice"),
    [
        (square_kernel, "`square_kernel` is not a compute function", "dispatch it from a"),
        (square, "`square` is not a compute function", "call it from a kernel"),
        (plain, "`plain` is not a compute function", "decorate `plain` with @tb.compute"),
        (print, "`print` is not a compute function", "write `accelerator.compute(f, …)`"),
        (3, "an object of the class `int` is not a compute", "write `accelerator.compute(f, …)`"),
        (None, "an object of the class `NoneType` is not", "write `accelerator.compute(f, …)`"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_is_no_compute_function(
    entry: Any, problem: str, advice: str, interpreter: Accelerator
) -> None:
    for give in (interpreter.compute, interpreter.context_of):
        with pytest.raises(ArgumentTypeError) as caught:
            give(entry)
        assert caught.value.problem.startswith(problem)
        assert caught.value.advice.startswith(advice)
        assert caught.value.location is not None
        assert line_text(caught.value.location).strip() == "give(entry)"


def test_a_lambda_has_its_arguments_inside(interpreter: Accelerator) -> None:
    a = S32Array.of([3])
    compute: Any = interpreter.compute
    with pytest.raises(ArgumentTypeError, match="a lambda carries its own arguments") as caught:
        compute(lambda cc: square_all(cc, a), a)  # pyright: ignore[reportUnknownLambdaType]
    assert caught.value.location is not None
    assert a.array.tolist() == [3]


def test_a_lambda_is_never_executed(accelerator: Accelerator) -> None:
    a, seen = S32Array.of([3]), list[str]()

    def note(text: str) -> int:
        seen.append(text)
        return 4

    result = accelerator.compute(lambda cc: add_to_all(cc, a, note("argument")))
    assert result == 40
    assert a.array.tolist() == [7]
    assert seen == ["argument"]  # its arguments are evaluated, once


SOURCELESS = """
import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array
@tb.kernel
def k(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 5
@tb.compute
def c(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, k, a)
def quoted(accelerator, f, a):
    accelerator.compute(lambda cc: f(cc, a))
"""


def test_source_that_is_gone(accelerator: Accelerator) -> None:
    names: dict[str, Any] = {}
    exec(SOURCELESS, names)  # noqa: S102 -- a function without a file
    a = S32Array.of([3])
    with pytest.raises(SourceError, match="`c` has no source that can be read") as compute:
        accelerator.compute(names["c"], a)
    with pytest.raises(SourceError, match="the lambda has no source") as quoted:
        names["quoted"](accelerator, square_all, a)
    with pytest.raises(SourceError, match="`k` has no source that can be read") as kernel:
        accelerator.compute(dispatch, 1, names["k"], a)
    for error in (compute.value, quoted.value, kernel.value):
        assert error.location is not None
        assert error.location.file == "<string>"
        assert error.advice
    assert kernel.value.__notes__[0].startswith("dispatched at ")
    assert quoted.value.advice == (
        "name the function and its arguments: `accelerator.compute(function, args…)`"
    )
    assert a.array.tolist() == [3]


def test_two_lambdas_on_one_line(accelerator: Accelerator) -> None:
    a, b = S32Array.of([3]), S32Array.of([3])
    for entry in [lambda cc: add_to_all(cc, a, 1), lambda cc: add_to_all(cc, b, 2)]:  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]
        accelerator.compute(entry)  # pyright: ignore[reportUnknownArgumentType]
    assert (a.array.tolist(), b.array.tolist()) == ([4], [5])


# ------------------------------------------------------------------------------------ building


@tb.kernel
def broken_later(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 7


@tb.compute
def use_broken(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, broken_later, a)


def test_a_build_error_names_the_python_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def generate_broken(
        graph: KernelGraph, *, lines: bool = True, fuses: bool = False
    ) -> Generated:
        good = generate(graph, lines=lines, fuses=fuses)
        return replace(good, text=good.text.replace("= 7;", "= 7 +;"))

    monkeypatch.setattr("trilby.backend.opencl.opencl_device.generate", generate_broken)
    a = S32Array.of([3])
    with Accelerator("opencl") as accelerator:
        with pytest.raises(BuildError, match="expected expression") as caught:
            accelerator.compute(use_broken, a)
        location = caught.value.location
        assert location is not None
        assert location.file == __file__
        assert line_text(location).strip() == "a.array[kc.x] = 7"
        assert "  help: " in str(caught.value)
        assert a.array.tolist() == [3]
        monkeypatch.undo()
        accelerator.compute(use_broken, a)
    assert a.array.tolist() == [7]


# ------------------------------------------------------------------------------ looking inside


def test_the_source_of_a_kernel() -> None:
    with Accelerator("opencl") as accelerator:
        assert "__kernel void tb_square_kernel(" in accelerator.source_of(square_kernel)
        assert accelerator.source_of(plus_one) == accelerator.source_of(plus_one, 1, 1)
    with Accelerator("interpreter") as accelerator:
        assert "square_kernel" in accelerator.source_of(square_kernel)
        for wrong in (square_all, square, 3):
            with pytest.raises(ArgumentTypeError, match="is not a kernel") as caught:
                accelerator.source_of(wrong)  # pyright: ignore[reportArgumentType] -- the mistake
            assert caught.value.location is not None


@tb.kernel
def two_dimensions(kc: KernelContext, a: NDArray[f32]) -> None:
    a[kc.y, kc.x] = 1.0


def test_the_source_of_a_kernel_on_n_d_arrays(accelerator: Accelerator) -> None:
    assert accelerator.source_of(two_dimensions) == accelerator.source_of(two_dimensions, 2)
    with pytest.raises(TrilbyError, match="2 indices"):
        accelerator.source_of(two_dimensions, 1)


def test_the_context_of_a_compute_function(interpreter: Accelerator) -> None:
    context = interpreter.context_of(square_all)
    assert [kernel.kernel for kernel in context.kernels] == [square_kernel]
    assert "dispatch" in str(context)


def test_arrays(accelerator: Accelerator) -> None:
    numbers = np.zeros((2, 3), np.float32)
    array = accelerator.array(numbers)
    array[1, 2] = 5
    assert numbers[1, 2] == 5
    assert accelerator.array([[1, 2], [3, 4]]).shape == (2, 2)


# --------------------------------------------------------------------------------------- ends


@pytest.mark.parametrize("name", ["interpreter", "opencl"])
def test_a_closed_accelerator_says_so(name: str) -> None:
    a = S32Array.of([3])
    with Accelerator(name) as accelerator:
        accelerator.compute(square_all, a)
    entries: list[Any] = [square_all, add_to_all]
    for compute in entries:
        with pytest.raises(DeviceError, match="was closed") as caught:
            accelerator.compute(compute, a)
        assert caught.value.advice == "make a new Accelerator"
    accelerator.close()
    assert a.array.tolist() == [9]


def test_an_accelerator_closes_after_an_error() -> None:
    a = S32Array.of([3])
    with pytest.raises(KeyError), Accelerator("interpreter") as accelerator:
        raise KeyError
    with pytest.raises(DeviceError, match="was closed"):
        accelerator.compute(dispatch, 1, add, a, 1)


FORGETFUL = """
import json, sys
import trilby as tb
from tests.runtime.programs import square_all
buffers = [tb.S32Array.of(range(1000)) for _ in range(3)]
accelerators = [tb.Accelerator("opencl"), tb.Accelerator("opencl"), tb.Accelerator("interpreter")]
for accelerator in accelerators:
    for buffer in buffers:
        accelerator.compute(square_all, buffer)
print(json.dumps(buffers[0].array[:3].tolist()))
"""


def test_a_program_may_end_without_closing_anything() -> None:
    folder = Path(__file__).parents[2]
    done = run(FORGETFUL, PYTHONPATH=str(folder))
    assert done.stderr == ""
    assert done.returncode == 0
    assert json.loads(done.stdout) == [0, 1, 2**8]
