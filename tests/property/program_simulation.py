"""A machine with one memory, on which random programs have their plain meaning.

Each buffer is one NumPy array, a compute function is a plain function, and a dispatch calls
a twin of its kernel. This file must not know Trilby.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

MOST_LAUNCHES = 120


class UnfitError(Exception):
    """The program has no meaning: it has a race, or it takes too long."""


def apart(one: object, other: object) -> None:
    """Refuse a launch whose items would read what others write."""
    if one is other:
        raise UnfitError("a kernel is given one buffer twice and would race")


class Plain(np.ndarray[Any, Any]):
    """The content of a buffer. Its elements are Python numbers, as those of tracked arrays."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found.item() if isinstance(found, np.generic) else found

    def raw(self) -> Self:
        return self

    def release(self) -> None:
        """Nothing is ever given back here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def plain(values: npt.ArrayLike, dtype: npt.DTypeLike) -> Plain:
    """A copy of some numbers as the content of a buffer."""
    return np.array(values, dtype).view(Plain)


class _Simulated:
    """What all buffers can do that have fields."""

    array: Plain

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:  # noqa: FBT001 -- NumPy's signature
        return np.array(self.array, dtype)

    def release(self) -> None:
        """Nothing is ever given back here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass(eq=False)
class Line(_Simulated):
    array: Plain
    dtype: ClassVar[npt.DTypeLike] = np.int32

    @property
    def length(self) -> int:
        return len(self.array)

    @classmethod
    def create(cls, _: object = None, *, length: int) -> Self:
        return cls(plain(np.zeros(length), cls.dtype))

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        return cls(plain(values, cls.dtype))


class Real(Line):
    dtype = np.float32


class Bits(Line):
    dtype = np.uint8


@dataclass(eq=False)
class Plane(_Simulated):
    array: Plain

    @property
    def width(self) -> int:
        return self.array.shape[1]

    @property
    def height(self) -> int:
        return self.array.shape[0]

    @classmethod
    def create(cls, _: object = None, *, width: int, height: int) -> Self:
        return cls(plain(np.zeros((height, width)), np.int32))

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        return cls(plain(values, np.int32))


@dataclass
class _Row:
    rows: "Rows"
    number: int

    @property
    def key(self) -> int:
        return self.rows.key[self.number]

    @key.setter
    def key(self, value: int) -> None:
        self.rows.key[self.number] = value

    @property
    def value(self) -> float:
        return self.rows.value[self.number]

    @value.setter
    def value(self, value: float) -> None:
        self.rows.value[self.number] = value


@dataclass
class Rows:
    """Structs, as two columns that lie in memory as the members of structs do."""

    key: Plain
    value: Plain

    def __getitem__(self, number: int) -> _Row:
        return _Row(self, number)


@dataclass(eq=False)
class Table(_Simulated):
    row: Rows
    total: int = 0

    @property
    def length(self) -> int:
        return len(self.row.key)

    @classmethod
    def create(cls, _: object = None, *, length: int) -> Self:
        rows = np.zeros(length, [("key", np.int32), ("value", np.float32)])
        return cls(Rows(rows["key"].view(Plain), rows["value"].view(Plain)))


class NDArray:
    """Only for annotations: those arrays are their content itself."""

    def __class_getitem__(cls, _: object) -> type:
        return cls


@dataclass(frozen=True)
class NDRange:
    size: int | tuple[int, ...]
    local: int | None = None


@dataclass
class Launch:
    """The ids of all work items."""

    size: tuple[int, ...]
    x: npt.NDArray[Any] = field(init=False)
    y: npt.NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        width, height = (*self.size, 1)[:2]
        y, x = np.mgrid[:height, :width].astype(np.int32)
        self.y, self.x = (y, x) if len(self.size) == 2 else (y[0], x[0])


def _counts(size: int | tuple[int, ...] | NDRange) -> tuple[int, ...]:
    given = size.size if isinstance(size, NDRange) else size
    return given if isinstance(given, tuple) else (given,)


@dataclass
class ComputeContext:
    accelerator: "Machine"

    def dispatch(self, size: Any, kernel: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        launch = Launch(_counts(size))
        self.accelerator.launches += 1
        if self.accelerator.launches > MOST_LAUNCHES:
            raise UnfitError("too many launches")
        if math.prod(launch.size):
            kernel(launch, *args, **kwargs)


@dataclass
class Machine:
    """The simulated accelerator."""

    launches: int = 0

    def compute(self, entry: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return entry(ComputeContext(self), *args, **kwargs)

    def array(self, values: Any) -> Plain:
        return plain(values, values.dtype)
