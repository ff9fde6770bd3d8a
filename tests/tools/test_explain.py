"""What `trilby explain` says."""

import pytest
from tests.reflect.host_samples import helper
from tests.runtime.programs import square_all, square_kernel
from tests.transform.golden_tracking import life_displayed, mandel

from trilby.errors import ArgumentValueError
from trilby.options import Transfers
from trilby.runtime.compile import analyse_kernel
from trilby.tools.explain import explain


def test_a_compute_function_before_and_after() -> None:
    text = explain(mandel, Transfers.TRACKED)
    parts = [text.index(part) for part in ("BEFORE\n", "AFTER inject_tracking\n", "PYTHON\n")]
    assert parts == sorted(parts)
    assert text.index("track.pre_access %0 %19") > parts[1]
    assert "    cc.pre_access(s32)\n" in text[parts[2] :]


def test_the_tables_of_the_kernels_follow() -> None:
    text = explain(square_all, Transfers.ALWAYS)
    analysed = analyse_kernel(square_kernel)
    assert text.endswith(f"\n\n{analysed.access}\n\n{analysed.footprint}\n")
    assert "AFTER" not in text


def test_a_kernel_has_tables_only() -> None:
    text = explain(square_kernel, Transfers.AUTO)
    assert text.startswith(str(analyse_kernel(square_kernel).access))
    assert "BEFORE" not in text


def test_one_kernel_can_be_chosen() -> None:
    assert 'conway"\n' in explain(life_displayed, Transfers.TRACKED, kernel="conway")
    with pytest.raises(ArgumentValueError, match=r"no kernel called `conwy` .*\n.*there is conway"):
        explain(life_displayed, Transfers.TRACKED, kernel="conwy")


def test_a_helper_moves_no_data() -> None:
    with pytest.raises(ArgumentValueError, match="only compute functions and kernels move data"):
        explain(helper, Transfers.AUTO)
