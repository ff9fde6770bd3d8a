"""The kernels in C, `kernels.c`, compiled by the machine's own compiler with OpenMP."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from peers.peer import Argument, Function, Peer, PeerAbsentError
from peers.problems import PROBLEMS

SOURCE = Path(__file__).with_name("kernels.c")


def peer(option: str) -> Peer:
    """GCC with an option such as `-O3`."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise PeerAbsentError("there is no gcc")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "kernels.so"
        flags = [option, "-march=native", "-fopenmp", "-fPIC", "-shared"]
        made = subprocess.run(
            [compiler, *flags, str(SOURCE), "-o", str(library), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise PeerAbsentError(f"gcc {option}: {made.stderr}")
        loaded = ctypes.CDLL(str(library))
    return Peer(f"gcc {option}", {name: _function(loaded, name) for name in PROBLEMS})


def _function(library: ctypes.CDLL, name: str) -> Function:
    function: Any = getattr(library, name)

    def call(*arguments: Argument) -> None:
        function(*(word for given in arguments for word in _words(given)))

    return call


def _words(given: Argument) -> list[Any]:
    """An array is its address and its extents."""
    if isinstance(given, np.ndarray):
        return [ctypes.c_void_p(given.ctypes.data), *map(ctypes.c_int, given.shape)]
    return [ctypes.c_int(given) if isinstance(given, int) else ctypes.c_float(given)]
