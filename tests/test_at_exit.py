"""The end of a program, without one that ends."""

import pytest

from trilby.at_exit import ProgramEnd, run_all


def fail(text: str) -> None:
    raise ValueError(text)


def test_actions_are_run_in_their_order() -> None:
    end = ProgramEnd()
    done: list[str] = []
    end.add_last(lambda: done.append("stopped"))
    end.add(lambda: done.append("closed"))
    assert not end.has_begun
    end.run()
    assert (done, end.has_begun) == (["closed", "stopped"], True)


def test_each_action_is_run_and_the_first_error_raised() -> None:
    done: list[str] = []
    actions = [lambda: fail("first"), lambda: fail("second"), lambda: done.append("third")]
    with pytest.raises(ValueError, match="first"):
        run_all(actions)
    assert done == ["third"]


def test_ctrl_c_ends_all_at_once() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all([interrupt, lambda: fail("never")])
