import os
from pathlib import Path

import pytest
from tests.messages import message

from trilby import Accelerator
from trilby.errors import ArgumentValueError
from trilby.options import (
    Options,
    as_bytes,
    cache_folder,
    driver_variables,
    pocl_cache_folder,
    symbols_folder,
    thread_limit,
)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Options(backend=None, log="info")),
        ({"TRILBY_BACKEND": "opencl:1"}, Options(backend="opencl:1")),
        ({"TRILBY_BACKEND": " ", "TRILBY_LOG": ""}, Options()),
        ({"TRILBY_LOG": "DEBUG"}, Options(log="debug")),
        ({"BACKEND": "null", "LOG": "nonsense"}, Options()),
    ],
)
def test_what_the_environment_says(environment: dict[str, str], expected: Options) -> None:
    assert Options.from_environment(environment) == expected


def test_the_environment_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRILBY_BACKEND", "interpreter")
    assert Options.from_environment().backend == "interpreter"


def test_a_level_that_does_not_exist() -> None:
    with pytest.raises(ArgumentValueError) as caught:
        Options.from_environment({"TRILBY_LOG": "loud"})
    assert message(caught.value) == (
        "`TRILBY_LOG` is 'loud', and there is no such choice\n"
        '  help: use one of "error", "warning", "info", "debug"'
    )


def test_the_variables_of_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    read = {"PATH": "/bin:/usr/bin", "POCL_DEVICES": "basic", "LD_LIBRARY_PATH": "/lib"}
    assert driver_variables(read | {"EDITOR": "ed"}) == read
    assert "PATH" in driver_variables()
    monkeypatch.delenv("PATH")
    assert "PATH" not in driver_variables()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/me", "XDG_CACHE_HOME": "/c", "POCL_CACHE_DIR": "/kernels"}, "/kernels"),
        ({"HOME": "/me", "XDG_CACHE_HOME": "/c"}, "/c/pocl/kcache"),
        ({"HOME": "/me", "POCL_CACHE_DIR": ""}, "/me/.cache/pocl/kcache"),
        ({}, None),
    ],
)
def test_where_pocl_keeps_kernels(environment: dict[str, str], expected: str | None) -> None:
    assert pocl_cache_folder(environment) == expected


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_limit({}) is None
    assert thread_limit({"TRILBY_THREADS": " 3 "}) == 3
    monkeypatch.setenv("TRILBY_THREADS", "5")
    assert thread_limit() == 5


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "5000", "²", "9" * 5000, "0" * 5000])
def test_a_number_of_threads_that_cannot_be(text: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"TRILBY_THREADS is '{text[:79]}"):
        thread_limit({"TRILBY_THREADS": text})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/trilby-kernels"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/var/me"}, "/var/me/trilby-kernels"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "no/place"}, "/home/me/.cache/trilby-kernels"),
        ({"HOME": "/home/me", "TRILBY_CACHE": "/var/mine"}, "/var/mine/trilby-kernels"),
        ({"HOME": "/home/me", "TRILBY_CACHE": "Off"}, None),
    ],
)
def test_where_compiled_kernels_are_kept(environment: dict[str, str], expected: str | None) -> None:
    assert cache_folder(environment) == expected


def test_a_folder_is_named_from_here_or_from_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRILBY_CACHE", "mine")
    assert cache_folder() == str(Path.cwd() / "mine" / "trilby-kernels")
    assert cache_folder({"TRILBY_CACHE": "~/mine"}) == str(Path.home() / "mine" / "trilby-kernels")


# ----------------------------------------------------------------------- rubbish, end to end


RUBBISH = {
    "a word": b"rubbish",
    "5,000 digits": b"9" * 5000,
    "not UTF-8": b"\xff\xfe",
    "a line end": b"a\nb",
    "a colour": b"\x1b[31mred",
    "a negative number": b"-1",
}


@pytest.mark.parametrize("value", [b"", b"  \t "], ids=["empty", "spaces"])
@pytest.mark.parametrize("name", ["BACKEND", "LOG", "LINT", "THREADS", "CACHE", "SYMBOLS"])
def test_a_variable_without_a_word_counts_as_not_set(name: str, value: bytes) -> None:
    given = {f"TRILBY_{name}": os.fsdecode(value), "HOME": "/home/me"}
    assert Options.from_environment(given) == Options()
    assert thread_limit(given) is None
    assert cache_folder(given) == "/home/me/.cache/trilby-kernels"
    assert symbols_folder(given) is None


@pytest.mark.parametrize("value", RUBBISH)
@pytest.mark.parametrize("name", ["BACKEND", "LOG", "LINT", "THREADS"])
def test_rubbish_in_a_variable(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"TRILBY_{name}"
    monkeypatch.setenv(variable, os.fsdecode(RUBBISH[value]))
    # the threads of this process may have been started before
    begin = thread_limit if name == "THREADS" else Accelerator
    with pytest.raises(ArgumentValueError) as caught:
        begin()
    assert variable in f"{caught.value.problem} {caught.value.advice}"
    assert caught.value.problem.isprintable()
    assert len(caught.value.problem) < 200
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_a_switch_can_be_off() -> None:
    assert Options.from_environment({"TRILBY_LINT": "Off"}).lint is False
    assert Options.from_environment({"TRILBY_LINT": "on"}).lint is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000", 1000), ("256MB", 256_000_000), ("1.5 GiB", 3 * 2**29), ("0.5k", 500)],
)
def test_sizes_as_text(text: str, expected: int) -> None:
    assert as_bytes(text) == expected


@pytest.mark.parametrize("text", ["1.5", "1.", ".5b", "0", "-1", "much"])
def test_a_text_that_is_no_whole_number_of_bytes(text: str) -> None:
    with pytest.raises(ArgumentValueError, match="is no size of a memory"):
        as_bytes(text)
