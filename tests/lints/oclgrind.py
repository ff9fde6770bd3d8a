"""Oclgrind as a judge of kernels: runs the generated OpenCL in a simulator that watches.

`oclgrind-kernel` reads a file that names the kernel, its range and its arguments.
"""

import shutil
import subprocess
from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
from tests.lints.cases import Case, Sees

from trilby.backend.group_size import rounded_up
from trilby.codegen.opencl_c import generate
from trilby.data.dtypes import ScalarType, Type
from trilby.data.layout import layout
from trilby.data.ndrange import NDRange, as_range
from trilby.data.schema import ArrayType, BufferType, NDArrayType, sizes_of
from trilby.runtime.compile import analyse_kernel

PROGRAM = shutil.which("oclgrind-kernel")

MESSAGES: dict[str, Sees] = {
    "data race": "race",
    "Invalid read": "bounds",
    "Invalid write": "bounds",
    "divergence": "divergence",
}


def judged(case: Case, folder: Path) -> set[Sees]:
    """What Oclgrind says of a kernel in the launch that is meant."""
    assert PROGRAM is not None
    log = folder / "log.txt"
    sim = _written(case, folder)
    subprocess.run(
        [PROGRAM, "--data-races", "--log", str(log), str(sim)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    text = log.read_text() if log.exists() else ""
    return {sees for message, sees in MESSAGES.items() if message in text}


def _written(case: Case, folder: Path) -> Path:
    graph = analyse_kernel(case.kernel).graph
    generated = generate(graph, lines=False)
    (folder / "kernel.cl").write_text(generated.text)
    ndrange = as_range(case.range)
    local = NDRange(ndrange.local or (1,) * len(ndrange.size))
    whole = NDRange(rounded_up(ndrange, local.size))
    lines = [
        "kernel.cl",
        generated.entry,
        " ".join(map(str, whole.padded)),
        " ".join(map(str, local.padded)),
        *(
            text
            for param in graph.entry.params[1:]
            for text in _given(case, param.hint, param.type)
        ),
        *(_number(size, np.dtype(np.int32)) for size in ndrange.padded),
        *([_number(0, np.dtype(np.int32))] if generated.takes_pass else []),
    ]
    sim = folder / "kernel.sim"
    sim.write_text("\n".join(lines) + "\n")
    return sim


def _given(case: Case, name: str, type_: Type) -> Iterator[str]:
    given = case.arguments.get(name, 1)
    if isinstance(type_, ScalarType):
        assert isinstance(given, int)
        yield _number(given, type_.numpy)
    elif isinstance(type_, NDArrayType):
        assert isinstance(given, tuple)
        yield _bytes(bytes(prod(given) * type_.element.size))
        yield from (_number(n, np.dtype(np.int32)) for n in given)
    elif isinstance(type_, BufferType):
        sizes = [len(given)] if isinstance(given, list) else given
        counts = [sizes] if isinstance(sizes, int) else sizes
        lengths = dict(zip(sizes_of(type_), counts, strict=True))
        yield _bytes(_buffer(type_, given, lengths))
        yield from (_number(lengths[name], kind.numpy) for name, kind in sizes_of(type_).items())


def _buffer(
    type_: BufferType, given: int | tuple[int, ...] | list[int], lengths: dict[str, int]
) -> bytes:
    """A buffer of zeros of that length, or with that content."""
    places = layout(type_, lengths)
    content = bytearray(places.size)
    for name, length in lengths.items():
        start = places.slots[name].offset
        content[start : start + 4] = length.to_bytes(4, "little")
    if isinstance(given, list):
        slot = next(s for s in places.slots.values() if isinstance(s.type, ArrayType))
        assert isinstance(slot.type, ArrayType)
        assert isinstance(slot.type.element, ScalarType)
        data = np.array(given, slot.type.element.numpy).tobytes()
        content[slot.offset : slot.offset + len(data)] = data
    return bytes(content)


def _bytes(content: bytes) -> str:
    return f"<size={len(content)} uchar hex>\n" + " ".join(f"{byte:02x}" for byte in content)


def _number(value: int, dtype: "np.dtype[np.generic]") -> str:
    return _bytes(np.array([value], dtype).tobytes())
