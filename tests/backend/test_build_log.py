"""Logs as compilers write them. PoCL's were taken from a run; it is tested for real too."""

import pytest

from trilby.backend.failures import first_complaint
from trilby.source import Location

TEXT = """
typedef struct { int length; } S32Array;
#line 12 "/home/me/my app.py"
int square(int v) { return v * v; }
#line 20 "<ipython-input-3-abc>"
__kernel void k() {}
#line 7 "C:\\\\me\\\\a \\"b\\".py"
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(
            "error: /home/me/my app.py:12:7: use of undeclared identifier 'y'\n"
            "error: /home/me/my app.py:14:9: expected expression\n"
            "Device pthread-AMD EPYC failed to build the program\n",
            ("use of undeclared identifier 'y'", Location("/home/me/my app.py", 12)),
            id="PoCL",
        ),
        pytest.param(
            "/home/me/my app.py:13:7: warning: unused variable 'q'\n"
            "/home/me/my app.py:15:7: error: use of undeclared identifier 'y'\n"
            "    x = y;\n        ^\n",
            ("use of undeclared identifier 'y'", Location("/home/me/my app.py", 15)),
            id="Clang",
        ),
        pytest.param(
            '/home/me/my app.py(12): error: identifier "y" is undefined\n',
            ('identifier "y" is undefined', Location("/home/me/my app.py", 12)),
            id="NVIDIA",
        ),
        pytest.param(
            "<ipython-input-3-abc>:20:1: fatal error: too many errors\n",
            ("too many errors", Location("<ipython-input-3-abc>", 20)),
            id="a notebook",
        ),
        pytest.param(
            'error: C:\\me\\a "b".py:7:2: oh',
            ("oh", Location('C:\\me\\a "b".py', 7)),
            id="a name that has to be escaped",
        ),
        pytest.param(
            "error: /tmp/tempfile_X.cl:2:2: unknown type name 'S32Array'\n",
            ("unknown type name 'S32Array'", None),
            id="no Python line",
        ),
        pytest.param(
            "error: /tmp/tempfile_X.cl:2:2: first\nerror: /home/me/my app.py:12:1: second\n",
            ("second", Location("/home/me/my app.py", 12)),
            id="a Python line is better than none",
        ),
        pytest.param("internal failure\n", ("the compiler gave no reason", None), id="riddle"),
        pytest.param("", ("the compiler gave no reason", None), id="silence"),
    ],
)
def test_the_first_error_and_its_python_line(
    log: str, expected: tuple[str, Location | None]
) -> None:
    assert first_complaint(log, TEXT) == expected
