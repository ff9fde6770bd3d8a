"""Lints: what can be proved of a kernel or a compute function without running it.

`lint` drives it. `walk` executes a kernel symbolically, which gives its `accesses` in `terms`;
`dispatches` and `contract` say what is known of its launches; the `rules` ask questions about
these, which the deciders in `decide` answer; `findings` has the report.
"""
