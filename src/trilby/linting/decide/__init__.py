"""Deciding questions about work items: with z3, or without a solver, and on the interpreter."""
