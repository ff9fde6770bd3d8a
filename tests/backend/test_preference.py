"""Texts that say which device is wanted."""

import pytest

from trilby.backend.base import DeviceInfo
from trilby.backend.preference import CAPABILITIES, KINDS, Preference, preferences
from trilby.backend.registry import ENTRIES, open_family
from trilby.errors import ArgumentTypeError, ArgumentValueError

BACKENDS = ("opencl", "interpreter")
GPU = DeviceInfo(
    backend="opencl",
    index=1,
    name="GeForce RTX 4090",
    kind="gpu",
    vendor="NVIDIA Corporation",
    driver="555",
    memory_bytes=1,
    compute_units=1,
    max_group_items=1,
    features=frozenset({"f64", "i64_atomics"}),
)


@pytest.mark.parametrize(
    "text",
    [
        "gpu",
        "GPU",
        "nvidia",
        "rtx 4090",
        "4090 geforce",
        "opencl",
        "opencl:1",
        "f64",
        "i64_atomics",
        "any",
        "opencl gpu nvidia f64",
    ],
)
def test_what_fits(text: str) -> None:
    assert Preference(text, BACKENDS).misfit(GPU) == ""


@pytest.mark.parametrize(
    ("text", "misfit"),
    [
        ("cpu", "its kind is gpu, not cpu"),
        ("amd", "`amd` is in neither its name nor its vendor's"),
        ("opencl:0", "it is opencl:1, not opencl:0"),
        ("interpreter", "it is opencl:1, not interpreter"),
        ("f16", "it has no f16"),
        ("gpu shared_memory", "it has no shared_memory"),
        ("rtx 4080", "`4080` is in neither its name nor its vendor's"),
        ("any f16", "it has no f16"),
    ],
)
def test_what_does_not_fit(text: str, misfit: str) -> None:
    assert Preference(text, BACKENDS).misfit(GPU) == misfit


def test_a_backend_is_named_with_or_without_a_number() -> None:
    assert Preference("gpu OpenCL:1", BACKENDS).names("opencl")
    assert not Preference("gpu", BACKENDS).names("opencl")


def test_one_text_is_a_list_of_one() -> None:
    assert preferences("gpu f64", "prefer", BACKENDS) == (Preference("gpu f64", BACKENDS),)
    assert preferences(("a", "b"), "prefer", BACKENDS) == preferences(
        ["a", "b"], "prefer", BACKENDS
    )
    assert preferences([], "prefer", BACKENDS) == ()


@pytest.mark.parametrize("given", [None, 3, {"gpu"}, [None], ["cpu", 1]])
def test_anything_else_is_no_preference(given: object) -> None:
    with pytest.raises(ArgumentTypeError, match="`prefer` is a list of texts, and ") as caught:
        preferences(given, "prefer", BACKENDS)
    assert caught.value.advice == (
        'write `prefer=["gpu", "cpu"]`, or entries of several words: "gpu f64"'
    )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("  ", "`fallback` has an entry without a word"),
        ("gpu opencl:", "`opencl:` names no device: after the colon comes its number"),
        ("opencl:x", "`opencl:x` names no device: after the colon comes its number"),
    ],
)
def test_entries_that_mean_nothing(entry: str, problem: str) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        preferences([entry], "fallback", BACKENDS)
    assert caught.value.problem == problem
    assert caught.value.advice


def test_every_word_means_one_thing() -> None:
    words = [*KINDS, *CAPABILITIES, *(entry.name for entry in ENTRIES), "any"]
    assert len(words) == len(set(words))


def test_what_devices_have_can_be_asked_for() -> None:
    for entry in ENTRIES:
        for device in open_family(entry).devices():
            assert device.features <= set(CAPABILITIES)
