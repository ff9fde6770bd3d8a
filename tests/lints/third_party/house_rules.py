"""A package that adds a lint of its own, as anybody may."""

from collections.abc import Iterator

from trilby.linting.findings import Finding
from trilby.linting.kernel_facts import KernelFacts
from trilby.linting.lint_registry import kernel_lint


@kernel_lint("house-no-global-barrier", severity="warning")
def no_global_barrier(facts: KernelFacts) -> Iterator[Finding]:
    """Barriers on global memory are not used in this house.

    Use a second dispatch.
    """
    for stop in facts.walked.stops:
        if stop.scope != "local":
            yield Finding(
                "house-no-global-barrier",
                "warning",
                "bug",
                "a barrier on global memory",
                stop.location,
                function=facts.name,
            )
