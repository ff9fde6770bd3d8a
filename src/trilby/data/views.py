"""`Array`: what a buffer's array fields, columns and slices are to the host.

An array holds no numbers of its own; it shows a window of a segment, and every look and
every touch passes through that window. It behaves as NumPy's arrays do, with one
difference: what leaves as a plain NumPy array is a snapshot, never the live memory. It is
read-only where NumPy would give a view.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from opcode import opmap
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from trilby.data.dtypes import ScalarType
from trilby.data.interop import call_function, call_ufunc, plain_key, text_of
from trilby.data.record import Element, Record, unknown_field
from trilby.data.segment import sealed
from trilby.data.window import Window, exact_index, is_basic, window_of
from trilby.errors import ArgumentTypeError, FieldError

if TYPE_CHECKING:
    from types import EllipsisType

T = TypeVar("T")

Position: TypeAlias = "int | np.integer[Any]"
Index: TypeAlias = "Position | tuple[Position, ...]"
Part: TypeAlias = "slice | EllipsisType | tuple[Position | slice | EllipsisType | None, ...] | None"
Selection: TypeAlias = "np.ndarray[Any, Any] | list[int] | list[bool] | Array[Any]"
Values: TypeAlias = "Iterable[Any] | np.number[Any] | np.bool | Array[Any]"


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of arrays that does what a function of NumPy does."""

    def method(self: object, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__doc__ = f"As `np.{function.__name__}`."
    return method


class Array(NDArrayOperatorsMixin, Generic[T]):
    """Elements of type `T` in a buffer.

    In a class body it declares a field: `result: tb.Array[Result] = tb.array("length")`.
    On an object it is the accessor:

        numbers.array[3]            # one element, a Python number
        numbers.array[2:5]          # a tracked view; it fetches when it is used
        numbers.array[:] = range(8) # one copy
        grid.array[y, x]            # two dimensions, row-major; grid.array[y, :] is a row
        table.result[3].x = 1.0     # an element that is a struct
        table.result.x[:] = 0.0     # a column: one member of all structs
        table.result["size"]        # a column whose name an array has for itself

    A mask or a list of indices reads a copy (a plain NumPy array), as in NumPy, and can
    be assigned to.
    """

    __slots__ = ("__weakref__", "__window__")
    __window__: Window

    def __init__(self, window: Window) -> None:
        object.__setattr__(self, "__window__", window)

    # ------------------------------------------------------------------ shape and type

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis."""
        return self.__window__.live.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of an element."""
        return self.__window__.live.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.__window__.live.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.__window__.live.size

    @property
    def element(self) -> Element:
        """The scalar type or the struct class of an element."""
        return self.__window__.element

    def __len__(self) -> int:
        return len(self.__window__.live)

    # -------------------------------------------------------------------------- access

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: Index, /) -> T: ...  # pyright: ignore[reportOverlappingOverload] -- only integers make an element, integers among slices do not
        @overload
        def __getitem__(self, key: Part, /) -> "Array[T]": ...
        @overload
        def __getitem__(self, key: str, /) -> "Array[Any]": ...
        @overload
        def __getitem__(self, key: Selection, /) -> np.ndarray[Any, Any]: ...
        def __getitem__(self, key: Any, /) -> Any: ...

        @overload
        def __setitem__(self, key: Index, value: "T | np.number[Any] | np.bool", /) -> None: ...
        @overload
        def __setitem__(self, key: Part | Selection, value: T | Values, /) -> None: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...

    else:

        def __getitem__(self, key: object, /) -> object:
            window = self.__window__
            index = exact_index(key)
            if index is not None and len(index) == window.live.ndim:
                return window.item(index)
            if isinstance(key, str):
                return Array(window.column(key))
            if is_basic(key):
                return Array(window.part(key))
            plain = plain_key(key)  # which may run code of the user
            return window.read_by(lambda live: live[plain])

        def __setitem__(self, key: object, value: object, /) -> None:
            window = self.__window__
            index = exact_index(key)
            if isinstance(value, (Array, Record)):
                _check_storing_statement(window, cast("Array[Any] | Record", value))
            if index is not None and len(index) == window.live.ndim:
                window.set_item(index, value)
            elif isinstance(key, str):
                window.column(key).assign(value)
            elif is_basic(key):
                window.part(key).assign(value)
            else:
                window.assign_selected(plain_key(key), value)

    def __getattr__(self, name: str) -> Any:
        element = self.__window__.element
        if isinstance(element, ScalarType):
            raise unknown_field(f"Array[{element}]", name, ())
        return Array[Any](self.__window__.column(name))

    def __setattr__(self, name: str, value: object) -> None:
        check_unchanged(self.__window__.column(name), value, name)

    def __iter__(self) -> Iterator[T]:
        if not self.ndim:
            raise TypeError("iteration over an array without dimensions")
        return (self[position] for position in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return bool(np.any(self == value))

    def __bool__(self) -> bool:
        return self.__window__.read_by(bool)

    def fill(self, value: "T | np.number[Any] | np.bool") -> None:
        """Set every element to one value."""
        self[...] = value

    def raw(self) -> np.ndarray[Any, Any]:
        """The memory itself as a writable NumPy array: an escape from tracking.

        What happens through it is invisible. It is current when it is taken, and while it
        or any view of it is alive, the buffer counts as written by the host.
        """
        return self.__window__.escape()

    # ------------------------------------------------------------------------- copies

    def __array__(
        self,
        dtype: np.dtype[Any] | None = None,
        copy: bool | None = None,  # noqa: FBT001 -- NumPy's signature
    ) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(
                "a tracked array leaves as a snapshot, which is a copy; for the live memory "
                "take `raw()`"
            )
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        snapshot = self.__window__.read_by(lambda live: live.astype(wanted, order="C", copy=True))
        return snapshot if copy is True or wanted != self.dtype else sealed(snapshot)

    def copy(self) -> np.ndarray[Any, Any]:
        """The elements as a plain NumPy array of your own."""
        return self.__array__(copy=True)

    def astype(self, dtype: Any) -> np.ndarray[Any, Any]:
        """The elements converted to another dtype, as a plain NumPy array of your own."""
        wanted = np.dtype(dtype)
        return self.__window__.read_by(lambda live: live.astype(wanted, copy=True))

    def reshape(self, *shape: Any) -> np.ndarray[Any, Any]:
        """A snapshot in another shape, which is read-only."""
        return self.__array__().reshape(*shape)

    def tolist(self) -> list[Any]:
        """The elements as nested lists of Python numbers."""
        return self.__window__.read_by(np.ndarray.tolist)

    def tobytes(self) -> bytes:
        """The elements as bytes, in row-major order."""
        return self.__window__.read_by(np.ndarray.tobytes)

    def item(self, *index: int) -> Any:
        """One element as a Python number; without an index, the only one there is."""
        if index:
            return self[index]
        return self.__window__.read_by(np.ndarray.item)

    def __reduce__(self) -> tuple[object, ...]:
        return np.array, (self.copy(),)

    # --------------------------------------------------------------------- reductions

    sum = _reduction(np.sum)
    mean = _reduction(np.mean)
    min = _reduction(np.min)
    max = _reduction(np.max)
    any = _reduction(np.any)
    all = _reduction(np.all)

    # ------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...],
        options: Mapping[str, Any],
    ) -> Any:
        return call_function(function, types, args, options)

    def __repr__(self) -> str:
        if self.__window__.segment.released:
            return f"<Array of a released {self.__window__.segment.label}>"
        return text_of(self.__window__, repr)

    def __str__(self) -> str:
        return text_of(self.__window__, str)


def check_unchanged(window: Window, value: object, name: str) -> None:
    """Allow `x.name = value` only as the last step of `x.name += 1`, where it is no change."""
    other = window_of(value)
    if other is None or not window.is_same_as(other):
        raise FieldError(
            f"`{name}` is an array and cannot be replaced",
            advice=f"set its elements: `.{name}[:] = ...`",
        )


def _check_storing_statement(window: Window, value: Array[Any] | Record) -> None:
    """Refuse to store a part of an array in the same array, unless a statement of Python does it.

    Extensions that are written in C exchange elements so, as `np.random.shuffle` does with what is
    no `np.ndarray`: they take a view for a value, and one of the two would be lost.
    """
    other = value.__window__.segment if isinstance(value, Array) else value.__segment__
    if other is not window.segment:
        return
    caller = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the only way to ask
    if caller.f_code.co_code[caller.f_lasti] not in _STORES:
        raise ArgumentTypeError(
            "rows and structs of an array are views, and compiled code such as "
            "`np.random.shuffle` cannot exchange them",
            advice="choose a new order: `a[:] = a.copy()[rng.permutation(len(a))]`, or store "
            "copies: `a[i] = a[j].copy()`",
        )


_STORES = frozenset(opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opmap)
"""The instructions of `a[i] = x`."""
