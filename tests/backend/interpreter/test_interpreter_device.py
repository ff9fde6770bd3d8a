"""The interpreter as a device: memory, copies, launches, refusals."""

from collections.abc import Iterator

import numpy as np
import pytest
from tests.backend.interpreter.kernels import S32_ARRAY, constant, kernel, s32_array

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Backend, Family, Scalar, Ticket
from trilby.backend.immediate import ImmediateQueue
from trilby.backend.interpreter import InterpreterBackend, InterpreterFamily
from trilby.backend.null import NullFamily
from trilby.data.dtypes import F32, I32, Type
from trilby.data.ndrange import NDRange
from trilby.data.schema import NDArrayType, StructType
from trilby.errors import (
    ArgumentTypeError,
    DeviceError,
    DeviceUnavailableError,
    KernelIndexError,
)
from trilby.model.build import Builder
from trilby.model.ops.arith import Mul
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Load, Store
from trilby.model.value import Value


@pytest.fixture
def backend() -> Iterator[InterpreterBackend]:
    opened = InterpreterFamily().open(0)
    yield opened
    opened.close()


def doubling() -> KernelGraph:
    def body(b: Builder, kc: Value, s32: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        old = b.value(Load, s32, (x,), "array[]", type=I32)
        new = b.value(Mul, old, constant(b, 2), type=I32)
        b.run(Store, s32, (x,), new, "array[]")

    return kernel({"s32": S32_ARRAY}, body)


def test_the_family_has_one_device_that_is_software() -> None:
    family: Family = InterpreterFamily()
    (device,) = family.devices()
    assert (family.name, device.spec, device.kind) == ("interpreter", "interpreter:0", "software")
    assert device.name == "Python interpreter"
    assert device.features == {"f64", "f16", "i64_atomics"}
    opened: Backend = family.open(0)
    assert opened.device == device


def test_there_is_no_second_device() -> None:
    with pytest.raises(DeviceUnavailableError, match="no `interpreter:1`"):
        InterpreterFamily().open(1)


def test_bytes_go_up_and_down_at_any_offset(backend: InterpreterBackend) -> None:
    memory = backend.allocate(12)
    backend.fill(memory, 0, 12, 0).wait()
    backend.upload(memory, 4, np.array([7], np.int32).data).wait()
    backend.fill(memory, 9, 2, 255).wait()
    found = np.zeros(12, np.uint8)
    backend.download(memory, 0, found.data).wait()
    assert found.tolist() == [0, 0, 0, 0, 7, 0, 0, 0, 0, 255, 255, 0]
    part = np.zeros(2, np.uint8)
    backend.download(memory, 8, part.data).wait()
    assert part.tolist() == [0, 255]


def test_arrays_of_any_shape_and_of_no_elements_are_copied(backend: InterpreterBackend) -> None:
    source = np.arange(6, dtype=np.float64).reshape(2, 3)
    memory = backend.allocate(source.nbytes)
    backend.upload(memory, 0, source.data)
    target = np.zeros((3, 2))
    backend.download(memory, 0, target.data)
    assert target.ravel().tolist() == [0, 1, 2, 3, 4, 5]
    nothing = np.zeros((0, 3))
    backend.upload(backend.allocate(0), 0, nothing.data)
    backend.download(memory, 48, nothing.data)


def test_the_host_keeps_memory_of_its_own(backend: InterpreterBackend) -> None:
    host = s32_array(1, 2, 3)
    memory = backend.allocate(host.nbytes)
    backend.upload(memory, 0, host.data)
    backend.prepare(backend.compile(doubling())(), NDRange(3), [memory, Scalar(I32, 3)]).submit()
    assert host.tolist() == [3, 1, 2, 3]
    backend.download(memory, 0, host.data)
    assert host.tolist() == [3, 2, 4, 6]


def test_new_memory_is_not_zero(backend: InterpreterBackend) -> None:
    found = np.zeros(4, np.uint8)
    backend.download(backend.allocate(4), 0, found.data)
    assert (found != 0).all()


@pytest.mark.parametrize(("offset", "nbytes"), [(-1, 4), (5, 4), (0, 9), (9, 0)])
def test_a_copy_beyond_the_memory_is_refused(
    backend: InterpreterBackend, offset: int, nbytes: int
) -> None:
    memory, host = backend.allocate(8), np.zeros(nbytes, np.uint8)
    problem = f"bytes {offset} to {offset + nbytes} are not within the 8 bytes of this device"
    with pytest.raises(DeviceError, match=problem):
        backend.upload(memory, offset, host.data)
    with pytest.raises(DeviceError, match=problem):
        backend.download(memory, offset, host.data)
    with pytest.raises(DeviceError, match=problem):
        backend.fill(memory, offset, nbytes, 0)


def test_memory_that_is_not_there_is_refused(backend: InterpreterBackend) -> None:
    with pytest.raises(DeviceError, match="has no room for 1,152,921,504,606,846,976 bytes"):
        backend.allocate(2**60)
    with pytest.raises(DeviceError, match="cannot allocate -1 bytes"):
        backend.allocate(-1)


def test_freed_memory_is_refused(backend: InterpreterBackend) -> None:
    memory = backend.allocate(8)
    backend.free(memory)
    with pytest.raises(DeviceError, match="8 bytes of interpreter:0 were freed"):
        backend.fill(memory, 0, 8, 0)
    with pytest.raises(DeviceError, match="were freed"):
        backend.prepare(backend.compile(doubling())(), NDRange(1), [memory]).submit()
    with pytest.raises(DeviceError, match="were freed"):
        backend.free(memory)


def test_what_another_device_made_is_refused(backend: InterpreterBackend) -> None:
    other, null = InterpreterFamily().open(0), NullFamily().open(0)
    for memory in (other.allocate(8), null.allocate(8)):
        with pytest.raises(ArgumentTypeError, match="which another accelerator made"):
            backend.fill(memory, 0, 8, 0)
    with pytest.raises(ArgumentTypeError, match="which another accelerator made"):
        backend.prepare(null.compile(doubling())(), NDRange(1), [backend.allocate(8)]).submit()


def test_a_closed_device_does_nothing_but_free() -> None:
    backend = InterpreterFamily().open(0)
    memory = backend.allocate(8)
    backend.close()
    with pytest.raises(DeviceError, match="was closed"):
        backend.allocate(8)
    with pytest.raises(DeviceError, match="was closed"):
        backend.upload(memory, 0, np.zeros(8, np.uint8).data)
    backend.free(memory)


def test_work_waits_for_what_it_comes_after(backend: InterpreterBackend) -> None:
    waited: list[int] = []

    class Earlier(ImmediateQueue):
        def wait(self, number: int) -> None:
            waited.append(number)

    backend.fill(backend.allocate(1), 0, 1, 0, after=[Ticket(Earlier(), 3), Ticket(Earlier(), 5)])
    assert waited == [3, 5]


def test_everything_is_done_when_a_method_returns(backend: InterpreterBackend) -> None:
    memory = backend.allocate(8)
    tickets = [
        backend.fill(memory, 0, 8, 0),
        backend.upload(memory, 0, s32_array(4).data),
        backend.download(memory, 0, memoryview(bytearray(8))),
        backend.prepare(
            backend.compile(doubling())(), NDRange(1), [memory, Scalar(I32, 1)]
        ).submit(),
    ]
    assert all(ticket.done for ticket in tickets)


def test_a_prepared_launch_runs_often_and_with_new_arguments(backend: InterpreterBackend) -> None:
    hosts = [s32_array(1, 2, 3), s32_array(4, 5)]
    memories = [backend.allocate(host.nbytes) for host in hosts]
    for memory, host in zip(memories, hosts, strict=True):
        backend.upload(memory, 0, host.data)
    given = [memories[0], Scalar(I32, 3)]
    prepared = backend.prepare(backend.compile(doubling())(), NDRange(2), given)
    prepared.submit()
    prepared.submit()
    prepared.replace(0, memories[1])
    prepared.replace(1, Scalar(I32, 2))
    prepared.submit()
    for memory, host in zip(memories, hosts, strict=True):
        backend.download(memory, 0, host.data)
    assert [host.tolist() for host in hosts] == [[3, 4, 8, 3], [2, 8, 10]]


def test_memory_freed_after_the_preparation_is_refused(backend: InterpreterBackend) -> None:
    memory = backend.allocate(8)
    prepared = backend.prepare(backend.compile(doubling())(), NDRange(1), [memory])
    backend.free(memory)
    with pytest.raises(DeviceError, match="were freed"):
        prepared.submit()


def test_the_hosts_memory_is_not_shared(backend: InterpreterBackend) -> None:
    assert backend.share(memoryview(bytearray(64))) is None


def test_an_error_leaves_memory_as_it_was_before_the_run(backend: InterpreterBackend) -> None:
    host = s32_array(1, 2, 3)
    memory = backend.allocate(host.nbytes)
    backend.upload(memory, 0, host.data)
    with pytest.raises(KernelIndexError):
        backend.prepare(
            backend.compile(doubling())(), NDRange(4), [memory, Scalar(I32, 3)]
        ).submit()
    backend.download(memory, 0, host.data)
    assert host.tolist() == [3, 1, 2, 3]


def test_a_kernel_may_be_launched_with_buffers_of_different_lengths(
    backend: InterpreterBackend,
) -> None:
    executable = backend.compile(doubling())()
    for count in (1, 5, 2):
        host = s32_array(*range(count))
        memory = backend.allocate(host.nbytes)
        backend.upload(memory, 0, host.data)
        backend.prepare(executable, NDRange(count), [memory, Scalar(I32, count)]).submit()
        backend.download(memory, 0, host.data)
        assert host[1:].tolist() == [2 * n for n in range(count)]


def nothing(_: Builder, *__: Value) -> None:
    """A kernel that does nothing."""


@pytest.mark.parametrize(
    ("params", "given", "problem"),
    [
        ({"a": S32_ARRAY}, "", "`a` of type S32Array was given no memory"),
        ({"a": S32_ARRAY}, "s", "`a` of type S32Array was given no memory"),
        ({"a": S32_ARRAY}, "m", "`a` of type S32Array was given no number"),
        ({"a": S32_ARRAY}, "ms", "length=3 takes 16 bytes, and its memory has 8"),
        ({"n": F32}, "m", "`n` of type f32 was given no number"),
        ({"n": F32}, "", "`n` of type f32 was given no number"),
        ({"a": NDArrayType(I32, 2)}, "ms", "was given no number"),
        ({"n": F32}, "ss", "`app.kernel` was given more arguments than it takes"),
        ({"p": StructType("P", ())}, "s", "`p` of type P was given no such struct"),
        ({"a": NDArrayType(I32, 1)}, "ms", "n_0=3 takes 12 bytes, and its memory has 8"),
    ],
)
def test_arguments_that_do_not_fit_the_parameters_are_refused(
    backend: InterpreterBackend, params: dict[str, Type], given: str, problem: str
) -> None:
    kinds = {"s": Scalar(I32, 3), "m": backend.allocate(8)}
    executable = backend.compile(kernel(params, nothing))()
    with pytest.raises(DeviceError) as caught:
        backend.prepare(executable, NDRange(1), [kinds[letter] for letter in given]).submit()
    assert problem in str(caught.value)
