"""Mutants that no test can notice, and why: what they lack makes nothing but time.

By module, and by the name that `mutations.py` gives them.
"""

EQUIVALENTS: dict[str, dict[str, str]] = {}
