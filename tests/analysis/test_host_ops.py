"""Which buffers pieces of host code read, and which they may write."""

from pathlib import Path

import pytest
from tests.codegen.compute_programs import PREAMBLE
from tests.codegen.compute_recorder import compute as as_compute
from tests.codegen.compute_running import load

from trilby.analysis.host.host_ops import HostOps
from trilby.model.op import walk
from trilby.reflect.host_functions import reflect_compute

HEAD = """
def f(cc, a: S32Array, b: S32Array, c: S32Array, n):
    v = b.array
    bufs = [c]
"""


def touched(folder: Path, code: str) -> tuple[str, str]:
    """The buffers that a statement only reads, and those that it may write."""
    body = "\n".join(f"    {line}" for line in code.splitlines())
    func = reflect_compute(as_compute(load(folder, f"{PREAMBLE}{HEAD}{body}\n").f)).func
    _, effects = HostOps.of(func).anywhere()
    reads: set[str] = set()
    writes: set[str] = set()
    for op in walk(func.body):
        for touch in effects[op].touches:
            names = [thing.name for thing in touch.seen.things if thing.kind == "parameter"]
            (writes if touch.writes else reads).update(names)
    return " ".join(sorted(reads - writes)), " ".join(sorted(writes))


TOUCHED = [
    # code, what is only read, what may be written
    ("n + 1", "", ""),
    ("a", "", ""),
    ("a.array", "", ""),
    ("a.length", "", ""),
    ("len(a.array)", "", ""),
    ("isinstance(a, list)", "", ""),
    ("a.array[0]", "a", ""),
    ("x = a.array[1:n]", "", ""),
    ("a.array[1:n] + 1", "a", ""),
    ("a.array[b.array[0]]", "a b", ""),
    ("x = a if n else b", "", ""),
    ("x = a if v else c", "b", ""),
    ("x = v or a", "b", ""),
    ("a is None", "", ""),
    ("a is not b", "", ""),
    ("v == 3", "b", ""),
    ("3 in v", "b", ""),
    ("-v", "b", ""),
    ("f'{v:.2f} {n}'", "b", ""),
    ("x = [a, b]", "", ""),
    ("x = {'one': a, **n}", "", ""),
    ("bufs[n % 2]", "", ""),
    ("x = bufs + [a]", "", ""),
    ("bufs.append(a)", "", ""),
    ("bufs[0].array[1] > 2", "c", ""),
    ("v.sum()", "b", ""),
    ("v.fill(0)", "", "b"),
    ("v.raw()", "", "b"),
    ("print(a.array, n)", "a", ""),
    ("enumerate(v)", "b", ""),
    ("np.sum(v)", "b", ""),
    ("np.add(v, 1, out=a.array)", "b", "a"),
    ("np.add(v, 1, v)", "", "b"),
    ("np.add(v, 1, where=a.array)", "a b", ""),
    ('np.add(v, 1, **{"out": a.array})', "", "a b"),
    ("np.divmod(v, 2, a.array, n)", "b", "a"),
    ("np.put_along_axis(v, a.array, 1, 0)", "a", "b"),
    ("np.put_along_axis(axis=0, values=v, indices=n, arr=a.array)", "b", "a"),
    ("np.nan_to_num(v, False)", "", "b"),
    ("np.nan_to_num(v)", "b", ""),
    ("np.median(v, overwrite_input=True)", "", "b"),
    ("np.apply_along_axis(n, 0, v)", "", "b"),
    ("np.random.shuffle(v)", "", "b"),
    ("np.no_such_function(v)", "", "b"),
    ("S32Array.of(v)", "b", ""),
    ("note(a, n)", "", "a"),
    ("note(a.length)", "", ""),
    ("note(*bufs)", "", "c"),
    ("note(show=b)", "", "b"),
    ("n(a)", "", "a"),
    ("x = lambda: a.array[0]", "", ""),
    ("[e + 1 for e in v]", "b", ""),
    ("[e for e in a.array]", "a", ""),
    ("[note(c) for c in bufs]", "", "c"),
    ("a.array[0] = 1", "", "a"),
    ("v[0] = n", "", "b"),
    ("v[a.array[0]] = n", "a", "b"),
    ("v += a.array", "a", "b"),
    ("x = bufs[0]\nx.array[1] = 2", "", "c"),
    ("bufs.append(a)\nx = bufs.pop()\nnote(x)", "", "a c"),
    ("for e in a.array:\n    note(e)", "a", ""),
    ("for e in bufs:\n    note(e)", "", "c"),
    ("for i, e in enumerate(bufs):\n    note(e)", "", "c"),
    ("while n:\n    x = bufs[0]\n    bufs[0] = a\nnote(x)", "", "a c"),
    ("try:\n    x = a\nfinally:\n    x.array[0] = 1", "", "a"),
    ("for e, i in zip(bufs, [a]):\n    note(e, i)", "", "a c"),
    ("with n as m:\n    note(m)", "", ""),
    ("if v[:2]:\n    pass", "b", ""),
    ("assert v[0], note(a)", "b", "a"),
    ("del v", "", ""),
    ("def g():\n    return a.array[0]\nnote(g)", "", "a"),
]


@pytest.mark.parametrize(("code", "reads", "writes"), TOUCHED)
def test_what_is_touched(code: str, reads: str, writes: str, tmp_path: Path) -> None:
    assert touched(tmp_path, code) == (reads, writes)
