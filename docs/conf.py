"""How the site is built from these pages: `make docs`, with warnings as errors."""

from typing import Any

from sphinx.application import Sphinx

from trilby import __version__

MADE_FOR_YOU = {"Array", "ComputeContext", "KernelContext", "Ledger", "Profile"}
"""Classes whose objects nobody makes by calling them."""

project = "Trilby"
author = "the Trilby developers"
copyright = author  # noqa: A001 -- Sphinx reads this name
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["conf.py"]
suppress_warnings = ["misc.highlighting_failure"]  # pages show texts that are no program

# Pages are Markdown. Headings can be linked to, as on code hosts.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The reference is made from docstrings, whose `backticks` are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "furo"
html_title = "Trilby"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fbf", "color-brand-content": "#1f5fbf"},
    "dark_css_variables": {"color-brand-primary": "#ffc83c", "color-brand-content": "#7fb2ff"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Read docstrings as they are written here."""
    app.connect("autodoc-process-docstring", mark_programs)
    app.connect("autodoc-process-signature", leave_out_arguments)


def mark_programs(*event: Any) -> None:
    """Paragraphs that are indented are programs, as in Markdown."""
    lines: list[str] = event[-1]
    marked: list[str] = []
    last = ""
    for line in lines:
        if line.startswith("    ") and not last.startswith("    ") and marked and not marked[-1]:
            marked += ["::", ""]
        marked.append(line)
        last = line or last
    lines[:] = marked


def leave_out_arguments(*event: Any) -> tuple[str, str] | None:
    """What it takes to make an error, a ledger or a context is not shown."""
    _app, kind, name = event[:3]
    is_made_for_you = kind == "exception" or name.rpartition(".")[2] in MADE_FOR_YOU
    return ("", "") if is_made_for_you else None
