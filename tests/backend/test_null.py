"""The backend that counts."""

import numpy as np
import pytest

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Backend, Family, Scalar
from trilby.backend.null import NullFamily
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceUnavailableError
from trilby.model.op import Block, Func
from trilby.model.value import KERNEL_CONTEXT, NONE, Value

KERNEL = KernelGraph((Func("app.k", (Value(KERNEL_CONTEXT, "kc"),), NONE, Block(), "kernel"),))


def test_the_family_has_one_device() -> None:
    family: Family = NullFamily()
    (device,) = family.devices()
    opened: Backend = family.open(0)
    assert (family.name, device.spec, opened.device) == ("null", "null:0", device)
    with pytest.raises(DeviceUnavailableError, match="no `null:3`"):
        family.open(3)


def test_everything_is_counted() -> None:
    backend = NullFamily().open(0)
    executable = backend.compile(KERNEL)()
    first, second = backend.allocate(100), backend.allocate(28)
    backend.upload(first, 0, np.zeros(5, np.int32).data).wait()
    backend.upload(second, 4, np.zeros(3, np.uint8).data).wait()
    backend.fill(first, 0, 64, 0).wait()
    backend.prepare(executable, NDRange((4, 5)), [first, Scalar(I32, 1)]).submit().wait()
    prepared = backend.prepare(executable, NDRange(7), [second])
    prepared.submit().wait()
    prepared.replace(0, first)
    backend.download(first, 0, np.zeros((2, 2)).data).wait()
    backend.free(second)
    assert backend.share(memoryview(bytearray(9))).nbytes == 9
    assert prepared.submit(5).done
    assert prepared.begun == 6
    backend.close()
    assert backend.counts == {
        "compiles": 1,
        "functions": 1,
        "allocations": 2,
        "allocated_bytes": 128,
        "frees": 1,
        "freed_bytes": 28,
        "uploads": 2,
        "uploaded_bytes": 23,
        "downloads": 1,
        "downloaded_bytes": 32,
        "fills": 1,
        "filled_bytes": 64,
        "shares": 1,
        "shared_bytes": 9,
        "preparations": 2,
        "arguments": 3,
        "launches": 7,
        "work_items": 62,
    }


def test_each_opened_device_counts_for_itself() -> None:
    family = NullFamily()
    one, other = family.open(0), family.open(0)
    one.allocate(8)
    assert (one.counts["allocations"], other.counts["allocations"]) == (1, 0)


def test_a_download_leaves_the_target_as_it_is() -> None:
    backend = NullFamily().open(0)
    target = np.array([1, 2, 3])
    backend.download(backend.allocate(target.nbytes), 0, target.data)
    assert target.tolist() == [1, 2, 3]


def test_a_kernel_has_a_text_that_names_it() -> None:
    assert "app.k" in NullFamily().open(0).compile(KERNEL)().source
