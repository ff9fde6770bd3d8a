"""Sets of bytes, as ranges with strides: a column of a matrix is one object at any size."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import lcm
from operator import itemgetter
from typing import ClassVar, NamedTuple, TypeAlias

Range: TypeAlias = tuple[int, int]
"""The first byte, and the one after the last."""


class Rows(NamedTuple):
    """Pieces of a copy that begins and ends with one: `size` bytes each, `pitch` bytes apart.

    `Rows(3, 10).starts(23)` is 0, 10, 20: pieces 0…3, 10…13 and 20…23.
    """

    size: int
    pitch: int

    def starts(self, nbytes: int) -> range:
        """Where the pieces begin in a stretch of so many bytes."""
        return range(0, nbytes - self.size + 1, self.pitch)


class StridedRange(NamedTuple):
    """Runs of bytes that are repeated at equal distances.

    `StridedRange(8, 44, 16, 3, ((0, 4),))` is 8…12, 24…28 and 40…44. `start` and `stop` are around
    all of it. `runs` are those of one period, from its start; neither they nor two periods touch.
    One contiguous range is there 1 time and has no `runs`.
    """

    start: int
    stop: int
    pitch: int = 0
    times: int = 1
    runs: tuple[Range, ...] = ()

    def pairs(self) -> Iterator[Range]:
        """Each contiguous range."""
        if self.times == 1:
            yield self.start, self.stop
            return
        for at in range(self.start, self.start + self.pitch * self.times, self.pitch):
            for low, high in self.runs:
                yield at + low, at + high

    def within(self, low: int, high: int) -> list[Range]:
        """The contiguous ranges between two places that lie between the ends."""
        if self.times == 1:
            return [(low, high)] if low < high else []
        start, _, pitch, count, runs = self
        first, last = max((low - start) // pitch, 0), min((high - start) // pitch + 1, count)
        return [
            (max(at + a, low), min(at + b, high))
            for at in range(start + first * pitch, start + last * pitch, pitch)
            for a, b in runs
            if at + a < high and low < at + b
        ]

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        if self.times == 1:
            return self.stop - self.start
        return self.times * sum(stop - start for start, stop in self.runs)


def _repeated(start: int, runs: tuple[Range, ...], pitch: int, count: int) -> StridedRange:
    stop = start + (count - 1) * pitch + runs[-1][1]
    if count == 1:
        return StridedRange(start, stop)
    return StridedRange(start, stop, pitch, count, runs)


class Ranges:
    """An immutable set of bytes, equal to another with the same bytes.

    `Ranges.of((0, 4), (8, 12))` has 8 bytes; `Ranges.span(0, 4).repeated(400, 5000)` is a column of
    a matrix with 5,000 rows of 400 bytes. Iteration gives the contiguous ranges, and `len` counts
    them. `start` and `stop` are the ends of the set, and `pieces` what it is made of, in order and
    apart from each other; a contiguous set has no pieces.
    """

    __slots__ = ("pieces", "start", "stop")
    EMPTY: ClassVar["Ranges"]

    def __init__(self, start: int, stop: int, pieces: tuple[StridedRange, ...] = ()) -> None:
        """Without pieces, all bytes from `start` to `stop`, of which there must be one at least."""
        self.start = start
        self.stop = stop
        self.pieces = pieces

    @classmethod
    def of(cls, *parts: Range) -> "Ranges":
        """The union of any ranges, which may overlap and be empty."""
        joined = _joined(sorted(part for part in parts if part[0] < part[1]), ())
        if len(joined) <= 1:
            return cls(*joined[0]) if joined else cls.EMPTY
        return _made(_regular(_pieces(joined)))

    @classmethod
    def span(cls, start: int, stop: int) -> "Ranges":
        """One range."""
        return cls(start, stop) if start < stop else cls.EMPTY

    def repeated(self, pitch: int, count: int) -> "Ranges":
        """The union of the same set at several places, each `pitch` bytes after the last."""
        if count == 1 or not pitch or self.start == self.stop:
            return self
        if not self.pieces and self.stop - self.start >= pitch:
            return Ranges(self.start, self.stop + (count - 1) * pitch)
        builder = _Assembly()
        if self.stop - self.start <= pitch:
            builder.repeat(self.start, list(self), pitch, count)
            return builder.ranges()
        distances = range(0, count * pitch, pitch)
        return Ranges.of(*((start + by, stop + by) for by in distances for start, stop in self))

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        return sum(p.nbytes for p in self.pieces) if self.pieces else self.stop - self.start

    @property
    def hull(self) -> Range:
        """The smallest range around all; `(0, 0)` around nothing."""
        return self.start, self.stop

    @property
    def ends(self) -> tuple[Range, Range]:
        """The first and the last contiguous range of a set that is not empty."""
        if not self.pieces:
            return self.hull, self.hull
        first, last = self.pieces[0], self.pieces[-1]
        begin = first.start + first.runs[0][1] if first.runs else first.stop
        size = last.runs[-1][1] - last.runs[-1][0] if last.runs else last.stop - last.start
        return (self.start, begin), (self.stop - size, self.stop)

    @property
    def rows(self) -> Rows | None:
        """Size and pitch, where these are several ranges of one size at equal distances."""
        if not self.pieces:
            return None
        pairs = iter(self)
        (start, stop), (second, _) = next(pairs), next(pairs)
        size, pitch = stop - start, second - start
        count, rest = divmod(self.stop - self.start - size, pitch)
        is_one = len(self.pieces) == 1 and len(self.pieces[0].runs) == 1
        if is_one or (not rest and self == Ranges(start, stop).repeated(pitch, count + 1)):
            return Rows(size, pitch)
        return None

    def shifted(self, distance: int) -> "Ranges":
        """The same set elsewhere."""
        if not distance or self.start == self.stop:
            return self
        pieces = tuple(
            StridedRange(start + distance, stop + distance, pitch, times, runs)
            for start, stop, pitch, times, runs in self.pieces
        )
        return Ranges(self.start + distance, self.stop + distance, pieces)

    def covers(self, other: "Ranges") -> bool:
        """True where every byte of the other is one of these."""
        if other.start == other.stop:
            return True
        if other.start < self.start or self.stop < other.stop:
            return False
        return not self.pieces or self.pieces == other.pieces or not other - self

    def meets(self, other: "Ranges") -> bool:
        """True where a byte is in both."""
        if other.stop <= self.start or self.stop <= other.start:
            return False
        return not (self.pieces or other.pieces) or bool(self & other)

    def __bool__(self) -> bool:
        return self.start < self.stop

    def __iter__(self) -> Iterator[Range]:
        if self.pieces:
            return (pair for piece in self.pieces for pair in piece.pairs())
        return iter((self.hull,) if self else ())

    def __len__(self) -> int:
        if self.pieces:
            return sum(piece.times * (len(piece.runs) or 1) for piece in self.pieces)
        return int(self.start < self.stop)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranges) or self.start != other.start or self.stop != other.stop:
            return False
        if self.pieces == other.pieces:
            return True
        return self.nbytes == other.nbytes and not self - other

    def __hash__(self) -> int:
        return hash((self.start, self.stop, self.nbytes))

    def __repr__(self) -> str:
        return f"Ranges({', '.join(map(_text, self._parts))})"

    def __or__(self, other: "Ranges") -> "Ranges":
        if other.start == other.stop or self is other:
            return self
        if self.start == self.stop:
            return other
        if not self.pieces and self.start <= other.start and other.stop <= self.stop:
            return self
        if not other.pieces:
            if other.start <= self.start and self.stop <= other.stop:
                return other
            if not self.pieces and other.start <= self.stop and self.start <= other.stop:
                return Ranges(min(self.start, other.start), max(self.stop, other.stop))
        if self.pieces and self.pieces == other.pieces:
            return self
        many, few = (self, other) if len(self.pieces) >= len(other.pieces) else (other, self)
        # Those that touch are joined, and those beside them may go on as others do.
        first, last = many._between(few.start - 1, few.stop + 1)
        first, last = max(first - 2, 0), last + 2
        parts = many._parts
        middle = _combined(_joined, parts[first:last], few._parts)
        return _made((*parts[:first], *middle, *parts[last:]))

    def __and__(self, other: "Ranges") -> "Ranges":
        if other.stop <= self.start or self.stop <= other.start:
            return Ranges.EMPTY
        if not self.pieces:
            if not other.pieces:
                return Ranges(max(self.start, other.start), min(self.stop, other.stop))
            if self.start <= other.start and other.stop <= self.stop:
                return other
        elif self.pieces == other.pieces or (
            not other.pieces and other.start <= self.start and self.stop <= other.stop
        ):
            return self
        first, last = self._between(*other.hull)
        start, stop = other._between(*self.hull)
        return _made(_combined(_met, self._parts[first:last], other._parts[start:stop]))

    def __sub__(self, other: "Ranges") -> "Ranges":
        if other.stop <= self.start or self.stop <= other.start:
            return self
        if not other.pieces:
            if other.start <= self.start and self.stop <= other.stop:
                return Ranges.EMPTY
            if not self.pieces:
                ends = (self.start, other.start), (other.stop, self.stop)
                return _made(_pieces(end for end in ends if end[0] < end[1]))
        elif self.pieces == other.pieces:
            return Ranges.EMPTY
        first, last = self._between(*other.hull)
        start, stop = other._between(*self.hull)
        parts = self._parts
        middle = _combined(_left, parts[first:last], other._parts[start:stop])
        return _made((*parts[:first], *middle, *parts[last:]))

    @property
    def _parts(self) -> tuple[StridedRange, ...]:
        """The pieces, also of a contiguous set."""
        if self.pieces or self.start == self.stop:
            return self.pieces
        return (StridedRange(self.start, self.stop),)

    def _between(self, low: int, high: int) -> tuple[int, int]:
        """The parts that may reach between two places: the first, and the one after the last."""
        parts = self._parts
        if len(parts) <= _FEW:
            return 0, len(parts)
        first = bisect_right(parts, low, key=itemgetter(1))
        return first, max(first, bisect_left(parts, high, key=itemgetter(0)))


Ranges.EMPTY = Ranges(0, 0)
_FEW = 8
"""So many pieces are sooner looked at than searched."""


def _made(pieces: Sequence[StridedRange]) -> Ranges:
    if not pieces:
        return Ranges.EMPTY
    if len(pieces) == 1 and pieces[0].times == 1:
        return Ranges(pieces[0].start, pieces[0].stop)
    return Ranges(pieces[0].start, pieces[-1].stop, tuple(pieces))


def _pieces(pairs: Iterable[Range]) -> list[StridedRange]:
    return [StridedRange(start, stop) for start, stop in pairs]


def _text(piece: StridedRange) -> str:
    if piece.times == 1:
        return f"{piece.start}…{piece.stop}"
    runs = (f"{piece.start + start}…{piece.start + stop}" for start, stop in piece.runs)
    return f"{piece.times} × {' '.join(runs)} by {piece.pitch}"


# ------------------------------------------------------------------------------ contiguous ranges

Operation: TypeAlias = Callable[[Sequence[Range], Sequence[Range]], list[Range]]


def _joined(left: Sequence[Range], right: Sequence[Range]) -> list[Range]:
    """What is in one of two lists of ranges or in both; the first may overlap itself."""
    joined: list[Range] = []
    for start, stop in sorted((*left, *right)) if right and left else left or right:
        if joined and start <= joined[-1][1]:
            if stop > joined[-1][1]:
                joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined


def _met(left: Sequence[Range], right: Sequence[Range]) -> list[Range]:
    """What is in both of two lists of ranges."""
    found: list[Range] = []
    at = place = 0
    while at < len(left) and place < len(right):
        (a, b), (c, d) = left[at], right[place]
        low, high = max(a, c), min(b, d)
        if low < high:
            found.append((low, high))
        if b <= d:
            at += 1
        else:
            place += 1
    return found


def _left(parts: Sequence[Range], holes: Sequence[Range]) -> list[Range]:
    """What is in the first of two lists of ranges and not in the second."""
    found: list[Range] = []
    place = 0
    for start, stop in parts:
        at = start
        while place < len(holes) and holes[place][0] < stop:
            low, high = holes[place]
            if high > at:
                if low > at:
                    found.append((at, low))
                at = high
            if high > stop:
                break
            place += 1
        if at < stop:
            found.append((at, stop))
    return found


# --------------------------------------------------------------------------------- strided ranges


def _combined(
    operation: Operation, left: Sequence[StridedRange], right: Sequence[StridedRange]
) -> Sequence[StridedRange]:
    """An operation on two sets, period by period.

    Between two ends of pieces, at most one piece of each side repeats itself: what comes of one
    common period of both comes of all of them.
    """
    if not left or not right:
        return left if operation is not _met and left else right if operation is _joined else ()
    if all(p.times == 1 for p in left) and all(p.times == 1 for p in right):
        found = operation([p[:2] for p in left], [p[:2] for p in right])
        return _regular(_pieces(found))
    builder = _Assembly()
    for low, high, one, other in _stretches(left, right):
        alone = one if other is None else other if one is None else None
        if alone is not None:
            if operation is _met or (one is None and operation is _left):
                continue
            if (low, high) == alone[:2]:
                builder.add(alone)
                continue
        _add_combined(builder, operation, low, high, one, other)
    return _regular(builder.pieces)


def _add_combined(
    builder: "_Assembly", operation: Operation, low: int, high: int, one: "_Piece", other: "_Piece"
) -> None:
    """What comes of two pieces between two places that both reach over, if there are both."""

    def between(start: int, stop: int) -> list[Range]:
        first = one.within(start, stop) if one is not None else ()
        return operation(first, other.within(start, stop) if other is not None else ())

    strided = [piece for piece in (one, other) if piece is not None and piece.times > 1]
    period = lcm(*(piece.pitch for piece in strided)) if strided else high - low
    head = low + (strided[0].start - low) % period if strided else low
    times = (high - head) // period
    if times < 2:
        builder.add_runs(between(low, high))
        return
    tail = head + times * period
    builder.add_runs(between(low, head))
    builder.repeat(head, between(head, head + period), period, times)
    builder.add_runs(between(tail, high))


_Piece: TypeAlias = StridedRange | None


def _stretches(
    left: Sequence[StridedRange], right: Sequence[StridedRange]
) -> Iterator[tuple[int, int, _Piece, _Piece]]:
    """The stretches between two ends of pieces, with the piece of each side that is there."""
    rest, others = iter(left), iter(right)
    one, other = next(rest, None), next(others, None)
    at = min(piece.start for piece in (one, other) if piece is not None)
    while one is not None or other is not None:
        here = one if one is not None and one.start <= at else None
        there = other if other is not None and other.start <= at else None
        ends = [p.start if p.start > at else p.stop for p in (one, other) if p is not None]
        until = min(ends)
        if here is not None or there is not None:
            yield at, until, here, there
        if one is not None and one.stop == until:
            one = next(rest, None)
        if other is not None and other.stop == until:
            other = next(others, None)
        at = until


class _Assembly:
    """Pieces that were added in order, joined where they touch or go on as others do.

    The runs 0…4 and 16…20, and then 32…36, become one piece of three runs; 36…40 after them would
    end it before the last.
    """

    def __init__(self) -> None:
        self.pieces: list[StridedRange] = []
        self._after_strided = 0  # how many pieces there are up to the last with a stride

    def ranges(self) -> Ranges:
        return _made(_regular(self.pieces))

    def add_runs(self, runs: Iterable[Range]) -> None:
        for start, stop in runs:
            self._add_run(start, stop)

    def add(self, piece: StridedRange) -> None:
        if piece.times == 1:
            self._add_run(piece.start, piece.stop)
        else:
            runs = [(piece.start + low, piece.start + high) for low, high in piece.runs]
            self._add_strided(runs, piece.pitch, piece.times)

    def repeat(self, start: int, runs: list[Range], pitch: int, count: int) -> None:
        """Runs of a period that begins at a place; the last one may touch the next period."""
        if not runs:
            return
        (first, end), (begin, last) = runs[0], runs[-1]
        if first > start or last < start + pitch:
            self._add_strided(runs, pitch, count)
        elif len(runs) == 1:
            self._add_run(start, start + pitch * count)
        else:
            self._add_run(first, end)
            self._add_strided([*runs[1:-1], (begin, end + pitch)], pitch, count - 1)
            self.add_runs(_moved(runs[1:], (count - 1) * pitch))

    def _add_run(self, start: int, stop: int) -> None:
        pieces = self.pieces
        if pieces and pieces[-1].stop == start:
            self._open_last()
            start = pieces.pop().start
        pieces.append(StridedRange(start, stop))
        self._close_last()

    def _open_last(self) -> None:
        """Tell the runs of the last period apart from the others."""
        start, _, pitch, count, runs = self.pieces[-1]
        if count == 1:
            return
        del self.pieces[-1]
        periods = [_repeated(start, runs, pitch, count - 1)] if count > 2 else _period(start, runs)
        self.pieces += periods
        self._after_strided = len(self.pieces) if count > 2 else 0
        self.pieces += _period(start + pitch * (count - 1), runs)

    def _close_last(self) -> None:
        """Take in the last runs where they are one more period of what stands before them."""
        pieces, at = self.pieces, self._after_strided
        if not at:
            return
        start, _, pitch, count, runs = pieces[at - 1]
        if len(pieces) - at == len(runs) and pieces[at:] == _period(start + pitch * count, runs):
            pieces[at - 1 :] = [_repeated(start, runs, pitch, count + 1)]

    def _add_strided(self, runs: list[Range], pitch: int, count: int) -> None:
        pieces = self.pieces
        if count and pieces and pieces[-1].stop == runs[0][0]:
            self.add_runs(runs)
            runs, count = _moved(runs, pitch), count - 1
        if count < 2:
            self.add_runs(runs if count else ())
            return
        runs, pitch, count = _shortest(runs, pitch, count)
        start, many = runs[0][0], len(runs)
        inner = tuple(_moved(runs, -start))
        while pieces[-many:] == _period(start - pitch, inner):
            del pieces[-many:]
            start, count = start - pitch, count + 1
        last = pieces[-1] if pieces else None
        if last and (last.pitch, last.runs) == (pitch, inner) and _after(last) == start:
            del pieces[-1]
            start, count = last.start, last.times + count
        pieces.append(_repeated(start, inner, pitch, count))
        self._after_strided = len(pieces)


def _after(piece: StridedRange) -> int:
    """Where the next period would be."""
    return piece.start + piece.times * piece.pitch


def _moved(runs: Iterable[Range], distance: int) -> list[Range]:
    return [(start + distance, stop + distance) for start, stop in runs]


def _period(start: int, runs: Iterable[Range]) -> list[StridedRange]:
    return _pieces(_moved(runs, start))


def _shortest(runs: list[Range], pitch: int, count: int) -> tuple[list[Range], int, int]:
    """The shortest period: runs that repeat themselves within theirs have a shorter one."""
    many = len(runs)
    for few in range(1, many // 2 + 1):
        times, rest = divmod(many, few)
        by = runs[few][0] - runs[0][0]
        if not rest and by * times == pitch and runs[few:] == _moved(runs[:-few], by):
            return runs[:few], by, count * times
    return runs, pitch, count


_FEWEST_ROWS = 3


def _regular(pieces: list[StridedRange]) -> Sequence[StridedRange]:
    """The same pieces, with contiguous ones of equal size and distance as one with a stride."""
    if len(pieces) < _FEWEST_ROWS:
        return pieces
    found: list[StridedRange] = []
    at = 0
    while at < len(pieces):
        piece, rows = pieces[at], _rows_from(pieces, at)
        if rows >= _FEWEST_ROWS:
            runs, pitch = ((0, piece.stop - piece.start),), pieces[at + 1].start - piece.start
            found.append(_repeated(piece.start, runs, pitch, rows))
            at += rows
        else:
            found.append(piece)
            at += 1
    return found


def _rows_from(pieces: Sequence[StridedRange], at: int) -> int:
    """How many contiguous pieces from one on have the same size and distance."""
    start, stop, _, times, _ = pieces[at]
    if times > 1 or at + 2 >= len(pieces):
        return 1
    pitch, rows = pieces[at + 1][0] - start, 1
    while at + rows < len(pieces):
        by = rows * pitch
        if pieces[at + rows] != (start + by, stop + by, 0, 1, ()):
            break
        rows += 1
    return rows


# ----------------------------------------------------------------------------------------- copies
# How a set of bytes is cut into copies: as few as possible without moving what must not.

SMALL_GAP = 8
"""So many bytes between two ranges are sooner copied than left out: lengths, padding."""
MOST_COPIES = 16
"""More copies than this become fewer by moving what lies between them."""


def copies(wanted: Ranges, movable: Ranges) -> list[Ranges]:
    """The copies for the bytes that are wanted; others that are `movable` may go along.

    Each is one contiguous range, or it has `rows`. So the
    column of a matrix is one copy, and `copies(Ranges.of((0, 4), (8, 20)), Ranges.span(0, 20))` is
    `[Ranges.span(0, 20)]`.
    """
    if not wanted.pieces or wanted.rows:
        return [wanted] if wanted else []
    return [Ranges(*pair) for pair in in_few_ranges(wanted, movable)]


def in_few_ranges(wanted: Ranges, movable: Ranges) -> Ranges:
    """The bytes that are wanted, with gaps closed by `movable` ones: small gaps, or all if many."""
    gaps = Ranges.span(*wanted.hull) - wanted
    small = Ranges.of(*(gap for gap in gaps if gap[1] - gap[0] <= SMALL_GAP))
    joined = wanted | _coverable(small, movable)
    if len(joined) > MOST_COPIES:
        joined |= _coverable(gaps, movable)
    return joined


def _coverable(gaps: Ranges, movable: Ranges) -> Ranges:
    """Those of some ranges all of whose bytes are movable."""
    if movable.covers(gaps):
        return gaps
    return Ranges.of(*(gap for gap in gaps if movable.covers(Ranges(*gap))))
