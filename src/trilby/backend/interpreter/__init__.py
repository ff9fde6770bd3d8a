"""The interpreter backend: the definition of every op of the kernel language.

A kernel is translated to Python once (`translate`, with one small renderer for each op)
and run work item by work item on memory of its own, with every index checked. All other
backends agree with it bit for bit on integers and within a stated distance on floats.
"""

from trilby.backend.interpreter.interpreter_device import InterpreterBackend, InterpreterFamily

__all__ = ["InterpreterBackend", "InterpreterFamily"]
