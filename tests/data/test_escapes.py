"""What leaves a tracked array, and what would write to it from outside: as with NumPy, or refused.

Live memory never gets into a user's hands, and no write is lost in a copy.
"""

import copy
import io
import pickle
import random
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, Self, TypeAlias, cast

import numpy as np
import pytest
from tests.data.watching import Device

import trilby as tb
from trilby import ComputeContext, F32Array2D, KernelContext, NDArray, S32Array, f32, i32
from trilby.errors import ArgumentTypeError

Made: TypeAlias = Callable[[], Any]


def plain() -> Any:
    """The array that NumPy shows the right result with."""
    return np.arange(12, dtype=np.float32).reshape(4, 3)


TRACKED: dict[str, Made] = {
    "NDArray": lambda: NDArray[float](plain()),
    "field of a buffer": lambda: F32Array2D.of(plain()).array,
    "view": lambda: NDArray[float](np.repeat(plain(), 2, axis=0))[::2],
}
PLAIN: dict[str, Made] = {
    "NDArray": plain,
    "field of a buffer": plain,
    "view": lambda: np.repeat(plain(), 2, axis=0)[::2],
}
"""The same in NumPy's own memory."""

# ------------------------------------------------------ what NumPy gives as a view, or not

GIVES: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "asarray of the same dtype": lambda a: np.asarray(a, np.float32),
    "asarray of another dtype": lambda a: np.asarray(a, np.float64),
    "ascontiguousarray": np.ascontiguousarray,
    "array": np.array,
    "array without a need to copy": lambda a: np.array(a, copy=None),
    "copy": lambda a: a.copy(),
    "np.copy": np.copy,
    "astype": lambda a: a.astype(np.float32),
    "a method's reshape": lambda a: a.reshape(12),
    "reshape": lambda a: np.reshape(a, (2, 6)),
    "ravel": np.ravel,
    "transpose": np.transpose,
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "squeeze": np.squeeze,
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "flip": np.flip,
    "rot90": np.rot90,
    "diagonal": np.diagonal,
    "real": np.real,
    "imag": np.imag,
    "atleast_3d": np.atleast_3d,
    "split": lambda a: np.split(a, 2)[1],
    "array_split": lambda a: np.array_split(a, 3)[0],
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 4, 3)),
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, np.zeros((2, 4, 3)))[0],
    "meshgrid": lambda a: np.meshgrid(np.ravel(a), [1, 2], copy=False)[0],
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "as_strided": lambda a: np.lib.stride_tricks.as_strided(a, (2, 2)),
    "sliding_window_view": lambda a: np.lib.stride_tricks.sliding_window_view(
        a, 2, axis=0, writeable=True
    ),
    "nan_to_num": np.nan_to_num,
    "a sum": lambda a: a + 1,
    "positive": np.positive,
    "sort": lambda a: np.sort(a, axis=0),
    "a mask": lambda a: a[plain() > 3],
    "take": lambda a: np.take(a, [0, 2], axis=0),
    "where": lambda a: np.where(plain() > 3, a, 0),
    "concatenate": lambda a: np.concatenate([a, a]),
    "unpickled": lambda a: pickle.loads(pickle.dumps(np.array(a))),  # noqa: S301 -- our own
    "deepcopy": lambda a: np.asarray(copy.deepcopy(np.array(a))),
}


@pytest.mark.parametrize("kind", TRACKED)
@pytest.mark.parametrize("name", GIVES)
def test_a_result_is_read_only_where_numpy_would_give_a_view(name: str, kind: str) -> None:
    source, tracked = PLAIN[kind](), TRACKED[kind]()
    expected, found = GIVES[name](source), GIVES[name](tracked)
    assert type(found) is np.ndarray
    if name != "as_strided" or kind != "view":  # it shows what lies between, too
        assert np.array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert not np.may_share_memory(found, tracked.__window__.live)
    if name in {"a method's reshape", "ascontiguousarray", "as_strided"} and kind == "view":
        return  # a snapshot, of which NumPy needs no copy
    is_view = np.may_share_memory(expected, source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of writing to what it broadcasts
        assert found.flags.writeable == (expected.flags.writeable and not is_view)


def test_structs_leave_as_read_only_snapshots() -> None:
    table = Pairs.create(length=2)
    for taken in cast("Any", (np.asarray(table.pair[0]), np.asarray(table.pair))):
        with pytest.raises(ValueError, match="read-only"):
            taken["x"] = 3
    cast("Any", np.array(table.pair))["x"] = 3
    assert table.pair[0].x == 0


# ------------------------------------------------------------- what writes from outside


def over_elements(a: Any) -> None:
    with np.nditer(a, op_flags=cast("Any", [["readwrite"]])) as elements:
        for element in cast("Any", elements):
            element[...] = 2 * element


def over_copies(a: Any) -> None:
    flags, types = [["readwrite"]], [np.float64]
    with np.nditer([a], ["buffered"], cast("Any", flags), types, casting="same_kind") as elements:
        for element in cast("Any", elements):
            element[...] = 2 * element


def exchange_in_python(a: Any) -> None:
    a[0], a[1] = a[1].copy(), a[0].copy()
    a[2] = a[3]
    a[0] += a[1]


def twice(number: Any) -> Any:
    return 2 * number


doubled = np.frompyfunc(twice, 1, 1)


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


WRITES: dict[str, Callable[[Any], object]] = {
    "nditer": over_elements,
    "nditer with a buffer": over_copies,
    "np.random.shuffle": lambda a: np.random.RandomState(7).shuffle(a),
    "Generator.shuffle": lambda a: seeded().shuffle(a),
    "Generator.shuffle of an axis": lambda a: seeded().shuffle(a, axis=1),
    "Generator.permuted": lambda a: seeded().permuted(a, out=a),
    "random.shuffle of a column": lambda a: random.Random(7).shuffle(a[:, 0]),  # noqa: S311 -- not for secrets
    "shuffle of a row": lambda a: seeded().shuffle(a[1]),
    "exchange in Python": exchange_in_python,
    "put": lambda a: np.put(a, [0, 4], [-4, -5]),
    "place": lambda a: np.place(a, plain() > 3, [-1]),
    "putmask": lambda a: np.putmask(a, plain() > 4, 0),
    "fill_diagonal": lambda a: np.fill_diagonal(a, -1),
    "copyto": lambda a: np.copyto(a, -1),
    "copyto by name": lambda a: np.copyto(dst=a, src=-1),
    "put_along_axis": lambda a: np.put_along_axis(a, np.array([[0], [1], [0], [2]]), -1, axis=1),
    "nan_to_num": lambda a: np.nan_to_num(np.divide(a, 0, out=a, where=plain() > 3), copy=False),
    "median": lambda a: np.median(a, overwrite_input=True),
    "percentile": lambda a: np.percentile(a, 30, axis=0, overwrite_input=True),
    "sort": lambda a: np.ndarray.sort(a, axis=0),
    "a method's sort": lambda a: a.sort(axis=0),
    "partition": lambda a: np.ndarray.partition(a, 1),
    "fill": lambda a: np.ndarray.fill(a, 3),
    "a view's elements": lambda a: np.ravel(a).__setitem__(0, -1),
    "asarray": lambda a: np.asarray(a).__setitem__(0, -1),
    "asarray without a copy": lambda a: np.asarray(a, copy=False).__setitem__(0, -1),
    "as_strided": lambda a: np.lib.stride_tricks.as_strided(a).__setitem__(0, -1),
    "a masked array": lambda a: np.ma.array(a, copy=False).__setitem__((0, 0), -1),
    "a matrix": lambda a: np.matrix(a, copy=False).__setitem__((0, 0), -1),
    "flat": lambda a: np.asarray(a).flat.__setitem__(0, -1),
    "memoryview": lambda a: memoryview(a).cast("B").__setitem__(0, 1),
    "frombuffer": lambda a: np.frombuffer(a, np.float32).__setitem__(0, -1),
    "readinto": lambda a: io.BytesIO(bytes(48)).readinto(a),
    "pack_into": lambda a: struct.pack_into("f", a, 0, -1.0),
    "DLPack": lambda a: np.from_dlpack(a).__setitem__((0, 0), -1),
    "out": lambda a: np.add(a, 1, out=a),
    "out of asarray": lambda a: np.add(a, 1, out=np.asarray(a)),
    "at": lambda a: np.add.at(a, ([1, 1], [0, 0]), 10),
    "out of a Python function": lambda a: cast("Any", doubled)(a, out=a, casting="unsafe"),
    "out of an operand with operators": lambda a: np.multiply(
        a, cast("Any", Fraction(1, 2)), out=a, casting="unsafe"
    ),
    "a callback": lambda a: np.apply_along_axis(lambda row: row.__setitem__(0, -1), 1, a),
}


@pytest.mark.parametrize("kind", TRACKED)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_reaches_the_array_or_raises(name: str, kind: str) -> None:
    """What NumPy would have written is there, or the call has raised and nothing is written."""
    expected, tracked = PLAIN[kind](), TRACKED[kind]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(TypeError, ValueError, BufferError):  # views are not contiguous
            WRITES[name](expected)
        try:
            WRITES[name](tracked)
        except (TypeError, ValueError, NotImplementedError, AttributeError, BufferError):
            if name == "nan_to_num":  # the division was made
                return
            expected = PLAIN[kind]()
    assert tracked.tolist() == expected.tolist()


MUST_WORK = [
    *("put", "place", "putmask", "fill_diagonal", "copyto", "out", "at", "exchange in Python"),
    *("random.shuffle of a column", "shuffle of a row", "out of a Python function"),
    "out of an operand with operators",
]


@pytest.mark.parametrize("name", MUST_WORK)
def test_what_worked_works(name: str) -> None:
    tracked = TRACKED["NDArray"]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        WRITES[name](tracked)
    assert tracked.tolist() != plain().tolist()


class Pairs(tb.Buffer):
    class Pair(tb.Struct):
        x: f32
        y: i32

    length: i32
    pair: tb.Array[Pair] = tb.array("length")


def test_rows_and_structs_are_not_exchanged_by_compiled_code() -> None:
    table = Pairs.create(length=6)
    table.pair.y[:] = range(6)
    for rows in (table.pair, NDArray[int](np.arange(12).reshape(6, 2))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ArgumentTypeError, match="compiled code such as") as raised:
                seeded().shuffle(cast("Any", rows))
        assert "permutation" in raised.value.advice
    assert table.pair.y.tolist() == list(range(6))
    table.pair[0] = table.pair[3]
    assert table.pair.y.tolist() == [3, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", TRACKED)
def test_a_permutation_is_a_copy(kind: str) -> None:
    tracked = TRACKED[kind]()[:, 0]
    for made in (seeded().permutation(tracked), np.random.RandomState(7).permutation(tracked)):
        assert sorted(made.tolist()) == [0, 3, 6, 9]
        made[:] = 0
    assert tracked.tolist() == [0, 3, 6, 9]


# -------------------------------------------------------------- code of the user in a call


class Keeper:
    """Keeps what it is called with, and what that was."""

    def __init__(self) -> None:
        self.kept: list[tuple[Any, list[Any]]] = []

    def __call__(self, *given: Any) -> Any:
        self._keep(given)
        return float(np.sum(given[0]))

    def show(self, given: Any) -> str:
        self._keep(given)
        return "shown"

    def _keep(self, given: Any) -> None:
        if isinstance(given, np.ndarray):
            array = cast("Any", given)
            self.kept.append((array, array.tolist()))
        elif isinstance(given, list | tuple):
            for each in cast("list[Any]", given):
                self._keep(each)

    def write(self, text: Any) -> int:
        return len(text)


class Kept(float):
    """A number that a class makes of what it is called with."""

    def __new__(cls, keeper: Keeper, part: Any) -> Self:
        return super().__new__(cls, keeper(part))


class OwnUfunc:
    """An operand that answers ufuncs itself, and keeps the others."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper

    def __array_ufunc__(self, _ufunc: Any, _method: str, *inputs: Any, **options: Any) -> Any:
        self.keeper(0, inputs, options.get("out", ()))
        return 0


class OwnFunction(OwnUfunc):
    """An operand that answers NumPy's functions itself."""

    def __array_function__(self, _function: Any, _types: Any, args: Any, options: Any) -> Any:
        self.keeper(0, args, list(options.values()))
        return 0


class OwnOperators:
    """A number with operators of its own."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.__array_ufunc__ = None

    def __eq__(self, other: object) -> bool:
        self.keeper(0, [other])
        return False

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- it is compared


class Subclass(np.ndarray[Any, Any]):
    """An array that is told what made it."""

    keeper: Keeper

    def __array_wrap__(self, array: Any, context: Any = None, *rest: Any) -> Any:
        self.keeper(0, context[1] if context else ())
        return array


def subclass(keeper: Keeper) -> Any:
    made = np.ones(3, np.float32).view(Subclass)
    made.keeper = keeper
    return made


def shown(a: Any, keeper: Keeper, **options: Any) -> None:
    with np.printoptions(override_repr=keeper.show, **options):
        repr(a)


KEEPS: dict[str, Callable[[Any, Keeper], object]] = {
    "apply_along_axis": lambda a, keep: np.apply_along_axis(keep, 0, a),
    "a class as callback": lambda a, keep: np.apply_along_axis(partial(Kept, keep), 0, a),
    "apply_over_axes": lambda a, keep: np.apply_over_axes(
        lambda part, axis: np.expand_dims(keep(part) + np.zeros_like(part.sum(axis)), axis), a, [0]
    ),
    "piecewise": lambda a, keep: np.piecewise(a, [plain() > 3], [keep, 0]),
    "vectorize": lambda a, keep: np.vectorize(keep, signature="(n)->()")(a),
    "frompyfunc": lambda a, keep: np.frompyfunc(keep, 1, 1)(a),
    "an operand with ufuncs": lambda a, keep: a + OwnUfunc(keep),
    "an operand with ufuncs, and out": lambda a, keep: np.add(
        a, cast("Any", OwnUfunc(keep)), out=a
    ),
    "an operand with functions": lambda a, keep: np.concatenate(
        [a, cast("Any", OwnFunction(keep))]
    ),
    "an operand with operators": lambda a, keep: cast("Any", OwnOperators(keep)) in a,
    "a subclass": lambda a, keep: a + subclass(keep),
    "a file": lambda a, keep: np.savetxt(cast("Any", keep), a),
    "a formatter": lambda a, keep: np.array2string(a, formatter={"float_kind": keep.show}),
    "printing": shown,
    "printing a summary": lambda a, keep: shown(a, keep, threshold=3, edgeitems=1),
}


@pytest.mark.parametrize("kind", TRACKED)
@pytest.mark.parametrize("name", KEEPS)
def test_what_code_of_the_user_is_given_is_not_the_live_memory(name: str, kind: str) -> None:
    tracked, keeper = TRACKED[kind](), Keeper()
    KEEPS[name](tracked, keeper)
    tracked[...] = -1.0
    assert [array.tolist() for array, _ in keeper.kept] == [was for _, was in keeper.kept]
    live = tracked.__window__.live
    assert not any(np.may_share_memory(array, live) for array, _ in keeper.kept)


class Late:
    """An operand whose conversion writes to the array that it is used with."""

    def __init__(self, write: Callable[[], object], value: Any) -> None:
        self.write = write
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001 -- NumPy's signature
        self.write()
        return np.asarray(self.value, dtype)

    def __index__(self) -> int:
        self.write()
        return cast("int", self.value)


class LateInterface:
    """The same through the older protocol."""

    def __init__(self, write: Callable[[], object], value: Any) -> None:
        self.write = write
        self.value = np.asarray(value)

    @property
    def __array_interface__(self) -> Any:
        self.write()
        return self.value.__array_interface__


CONVERTS: dict[str, Callable[[Any, Any], Any]] = {
    "right operand": lambda a, late: a + late,
    "left operand": lambda a, late: np.subtract(late, a),
    "a list": lambda a, late: np.add(a, [late, late, late, late]),
    "out": lambda a, late: np.add(a, late, out=a),
    "copyto": np.copyto,
    "where": lambda a, late: cast("Any", np.where(plain() > 3, a, late)),
    "concatenate": lambda a, late: np.concatenate([a, late]),
    "assignment": lambda a, late: a.__setitem__(..., late),
    "sum": lambda a, late: np.sum(a, axis=0, where=late),
}
INDEXES: dict[str, Callable[[Any, Any], Any]] = {
    "an index": lambda a, late: a[late],
    "an index in a list": lambda a, late: a[[late, late]],
    "stored at an index": lambda a, late: a.__setitem__(late, 7),
    "stored at a list": lambda a, late: a.__setitem__([late], 7),
    "stored at a list of a column": lambda a, late: a.__setitem__(([0, 2], late), 7),
    "taken": lambda a, late: np.take(a, late, axis=0),
    "put": lambda a, late: np.put(a, late, 7),
}


def agree(call: Callable[[Any, Any], Any], late: Callable[..., Any], value: Any, kind: str) -> None:
    """Whether a conversion is seen as NumPy sees it, also where a device would write."""
    results: list[Any] = []
    for a in (PLAIN[kind](), TRACKED[kind]()):
        if not isinstance(a, np.ndarray):
            Device(a.__window__.segment)
        written = call(a, late(partial(a.__setitem__, (1, 1), 40.0), value))
        results.append((np.asarray(written).tolist(), a.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", TRACKED)
@pytest.mark.parametrize("late", [Late, LateInterface])
@pytest.mark.parametrize("name", CONVERTS)
def test_operands_are_converted_before_the_memory_is_read(
    name: str, late: Callable[..., Any], kind: str
) -> None:
    value = plain() > 2 if name == "sum" else [1, 2, 3] if name == "a list" else plain() + 1
    agree(CONVERTS[name], late, value, kind)


@pytest.mark.parametrize("kind", ["NDArray", "field of a buffer"])
@pytest.mark.parametrize("name", INDEXES)
def test_indexes_are_converted_before_the_memory_is_read(name: str, kind: str) -> None:
    agree(INDEXES[name], Late, 1, kind)


# ------------------------------------------------------------------------------- pickles


PICKLED: dict[str, tuple[Made, Callable[[Any], list[int]], Callable[[Any], object]]] = {
    "buffer": (
        lambda: S32Array.of(range(8)),
        lambda made: made.array.tolist(),
        lambda made: made.array.fill(-1),
    ),
    "NDArray": (
        lambda: NDArray[int](np.arange(8)),
        lambda made: made.tolist(),
        lambda made: made.fill(-1),
    ),
    "field": (
        lambda: S32Array.of(range(8)).array,
        lambda made: made.tolist(),
        lambda made: made.fill(-1),
    ),
}


@pytest.mark.parametrize("name", PICKLED)
def test_pickles_hold_snapshots(name: str) -> None:
    make_source, content, change = PICKLED[name]
    source = make_source()
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(source, protocol=5, buffer_callback=buffers.append)
    inside = pickle.dumps(source, protocol=5)
    make, given, *_ = source.__reduce__()
    change(source)
    first, second = make(*given), make(*given)
    for made in (
        first,
        second,
        pickle.loads(text, buffers=buffers),  # noqa: S301 -- our own
        pickle.loads(text, buffers=[bytes(buffer) for buffer in buffers]),  # noqa: S301 -- our own
        pickle.loads(inside),  # noqa: S301 -- our own
    ):
        assert content(made) == list(range(8))
    change(second)
    assert content(first) == list(range(8)), "two of one pickle are two"
    assert set(content(source)) == {-1}


def test_the_state_of_a_struct_is_its_own() -> None:
    table = Pairs.create(length=1)
    make, given, *_ = cast("Any", table.pair[0].__reduce__())
    table.pair[0].y = 5
    assert make(*given).y == 0


@pytest.mark.parametrize("made", TRACKED.values(), ids=TRACKED)
def test_a_snapshot_cannot_be_made_writable(made: Made) -> None:
    snapshot = np.asarray(made())
    with pytest.raises(ValueError, match="WRITEABLE"):
        snapshot.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        snapshot[0] = 5


# --------------------------------------------------- kernels that an operand launches


@tb.kernel
def increase(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] = a[kc.x] + 1


@tb.compute
def increase_all(cc: ComputeContext, a: NDArray[i32]) -> None:
    cc.dispatch(a.shape[0], increase, a)


class Launching:
    """An index that launches a kernel on the array that it is used with, and may fail then."""

    def __init__(self, launch: Callable[[], object], *, fails: bool = False) -> None:
        self.launch = launch
        self.fails = fails

    def __index__(self) -> int:
        self.launch()
        if self.fails:
            raise LookupError
        return 2


BY_INDEX: dict[str, tuple[Callable[[Any, Any], object], list[int]]] = {
    "put": (lambda a, late: np.put(a, [late], 70), [1, 2, 70, 4]),
    "put one": (lambda a, late: np.put(a, late, 70), [1, 2, 70, 4]),
    "at": (lambda a, late: np.add.at(a, late, 5), [1, 2, 8, 4]),
    "set": (lambda a, late: a.__setitem__(late, 70), [1, 2, 70, 4]),
    "cumulated": (lambda a, late: np.cumsum([[[1] * 4]] * 2, late, None, a[None, None]), []),
}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", BY_INDEX)
def test_a_kernel_that_an_index_launches_is_not_lost(name: str, *, fails: bool) -> None:
    with tb.Accelerator("interpreter", poison=True) as accelerator:
        a = accelerator.array(np.arange(4, dtype=np.int32))
        late = Launching(lambda: accelerator.compute(increase_all, a), fails=fails)
        write, expected = BY_INDEX[name]
        with suppress(LookupError, ValueError):
            write(a, late)
        assert np.asarray(a).tolist() == (expected if expected and not fails else [1, 2, 3, 4])


def test_what_a_callback_writes_beside_a_mask_stays() -> None:
    a = cast("Any", NDArray[int](np.arange(4, dtype=np.int32)))

    def add(value: int) -> int:
        a[0] = 50
        return value + 100

    mask = np.array([False, True, False, True])
    np.frompyfunc(add, 1, 1)(a, out=a, where=mask, casting="unsafe")
    assert a.tolist() == [50, 101, 2, 103]
