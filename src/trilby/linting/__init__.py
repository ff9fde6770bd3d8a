"""Lints: what can be proved of a kernel or a compute function without running it."""
