"""Compute functions in all the Python that people write: each must run as it is written.

A program defines `f`, the compute function, and `args`, which makes its arguments anew after
the context. `PREAMBLE` stands above each of them.
"""

PREAMBLE = '''\
import contextlib
import functools
import math
import sys
import numpy as np
from typing import Any
from trilby.data.library import F32Array, S32Array
from trilby.data.library_2d import S32Array2D
from trilby.data.buffer import Buffer
from trilby.data.markers import Atomic, array
from trilby.data.names import f32, i32
from trilby.data.ndarray import NDArray
from trilby.data.struct import Struct
from trilby.data.views import Array
from tests.codegen.compute_recorder import Recorder, compute, kernel

class Table(Buffer):
    class Result(Struct):
        x: f32
        y: f32
    count: Atomic[i32]
    length: i32
    result: Array[Result] = array("length")

@kernel
def square(kc, s32): ...
@kernel
def scale(kc, s32, by, offset=7): ...
@kernel
def life(kc, source, to): ...
@compute
def helper(cc, s32, by=2):
    cc.dispatch(s32.length, scale, s32, by)
    return by + 1

class Box:
    """An object whose attributes can be seen coming and going."""
    def __init__(self, **values): self.__dict__.update(values)
    def __repr__(self): return f"Box{self.__dict__}"
    def __eq__(self, other): return isinstance(other, Box) and vars(self) == vars(other)

seen = []
def note(value, *more):
    seen.append(value)
    return value
counter = 0
def numbers(n=8): return S32Array.of(range(n))
def grid(): return S32Array2D.of(np.arange(12, dtype=np.int32).reshape(3, 4))
'''

PROGRAMS = {
    # ----------------------------------------------------------------------------- dispatches
    "lambda": """
def f(cc, a: S32Array):
    cc.dispatch(a.length, lambda kc: square(kc, a))
args = lambda: (numbers(),)
""",
    "direct": """
def f(cc, a: S32Array):
    cc.dispatch(a.length, square, a)
args = lambda: (numbers(),)
""",
    "keywords out of order are evaluated as written": """
def f(cc, a: S32Array):
    cc.dispatch(note(4), scale, offset=note(1), by=note(2), s32=note(a))
args = lambda: (numbers(),)
""",
    "keywords and defaults in a lambda": """
def f(cc, a: S32Array):
    cc.dispatch(a.length, lambda kc: scale(kc, by=note(3), s32=a))
args = lambda: (numbers(),)
""",
    "star arguments": """
def f(cc, a: S32Array, *rest, **named):
    cc.dispatch(4, lambda kc: scale(kc, *rest))
    cc.dispatch(4, scale, a, **named)
    cc.dispatch(*(5, square, a))
args = lambda: (numbers(), numbers(), 3)
""",
    "a kernel chosen at run time": """
def f(cc, a: S32Array, flag):
    chosen = square if flag else scale
    more = () if flag else (5,)
    cc.dispatch(a.length, chosen, a, *more)
    cc.dispatch(a.length, lambda kc: chosen(kc, a, *more))
args = lambda: (numbers(), False)
""",
    "many passes": """
def f(cc, a: S32Array, n):
    cc.dispatch(note(4), scale, passes=note(n + 1), offset=note(1), by=note(2), s32=note(a))
    cc.dispatch(a.length, square, a, passes=2 * n)
    return cc.dispatch(4, lambda kc: scale(kc, a, 5), passes=note(9))
args = lambda: (numbers(), 3)
""",
    "the result of a dispatch is used": """
def f(cc, a: S32Array):
    first = cc.dispatch(4, square, a)
    return first + cc.dispatch(4, lambda kc: square(kc, a)) * 10
args = lambda: (numbers(),)
""",
    "dispatches in every corner": """
def f(cc, a: S32Array, n):
    try:
        cc.dispatch(1, lambda kc: square(kc, a))
    finally:
        cc.dispatch(2, (lambda kc: (square(kc, (a)))))
    found = [cc.dispatch(i, lambda kc: scale(kc, a, i)) for i in range(n)]
    found += [n and cc.dispatch(7, lambda kc: square(kc, a)) or 3]
    def inner(c):
        c.dispatch(8, lambda kc: square(kc, a))
    inner(cc)
    match n:
        case 3:
            cc.dispatch(
                9,  # how many
                lambda kc: scale(  # what
                    kc,
                    a,  # on what
                    by=n,
                ),
            )
    with_lambda = lambda: cc.dispatch(10, lambda kc: square(kc, a))
    with_lambda()
    return found
args = lambda: (numbers(), 3)
""",
    "a dispatch inside the range of a dispatch": """
def f(cc, a: S32Array):
    cc.dispatch(cc.dispatch(2, lambda kc: square(kc, a)), lambda kc: scale(kc, a, 1))
args = lambda: (numbers(),)
""",
    "other things can be dispatched too": """
def f(cc, bus):
    bus.dispatch("event", lambda event: event.handle)
    bus.dispatch("event", lambda a, b: a + b)
    return bus.got
class Bus:
    def __init__(self): self.got = []
    def dispatch(self, name, function): self.got.append((name, function.__code__.co_argcount))
args = lambda: (Bus(),)
""",
    "the context under another name": """
def f(cc, a: S32Array):
    other = cc
    other.dispatch(3, lambda kc: square(kc, a))
    other.dispatch(a.length, square, a)
args = lambda: (numbers(),)
""",
    "calls of compute functions": """
def f(cc, a: S32Array):
    x = helper(cc, a)
    y = helper(cc, by=note(5), s32=note(a))
    helper(cc, *[a, 9])
    return x, y, helper(cc, a, by=helper(cc, a, 1))
args = lambda: (numbers(),)
""",
    "recursion": """
@compute
def f(cc, a: S32Array, n):
    if n == 0:
        return 1
    cc.dispatch(n, lambda kc: square(kc, a))
    return n * f(cc, a, n - 1)
args = lambda: (numbers(), 4)
""",
    "an unknown keyword": """
def f(cc, a: S32Array):
    cc.dispatch(3, lambda kc: square(kc, a), passes=note(4))
args = lambda: (numbers(),)
""",
    # ----------------------------------------------------------------------- buffer accesses
    "elements and fields": """
def f(cc, a: S32Array, g: S32Array2D, t: Table):
    a.array[0] = a.array[1] + g.array[2, 3] * a.length
    g.array[1, a.array[2]] = 99
    t.count = t.count + 5
    t.result[1].x = 2.5
    t.result[2].y = t.result[1].x
    return t.result[1].x, g.height, g.width
args = lambda: (numbers(), grid(), Table.create(length=4))
""",
    "slices, rows and columns": """
def f(cc, a: S32Array, g: S32Array2D, t: Table):
    a.array[:] = 7
    a.array[1:3] = [1, 2]
    a.array[::2] = a.array[1::2]
    a.array[4:6] += 10
    g.array[:, 1] = 5
    g.array[1] = [8, 8, 8, 8]
    t.result.x[:] = 3.0
    t.result.y[1:3] += 4.0
    row = g.array[2]
    row[0] = -1
    whole = a.array
    whole[0] += 1000
    return a.array[0:3].sum(), len(a.array), list(g.array[1, :]), np.asarray(t.result.x)
args = lambda: (numbers(), grid(), Table.create(length=4))
""",
    "odd indices": """
def f(cc, a: S32Array, g: S32Array2D):
    place = (1, 2)
    g.array[place] = 77
    g.array[place] += 1
    mask = np.array([True] * 4 + [False] * 4)
    a.array[mask] = 0
    a.array[[5, 6]] = 1
    return a.array[-1], a.array[...].sum(), a.array[(3,)], g.array[place], a.array[np.int64(2)]
args = lambda: (numbers(), grid())
""",
    "structs by reference": """
def f(cc, t: Table):
    for i in range(t.length):
        r = t.result[i]
        r.x = i * 2
        r.y += r.x + 1
    t.result[0] = t.result[3]
    return [(r.x, r.y) for r in t.result]
args = lambda: (Table.create(length=4),)
""",
    "augmented elements": """
def f(cc, a: S32Array, g: S32Array2D):
    i = 0
    a.array[note(3)] += note(4)
    a.array[i] -= a.array[i + 1] * 2
    g.array[note(1), note(2)] *= helper(cc, a)
    a.array[(i := i + 1)] **= 2
    a.array[2] <<= 3
    a.array[2] |= 1
    a.array[2] ^= 3
    a.array[2] &= 0xFF
    a.array[2] >>= 1
    a.array[3] //= 2
    a.array[3] %= 3
    return i
args = lambda: (numbers(), grid())
""",
    "the old element is read before the right side runs": """
def f(cc, a: S32Array):
    @compute
    def change(cc, b):
        b.array[0] = 100
        return 1
    a.array[0] += change(cc, a)
    a.array[1] += note(a.array.fill(50) or 1)
    return a.array[0], a.array[1]
args = lambda: (numbers(),)
""",
    "elements swap": """
def f(cc, a: S32Array, g: S32Array2D):
    a.array[0], a.array[1] = a.array[1], a.array[0]
    a.array[2], g.array[0, 0], x = x = 5, a.array[2], 6
    return x
args = lambda: (numbers(), grid())
""",
    "chained assignment to elements": """
def f(cc, a: S32Array):
    x = a.array[note(2)] = y = a.array[note(3)] = note(44)
    a.array[4] = a.array[5] = x + y
    return x, y
args = lambda: (numbers(),)
""",
    "n-d arrays": """
def f(cc, x: NDArray[f32], y: "NDArray[f32]"):
    cc.dispatch(x.shape, life, x, y)
    x[0, 1] = y[1, 0] + x.shape[0] * 10 + x.shape[-1] + x.size
    row = x[1]
    row[2] = 5
    x[0] += 1
    x[...] *= 2
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
    if x[0, 0] > 1 and y[0, 0] == 0:
        total = -total
    return total, x.sum(), x.ndim, x.dtype, float(x[1, 2]), f"{x[1, 1]:.2f}"
ones = lambda: NDArray(np.ones((2, 3), np.float32))
args = lambda: (ones(), NDArray(np.arange(6, dtype=np.float32).reshape(2, 3)))
""",
    "names swap": """
def f(cc, a: S32Array, n):
    b = S32Array.create(length=a.length)
    for _ in range(n):
        cc.dispatch(a.length, lambda kc: life(kc, a, b))
        a, b = b, a
    a, b, (c, d) = b, a, (1, 2)
    a, *b = [b, a, c, d]
    return len(b)
args = lambda: (numbers(), 3)
""",
    "a ternary flip": """
def f(cc, one: S32Array, n):
    two = S32Array.of(one.array)
    for g in range(n):
        source = one if g % 2 == 0 else two
        to = two if g % 2 == 0 else one
        cc.dispatch(one.length, lambda kc: life(kc, source, to))
        to.array[0] = g
    return source.array[0], to.array[0], (one if n else two).array[1]
args = lambda: (numbers(), 3)
""",
    "a list of buffers": """
def f(cc, a: S32Array, n):
    both = [a, S32Array.create(length=4)]
    for i in range(n):
        cc.dispatch(4, life, both[i % 2], both[1 - i % 2])
        both[i % 2].array[i] += 5
    return both[1].array[1]
args = lambda: (numbers(), 2)
""",
    "an index out of bounds": """
def f(cc, a: S32Array):
    x = 1
    y = (a.array[0] +
         a.array[1] + a.array[
             99])
    return y
args = lambda: (numbers(),)
""",
    "an unknown field": """
def f(cc, a: S32Array):
    print(a.length)
    return a.lenght
args = lambda: (numbers(),)
""",
    "a length cannot be set": """
def f(cc, a: S32Array):
    a.length = note(3)
args = lambda: (numbers(),)
""",
    "a wrong annotation does no harm": """
def f(cc, a: S32Array, b: NDArray[f32]):
    b["x"] = a["array"]
    b["y", 1] = len(a)
    a = dict(a)
    a.update(z=b.shape)
    return a
class Odd(dict):
    shape = (1, 2)
args = lambda: (Odd(array=5), Odd())
""",
    "a buffer from outside": """
palette = S32Array.of([10, 20, 30])
pixels = NDArray(np.zeros((2, 2), np.float32))
def f(cc, i):
    palette.array[i] += 1
    pixels[0, i] = palette.array[i]
    cc.dispatch(palette.length, square, palette)
    return palette.array[i], pixels[0].tolist()
args = lambda: (1,)
""",
    # --------------------------------------------------------------------- order of evaluation
    "arguments from left to right": """
def f(cc, a: S32Array):
    box = Box(n=1)
    return (
        note(1), a.array[note(2)], note(box).n, a.array[note(3)] + note(4),
        [note(5), a.array[note(6)]],
        {note(7): a.array[note(0)], **{note("k"): note(8)}, "z": a.array[1]},
        "%s %s" % (note(9), a.array[note(1)]), a.array[note(1)] < note(2) < note(0) < note(5),
    )
args = lambda: (numbers(),)
""",
    "the function before its arguments": """
def f(cc, a: S32Array):
    log = []
    class Loud:
        @property
        def method(self):
            log.append(a.array[0])
            a.array[0] = 50
            return lambda *args, **kw: (args, kw)
    loud = Loud()
    x = loud.method(a.array[0], *[a.array[0]], k=a.array[0], **{"m": a.array[0]})
    return x, log
args = lambda: (numbers(),)
""",
    "a global that changes in the middle": """
def change(cc, a, value):
    global adder
    adder = lambda *v: ("new", v)
    return value
change = compute(change)
adder = lambda *v: ("old", v)
def f(cc, a: S32Array):
    global adder
    adder = lambda *v: ("old", v)
    return adder(change(cc, a, 3)), adder(a.array[1])
args = lambda: (numbers(),)
""",
    "formatting happens in turn": """
def f(cc, a: S32Array):
    class Loud:
        def __format__(self, spec):
            a.array[0] += 1
            return f"<{spec}>"
    loud = Loud()
    width = 5
    first = f"{a.array[0]} {loud:x} {a.array[0]:{width}} {loud!r:.3}"
    second = f"{a.array[1]!s:>{a.array[3]}} {{0}}", f"{loud} {helper(cc, a)} {a.array[0]}"
    return first, second, f'{"{0}"} { {0} } {a.array[2]}'
args = lambda: (numbers(),)
""",
    "short circuits": """
def f(cc, a: S32Array):
    x = a.array[0] and a.array[99]
    y = a.array[1] or a.array[99]
    z = note(0) and a.array[99] or note(5)
    w = a.array[1] if a.array[0] else a.array[2]
    v = not a.array[3] and a.array[99]
    u = a.array[0] > 1 > a.array[99]
    return x, y, z, w, v, u
args = lambda: (numbers(),)
""",
    "starred parts": """
def f(cc, a: S32Array):
    def items():
        seen.append("started")
        yield a.array[0]
        a.array[0] = 9
    listed = [*items(), a.array[0]], (*items(), note(a.array[1])), {*items(), a.array[2]}
    return listed, note(*items(), a.array[0])
args = lambda: (numbers(),)
""",
    "braces and quotes in text": """
def f(cc, a: S32Array):
    d = {"{0}": {a.array[0]}, '"': {1: {2}}}
    e = "{0} {1}".format(a.array[1], {3})
    return d, e, f"{ {'a': a.array[0]}['a'] }", '{}{{}}'.format(a.array[2]), {**{0: a.array[3]}}
args = lambda: (numbers(),)
""",
    "lambdas and comprehensions see later changes": """
def f(cc, a: S32Array, n):
    i = 1
    late = lambda: a.array[i]
    got = [late()]
    i = 2
    got.append(late())
    got += [a.array[j] + n for j in range(n) if a.array[j] % 2]
    sums = sum(a.array[k] for k in range(n))
    nested = {j: [a.array[j * k] for k in range(2)] for j in range(n)}
    return got, sums, nested, max((a.array[i], i) for i in range(n)), i
args = lambda: (numbers(), 3)
""",
    # -------------------------------------------------------------------------- control flow
    "if, elif and else": """
def f(cc, a: S32Array, n):
    for n in (n, 1, 2, 3):
        if a.array[n] == 0:
            note("zero")
        elif a.array[n] == 1:
            note("one")
            if n: pass
        elif n == 2: note("two"); note("more")
        else:
            note("other")
args = lambda: (numbers(), 0)
""",
    "while with all its parts": """
def f(cc, a: S32Array, n):
    i = 0
    while a.array[i] < n:
        i += 1
        if i == 2:
            continue
        note(i)
        if a.array[i] == 5:
            break
    else:
        note("exhausted")
    while note(i) and (i := i - 1):
        a.array[i] += 1
    else:
        note("else")
        while True:
            if i > 3: break
            i += 1
            continue
    return i
args = lambda: (numbers(), 4)
""",
    "a broken while skips else": """
def f(cc, a: S32Array):
    while a.array[note(1)]:
        break
    else:
        note("never")
    for i in range(3):
        while a.array[i] > 0:
            a.array[i] -= 1
        else:
            continue
        note("never")
args = lambda: (numbers(),)
""",
    "for with all its parts": """
def f(cc, a: S32Array, box):
    for i, (x, *y) in enumerate([(1, 2, 3), (4,)]):
        note((i, x, y))
    else:
        note("else")
    for i in a.array:
        if i == 3:
            break
    else:
        note("never")
    for box.item in a.array[1:3]:
        note(box.item)
    for a.array[0] in range(5): pass
    for i in []: note("never")
    else: note("empty")
    return i, x, y
args = lambda: (numbers(), Box())
""",
    "early returns": """
def f(cc, a: S32Array, n):
    for i in range(n):
        while True:
            if a.array[i] == 2:
                return "found", i
            break
    return None
args = lambda: (numbers(), 5)
""",
    "code that never runs": """
def f(cc, a: S32Array):
    for i in range(3):
        continue
        late = 1
    try:
        return late
    except UnboundLocalError as error:
        note(str(error))
    return i
    j = 3
    note("never")
args = lambda: (numbers(),)
""",
    "with": """
@contextlib.contextmanager
def managed(name, fail=False):
    note(("enter", name))
    try:
        yield name * 2
    except ValueError:
        note(("swallowed", name))
    finally:
        note(("exit", name))
def f(cc, a: S32Array, box):
    with managed(note("a")) as x, managed(x + "b") as (p, *q), managed("c"):
        note((x, p, q))
        raise ValueError(a.array[0])
    with (managed("d") as box.item, managed("e")):
        cc.dispatch(a.length, square, a)
    with managed("f"):
        return box.item
args = lambda: (numbers(), Box())
""",
    "exceptions": """
def f(cc, a: S32Array, n):
    for i in range(n):
        try:
            if i == 1: continue
            if i == 3: break
            a.array[90 + i]
        except IndexError as error:
            note(type(error).__name__)
        else:
            note("else")
        finally:
            note(("finally", i))
    try:
        raise ExceptionGroup("both", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        note(len(group.exceptions))
    except* KeyError:
        note("key")
    try:
        return i
    finally:
        a.array[0] = 5
args = lambda: (numbers(), 5)
""",
    "match": """
def f(cc, values):
    found = []
    for value in values:
        match value:
            case {"x": x, **rest}: found.append(("map", x, rest))
            case [first, *others]: found.append(("seq", first, others))
            case Box(n=n) as whole if n > 1: found.append(("box", n, whole))
            case str() | int() as plain: found.append(plain)
            case _: found.append("other")
    return found, x, rest, first, others, n, plain
args = lambda: ([{"x": 1, "y": 2}, [1, 2, 3], Box(n=2), "text", 5, None],)
""",
    "assert": """
def f(cc, a: S32Array):
    assert a.array[1] == 1, note("never")
    assert a.array[0], f"first is {a.array[0]}"
args = lambda: (numbers(),)
""",
    "raise": """
def f(cc, a: S32Array):
    try:
        a.array[99]
    except IndexError as error:
        raise RuntimeError(
            a.array[0],
            "text",
        ) from error
args = lambda: (numbers(),)
""",
    # ------------------------------------------------------------------------------- names
    "unbound names": """
def f(cc, a: S32Array, flag):
    if flag:
        x = a.array[0]
    note("before")
    return (
        a.array[1],
        x,
    )
args = lambda: (numbers(), False)
""",
    "a bare unbound name": """
def f(cc, flag):
    if flag:
        x = 1
    note("before")
    x
args = lambda: (False,)
""",
    "an unbound name in an augmented assignment": """
def f(cc, flag):
    if flag:
        total = 1
    total += note(2)
args = lambda: (False,)
""",
    "del": """
def f(cc, a: S32Array, n):
    b = {1: 2, 3: 4}
    c = a.array[1]
    del b[c], n
    try:
        n
    except UnboundLocalError:
        note("gone")
    n = 5
    del a
    return b, n, c, a
args = lambda: (numbers(), 1)
""",
    "only an annotation": """
def f(cc):
    counter: int
    return counter
args = lambda: ()
""",
    "annotated assignments": """
def f(cc, box, a: S32Array):
    x: int = note(1)
    (y): undefined_name = 2
    box.z: also_undefined = a.array[3]
    b: S32Array = a
    b.array[0] = x
    c: list[S32Array] = [a]
    return x, y, box, c[0].array[0]
args = lambda: (Box(), numbers())
""",
    "global": """
def f(cc, a: S32Array):
    global counter, fresh
    counter = a.array[3]
    counter += 1
    fresh = [counter, a.array[1]]
    return counter, fresh, globals()["counter"]
args = lambda: (numbers(),)
""",
    "nonlocal": """
def outer():
    total = 0
    def f(cc, a: S32Array):
        nonlocal total
        total += a.array[2]
        total = total + a.array[3]
        return total
    def look(): return total
    return f, look
f, look = outer()
args = lambda: (numbers(),)
after = lambda: look()
""",
    "inner functions that change our names": """
def f(cc, a: S32Array):
    x, y = 1, 2
    b = a
    def bump(by=a.array[3]):
        nonlocal x, b
        x += by
        b = S32Array.of([7])
        return x
    first = [x, bump(), x, a.array[1] + bump() + x, x]
    b.array[0] = 99
    x = a.array[0] + x
    class Holder:
        y = y + 1
        x = x
    return first, x, Holder.y, Holder.x, b.array[0], y
args = lambda: (numbers(),)
""",
    "a parameter changed from inside": """
def f(cc, a: S32Array, n):
    def inner():
        nonlocal n, cc
        n = n * 2
        return n
    before = n
    inner()
    cc.dispatch(n, square, a)
    return before, n
args = lambda: (numbers(), 3)
""",
    "parameters assigned": """
def f(cc, a: S32Array, n, *rest, key=3, **more):
    n = n + 1
    rest = list(rest)
    a = a.array[0]
    key, more = more, key
    cc = 5
    return n, rest, a, key, more, cc
args = lambda: (numbers(), 1, 2, 3)
""",
    "walrus": """
def f(cc, a: S32Array, n):
    if (x := a.array[n]) > 1 and (y := x + 1):
        note((x, y))
    z = (w := 5) + w * a.array[w]
    got = [v for u in range(n) if (v := u * 2)]
    a.array[(q := 1)] = q + (q := 4)
    print(t := a.array[0], t)
    return x, y, z, w, v, q, got, note((p := 3), a.array[p])
args = lambda: (numbers(), 3)
""",
    "all kinds of parameters": """
def f(cc, one, /, two: int, three=note("default"), *four, five, six=[], **seven):
    six.append(one)
    return one, two, three, four, five, six, seven
args = lambda: (1, 2, 3, 4, 5)
kwargs = lambda: {"five": 6, "eight": 9}
""",
    "missing arguments": """
def f(cc, one, *, two): return one
args = lambda: (1,)
""",
    "locals and friends": """
def f(cc, a: S32Array, n):
    x = a.array[1]
    cc.dispatch(a.length, lambda kc: square(kc, a))
    for i in range(2):
        y = a.array[i] + a.array[i]
    names = sorted(locals())
    name = sys._getframe().f_code.co_name
    return names, eval("x + n"), "{x} {y}".format(**vars()), sorted(dir()), name
args = lambda: (numbers(), 2)
""",
    "globals are read when it runs": """
level = 1
def set_level(value):
    global level
    level = value
def f(cc):
    before = level
    set_level(before + 1)
    return before, level
args = lambda: ()
""",
    "closures": """
def make(start, box):
    late = None
    def f(cc, a: S32Array):
        box.n += a.array[start]
        return box, late, start, [late for _ in range(2)]
    late = "set later"
    return f
f = make(2, Box(n=1))
args = lambda: (numbers(),)
""",
    "a closure that is empty": """
def make():
    def f(cc):
        note(1)
        return later
    return f
    later = 1
f = make()
args = lambda: ()
""",
    "a method with private names": """
class Owner:
    __secret = 5
    def __init__(self): self.__value = 2
    def f(cc, self, a: S32Array, __x=3):
        __y = __x + a.array[1]
        self.__value += __y
        self.__new = Owner.__secret
        def inner(): return self.__value + __y
        return vars(self), inner(), __class__.__name__
f = Owner.f
args = lambda: (Owner(), numbers())
""",
    "super": """
class Base:
    def greet(self, a): return ("base", a)
class context(Base, Recorder):
    def greet(self, a):
        return "child"
    def f(cc, a: S32Array):
        cc.dispatch(3, lambda kc: square(kc, a))
        return super().greet(a.array[2]), [super(context, cc).greet(a.array[1]), __class__]
f = context.f
args = lambda: (numbers(),)
""",
    "imports": """
def f(cc, a: S32Array):
    import os.path
    import math as m, json
    from functools import reduce, partial as p
    return m.floor(a.array[3]), os.path.sep, reduce(max, [1, a.array[2]]), json.dumps([1]), p
args = lambda: (numbers(),)
""",
    "inner definitions": """
def f(cc, a: S32Array):
    @functools.lru_cache(
        maxsize=a.array[3],
    )
    def inner(x, y=a.array[1], *z, k: int = 2) -> int:
        '''text
    of several lines'''
        return x + y + k + a.array[0]
    class Inner(Box, metaclass=type):
        value = a.array[2]
        def method(self): return self.value
    async def later(): return await other()
    def generated(): yield from [1, a.array[2]]
    return (inner(1), inner.__doc__, inner.__qualname__, inner.cache_info().maxsize,
            Inner().method(), Inner.__qualname__, list(generated()), later.__name__)
args = lambda: (numbers(),)
""",
    "docstring": """
def f(cc):
    '''What it does.'''
    'another text'
    ...
    5
    return f.__doc__
args = lambda: ()
""",
    "nothing": """
def f(cc):
    pass
args = lambda: ()
""",
    "only a docstring": """
def f(cc):
    'text'
args = lambda: ()
""",
    # -------------------------------------------------------------------------- odd layout
    "everything on one line": """
def f(cc, a: S32Array): x = a.array[1]; cc.dispatch(x, lambda kc: square(kc, a)); return x
args = lambda: (numbers(),)
""",
    "continuation lines": """
def f(cc, a: S32Array):
    x = a.array[1] + \\
        a.array[2]; y = (
      x +
  a.array[3]
    )
    if (a.array[0] == 0 and
            x):
        text = '''one
  two {a.array[0]}
''' + f'''
    {a.array[
        1]}
  {x}'''
    return x, y, text, note(
        1/x if x else
        2, *
        [a.array[4]]
    )
args = lambda: (numbers(),)
""",
    "letters beyond ASCII": """
def f(cc, größe: S32Array, n):
    "prüft ½"
    x = "äöü½" + str(größe.array[1]) + "½"; cc.dispatch(3, lambda kc: square(kc, größe)); y = "½"
    print("äöü", größe.array[2], "ü½"[größe.array[0]])
    return x, y, größe.array[n]
args = lambda: (numbers(), 99)
""",
    "tabs": """
def f(cc, a: S32Array):
\tfor i in range(2):
\t\ttry:
\t\t\tcc.dispatch(i, lambda kc: square(kc, a))
\t\t\tif i:
\t\t\t\traise ValueError(i)
\t\tfinally:
\t\t\tnote(i)
args = lambda: (numbers(),)
""",
    "comments between": """
def f(cc, a: S32Array):
    # first
    x = (  # open
        a.array[1]  # one
        # nothing
        + a.array[2]  # two
    )  # close
    try:  # try
        # inside
        y = x
    # dedented
    except ValueError:
        pass
    return x, y  # end
args = lambda: (numbers(),)
""",
    "an error in the middle of a long expression": """
def f(cc, a: S32Array):
    return note(
        a.array[0],
        a.array[1]
        / 0,
    )
args = lambda: (numbers(),)
""",
    "an error inside an opaque statement": """
def f(cc, a: S32Array):
    try:
        cc.dispatch(3, lambda kc: square(
            kc, a))
        x = 1

        y = [
            1 / (k - 2)
            for k in range(5)
        ]
    finally:
        note("end")
args = lambda: (numbers(),)
""",
    "an error in a dispatch": """
def f(cc, a: S32Array):
    cc.dispatch(
        a.length,
        scale,
        a,
        1 // 0,
    )
args = lambda: (numbers(),)
""",
    "an error raised by the context": """
def f(cc, a: S32Array):
    x = 1
    cc.dispatch(
        -1,
        lambda kc: square(kc, a),
    )
args = lambda: (numbers(),)
""",
    "an error raised by a compute function": """
@compute
def broken(cc, a):
    raise LookupError("broken")
def f(cc, a: S32Array):
    note(1)
    note(2); broken(
        cc,
        a)
args = lambda: (numbers(),)
""",
    "an error when leaving with": """
class Bad:
    def __enter__(self): return self
    def __exit__(self, *_): raise KeyError("exit")
def f(cc):
    with Bad():
        note(1)
        note(2)
args = lambda: ()
""",
    "an error when iterating": """
def broken():
    yield 1
    raise KeyError("next")
def f(cc):
    for i in broken():
        note(i)
        note(2)
args = lambda: ()
""",
    "an error in the test of a loop": """
def f(cc, a: S32Array):
    i = 5
    while (a.array[i]
           > 0):
        i += 1
args = lambda: (numbers(),)
""",
    "an error in unpacking": """
def f(cc, a: S32Array):
    x, y = a.array[0:2]
    note((x, y))
    x, y = (
        a.array[0:3])
args = lambda: (numbers(),)
""",
}
