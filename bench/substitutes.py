"""What the own substitutes for library code save of a first result: each run with and without.

A child process without a substitute has the library's way instead, under the name of our module.
Both kinds take turns in new processes of this one run. Given are the medians, and the median of the
ratios of neighbours: of the wall time, and of the time of the processor (user and system), which
depends less on other work of the machine. Bytecode is kept between them. "Cold" is without kernels
that were compiled before, "warm" with them.

    python bench/substitutes.py --pairs 21
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

FIRST_RESULT = f"""
sys.path.insert(0, {str(Path(__file__).parent.parent / "examples")!r})
import squares
from trilby import Accelerator
assert squares.run(Accelerator(BACKEND), 32).array[31] == 961
"""

WITHOUT = {
    "dataclass": "import dataclasses\nsys.modules['trilby.dataclass'] = dataclasses\n",
    "linking": """
library = ModuleType('trilby.backend.native.linking')
library.linked = lambda *_: None
sys.modules[library.__name__] = library
""",
}
"""What is run first in a child that has the library's way."""

BEGIN = "import sys\nfrom types import ModuleType\n"


def run(code: str, cache: str) -> tuple[float, float]:
    """The wall time and the processor's time of a new Python process."""
    caches = dict.fromkeys(("POCL_CACHE_DIR", "XDG_CACHE_HOME", "TRILBY_CACHE"), cache)
    environment = {**os.environ, **caches}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code], environment)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"a child process ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def compare(name: str, backend: str, pairs: int, *, warm: bool) -> None:
    """Print what one substitute saves."""
    first_result = FIRST_RESULT.replace("BACKEND", repr(backend))
    codes = (BEGIN + first_result, BEGIN + WITHOUT[name] + first_result)
    times: list[list[tuple[float, float]]] = [[], []]
    with tempfile.TemporaryDirectory() as kept:
        for code in codes:
            run(code, kept)
        for number in range(pairs):
            for one in (0, 1) if number % 2 else (1, 0):
                with tempfile.TemporaryDirectory() as fresh:
                    times[one].append(run(codes[one], kept if warm else fresh))
    parts: list[str] = []
    for kind, title in enumerate(("wall", "processor")):
        own, library = ([pair[kind] for pair in each] for each in times)
        saved = statistics.median(1 - a / b for a, b in zip(own, library, strict=True))
        medians = (statistics.median(each) * 1e3 for each in (own, library))
        parts.append(
            "{} {:5.0f} of {:5.0f} ms, saves {:5.1f} %".format(title, *medians, saved * 100)
        )
    print(f"{name:10} {backend:7} {'warm' if warm else 'cold'}   {'   '.join(parts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=15, help="how many pairs of processes")
    parser.add_argument("--only", choices=WITHOUT, help="one substitute")
    options = parser.parse_args()
    for name in [options.only] if options.only else WITHOUT:
        for backend in ("native",) if name == "linking" else ("native", "opencl"):
            for warm in (False, True):
                compare(name, backend, options.pairs, warm=warm)


if __name__ == "__main__":
    main()
