"""What texts do with the buffers they are given."""

import pytest

from trilby.data.dtypes import F32, I32
from trilby.data.library import S32Array
from trilby.data.schema import ArrayType, BufferType, Field, NDArrayType
from trilby.model.ops.host import HostRun, HostValue
from trilby.model.value import OBJECT, Value
from trilby.transform.host_effects import (
    HeldObject,
    ObjectKind,
    Root,
    TextEffects,
    text_effects,
    tree_of,
)

TABLE = BufferType(
    "Table", (Field("count", I32), Field("xs", ArrayType(F32, ("n",))), Field("n", I32))
)

KNOWN: dict[Root, HeldObject] = {
    "a": HeldObject(ObjectKind.DATA, S32Array.__schema__),
    "b": HeldObject(ObjectKind.DATA, S32Array.__schema__),
    "t": HeldObject(ObjectKind.DATA, TABLE),
    "x": HeldObject(ObjectKind.DATA, NDArrayType(F32, 2)),
    "v": HeldObject(ObjectKind.VIEW),
    "o": HeldObject(ObjectKind.OBJECT),
    "bufs": HeldObject(ObjectKind.CONTAINER),
    0: HeldObject(ObjectKind.VIEW),
}


def effects_of(code: str) -> TextEffects:
    return text_effects(tree_of(HostValue((Value(OBJECT),), code, ())), KNOWN)


EXPRESSIONS = [
    # text, reads, writes, what its value may lead to
    ("n + 1", "", "", ""),
    ("a", "", "", "a"),
    ("a.array", "", "", "a"),
    ("a.length", "", "", ""),
    ("x.shape[0] * x.ndim", "", "", ""),
    ("len(a.array)", "", "", ""),
    ("isinstance(o, list)", "", "", ""),
    ("a.array[0]", "a", "", ""),
    ("a.array[1:n]", "", "", "a"),
    ("a.array[1:n] + 1", "a", "", ""),
    ("a.array[b.array[0]]", "b a", "", ""),
    ("t.count", "t", "", ""),
    ("t.n", "", "", ""),
    ("x[0, 1] == 3", "x", "", ""),
    ("a if n else b", "", "", "a b"),
    ("a if x else b", "x", "", "a b"),
    ("o or a", "", "", "o a"),
    ("v or a", "v", "", "v a"),
    ("a is None", "", "", ""),
    ("a is not b", "", "", ""),
    ("v == 3", "v", "", ""),
    ("3 in v", "v", "", ""),
    ("-v", "v", "", ""),
    ("f'{v:.2f} {n}'", "v", "", ""),
    ("[a, b]", "", "", "a b"),
    ("{'one': a, **o}", "", "", "a o"),
    ("(c := a)", "", "", "a"),
    ("bufs[i % 2]", "", "", "bufs"),
    ("bufs + [a]", "", "", "bufs a"),
    ("bufs.append(a)", "", "", "bufs a"),
    ("bufs[0].array[1] > 2", "bufs", "", ""),
    ("v.sum()", "v", "", ""),
    ("v.fill(0)", "", "v", "v"),
    ("v.raw()", "", "v", "v"),
    ("o.frobnicate()", "", "o", "o"),
    ("print(a.array, n)", "a", "", ""),
    ("enumerate(v)", "v", "", "v"),
    ("np.sum(v)", "v", "", ""),
    ("np.add(v, 1, out=o)", "v", "o", "o"),
    ("np.add(v, 1, o)", "v", "o", "o"),
    ("np.add(v, 1, v)", "", "v", "v"),
    ("np.add(v, 1, where=o)", "v o", "", ""),
    ('np.add(v, 1, **{"out": o})', "", "v o", "v o"),
    ("np.add(*bufs, o)", "", "bufs o", "bufs o"),
    ("np.divmod(v, 2, a.array, o)", "v", "a o", "a o"),
    ("np.cumsum(v, 0, None, o)", "v", "o", "o"),
    ("np.put_along_axis(v, o, 1, 0)", "o", "v", "v"),
    ("np.put_along_axis(axis=0, values=v, indices=n, arr=o)", "v", "o", "o"),
    ('np.copyto(v, 0, "same_kind", o)', "o", "v", "v"),
    ("np.nan_to_num(v, False)", "", "v", "v"),
    ("np.nan_to_num(v)", "v", "", ""),
    ("np.median(v, overwrite_input=True)", "", "v", "v"),
    ("np.apply_along_axis(n, 0, v)", "", "v", "v"),
    ("np.fromiter(v, int)", "", "v", "v"),
    ("np.random.shuffle(v)", "", "v", "v"),
    ("np.no_such_function(v)", "", "v", "v"),
    ("np.copyto(v, 0)", "", "v", "v"),
    ("S32Array.of(v)", "v", "", ""),
    ("display(a, n)", "", "a", "a"),
    ("display(a.length)", "", "", ""),
    ("display(*bufs)", "", "bufs", "bufs"),
    ("display(show=b)", "", "b", "b"),
    ("o(a)", "", "o a", "o a"),
    ("lambda: a.array[0]", "", "", ""),
    ("[e + 1 for e in v]", "v", "", ""),
    ("[e for e in a.array]", "a", "", ""),
    ("[f(c) for c in bufs if c]", "", "bufs", "bufs"),
    ("{k: c for k, c in o}", "", "", "o"),
    ("1:n", "", "", ""),
    ("1:v", "v", "", ""),
    ("{0}.sum() + n", "0", "", ""),
    ("{0}[1:]", "", "", "0"),
    ("{0} += {1}", "", "0", "0"),
]


@pytest.mark.parametrize(("code", "reads", "writes", "gives"), EXPRESSIONS)
def test_expressions(code: str, reads: str, writes: str, gives: str) -> None:
    found = effects_of(code)
    assert [*map(str, found.reads)] == reads.split()
    assert [*map(str, found.writes)] == writes.split()
    assert [*map(str, found.gives.roots)] == gives.split()


STATEMENTS = [
    # text, reads, writes, the names that stand for something new
    ("y = 1", "", "", ""),
    ("y = a", "", "", "y"),
    ("y, z = a, b", "", "", "y z"),
    ("y: object = a", "", "", "y"),
    ("v[0] = 1", "", "v", ""),
    ("a.array[0] = v", "v", "a", ""),
    ("t.count = 3", "", "t", ""),
    ("a.array[0] += v", "v", "a", ""),
    ("v += 1", "", "v", ""),
    ("bufs[0] = a", "", "", "bufs"),
    ("del bufs[0]", "", "", ""),
    ("for e in v:\n    print(e)", "v", "", "e"),
    ("for c in [a, b]:\n    f(c)", "", "a b", "c"),
    ("if v:\n    a.array[0] = 1\nelse:\n    f(b)", "v", "a b", ""),
    ("while x:\n    break", "x", "", ""),
    ("try:\n    f(a)\nexcept ValueError:\n    f(b)\nfinally:\n    v[0] = 1", "", "a b v", ""),
    ("with open(p) as file:\n    file.write(v)", "", "v", ""),
    ("match n:\n    case 3:\n        f(a)", "", "a", ""),
    ("def inner():\n    f(a)", "", "", ""),
    ("p = q\nfor i in r:\n    f(p)\n    p = a", "", "a", "p"),
    ("assert v, a.array[0]", "v a", "", ""),
    ("raise Problem(a)", "", "a", ""),
]


@pytest.mark.parametrize(("code", "reads", "writes", "sets"), STATEMENTS)
def test_statements(code: str, reads: str, writes: str, sets: str) -> None:
    found = text_effects(tree_of(HostRun(code, (), ())), KNOWN)
    assert [*map(str, found.reads)] == reads.split()
    assert [*map(str, found.writes)] == writes.split()
    assert list(found.sets) == sets.split()


def test_a_list_is_known_to_be_none_of_the_buffers_it_holds() -> None:
    assert effects_of("[a, b]").gives.kind is ObjectKind.CONTAINER
    assert effects_of("[a, b][0]").gives.kind is ObjectKind.OBJECT
    assert effects_of("a if n else b").gives == HeldObject(
        ObjectKind.DATA, S32Array.__schema__, ("a", "b")
    )
    assert effects_of("a if n else t").gives == HeldObject(ObjectKind.DATA, None, ("a", "t"))
    assert effects_of("a if n else o").gives.kind is ObjectKind.OBJECT
