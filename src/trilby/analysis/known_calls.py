"""What well-known functions and methods do with the buffers they are given.

Only texts are known here, so a name is taken for what it usually stands for. Where a program
gave it another meaning, data is copied later than it could be, and never wrongly: the run time
sees every access.
"""

OURS = frozenset({"NDRange"})
"""Classes of Trilby that do not look at data; their module may go by any name."""

NOTHING = frozenset({"len", "id", "type", "isinstance", "hasattr", "callable", "hash", "range"})
"""Functions that do not look at data."""

READING = frozenset(
    {
        "print",
        "str",
        "repr",
        "format",
        "list",
        "tuple",
        "sum",
        "min",
        "max",
        "any",
        "all",
        "sorted",
        "float",
        "int",
        "bool",
        "abs",
        "round",
        "enumerate",
        "zip",
        "reversed",
        "iter",
        "next",
        "map",
        "filter",
        "set",
        "frozenset",
        "dict",
        "bytes",
        "divmod",
        "pow",
    }
)
"""Functions that read and never write."""

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
"""Functions among these whose result has inside what they are given."""

READING_MODULES = frozenset({"np", "numpy", "math", "statistics"})
"""Modules whose functions read, unless they are told where to put the result."""

WRITING_FUNCTIONS = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle"})
"""Functions of those modules that write nevertheless."""

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

CONTAINER_METHODS = frozenset(
    {
        "append",
        "appendleft",
        "extend",
        "insert",
        "pop",
        "popleft",
        "popitem",
        "get",
        "items",
        "keys",
        "values",
        "setdefault",
        "update",
        "reverse",
        "rotate",
        "clear",
        "add",
        "discard",
        "index",
    }
)
"""Methods of lists, dictionaries and sets: they pass buffers on and do not look at them."""
