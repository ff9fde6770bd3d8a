"""The trace event format as a JSON schema, written from its specification.

"Trace Event Format", by Nat Duca and Dean Sinclair: the JSON object format, and of its events the
complete ones (X), asynchronous ones (b, n, e), flows (s, t, f) and metadata (M). Nothing that the
specification does not name is allowed, apart from the contents of `args` and `otherData`.
"""

from typing import Any

from jsonschema import Draft202012Validator

_COMMON: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1},
    "cat": {"type": "string", "minLength": 1},
    "ts": {"type": "number", "minimum": 0},
    "pid": {"type": "integer", "minimum": 0},
    "tid": {"type": "integer", "minimum": 0},
    "args": {"type": "object"},
}
_ID = {"type": "string", "minLength": 1}


def _event(phases: list[str], required: list[str], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**_COMMON, "ph": {"enum": phases}, **more},
        "required": ["ph", "name", "ts", "pid", "tid", *required],
        "additionalProperties": False,
    }


COMPLETE = _event(["X"], ["cat", "dur"], dur={"type": "number", "minimum": 0})
ASYNCHRONOUS = _event(["b", "n", "e"], ["cat", "id"], id=_ID)
FLOW = _event(["s", "t"], ["cat", "id"], id=_ID)
FLOW_END = _event(["f"], ["cat", "id"], id=_ID, bp={"const": "e"})
METADATA = _event(
    ["M"],
    ["args"],
    name={
        "enum": [
            "process_name",
            "process_labels",
            "process_sort_index",
            "thread_name",
            "thread_sort_index",
        ]
    },
    args={
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "traceEvents": {
            "type": "array",
            "items": {"oneOf": [COMPLETE, ASYNCHRONOUS, FLOW, FLOW_END, METADATA]},
        },
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
    },
    "required": ["traceEvents"],
    "additionalProperties": False,
}


def check_trace(trace: object) -> None:
    """Raise where a trace does not keep to the format."""
    Draft202012Validator(SCHEMA).validate(trace)  # pyright: ignore[reportUnknownMemberType] -- its types are not known
