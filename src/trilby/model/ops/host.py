"""Ops of compute functions: what the host does between its dispatches.

Compute functions may hold any Python. What the model need not understand is kept as `HostCode`,
with the local names that it uses. Reads and writes of buffers by the host are the ordinary `load`
and `store`; their indices are Python's, so also slices (`host.value @"1:n"`).
"""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class HostValue(Op):
    """A Python expression. `uses` are the local names it reads.

    `{0} += {1}` is the value that an augmented assignment makes, before it is stored.
    """

    mnemonic: ClassVar[str] = "host.value"
    inputs: Operands
    code: HostCode
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostRun(Op):
    """Python statements, with the local names they read and set."""

    mnemonic: ClassVar[str] = "host.run"
    code: HostCode
    uses: tuple[str, ...]
    sets: tuple[str, ...]
    inputs: Operands = ()


@dataclass(frozen=True, slots=True, eq=False)
class HostView(Op):
    """A slice, row or column of an array of a buffer, or all of it: a tracked view.

    It is no access by itself. Without indices, `[]` in the path is stepped over (`result[].x`
    is the column `x`).
    """

    mnemonic: ClassVar[str] = "host.view"
    base: Value
    indices: Operands
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class HostIf(Op):
    """`if` on any Python truth."""

    mnemonic: ClassVar[str] = "host.if"
    condition: Value
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class HostWhile(Op):
    """`while`; `test` yields any Python value."""

    mnemonic: ClassVar[str] = "host.while"
    test: Block
    body: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class HostFor(Op):
    """`for` over any iterable; `target` is what each item is bound to."""

    mnemonic: ClassVar[str] = "host.for"
    iterable: Value
    body: Block
    otherwise: Block
    target: HostCode
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostWith(Op):
    """`with` one context manager; `target` may be empty."""

    mnemonic: ClassVar[str] = "host.with"
    manager: Value
    body: Block
    target: HostCode
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostCall(Op):
    """A call of another compute function, by its symbol; the context comes first."""

    mnemonic: ClassVar[str] = "host.call"
    args: Operands
    callee: str


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch(Op):
    """Launch a kernel, by its symbol, over a range; `args` follow the kernel context."""

    mnemonic: ClassVar[str] = "dispatch"
    context: Value
    range: Value
    args: Operands
    kernel: str


@dataclass(frozen=True, slots=True, eq=False)
class DispatchPasses(Dispatch):
    """Launch a kernel for many passes. The last of `args` are `options`, in their order."""

    mnemonic: ClassVar[str] = "dispatch.passes"
    options: tuple[str, ...]

    @property
    def given(self) -> dict[str, Value]:
        """The options by their names."""
        return dict(zip(self.options, self.args[-len(self.options) :], strict=True))


HOST_OPS = (
    HostValue,
    HostRun,
    HostView,
    HostIf,
    HostWhile,
    HostFor,
    HostWith,
    HostCall,
    Dispatch,
    DispatchPasses,
)
