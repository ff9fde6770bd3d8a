"""Where local variables live."""

import ast

from tests.reflect.kernel_cases import lined

from trilby.reflect.lowering import BlockPath, inner_path, local_names


def names(text: str) -> tuple[dict[str, BlockPath], dict[str, int]]:
    return local_names(ast.parse(lined(text)).body)


def parts(path: BlockPath) -> list[str]:
    """The blocks on the way, without the places of their statements."""
    return [part for _, part in path]


def test_a_name_lives_in_the_innermost_block_around_all_its_uses() -> None:
    found = names("""
        a = 1
        if a:
            b = 2
            while b:
                c = 3
                use(c)
            else:
                d = c2
        else:
            e = 4
            b2 = 1
        for i in range(a):
            f = i
    """)
    homes = {name: parts(path) for name, path in found[0].items()}
    assert homes["a"] == []
    assert homes["b"] == ["body"]
    assert homes["c"] == ["body", "body"]
    assert homes["d"] == ["body", "orelse"]
    assert homes["e"] == ["orelse"]
    assert homes["f"] == ["body"]
    assert homes["i"] == ["body"]


def test_branches_of_one_statement_meet_around_it() -> None:
    found = names("""
        while go:
            if a:
                x = 1
            else:
                x = 2
    """)
    assert parts(found[0]["x"]) == ["body"]


def test_a_counter_belongs_to_its_loop_unless_it_is_used_outside() -> None:
    inside = names("for i in range(3):\n    use(i)")
    assert parts(inside[0]["i"]) == ["body"]
    after = names("for i in range(3):\n    pass\nuse(i)")
    assert parts(after[0]["i"]) == []
    bound = names("for i in range(i):\n    pass")
    assert parts(bound[0]["i"]) == []
    twice = names(
        "if a:\n    for i in range(3):\n        pass\n    for i in range(4):\n        pass"
    )
    assert parts(twice[0]["i"]) == ["body"]


def test_the_condition_of_a_loop_stands_outside_of_its_body() -> None:
    found = names("while x < 3:\n    x = 1")
    assert parts(found[0]["x"]) == []


def test_two_statements_on_one_line_have_different_blocks() -> None:
    first, second = ast.parse("pass; pass").body
    assert inner_path((), first, "body") != inner_path((), second, "body")


def test_every_way_to_assign_counts() -> None:
    found = names("""
        x = 1
        x += 1
        x: i32 = 3
        for x in range(2):
            y, x = 1, 2
        a.b = x
        a[x] = y
    """)
    assert found[1] == {"x": 5, "y": 1}
