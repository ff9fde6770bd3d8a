"""The mutants with which the other tests are tested."""

from pathlib import Path
from types import ModuleType

import pytest
from tests.runtime.equivalents import EQUIVALENTS
from tests.runtime.mutants import change_here, mutants_of
from tests.runtime.mutations import MODULES, NOT_ABOUT_DATA, QUICK_TESTS, source_of

TEXT = '''
class Box:
    def put(self, a, b):
        """Says something."""
        if a and not b:
            self.content = a - b
        self.content |= b
        return [x for x in a if x > 0], (*a, *b)

    @property
    def first(self):
        return self.content + 1

    @first.setter
    def first(self, new):
        self.content = new


def last(box, start=0):
    end: int | None = 0
    for one in box:
        start = one
        continue
    return start == 0
'''

EXPECTED = [
    "Box.put: `if a and (not b):` became nothing",
    "Box.put: `self.content |= b` became nothing",
    "Box.put: `self.content = a - b` became nothing",
    "Box.put: `a and (not b)` became `not (a and (not b))`",
    "Box.put: `a and (not b)` became `not b`",
    "Box.put: `a and (not b)` became `a`",
    "Box.put: `not b` became `b`",
    "Box.put: `a - b` became `a`",
    "Box.put: `x > 0` became `True`",
    "Box.put: `*a` became `*()`",
    "Box.put: `*b` became `*()`",
    "Box.first: `self.content + 1` became `self.content`",
    "Box.first: `self.content + 1` became `1`",
    "Box.first: `self.content = new` became nothing",
    "last: `for one in box:` became nothing",
    "last: `start = one` became nothing",
    "last: `continue` became nothing",
    "last: `start == 0` became `not start == 0`",
]


def test_every_rule_of_a_module_is_left_out_once() -> None:
    assert sorted(mutant.name for mutant in mutants_of("text", TEXT)) == sorted(EXPECTED)


def test_a_change_that_is_there_twice_has_two_names() -> None:
    twice = "def act(a):\n    if a:\n        a.act()\n    a.act()\n"
    names = [mutant.name for mutant in mutants_of("text", twice) if "a.act()" in mutant.name]
    first = "act: `a.act()` became nothing"
    assert sorted(names) == [first, f"{first}, no. 2"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Box.first: `self.content + 1` became `1`", (1, 7)),
        ("Box.first: `self.content = new` became nothing", (1, 0)),
        ("last: `start = one` became nothing", (8, 7)),
    ],
)
def test_a_function_that_is_in_use_changes(name: str, expected: tuple[int, int]) -> None:
    module = ModuleType("text")
    exec(TEXT, vars(module))  # noqa: S102 -- it is our own
    box = module.Box()
    box.content, last = 0, module.last
    (mutant,) = (one for one in mutants_of("text", TEXT) if one.name == name)
    change_here(mutant, module)
    box.first = 7
    seen = (box.first, box.content) if name.startswith("Box") else (8, 7 if last([1]) else 0)
    assert seen == expected


@pytest.mark.parametrize("module", MODULES)
def test_what_is_said_to_make_no_difference_is_there(module: str) -> None:
    names = {mutant.name for mutant in mutants_of(module, source_of(module))}
    assert set(EQUIVALENTS.get(module, {})) <= names


@pytest.mark.parametrize("name", [*QUICK_TESTS, *NOT_ABOUT_DATA])
def test_the_tests_that_are_tried_are_there(name: str) -> None:
    assert (Path(__file__).parent / f"test_{name}.py").is_file()
