"""The code model of functions, public for programs that print, rewrite, build, parse or verify it.

`docs/model.md` shows how. Names are imported from the module that defines them, as in
`from trilby.model.rewrite import rewrite, transform`: `op` and `value` for functions, ops and
values, `ops` for the ops, `text` to print, `rewrite`, `build`, `parse`, `verify`.
"""
