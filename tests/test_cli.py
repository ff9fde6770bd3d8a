"""The `trilby` command: what it prints, where, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trilby.cli import main

FOLDER = Path(__file__).parents[1]
SQUARES = f"{FOLDER / 'examples' / 'squares.py'}"

BROKEN = {
    "syntax": ("x = = 1\n", 1, "SyntaxError: invalid syntax"),
    "import": ("import os\nimport nothing_of_that_name\n", 2, "ModuleNotFoundError: No module"),
    "error": ("\n\nprint(1 / 0)\n", 3, "ZeroDivisionError: division by zero"),
    "exit": ("import sys\nsys.exit('bye')\n", 2, "SystemExit: bye"),
    "schema": (
        "import trilby as tb\nclass Wrong(tb.Buffer):\n    x: str\n",
        3,
        "",
    ),
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", f"{FOLDER / 'examples' / 'life.py'}:life"),
        ("doctor",),
        ("lint", "--help"),
        ("reference", "math"),
    ],
)
def test_an_output_that_does_not_take_all_letters(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trilby", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_a_program_meets_its_own_output(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(sys.stdout.errors)\n")
    for errors in ("strict", "ignore"):
        done = subprocess.run(
            [sys.executable, "-m", "trilby", "run", str(program)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONIOENCODING": f"utf-8:{errors}"},
            check=True,
        )
        assert done.stdout == f"{errors}\n"


def test_emit_prints_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "emit", f"{SQUARES}:square_kernel")
    assert (code, err) == (0, "")
    assert "__kernel void tb_square_kernel(" in out
    assert "squares.py" in out  # from the lines
    code, without, _ = run(capsys, "emit", f"{SQUARES}:square_kernel", "--no-lines")
    assert code == 0
    assert "#line" not in without


def test_explain_shows_a_function_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", f"{SQUARES}:square_all", "--transfers", "tracked")
    assert (code, err) == (0, "")
    parts = ["under Transfers.TRACKED", "BEFORE", "AFTER inject_tracking", "PYTHON", "access @"]
    assert sorted(parts, key=out.index) == parts
    code, out, err = run(capsys, "explain", f"{SQUARES}:square_all", "--kernel", "cube")
    assert (code, out) == (1, "")
    assert "no kernel called `cube` is dispatched here" in err


CHANGES = """\
from dataclasses import replace

from trilby.model.op import Block
from trilby.model.ops.core import Return
from trilby.model.rewrite import transform


@transform("kernel")
def emptied(func):
    return replace(func, body=Block((Return(),)))
"""


def test_emit_and_explain_apply_transforms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "changes.py"
    file.write_text(CHANGES, "utf-8")
    given = ("--transform", f"{file}:emptied")
    kernel = f"{SQUARES}:square_kernel"
    code, out, _ = run(capsys, "emit", kernel, "--target", "model", "--no-lines", *given)
    assert (code, out.splitlines()[1:]) == (0, ["  return", "}"])
    code, out, _ = run(
        capsys, "emit", kernel, "--target", "model", "--no-lines", "--after", "inline_calls"
    )
    assert code == 0
    assert "inlined @" in out
    code, out, _ = run(capsys, "explain", f"{SQUARES}:square_all", *given)
    assert code == 0
    assert 'MODEL "square_kernel" AFTER emptied\n' in out


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("opencl", "__kernel void tb_square_kernel("),
        ("llvm", "define void @tb_square_kernel(ptr %args, ptr %launch, i64 %first, i64 %count)"),
        ("asm", "square_kernel:\n"),
        ("model", 'kernel @"squares.square_kernel"'),
        ("access", "s32 : S32Array both"),
    ],
)
@pytest.mark.parametrize("function", ["square_kernel", "square_all"])
def test_emit_has_targets(
    target: str, expected: str, function: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "emit", f"{SQUARES}:{function}", "--target", target)
    assert (code, err) == (0, "")
    assert expected in out


@pytest.mark.parametrize(
    ("spec", "first", "help_line"),
    [
        ("nothing.py:k", "trilby: there is no file `nothing.py`", "write FILE:FUNCTION, as in"),
        (
            f"{SQUARES}:square_kernal",
            f"trilby: `{SQUARES}` has no kernel, func or compute function called `square_kernal`",
            "did you mean `square_kernel`? it has square, square_kernel, square_all",
        ),
        (
            SQUARES,
            f"trilby: `{SQUARES}` names a file and no function in it",
            "it has square, square_kernel, square_all; write FILE:FUNCTION",
        ),
        (f"{SQUARES}:", f"trilby: `{SQUARES}` names a file and no function in it", "it has"),
        (f"{SQUARES}:run", f"trilby: `{SQUARES}` has no kernel, func or", "it has square, "),
        (f"{SQUARES}:square", "trilby: `square` is a @tb.func, and code is made", "name a kernel"),
    ],
)
def test_what_is_not_found(
    spec: str, first: str, help_line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "emit", spec)
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(first)
    assert lines[1].startswith(f"  help: {help_line}")


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_imported(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, line, problem = BROKEN[kind]
    file = tmp_path / f"broken_{kind}.py"
    file.write_text(text, "utf-8")
    code, out, err = run(capsys, "emit", f"{file}:k")
    assert (code, out) == (1, "")
    assert err.startswith(f"trilby: {file}:{line}: ")
    assert problem in err
    assert f"  {line} | {text.splitlines()[line - 1].strip()}" in err
    assert "^" in err
    assert "  help: " in err
    assert "Traceback" not in err


def test_a_kernel_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "refused.py"
    file.write_text(
        "import trilby as tb\n"
        "from trilby import KernelContext, S32Array\n"
        "@tb.kernel\n"
        "def k(kc: KernelContext, a: S32Array) -> None:\n"
        "    a.array[kc.x] = [1]\n",
        "utf-8",
    )
    code, out, err = run(capsys, "emit", f"{file}:k")
    assert (code, out) == (1, "")
    assert err.startswith(f"trilby: {file}:5: ")
    assert "     |                 ^^^\n".replace("     |", "    |") in err
    assert "  help: " in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("nothing",), "invalid choice: 'nothing'"),
        (("emit",), "the following arguments are required: FILE:FUNCTION"),
        (("emit", "a:b", "--target", "basic"), "invalid choice: 'basic'"),
        (("emit", "a:b", "--ranks", "x"), "`x` is not made of dimensions: write 1, or 2,1"),
        (("emit", "a:b", "--ranks", "1,0"), "`1,0` is not made of dimensions"),
        (("emit", "a:b", "--ranks", ""), "`` is not made of dimensions"),
        (("devices", "--jason"), "unrecognized arguments: --jason"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert problem in err
    assert err.startswith("usage: trilby")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--help",), ["devices", "emit", "COMMAND"]),
        (("emit", "--help"), ["FILE:FUNCTION", "--target", "--ranks", "--no-lines"]),
        (("devices", "--help"), ["--json"]),
    ],
)
def test_help(
    arguments: tuple[str, ...], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    out, _ = capsys.readouterr()
    assert [word for word in words if word not in out] == []


def test_devices_in_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "devices")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "device    native:0 *" in lines
    assert "device    opencl:0" in lines
    assert "device    interpreter:0" in lines
    assert lines.count("test      passes") == 3
    assert lines.count("test      not run") == 1


def test_devices_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "devices", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["chosen"] == "native:0"
    outcomes = {device["spec"]: device["outcome"] for device in report["devices"]}
    assert outcomes == {
        "native:0": "passes",
        "opencl:0": "passes",
        "interpreter:0": "passes",
        "null:0": "not run",
    }


# ------------------------------------------------------------------- as a process of its own


def started(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    "command", [[str(Path(sys.executable).with_name("trilby"))], [sys.executable, "-m", "trilby"]]
)
def test_the_command_can_be_started_in_both_ways(command: list[str]) -> None:
    done = started(*command, "emit", f"{SQUARES}:square_kernel", "--target", "access")
    assert done.returncode == 0
    assert "s32 : S32Array both" in done.stdout
    done = started(*command, "emit", f"{SQUARES}:nothing")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("trilby: ")


def test_devices_say_what_a_preference_comes_to(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "devices", "--prefer", "gpu f64,interpreter")
    assert (code, err) == (0, "")
    assert 'Accelerator(prefer=["gpu f64", "interpreter"]) opens interpreter:0\n' in out
    assert "  gpu f64: no device fits\n    not native:0: its kind is cpu, not gpu\n" in out
    assert "device    interpreter:0 *\n" in out


def test_a_preference_that_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "devices", "--prefer", "gpu")
    assert code == 1
    assert 'Accelerator(prefer=["gpu"]) opens nothing\n' in out


def test_devices_without_a_driver_says_how_to_get_one(tmp_path: Path) -> None:
    hidden = tmp_path / "pyopencl.py"
    hidden.write_text("raise ModuleNotFoundError('no such package', name='pyopencl')\n", "utf-8")
    done = started(sys.executable, "-m", "trilby", "devices", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "device    native:0 *" in done.stdout
    assert "opencl: pyopencl is not installed\n" in done.stdout
    assert '  help: pip install "trilby[opencl]"' in done.stdout


@pytest.mark.parametrize("arguments", [("emit", f"{SQUARES}:square_kernel"), ("devices",)])
def test_a_reader_that_has_enough_is_no_error(arguments: tuple[str, ...]) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "trilby", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    complaints = writer.stderr.read()
    writer.stderr.close()
    assert writer.wait() == 1
    assert complaints == ""
