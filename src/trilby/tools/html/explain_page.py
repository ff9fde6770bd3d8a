"""The page of an explanation: the source with its copies in the margin, and all that follows."""

from collections.abc import Iterator, Sequence
from os import PathLike

from trilby.model.text import to_text
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.tracing import TracedRun
from trilby.tools.explanation import (
    ExplainedFunction,
    Explanation,
    SourceLine,
    native_models,
    opencl_code,
    short_file,
    source_lines,
)
from trilby.tools.html.code import Language, block, changes, coloured
from trilby.tools.html.elements import Html, page, section, table, tag
from trilby.tools.html.moved import bytes_svg
from trilby.tools.html.report import ledger_section, run_figures
from trilby.tools.margin import SIGNS
from trilby.tools.movements import movements
from trilby.tools.output_files import write_output
from trilby.transform.pipelines import Transformed, changed_lines

_COLOURS = {"up": "up", "ran-up": "up", "down": "down", "ran-down": "down", "launch": "launch"}


def save_explanation(explanation: Explanation, path: str | PathLike[str]) -> None:
    """Write the page of an explanation."""
    write_output(path, explanation_page(explanation))


def explanation_page(explanation: Explanation) -> str:
    """The text of the page."""
    kind = "compute function" if explanation.functions else "kernel"
    about = f"{kind} of {short_file(explanation.file)}; transfers {explanation.transfers.value}"
    return page(explanation.name, about, _sections(explanation))


def _sections(explanation: Explanation) -> Iterator[Html]:
    for run in explanation.runs:
        yield run_figures(run)
    for number, function in enumerate(explanation.functions):
        title = "Source" if not number else f"Called: {function.symbol.rpartition('.')[2]}"
        if function.source:
            yield section(title, _listing(function.source), note=_note(explanation))
    for func in explanation.device_functions:
        name = func.name.rpartition(".")[2]
        yield section(f"Called on the host: {name}", block(to_text(func), "text"))
    for run in explanation.runs:
        yield from _run(run)
    for kernel in explanation.kernels:
        yield _kernel(kernel)
    for function in explanation.functions:
        yield _models(function)


def _note(explanation: Explanation) -> str:
    text = (
        f"{SIGNS['launch']} is a launch, {SIGNS['up']} a copy to the device and {SIGNS['down']} "
        "one to the host, as they were placed before it ran"
    )
    if explanation.runs:
        text += f"; {SIGNS['ran-up']} and {SIGNS['ran-down']} are those that the run has made"
    return f"{text}."


def _listing(lines: Sequence[SourceLine]) -> Html:
    """Numbers, code, and the margin beside it."""
    code = coloured("\n".join(line.text for line in lines), "python").split("\n")
    cells: list[Html] = []
    for line, text in zip(lines, code, strict=True):
        marked = " marked" if line.notes else ""
        notes: list[Html] = []
        for note in line.notes:
            sign = tag("b", SIGNS[note.kind], class_=_COLOURS.get(note.kind, "quiet"))
            notes.append(tag("p", sign, f" {note.text}", class_=f"note-{note.kind}"))
        cells += [
            tag("div", line.number, class_=f"line{marked}"),
            tag("div", Html(text or " "), class_=f"source{marked}"),
            tag("div", *notes, class_=f"margin{marked}"),
        ]
    return tag("div", *cells, class_="listing")


def _run(run: TracedRun) -> Iterator[Html]:
    rows = movements(run.ledger)
    note = (
        f"On {run.place}, {run.device.name}. The line across a bar is the least that had to move."
    )
    if rows:
        yield section("The run against the optimum", bytes_svg(rows), note=note)
    yield ledger_section(run.ledger.copies)


def _kernel(kernel: AnalysedKernel) -> Html:
    access = table(
        ("buffer", "type", "field", "access"),
        [
            (tag("span", one.name, class_="name"), str(one.type), tag("code", path), str(what))
            for one in kernel.access.parameters
            for path, what in one.fields.items()
        ],
    )
    source = "\n".join(line.text for line in source_lines(kernel.kernel))
    footprint = str(kernel.footprint).partition("\n")[2]
    return section(
        f"Kernel {kernel.kernel.name}",
        block(source, "python"),
        tag("h3", "What it accesses"),
        access,
        _folded("What each work item touches", footprint, "text"),
        *_steps(native_models(kernel), is_open=False),
        _folded("The OpenCL that a device gets", opencl_code(kernel).strip(), "c"),
    )


def _models(function: ExplainedFunction) -> Html:
    parts = [tag("h3", "The Python that runs"), block(function.python, "python")]
    steps = list(_steps(function.transformed, is_open=True))
    parts += steps or [tag("p", "No transform has changed its model.", class_="note")]
    parts.append(_folded("The model before", to_text(*function.transformed.original), "text"))
    name = function.symbol.rpartition(".")[2]
    return section(f"What becomes of {name}", *parts)


def _steps(done: Transformed, *, is_open: bool) -> Iterator[Html]:
    """Models after each transform that changed them."""
    for step in done.steps:
        if step.changed:
            title = tag("summary", f"The model after {step.name}")
            yield tag("details", title, changes("\n".join(changed_lines(step))), open=is_open)


def _folded(title: str, text: str, language: Language) -> Html:
    return tag("details", tag("summary", title), block(text, language))
