"""Ops of compute functions: what the host does between its dispatches.

Compute functions may hold any Python. What the model need not understand is kept as `HostCode`,
with the local names that it uses. Reads and writes of buffers by the host are the ordinary `load`
and `store`; their indices are Python's, so also slices (`host.value @"1:n"`).
"""

from trilby.dataclass import dataclass
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class HostValue(Op, mnemonic="host.value", result=None):
    """A Python expression. `uses` are the local names it reads.

    `{0} += {1}` is the value that an augmented assignment makes, before it is stored.
    """

    inputs: Operands
    code: HostCode
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostRun(Op, mnemonic="host.run", result=None):
    """Python statements, with the local names they read and set."""

    code: HostCode
    uses: tuple[str, ...]
    sets: tuple[str, ...]
    inputs: Operands = ()


@dataclass(frozen=True, slots=True, eq=False)
class HostView(Op, mnemonic="host.view", result=None):
    """A slice, row or column of an array of a buffer, or all of it: a tracked view.

    It is no access by itself. Without indices, `[]` in the path is stepped over (`result[].x`
    is the column `x`).
    """

    base: Value
    indices: Operands
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class HostIf(Op, mnemonic="host.if", result=None):
    """`if` on any Python truth."""

    condition: Value
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class HostWhile(Op, mnemonic="host.while", result=None):
    """`while`; `test` yields any Python value."""

    test: Block
    body: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class HostFor(Op, mnemonic="host.for", result=None):
    """`for` over any iterable; `target` is what each item is bound to."""

    iterable: Value
    body: Block
    otherwise: Block
    target: HostCode
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostWith(Op, mnemonic="host.with", result=None):
    """`with` one context manager; `target` may be empty."""

    manager: Value
    body: Block
    target: HostCode
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostCall(Op, mnemonic="host.call", result=None):
    """A call of another compute function, by its symbol; the context comes first."""

    args: Operands
    callee: str


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch(Op, mnemonic="dispatch", result=None):
    """Launch a kernel, by its symbol, over a range; `args` follow the kernel context."""

    context: Value
    range: Value
    args: Operands
    kernel: str


@dataclass(frozen=True, slots=True, eq=False)
class DispatchPasses(Dispatch, mnemonic="dispatch.passes", result=None):
    """Launch a kernel for many passes. The last of `args` are `options`, in their order."""

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
