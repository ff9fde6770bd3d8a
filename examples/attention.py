"""Attention as in a language model, without ever storing who attends to whom.

The plain way writes a table of scores as large as the square of the text, and reads it again. The
flash way goes through keys and values in tiles that fit into local memory, and keeps for each
query a running maximum, a running sum and a weighted mean, corrected whenever the maximum grows.
Both are compared with NumPy's softmax in double precision.
"""

import argparse
import math
import time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from terminal.bars import watched

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, NDRange, f32

Floats: TypeAlias = npt.NDArray[np.float32]

WIDTH = 64
"""Numbers in a query, a key or a value."""
TILE = 32
"""Keys in local memory, and queries in a group."""


@tb.kernel
def score(kc: KernelContext, q: NDArray[f32], k: NDArray[f32], scores: NDArray[f32]) -> None:
    """How much one query asks for one key."""
    total: f32 = 0.0
    for i in range(WIDTH):
        total += q[kc.z, kc.y, i] * k[kc.z, kc.x, i]
    scores[kc.z, kc.y, kc.x] = total / f32(math.sqrt(WIDTH))


@tb.kernel
def soften(kc: KernelContext, scores: NDArray[f32]) -> None:
    """Make a row of scores positive, with the sum 1."""
    largest = scores[kc.y, kc.x, 0]
    for i in range(1, scores.shape[2]):
        largest = max(largest, scores[kc.y, kc.x, i])
    total: f32 = 0.0
    for i in range(scores.shape[2]):
        weight = math.exp(scores[kc.y, kc.x, i] - largest)
        scores[kc.y, kc.x, i] = weight
        total += weight
    for i in range(scores.shape[2]):
        scores[kc.y, kc.x, i] /= total


@tb.kernel
def mean(kc: KernelContext, scores: NDArray[f32], v: NDArray[f32], out: NDArray[f32]) -> None:
    total: f32 = 0.0
    for i in range(v.shape[1]):
        total += scores[kc.z, kc.y, i] * v[kc.z, i, kc.x]
    out[kc.z, kc.y, kc.x] = total


@tb.kernel
def flash(
    kc: KernelContext, q: NDArray[f32], k: NDArray[f32], v: NDArray[f32], out: NDArray[f32]
) -> None:
    keys = tb.local(f32, TILE, WIDTH)
    values = tb.local(f32, TILE, WIDTH)
    query = tb.private(f32, WIDTH)
    mixed = tb.private(f32, WIDTH)
    for i in range(WIDTH):
        query[i] = q[kc.y, kc.x, i] / f32(math.sqrt(WIDTH))
        mixed[i] = 0.0
    largest, total = f32(-1e30), f32(0.0)
    for start in range(0, k.shape[1], TILE):
        for i in range(WIDTH):
            keys[kc.local_x, i] = k[kc.y, start + kc.local_x, i]
            values[kc.local_x, i] = v[kc.y, start + kc.local_x, i]
        kc.barrier("local")
        for j in range(TILE):
            asked: f32 = 0.0
            for i in range(WIDTH):
                asked += query[i] * keys[j, i]
            now = max(largest, asked)
            shrink, weight = math.exp(largest - now), math.exp(asked - now)
            total = total * shrink + weight
            for i in range(WIDTH):
                mixed[i] = mixed[i] * shrink + weight * values[j, i]
            largest = now
        kc.barrier("local")
    for i in range(WIDTH):
        out[kc.y, kc.x, i] = mixed[i] / total


class Heads(NamedTuple):
    """Queries, keys and values: heads × tokens × numbers."""

    q: NDArray[f32]
    k: NDArray[f32]
    v: NDArray[f32]


@tb.compute
def attend_plainly(
    cc: ComputeContext, heads: Heads, scores: NDArray[f32], out: NDArray[f32]
) -> None:
    count, tokens, width = out.shape
    cc.dispatch((tokens, tokens, count), score, heads.q, heads.k, scores)
    cc.dispatch((tokens, count), soften, scores)
    cc.dispatch((width, tokens, count), mean, scores, heads.v, out)


@tb.compute
def attend_flash(cc: ComputeContext, heads: Heads, out: NDArray[f32]) -> None:
    count, tokens, _ = out.shape
    cc.dispatch(NDRange((tokens, count), local=(TILE, 1)), flash, *heads, out)


def some_heads(heads: int, tokens: int, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    random = np.random.default_rng(seed)
    q, k, v = random.standard_normal((3, heads, tokens, WIDTH), np.float32)
    return 2 * q, k, v


def run(accelerator: Accelerator, way: str, numbers: tuple[Floats, Floats, Floats]) -> Floats:
    """What every query gets."""
    q, k, v = (accelerator.array(array) for array in numbers)
    out = accelerator.array(np.zeros_like(numbers[0]))
    if way == "plain":
        count, tokens, _ = numbers[0].shape
        scores = accelerator.array(np.zeros((count, tokens, tokens), np.float32))
        accelerator.compute(attend_plainly, Heads(q, k, v), scores, out)
    else:
        accelerator.compute(attend_flash, Heads(q, k, v), out)
    return np.asarray(out)


def reference(q: Floats, k: Floats, v: Floats) -> npt.NDArray[np.float64]:
    """The definition, by NumPy in double precision."""
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / math.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v.astype(np.float64)


class Measured(NamedTuple):
    """How one way did."""

    way: str
    seconds: float
    scratch: int
    error: float


def measure(accelerator: Accelerator, numbers: tuple[Floats, Floats, Floats]) -> list[Measured]:
    """Each way, once to compile and once for the clock."""
    exact, rows = reference(*numbers), list[Measured]()
    count, tokens, _ = numbers[0].shape
    for way in watched(("plain", "flash"), "ways"):
        run(accelerator, way, numbers)
        started = time.perf_counter()
        found = run(accelerator, way, numbers)
        seconds = time.perf_counter() - started
        scratch = 4 * count * tokens * tokens if way == "plain" else 0
        rows.append(Measured(way, seconds, scratch, float(np.abs(found - exact).max())))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=512, help=f"a multiple of {TILE}")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    if options.tokens <= 0 or options.tokens % TILE:
        parser.error(f"--tokens is {options.tokens}: give a multiple of {TILE}")
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{options.heads} heads, {options.tokens} tokens, on {accelerator.device.name}\n")
    numbers: Any = some_heads(options.heads, options.tokens)
    rows = measure(accelerator, numbers)
    print(f"{'way':<8}{'seconds':>9}{'bytes of scores':>18}{'error':>10}")
    for way, seconds, scratch, error in rows:
        print(f"{way:<8}{seconds:>9.4f}{scratch:>18,}{error:>10.1e}")
    wrong = [row.way for row in rows if not row.error < 5e-5]
    if wrong:
        message = f"too far from NumPy's softmax in double precision: {', '.join(wrong)}"
        raise SystemExit(message)
    with accelerator.record() as ledger:
        run(accelerator, "flash", numbers)
    print("\nboth agree with NumPy's softmax; every transfer of the flash way:\n")
    print(ledger)


if __name__ == "__main__":
    main()
