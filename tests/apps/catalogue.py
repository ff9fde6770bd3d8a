"""All programs, in the order of the literature they come from."""

from typing import Any

from tests.apps import (
    accuracy,
    ace,
    aliases,
    convergence,
    double,
    durbin,
    fill,
    hotspot3d,
    life,
    mandel,
    partial_writes,
    polybench,
    result_table,
    rodinia,
    xsbench,
)
from tests.apps.program import Program

DOCUMENTS: tuple[Program[Any], ...] = (
    fill.FILL,
    fill.FILL_OVER,
    double.ONCE,
    double.OFTEN,
    double.SHOWING,
    life.ODD,
    life.EVEN,
    life.DISPLAYED,
    life.DISPLAYED_RARELY,
    life.DISPLAYED_NOT_AT_LAST,
    double.BETWEEN_READS,
    convergence.CONVERGENCE,
    convergence.PASSES,
    double.PASSES,
    life.PASSES,
    partial_writes.HALF,
    partial_writes.CONDITIONAL,
    mandel.MANDEL,
    result_table.RESULT_TABLE,
)
"""Programs of the documents of HAT and Aparapi."""

BENCHMARKS: tuple[Program[Any], ...] = (
    rodinia.BFS,
    rodinia.HOTSPOT,
    rodinia.SRAD,
    rodinia.NW,
    rodinia.BACKPROP,
    rodinia.LUD,
    rodinia.PATHFINDER,
    accuracy.ACCURACY,
    xsbench.XSBENCH,
    polybench.JACOBI,
    polybench.THREE_PRODUCTS,
    polybench.COVARIANCE,
)
"""Programs of Rodinia, HeCBench and PolyBench."""

MISTAKES: tuple[Program[Any], ...] = (
    aliases.ALIASES,
    ace.NEW,
    ace.WRITTEN,
    hotspot3d.ODD,
    hotspot3d.EVEN,
    hotspot3d.BOTH,
    durbin.DURBIN,
)
"""Programs that published versions with copies written by hand get wrong."""

PROGRAMS: tuple[Program[Any], ...] = DOCUMENTS + BENCHMARKS + MISTAKES
