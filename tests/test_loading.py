"""Late imports: garbage is not looked for meanwhile, and everything is as before afterwards."""

import gc
from collections.abc import Iterator

import pytest

from trilby.loading import loading


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    """A state that is as usual; other tests have put aside what was loaded before."""
    gc.enable()
    gc.unfreeze()
    yield
    gc.freeze()
    gc.enable()


def is_young(thing: object) -> bool:
    return any(one is thing for generation in (0, 1) for one in gc.get_objects(generation))


def test_nothing_is_collected_meanwhile() -> None:
    with loading("a module that is new"):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_off_stays_off() -> None:
    gc.disable()
    with loading("a module that is new"):
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_a_failure_changes_nothing() -> None:
    with pytest.raises(ImportError), loading("a module that is new"):
        raise ImportError("no such module")
    assert gc.isenabled()


def test_what_was_made_is_old_and_still_collected() -> None:
    with loading("a module that is new"):
        stays = [["a"]]
    assert not is_young(stays)
    assert any(one is stays for one in gc.get_objects(2))
    assert gc.get_freeze_count() == 0


def test_what_somebody_has_put_aside_stays_there() -> None:
    gc.freeze()
    aside = gc.get_freeze_count()
    with loading("a module that is new"):
        pass
    assert gc.get_freeze_count() == aside


def test_nothing_is_done_about_what_was_imported_before() -> None:
    with loading("trilby.loading"):
        assert gc.isenabled()
        stays = [["a"]]
    assert is_young(stays)
