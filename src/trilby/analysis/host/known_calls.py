"""What well-known functions and methods do with the buffers they are given.

Only texts are known here, so a name is taken for what it usually stands for. Where a program
gave it another meaning, data is copied later than it could be, and never wrongly: the run time
sees every access.
"""

OURS = frozenset({"NDRange"})
"""Classes of Trilby that do not look at data; their module may go by any name."""

CLASSES = OURS | {
    *("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"),
}
"""Classes of this package that host code calls by their names."""

MODULES = {
    "np": "numpy",
    "numpy": "numpy",
    "math": "math",
    "statistics": "statistics",
    "tb": "trilby",
    "trilby": "trilby",
}
"""What is taken for a module by its name."""

NOTHING = frozenset({"len", "id", "type", "isinstance", "hasattr", "callable", "hash", "range"})
"""Functions that do not look at data."""

PASSING = frozenset(
    {
        "list",
        "tuple",
        "enumerate",
        "zip",
        "reversed",
        "iter",
        "next",
        "sorted",
        "set",
        "frozenset",
        "dict",
    }
)
"""Functions that read and never write, and whose result has inside what they are given."""

READING = PASSING | {
    "print",
    "str",
    "repr",
    "format",
    "sum",
    "min",
    "max",
    "any",
    "all",
    "float",
    "int",
    "bool",
    "abs",
    "round",
    "map",
    "filter",
    "bytes",
    "divmod",
    "pow",
}
"""Functions that read and never write."""

HARMLESS = NOTHING | CLASSES | READING - {"print", "next", "map", "filter"}
"""Functions that leave no trace and call nothing that they are given."""

MAKING = NOTHING | READING - {"next", "iter", "min", "max", "sum"}
"""Functions whose result is new: the others may give one of the objects that they are given."""

FLUENT_METHODS = frozenset({"put", "get", "explicit", "dispatch"})
"""Methods of the compute context that give it back, or a block of it."""

CONTEXT_METHODS = FLUENT_METHODS | {"field", "array"}
"""Methods of the compute context, and of its accelerator, whose effects the run time knows."""

LOOKING_METHODS = frozenset({"items", "keys", "values"})
"""Methods that leave no trace, whatever their object is."""

READING_MODULES = frozenset({"math", "statistics"})
"""Modules whose functions only read; those of NumPy also write what their signatures say."""

MAKERS = frozenset({"of", "create", "bind"})
"""Class methods that make a new buffer from what they are given."""

METADATA = frozenset({"shape", "dtype", "ndim", "size", "nbytes", "element", "layout"})
"""Attributes that are no data."""

READING_METHODS = frozenset(
    {
        "sum",
        "mean",
        "min",
        "max",
        "any",
        "all",
        "copy",
        "astype",
        "reshape",
        "tolist",
        "tobytes",
        "item",
        "std",
        "var",
        "prod",
        "argmin",
        "argmax",
        "__array__",
        "__len__",
    }
)
"""Methods of buffers and views that read, and give something of their own."""

CONTAINER_METHODS = LOOKING_METHODS | {
    "append",
    "appendleft",
    "extend",
    "insert",
    "pop",
    "popleft",
    "popitem",
    "get",
    "setdefault",
    "update",
    "reverse",
    "rotate",
    "clear",
    "add",
    "discard",
    "index",
}
"""Methods of lists, dictionaries and sets: they pass buffers on and do not look at them."""
