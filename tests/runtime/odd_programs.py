"""Whole programs as users might write them, each with what it must give, computed by hand.

A program sets `result`. `PREAMBLE` stands above each of them, and `accelerator` is there.
"""

PREAMBLE = """\
import functools
import trilby as tb
from trilby import *

@tb.func
def square(v: i32) -> i32:
    return v * v

@tb.kernel
def squares(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = square(a.array[kc.x])

@tb.kernel
def add(kc: KernelContext, a: S32Array, n: i32) -> None:
    a.array[kc.x] += n

a = S32Array.of([1, 2, 3])
"""

WORKING: dict[str, tuple[str, object]] = {
    "no annotations on the host": (
        """
@tb.compute
def f(cc, a, n=2):
    cc.dispatch(a.length, add, a, n)
    return a.length
result = accelerator.compute(f, a), a.array.tolist()
""",
        (3, [3, 4, 5]),
    ),
    "kernels without buffers, and buffers that nobody touches": (
        """
@tb.kernel
def nothing(kc: KernelContext) -> None:
    pass
@tb.kernel
def ignores(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = kc.max_x
@tb.compute
def f(cc, a, b):
    cc.dispatch(3, nothing)
    cc.dispatch((2, 2), lambda kc: nothing(kc))
    cc.dispatch(b.length, ignores, a, b)
b = S32Array.of([7, 7])
accelerator.compute(f, a, b)
result = a.array.tolist(), b.array.tolist()
""",
        ([1, 2, 3], [2, 2]),
    ),
    "a kernel made without the decorator's sign": (
        """
def plain(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 9
kernel = tb.kernel(plain)
@tb.compute
def f(cc, a):
    cc.dispatch(2, kernel, a)
accelerator.compute(f, a)
result = a.array.tolist()
""",
        [9, 9, 3],
    ),
    "dispatch under another name, in helpers, generators and inner functions": (
        """
def helper(cc, a):
    cc.dispatch(a.length, lambda kc: add(kc, a, 10))
@tb.compute
def f(cc, a):
    launch = cc.dispatch
    launch(a.length, add, a, 1)
    helper(cc, a)
    list(cc.dispatch(a.length, add, a, i) for i in (100, 200))
    def inner(size):
        cc.dispatch(size, lambda kc: add(kc, a, 1000))
    inner(1)
    return [launch]
result = len(accelerator.compute(f, a)), a.array.tolist()
""",
        (1, [1312, 313, 314]),
    ),
    "a kernel inside of a compute function": (
        """
@tb.compute
def f(cc, a, by):
    @tb.kernel
    def local(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] *= by
    cc.dispatch(a.length, local, a)
accelerator.compute(f, a, 2)
accelerator.compute(f, a, 5)
result = a.array.tolist()
""",
        [10, 20, 30],
    ),
    "a buffer class inside of a function, annotations as text": (
        """
def make():
    class Local(tb.Buffer):
        count: "tb.Atomic[i32]"
        length: "i32"
        value: "tb.Array[f32]" = tb.array("length")
    @tb.kernel
    def fill(kc: "KernelContext", t: "Local", v: "f32") -> "None":
        t.value[kc.x] = v
        tb.atomic_add(t.count, 1)
    @tb.compute
    def run(cc: "ComputeContext", t: "Local") -> "int":
        cc.dispatch(t.length, fill, t, 2.5)
        return t.count
    return Local, run
Local, run = make()
t = Local.create(length=3)
result = accelerator.compute(run, t), t.value.tolist()
""",
        (3, [2.5, 2.5, 2.5]),
    ),
    "names that the device's language keeps for itself": (
        """
@tb.func
def get_value(v: i32) -> i32:
    return v + 1
@tb.kernel
def write_all(float: KernelContext, get_x: S32Array, kernel_context: i32, max_x: i32) -> None:
    int = get_value(get_x.array[float.x])
    read_only = int + kernel_context
    größe = read_only + max_x
    get_x.array[float.x] = größe
@tb.compute
def f(cc, a):
    cc.dispatch(a.length, write_all, a, 10, 100)
accelerator.compute(f, a)
result = a.array.tolist()
""",
        [112, 113, 114],
    ),
    "two kernels of one name": (
        """
def make(n):
    @tb.kernel
    def kernel(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] += n
    return kernel
one, ten = make(1), make(10)
@tb.compute
def f(cc, a):
    cc.dispatch(a.length, one, a)
    cc.dispatch(1, ten, a)
accelerator.compute(f, a)
result = a.array.tolist()
""",
        [12, 3, 4],
    ),
    "members of a class": (
        """
class Steps:
    n = 5
    @staticmethod
    @tb.kernel
    def kernel(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] += Steps.n
    @staticmethod
    @tb.compute
    def compute(cc, a):
        cc.dispatch(a.length, Steps.kernel, a)
accelerator.compute(Steps.compute, a)
accelerator.compute(lambda cc: Steps.compute(cc, a))
result = a.array.tolist()
""",
        [11, 12, 13],
    ),
    "everything that a statement can be": (
        """
counter = 0
@tb.compute
def f(cc, a):
    global counter
    counter = int(a.array[0])
    cc.dispatch(a.length, add, a, counter)
    import math
    from os import path as p
    assert a.length, "no length"
    match a.length:
        case 3: x = "three"
        case _: x = "other"
    a.array[0] += 1
    a.array[0], a.array[1] = a.array[1], a.array[0]
    try:
        raise KeyError
    except* KeyError:
        cc.dispatch(1, lambda kc: add(kc, a, 1000))
    else:
        x = "not reached"
    while True:
        cc.dispatch(a.length, squares, a); break
    for i in range(3):
        if i == 1: continue
        cc.dispatch(1, add, a, i)
    else:
        cc.dispatch(1, add, a, 1)
    del i
    return x, f"{a.length=}", (lambda v: v + 1)(1)
result = accelerator.compute(f, a), a.array.tolist()
""",
        (("three", "a.length=3", 2), [(3 + 1000) ** 2 + 0 + 2 + 1, 9, 16]),
    ),
    "local variables that are looked at": (
        """
@tb.compute
def f(cc, a):
    n = a.length
    names = sorted(locals())
    cc.dispatch(n, add, a, 1)
    return names, eval("n + 1")
result = accelerator.compute(f, a), a.array.tolist()
""",
        ((["a", "cc", "n"], 4), [2, 3, 4]),
    ),
    "a list of buffers, and a buffer that only the lambda holds": (
        """
@tb.compute
def f(cc, buffers):
    for i, one in enumerate(buffers):
        cc.dispatch(one.length, add, one, i)
    return sum(int(one.array.sum()) for one in buffers)
result = (accelerator.compute(f, [a, S32Array.of([10])]),
          accelerator.compute(lambda cc: f(cc, [S32Array.of([5]), S32Array.of([5])])))
""",
        (6 + 10 + 1, 5 + 5 + 1),
    ),
    "lambdas in a loop": (
        """
@tb.compute
def f(cc, a, n):
    cc.dispatch(a.length, add, a, n)
for n in (1, 10, 100):
    accelerator.compute(lambda cc: f(cc, a, n))
result = a.array.tolist()
""",
        [112, 113, 114],
    ),
    "threads that dispatch for one compute function": (
        """
import threading
@tb.compute
def f(cc, a):
    threads = [threading.Thread(target=lambda: cc.dispatch(3, add, a, 1)) for _ in range(5)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
accelerator.compute(f, a)
result = a.array.tolist()
""",
        [6, 7, 8],
    ),
    "decorated functions are copied and pickled by name": (
        """
import copy
result = copy.copy(add) is add, copy.deepcopy([square])[0] is square, add.__reduce__()
""",
        (True, True, "add"),
    ),
}

REFUSED: dict[str, tuple[str, str, str, str]] = {
    "the range and the kernel the wrong way round": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "cc.dispatch(add, 3, a)",
        "the range of a dispatch comes first, and the kernel second",
        "write `cc.dispatch(n, kernel, …)`",
    ),
    "a kernel that is called in place of being named": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "cc.dispatch(3, add(cc, a, 1))",
        "`add` is a kernel and cannot be called",
        "inside a compute function write `cc.dispatch(n, add, …)`",
    ),
    "arguments bound beforehand": (
        "accelerator.compute(functools.partial(f, a))",
        "pass",
        "an object of the class `partial` is not a compute function",
        "give the function and its arguments apart",
    ),
    "a function that does not exist": (
        "accelerator.compute(lambda cc: ff(cc, a))",
        "pass",
        "`ff` is not defined",
        "check spelling and imports",
    ),
    "a function in a list": (
        "accelerator.compute(lambda cc: [f][0](cc, a))",
        "pass",
        "`[f][0]` does not name a function",
        "give the function a name outside of the lambda",
    ),
    "a lambda with two parameters": (
        "accelerator.compute(lambda cc, b: f(cc, b))",
        "pass",
        "a quoted lambda has one parameter, the context, and this one has 2",
        "use other values directly in the call",
    ),
    "a length that does not match": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "a.array[:] = [1, 2]",
        "",
        "",
    ),
    "a kernel called inside a kernel": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "cc.dispatch(3, calls_kernel, a)",
        "`squares` cannot be called in a kernel",
        "only @tb.func functions can be called",
    ),
    "a kernel without a context": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "cc.dispatch(3, without_context, a)",
        "the first parameter of the kernel `without_context` is the kernel context",
        "write `def without_context(kc: KernelContext, …) -> None:`",
    ),
    "an unknown attribute on the host": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "cc.dispatch(a.lenght, squares, a)",
        "`S32Array` has no field `lenght`",
        "did you mean `length`?",
    ),
    "an unknown attribute in a kernel": (
        "accelerator.compute(lambda cc: f(cc, a))",
        "cc.dispatch(3, misspells, a)",
        "`S32Array` has no field `aray`",
        "did you mean `array`?",
    ),
    "a compute function that is a method": (
        "accelerator.compute(lambda cc: Methods.compute(cc, a))",
        "pass",
        "the compute function `compute` is a method",
        "write `@staticmethod` above `@tb.compute`",
    ),
}
"""By name: how the program computes, what the compute function does, the problem, the advice."""

REFUSED_PREAMBLE = (
    PREAMBLE
    + """
@tb.kernel
def calls_kernel(kc: KernelContext, a: S32Array) -> None:
    squares(kc, a)

@tb.kernel
def without_context(a: S32Array) -> None:
    a.array[0] = 1

@tb.kernel
def misspells(kc: KernelContext, a: S32Array) -> None:
    a.aray[kc.x] = 1

class Methods:
    @tb.compute
    def compute(self, cc, a):
        cc.dispatch(3, squares, a)
"""
)
